//! The operations, one entry each, and what they are given.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail};
use blockmill_signatures::{KeyTables, Signatures};

use super::measure::Pool;
use super::{generated, generated_p256};

/// The scalar library of secp256k1.
const LIBSECP256K1: &str = "libsecp256k1";
/// The scalar variant of P-256 is our own (`verify_p256`).
const OWN: &str = "blockmill";
/// Memory for the tables of keys that come again and again: enough for all of them.
const TABLE_BYTES: usize = 1 << 20;

/// The tables of keys, which all threads share.
static TABLES: LazyLock<KeyTables> = LazyLock::new(|| KeyTables::new(TABLE_BYTES));

/// What is done with signatures.
pub struct Operation {
    /// Its name in the record and on command lines.
    pub name: &'static str,
    /// The library that is its scalar variant.
    pub library: &'static str,
    pool: fn(Range<u64>, Input) -> Result<Pool>,
}

/// All of them, in the order of the tables.
pub static OPERATIONS: [Operation; 7] = [
    Operation {
        name: "ecdsa",
        library: LIBSECP256K1,
        pool: |numbers, input| {
            let checks =
                input.generate(numbers, generated::ecdsa_compressed, generated::ecdsa_undecided)?;
            Ok(Pool::new(checks, Signatures::ecdsa))
        },
    },
    Operation {
        name: "ecdsa-uncompressed",
        library: LIBSECP256K1,
        pool: |numbers, input| {
            let undecided = generated::ecdsa_undecided_uncompressed;
            let checks = input.generate(numbers, generated::ecdsa_uncompressed, undecided)?;
            Ok(Pool::new(checks, Signatures::ecdsa))
        },
    },
    Operation {
        name: "schnorr",
        library: LIBSECP256K1,
        pool: |numbers, input| {
            let checks =
                input.generate(numbers, generated::schnorr, generated::schnorr_undecided)?;
            Ok(Pool::new(checks, Signatures::schnorr))
        },
    },
    Operation {
        name: "tweaks",
        library: LIBSECP256K1,
        pool: |numbers, input| {
            let checks = input.generate(numbers, generated::tweak, generated::tweak_undecided)?;
            Ok(Pool::new(checks, Signatures::tweaks))
        },
    },
    Operation {
        name: "recover",
        library: LIBSECP256K1,
        pool: |numbers, input| {
            let checks =
                input.generate(numbers, generated::recovery, generated::recovery_undecided)?;
            Ok(Pool::new(checks, Signatures::recover))
        },
    },
    Operation {
        name: "p256",
        library: OWN,
        pool: |numbers, input| {
            let checks =
                input.generate(numbers, generated_p256::good, generated_p256::undecided)?;
            let tables = KeyTables::new(0);
            Ok(Pool::new(checks, move |with: &Signatures, checks: &[_], valid: &mut [_]| {
                with.p256(checks, &tables, valid);
            }))
        },
    },
    Operation {
        name: "p256-repeated",
        library: OWN,
        pool: |numbers, input| {
            let (good, undecided) = (generated_p256::repeated, generated_p256::repeated_undecided);
            let checks = input.generate(numbers, good, undecided)?;
            Ok(Pool::new(checks, |with: &Signatures, checks: &[_], valid: &mut [_]| {
                with.p256(checks, &TABLES, valid);
            }))
        },
    },
];

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Operation {
    /// The operation with this name.
    pub fn by_name(name: &str) -> Result<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.name == name).with_context(|| {
            let names = OPERATIONS.each_ref().map(|operation| operation.name).join(", ");
            format!("expected one of {names}, found {name}")
        })
    }

    /// Signatures with these numbers, which are their seeds.
    pub(super) fn make(&self, numbers: Range<u64>, input: Input) -> Result<Pool> {
        (self.pool)(numbers, input)
    }
}

/// Whether the lanes can decide the signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Good,
    Undecided,
    /// Good ones and others in turn.
    HalfUndecided,
}

impl FromStr for Input {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "good" => Self::Good,
            "undecided" => Self::Undecided,
            "half-undecided" => Self::HalfUndecided,
            _ => bail!("expected good, undecided or half-undecided, found {name}"),
        })
    }
}

impl Input {
    /// Generates signatures with these numbers.
    fn generate<T>(
        self,
        numbers: Range<u64>,
        good: fn(u64) -> Result<T>,
        undecided: fn(u64) -> Result<T>,
    ) -> Result<Vec<T>> {
        let make = |number| match self {
            Self::HalfUndecided if number % 2 == 0 => good(number),
            Self::Good => good(number),
            Self::Undecided | Self::HalfUndecided => undecided(number),
        };
        numbers.map(make).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_their_names_and_others_refused() {
        for operation in &OPERATIONS {
            assert_eq!(Operation::by_name(operation.name).unwrap().name, operation.name);
        }
        let error = Operation::by_name("sign").unwrap_err().to_string();
        assert!(error.contains("expected one of ecdsa,"), "{error}");
        assert!(error.ends_with("found sign"), "{error}");
    }

    #[test]
    fn half_of_the_signatures_are_undecided() {
        let make = |input: Input| input.generate(0..4, |_| Ok('g'), |_| Ok('u')).unwrap();
        assert_eq!(make(Input::HalfUndecided), ['g', 'u', 'g', 'u']);
        assert_eq!(make(Input::Undecided), ['u'; 4]);
        assert_eq!(make(Input::Good), ['g'; 4]);
    }
}
