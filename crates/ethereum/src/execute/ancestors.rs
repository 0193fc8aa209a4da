//! Hashes of the last blocks, for BLOCKHASH.

use crate::Hash;
use std::collections::VecDeque;

/// How many blocks back BLOCKHASH goes (Yellow Paper, appendix H).
const LAST: usize = 256;

/// The hashes of the last 256 blocks.
#[derive(Clone, Debug, Default)]
pub struct Ancestors {
    /// Number of the last one.
    number: u64,
    /// Oldest first.
    hashes: VecDeque<Hash>,
}

impl Ancestors {
    /// Adds a block. A block that does not follow the last one replaces all.
    pub fn push(&mut self, number: u64, hash: Hash) {
        if self.number.checked_add(1) != Some(number) {
            self.hashes.clear();
        }
        if self.hashes.len() == LAST {
            self.hashes.pop_front();
        }
        self.number = number;
        self.hashes.push_back(hash);
    }

    /// The hash of a block; `None` if it is not one of these.
    pub fn hash_of(&self, number: u64) -> Option<Hash> {
        let back = usize::try_from(self.number.checked_sub(number)?).ok()?;
        let at = self.hashes.len().checked_sub(back.checked_add(1)?)?;
        self.hashes.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_256_blocks_are_known() {
        let mut ancestors = Ancestors::default();
        assert_eq!(ancestors.hash_of(0), None);
        let hash = |number: u64| [number as u8; 32];
        (0..=300).for_each(|number| ancestors.push(number, hash(number)));
        assert_eq!(ancestors.hash_of(300), Some(hash(300)));
        assert_eq!(ancestors.hash_of(45), Some(hash(45)));
        assert_eq!((ancestors.hash_of(44), ancestors.hash_of(301)), (None, None));
        ancestors.push(300, [9; 32]);
        assert_eq!((ancestors.hash_of(300), ancestors.hash_of(299)), (Some([9; 32]), None));
    }
}
