//! Many secp256k1 signatures at once: ECDSA (SEC 1), Schnorr (BIP340), and the keys of ECDSA
//! signatures.
//!
//! Only public data passes here. Nothing is constant in time, and nothing signs.

pub(crate) mod library;

use crate::arch::signatures::Ifma;

/// How signatures are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// One after the other, by libsecp256k1.
    Scalar,
    /// Eight in the lanes of a vector (AVX-512 IFMA), several vectors interleaved.
    Ifma,
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

/// With fewer signatures than this, libsecp256k1 is done sooner than a vector with idle lanes.
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
    /// process takes about a millisecond.
    #[must_use]
    pub fn with(variant: Variant) -> Option<Self> {
        match variant {
            Variant::Scalar => Some(Self::scalar()),
            Variant::Ifma => Ifma::new().map(|ifma| Signatures(Way::Ifma(ifma))),
        }
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
        match self.lanes(checks.len()) {
            Some(ifma) => ifma.ecdsa(checks, valid),
            None => one_by_one(checks, valid, library::ecdsa),
        }
    }

    /// Writes to `valid[i]` whether check `i` holds.
    ///
    /// # Panics
    /// When `valid` has not as many places as there are checks.
    pub fn schnorr(&self, checks: &[SchnorrCheck], valid: &mut [bool]) {
        assert_eq!(checks.len(), valid.len(), "one place for each verdict");
        match self.lanes(checks.len()) {
            Some(ifma) => ifma.schnorr(checks, valid),
            None => one_by_one(checks, valid, library::schnorr),
        }
    }

    /// Writes to `keys[i]` the coordinates x and y of the key of signature `i`, 32 bytes each, or
    /// `None` where it has no key.
    ///
    /// # Panics
    /// When `keys` has not as many places as there are signatures.
    pub fn recover(&self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) {
        assert_eq!(signatures.len(), keys.len(), "one place for each key");
        match self.lanes(signatures.len()) {
            Some(ifma) => ifma.recover(signatures, keys),
            None => one_by_one(signatures, keys, library::recover),
        }
    }

    /// The lanes for so many signatures.
    fn lanes(&self, count: usize) -> Option<Ifma> {
        match self.0 {
            Way::Ifma(ifma) if count >= FEWEST => Some(ifma),
            _ => None,
        }
    }
}

fn one_by_one<T, U>(items: &[T], answers: &mut [U], answer: impl Fn(&T) -> U) {
    for (item, place) in items.iter().zip(answers) {
        *place = answer(item);
    }
}
