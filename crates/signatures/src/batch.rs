//! Verifies many signatures at once: on secp256k1 ECDSA (SEC 1), Schnorr (BIP340), recovery of
//! ECDSA keys, and tweaked keys (BIP341); ECDSA on P-256.
//!
//! Only for public data: nothing is constant in time, and nothing signs.
//!
//! Every width gives the answers of libsecp256k1, and on P-256 of
//! [`verify_p256`](crate::verify_p256). A batch uses about 128 KiB of the caller's stack and no
//! heap memory. Larger batches cost less for each signature, up to 256.

mod account;
mod checks;
#[cfg(feature = "std")]
mod key_tables;
pub(crate) mod library;

use crate::arch::{FmaSignatures, IfmaSignatures};
use crate::lanes::InLanes;
use account::{Account, Price};
pub use checks::{EcdsaCheck, Key, Recovery, SchnorrCheck, TweakCheck};
#[cfg(feature = "std")]
pub(crate) use key_tables::Found;
#[cfg(feature = "std")]
pub use key_tables::KeyTables;

/// The number of signatures that are verified at once.
///
/// ```
/// use blockmill_signatures::{Signatures, Width};
///
/// // this CPU has the lanes of some widths, and always the scalar one
/// let widths: Vec<_> = Width::ALL.into_iter().filter_map(Signatures::with).collect();
/// assert_eq!(widths[0].width(), Width::Scalar);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One signature after the other, by libsecp256k1.
    Scalar,
    /// Four in the lanes of a vector (AVX2 and FMA).
    Avx2,
    /// Eight in the lanes of a vector (AVX-512 IFMA), several vectors interleaved.
    Ifma,
}

impl Width {
    /// All widths, the slowest first.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Ifma];

    /// Name of the width on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Ifma => "ifma",
        }
    }
}

/// A verifier of signatures. A value is the proof that the CPU has the features of its width.
///
/// ```
/// use blockmill_signatures::{Signatures, Width};
///
/// let scalar = Signatures::scalar();
/// assert_eq!(scalar.width(), Width::Scalar);
/// // the fastest of this CPU has a name, and can be asked for by it
/// let fastest = Signatures::detect();
/// let named = Signatures::named(fastest.width().name()).map(|found| found.width());
/// assert_eq!(named, Some(fastest.width()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Signatures {
    way: Way,
    at_any_cost: bool,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Scalar,
    Avx2(FmaSignatures),
    Ifma(IfmaSignatures),
}

/// On secp256k1 with [`Width::Avx2`] a vector takes 7 to 8 times the library's time for one
/// signature, and more if the tables of the library are not in the caches.
const AVX2: Price = Price { vector: 1_250, fewest: 12 };
/// With [`Width::Ifma`] 1.9 to 2.2 times, up to 2.9.
const IFMA: Price = Price { vector: 320, fewest: 3 };
/// On P-256, for keys without tables.
#[cfg(feature = "std")]
const AVX2_P256: Price = Price { vector: 1_400, fewest: 13 };
/// On P-256 with [`Width::Ifma`], for keys without tables.
#[cfg(feature = "std")]
const IFMA_P256: Price = Price { vector: 420, fewest: 4 };

static ECDSA: Account = Account::new();
#[cfg(feature = "std")]
static P256: Account = Account::new();
static SCHNORR: Account = Account::new();
static TWEAKS: Account = Account::new();
static RECOVER: Account = Account::new();

impl Signatures {
    /// Returns the fastest verifier of this CPU.
    #[must_use]
    pub fn detect() -> Self {
        let widths = Width::ALL.into_iter().rev();
        widths.filter_map(Self::with).next().unwrap_or_else(Self::scalar)
    }

    /// Returns the verifier that uses libsecp256k1 for one signature after the other: the baseline.
    #[must_use]
    pub fn scalar() -> Self {
        Signatures { way: Way::Scalar, at_any_cost: false }
    }

    /// Returns the verifier of `width`; `None` if the CPU lacks its features. The first use of
    /// lanes in a process takes a few milliseconds.
    #[must_use]
    pub fn with(width: Width) -> Option<Self> {
        let way = match width {
            Width::Scalar => Way::Scalar,
            Width::Avx2 => Way::Avx2(FmaSignatures::new()?),
            Width::Ifma => Way::Ifma(IfmaSignatures::new()?),
        };
        Some(Signatures { way, at_any_cost: false })
    }

    /// Returns the verifier of the width with this name; `None` if there is none or the CPU lacks
    /// its features.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let width = Width::ALL.into_iter().find(|width| width.name() == name)?;
        Self::with(width)
    }

    /// Makes the lanes process even signatures that they can hardly decide, for tests and
    /// measurements. By default such signatures soon go to the library at once, so that nobody can
    /// waste more than some 15 % of the library's time.
    #[must_use]
    pub fn at_any_cost(self) -> Self {
        Signatures { at_any_cost: true, ..self }
    }

    /// The width of this verifier.
    #[must_use]
    pub fn width(&self) -> Width {
        match self.way {
            Way::Scalar => Width::Scalar,
            Way::Avx2(_) => Width::Avx2,
            Way::Ifma(_) => Width::Ifma,
        }
    }

    /// Writes to `valid[i]` whether check `i` holds.
    ///
    /// # Panics
    ///
    /// Panics if `valid` and `checks` differ in length.
    pub fn ecdsa(&self, checks: &[EcdsaCheck], valid: &mut [bool]) {
        assert_eq!(checks.len(), valid.len(), "one place for each verdict");
        self.answer(
            (&ECDSA, AVX2, IFMA),
            checks,
            valid,
            (InLanes::ecdsa, InLanes::ecdsa),
            library::ecdsa,
        );
    }

    /// Writes to `valid[i]` whether check `i` holds on P-256 (FIPS 186-4). Keys that sign
    /// repeatedly get a place in `tables`, which makes them several times as fast;
    /// [`Width::Scalar`] does not use tables.
    ///
    /// # Panics
    ///
    /// Panics if `valid` and `checks` differ in length.
    #[cfg(feature = "std")]
    pub fn p256(&self, checks: &[EcdsaCheck], tables: &KeyTables, valid: &mut [bool]) {
        assert_eq!(checks.len(), valid.len(), "one place for each verdict");
        let avx2 = |lanes: FmaSignatures, checks: &[EcdsaCheck], valid: &mut [bool]| {
            lanes.p256(checks, tables, valid)
        };
        let ifma = |lanes: IfmaSignatures, checks: &[EcdsaCheck], valid: &mut [bool]| {
            lanes.p256(checks, tables, valid)
        };
        self.answer(
            (&P256, AVX2_P256, IFMA_P256),
            checks,
            valid,
            (avx2, ifma),
            crate::p256::verify_p256,
        );
    }

    /// Writes to `valid[i]` whether check `i` holds.
    ///
    /// # Panics
    ///
    /// Panics if `valid` and `checks` differ in length.
    pub fn schnorr(&self, checks: &[SchnorrCheck], valid: &mut [bool]) {
        assert_eq!(checks.len(), valid.len(), "one place for each verdict");
        self.answer(
            (&SCHNORR, AVX2, IFMA),
            checks,
            valid,
            (InLanes::schnorr, InLanes::schnorr),
            library::schnorr,
        );
    }

    /// Writes to `valid[i]` whether check `i` holds.
    ///
    /// # Panics
    ///
    /// Panics if `valid` and `checks` differ in length.
    pub fn tweaks(&self, checks: &[TweakCheck], valid: &mut [bool]) {
        assert_eq!(checks.len(), valid.len(), "one place for each verdict");
        self.answer(
            (&TWEAKS, AVX2, IFMA),
            checks,
            valid,
            (InLanes::tweaks, InLanes::tweaks),
            library::tweak,
        );
    }

    /// Writes to `keys[i]` the coordinates x and y of the key of signature `i`, 32 bytes each, or
    /// `None` if it has no key.
    ///
    /// # Panics
    ///
    /// Panics if `keys` and `signatures` differ in length.
    pub fn recover(&self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) {
        assert_eq!(signatures.len(), keys.len(), "one place for each key");
        self.answer(
            (&RECOVER, AVX2, IFMA),
            signatures,
            keys,
            (InLanes::recover, InLanes::recover),
            library::recover,
        );
    }

    fn answer<T, U>(
        &self,
        (account, avx2_price, ifma_price): (&Account, Price, Price),
        items: &[T],
        answers: &mut [U],
        (avx2, ifma): (
            impl Fn(FmaSignatures, &[T], &mut [U]) -> usize,
            impl Fn(IfmaSignatures, &[T], &mut [U]) -> usize,
        ),
        by_library: impl Fn(&T) -> U,
    ) {
        match self.way {
            Way::Avx2(lanes) if self.at_any_cost => {
                avx2(lanes, items, answers);
            }
            Way::Avx2(lanes) => {
                let in_lanes = |items: &[T], answers: &mut [U]| avx2(lanes, items, answers);
                account.answer(avx2_price, items, answers, in_lanes, by_library);
            }
            Way::Ifma(lanes) if self.at_any_cost => {
                ifma(lanes, items, answers);
            }
            Way::Ifma(lanes) => {
                let in_lanes = |items: &[T], answers: &mut [U]| ifma(lanes, items, answers);
                account.answer(ifma_price, items, answers, in_lanes, by_library);
            }
            Way::Scalar => {
                for (item, answer) in items.iter().zip(answers) {
                    *answer = by_library(item);
                }
            }
        }
    }
}
