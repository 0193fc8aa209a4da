//! What is measured: the objects and the operations, and their names.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};

/// Most objects in a list, so that a mistyped number cannot fill the memory.
const MOST_OBJECTS: usize = 1_000_000;

/// An object to encode or to hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The transaction of nim-eth's RLP profiler: legacy, 154 bytes of payload, 179 encoded.
    Transaction,
    /// Its header: 511 bytes encoded.
    Header,
    /// The list of so many such transactions, whose nonces count up.
    Transactions(usize),
    /// The header, so many such transactions, no ommers.
    Block(usize),
    /// So many such headers, whose numbers count up. They are hashed one by one only.
    Headers(usize),
}

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Encode into a fresh buffer.
    Encode,
    /// Encode into memory that is kept.
    EncodeReused,
    /// Keccak-256 of the encoding, keeping nothing.
    Hash,
    /// Keccak-256 of the encoding, with memory that is kept.
    HashReused,
    /// Keccak-256 of each object of a list.
    HashEach,
}

impl Case {
    /// Whether `op` can be done with it.
    #[must_use]
    pub fn takes(self, op: Op) -> bool {
        match self {
            Self::Transaction | Self::Header | Self::Block(_) => op != Op::HashEach,
            Self::Transactions(_) => true,
            Self::Headers(_) => op == Op::HashEach,
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transaction => write!(f, "transaction"),
            Self::Header => write!(f, "header"),
            Self::Transactions(count) => write!(f, "transactions-{count}"),
            Self::Block(count) => write!(f, "block-{count}"),
            Self::Headers(count) => write!(f, "headers-{count}"),
        }
    }
}

impl FromStr for Case {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let count = |digits: &str| -> Result<usize> {
            let count = digits.parse().with_context(|| format!("case {name}"))?;
            let possible = 1..=MOST_OBJECTS;
            ensure!(possible.contains(&count), "case {name}: expected 1 to {MOST_OBJECTS} objects");
            Ok(count)
        };
        Ok(match name.split_once('-') {
            None if name == "transaction" => Self::Transaction,
            None if name == "header" => Self::Header,
            Some(("transactions", digits)) => Self::Transactions(count(digits)?),
            Some(("block", digits)) => Self::Block(count(digits)?),
            Some(("headers", digits)) => Self::Headers(count(digits)?),
            _ => bail!(
                "expected transaction, header, transactions-N, block-N or headers-N, found {name}"
            ),
        })
    }
}

impl Op {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] =
        [Self::Encode, Self::EncodeReused, Self::Hash, Self::HashReused, Self::HashEach];

    /// Its name in the record and on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::EncodeReused => "encode-reused",
            Self::Hash => "hash",
            Self::HashReused => "hash-reused",
            Self::HashEach => "hash-each",
        }
    }
}

impl FromStr for Op {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|op| op.name() == name);
        found.with_context(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected one of {names}, found {name}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let names = ["transaction", "header", "transactions-8", "block-1280", "headers-8"];
        for case in names.map(|name| name.parse::<Case>().unwrap()) {
            assert_eq!(case.to_string().parse::<Case>().unwrap(), case);
        }
        for op in Op::ALL {
            assert_eq!(op.name().parse::<Op>().unwrap(), op);
        }
    }

    #[test]
    fn other_names_are_refused_with_the_reason() {
        for (name, reason) in [
            ("block", "expected transaction, header"),
            ("blocks-8", "found blocks-8"),
            ("block-0", "expected 1 to 1000000 objects"),
            ("headers-1000001", "expected 1 to 1000000 objects"),
            ("transactions--1", "case transactions--1"),
        ] {
            let error = format!("{:#}", name.parse::<Case>().unwrap_err());
            assert!(error.contains(reason), "{name}: {error}");
        }
        assert!("decode".parse::<Op>().unwrap_err().to_string().ends_with("found decode"));
    }

    #[test]
    fn each_operation_has_its_objects() {
        let whole = Op::ALL.map(|op| Case::Block(8).takes(op));
        assert_eq!(whole, [true, true, true, true, false]);
        assert_eq!(Op::ALL.map(|op| Case::Headers(8).takes(op)), whole.map(|takes| !takes));
        assert!(Op::ALL.into_iter().all(|op| Case::Transactions(8).takes(op)));
    }
}
