//! Many secp256k1 signatures at once: ECDSA (SEC 1), Schnorr (BIP340), and the keys of ECDSA
//! signatures.
//!
//! Only public data passes here. Nothing is constant in time, and nothing signs.
//!
//! Every variant gives the answers of libsecp256k1. A batch takes about 128 KiB of the caller's
//! stack and no heap memory. Larger batches cost less for each signature, up to 256.

pub(crate) mod library;

use crate::arch::signatures::Ifma;

/// How signatures are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// One after the other, by libsecp256k1.
    Scalar,
    /// Four in the lanes of a vector (AVX2).
    Avx2,
    /// Eight in the lanes of a vector (AVX-512 IFMA), several vectors interleaved.
    Ifma,
}

impl Variant {
    /// All of them, the slowest first.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Avx2, Self::Ifma];

    /// Its name on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Ifma => "ifma",
        }
    }
}

/// A public key as it was serialised (SEC 1, section 2.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// 0x02 (even y) or 0x03 (odd y), then x.
    Compressed([u8; 33]),
    /// 0x04, then x and y; or hybrid: 0x06 (even y) or 0x07 (odd y), then x and y.
    Uncompressed([u8; 65]),
}

/// Whether the key signed the digest. All numbers are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcdsaCheck {
    /// The hash that was signed; one that is not below the group's order is taken modulo it.
    pub digest: [u8; 32],
    /// The signature's first number.
    pub r: [u8; 32],
    /// The signature's second number; `n - s` is as good as `s`.
    pub s: [u8; 32],
    /// The signer.
    pub key: Key,
}

/// Whether the key signed the message of 32 bytes (BIP340).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchnorrCheck {
    /// What was signed; for Bitcoin a signature hash.
    pub message: [u8; 32],
    /// x of the signature's point, then s.
    pub signature: [u8; 64],
    /// x of the key; its y is even.
    pub key: [u8; 32],
}

/// An ECDSA signature whose key is sought (SEC 1, section 4.1.6). All numbers are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The hash that was signed.
    pub digest: [u8; 32],
    /// The signature's first number.
    pub r: [u8; 32],
    /// The signature's second number, of any size.
    pub s: [u8; 32],
    /// Bit 0: y of the signature's point is odd. Bit 1: its x is `r + n`. Above 3: no key.
    pub recovery_id: u8,
}

/// A way to verify signatures. A value is the proof that the CPU can do it.
#[derive(Clone, Copy, Debug)]
pub struct Signatures(Way);

#[derive(Clone, Copy, Debug)]
enum Way {
    Scalar,
    Ifma(Ifma),
}

/// Signatures that advance together in the lanes of [`Variant::Ifma`].
const LANES: usize = 16;
/// When fewer than this are left, libsecp256k1 is done sooner than lanes most of which are idle.
const FEWEST: usize = 3;

impl Signatures {
    /// The fastest that this CPU has.
    #[must_use]
    pub fn detect() -> Self {
        Self::with(Variant::Ifma).unwrap_or_else(Self::scalar)
    }

    /// libsecp256k1, one signature after the other: the baseline for the others.
    #[must_use]
    pub fn scalar() -> Self {
        Signatures(Way::Scalar)
    }

    /// `variant`, or `None` on a CPU that has it not. The first use of [`Variant::Ifma`] in a
    /// process takes a few milliseconds.
    #[must_use]
    pub fn with(variant: Variant) -> Option<Self> {
        match variant {
            Variant::Scalar => Some(Self::scalar()),
            Variant::Avx2 => None,
            Variant::Ifma => Ifma::new().map(|ifma| Signatures(Way::Ifma(ifma))),
        }
    }

    /// The variant of this name, or `None` when there is none or the CPU has it not.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let variant = Variant::ALL.into_iter().find(|variant| variant.name() == name)?;
        Self::with(variant)
    }

    /// Which one this is.
    #[must_use]
    pub fn variant(&self) -> Variant {
        match self.0 {
            Way::Scalar => Variant::Scalar,
            Way::Ifma(_) => Variant::Ifma,
        }
    }

    /// Writes to `valid[i]` whether check `i` holds.
    ///
    /// # Panics
    /// When `valid` has not as many places as there are checks.
    pub fn ecdsa(&self, checks: &[EcdsaCheck], valid: &mut [bool]) {
        assert_eq!(checks.len(), valid.len(), "one place for each verdict");
        self.answer(checks, valid, Ifma::ecdsa, library::ecdsa);
    }

    /// Writes to `valid[i]` whether check `i` holds.
    ///
    /// # Panics
    /// When `valid` has not as many places as there are checks.
    pub fn schnorr(&self, checks: &[SchnorrCheck], valid: &mut [bool]) {
        assert_eq!(checks.len(), valid.len(), "one place for each verdict");
        self.answer(checks, valid, Ifma::schnorr, library::schnorr);
    }

    /// Writes to `keys[i]` the coordinates x and y of the key of signature `i`, 32 bytes each, or
    /// `None` where it has no key.
    ///
    /// # Panics
    /// When `keys` has not as many places as there are signatures.
    pub fn recover(&self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) {
        assert_eq!(signatures.len(), keys.len(), "one place for each key");
        self.answer(signatures, keys, Ifma::recover, library::recover);
    }

    fn answer<T, U>(
        &self,
        items: &[T],
        answers: &mut [U],
        in_lanes: impl Fn(Ifma, &[T], &mut [U]),
        by_library: impl Fn(&T) -> U,
    ) {
        let mut done = 0;
        if let Way::Ifma(ifma) = self.0 {
            let last = items.len() % LANES;
            done = items.len() - if last < FEWEST { last } else { 0 };
            in_lanes(ifma, &items[..done], &mut answers[..done]);
        }
        for (item, answer) in items[done..].iter().zip(&mut answers[done..]) {
            *answer = by_library(item);
        }
    }
}
