//! A type without values, in place of each type that this platform does not have. So each trait of
//! `arch` needs one implementation here, however many widths and platforms there are.

use core::convert::Infallible;

use super::Absorb;
use super::sha256::{Compress, States as Sha256States};
use crate::many::{States, Wide};

/// A CPU feature that this platform does not have. The field is private, so that the code of
/// callers, which is dead here, causes no warnings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absent(Infallible);

// a platform may use only one of these constructors
#[allow(dead_code)]
impl Absent {
    /// Returns `None`.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        None
    }

    /// Returns `None`.
    #[inline]
    pub(crate) fn for_one() -> Option<Self> {
        None
    }

    /// Returns `None`.
    #[inline]
    pub(crate) fn before_avx512() -> Option<Self> {
        None
    }
}

impl Absorb for Absent {
    fn absorb<'a, const RATE: usize>(
        self,
        _: &mut [u64; 25],
        _: impl Iterator<Item = &'a [u8; RATE]>,
    ) {
        match self.0 {}
    }
}

impl<const N: usize> Wide<N> for Absent {
    fn absorb(self, _: &mut States<N>, _: u8, _: &[&[u8]; N], _: usize) {
        match self.0 {}
    }

    fn keccak512_64(self, _: &mut [[u8; 64]; N]) {
        match self.0 {}
    }
}

impl<const N: usize> Compress<N> for Absent {
    fn compress(self, _: &mut Sha256States<N>, _: [&[[u8; 64]]; N]) {
        match self.0 {}
    }

    fn end_after_64(self, _: &mut Sha256States<N>) {
        match self.0 {}
    }

    fn hash_digests(self, _: &mut Sha256States<N>) {
        match self.0 {}
    }
}
