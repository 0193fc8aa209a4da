//! The work of a block.

use crate::header::{target, work};

/// The hashes that a block of these bits takes.
pub(super) fn work_of(bits: u32) -> u128 {
    target(bits).map_or(0, |target| work(target).saturating_to())
}

/// Work of the bits seen last, because a division of 256 bits costs as much as all other rules.
pub(super) struct WorkMemo([(u32, u128); 64]);

impl WorkMemo {
    pub fn new() -> Self {
        Self([(0, 0); 64])
    }

    #[inline]
    pub fn work(&mut self, bits: u32) -> u128 {
        let slots = self.0.len() as u32;
        let memo = &mut self.0[((bits ^ bits >> 8) % slots) as usize];
        if memo.0 != bits {
            *memo = (bits, work_of(bits));
        }
        memo.1
    }
}
