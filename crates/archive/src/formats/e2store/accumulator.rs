//! The accumulator of an era: SSZ `hash_tree_root` of `List[HeaderRecord, 8192]`, where a record
//! is block hash and total difficulty after the block (portal network, historical hashes).

use blockmill_hashes::Sha256;

/// Blocks in a full era, and the most that one file holds.
pub const ERA_BLOCKS: usize = 8192;

/// Levels of the tree over [`ERA_BLOCKS`] leaves.
const DEPTH: usize = ERA_BLOCKS.trailing_zeros() as usize;

fn pair(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(left);
    hash.update(right);
    hash.finalize()
}

/// Builds the root one record at a time; holds one open node a level.
#[derive(Clone, Debug, Default)]
pub struct Accumulator {
    /// `open[k]` is a finished left subtree of 2^k records, present when bit k of `count` is set.
    open: [[u8; 32]; DEPTH + 1],
    count: usize,
}

impl Accumulator {
    /// Records so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// True when the era holds no further record.
    pub fn is_full(&self) -> bool {
        self.count == ERA_BLOCKS
    }

    /// Adds the next block: its hash, and the total difficulty after it, big-endian. False, and
    /// nothing is added, when the era is full.
    pub fn push(&mut self, hash: &[u8; 32], total_difficulty: &[u8; 32]) -> bool {
        if self.is_full() {
            return false;
        }
        let mut little_endian = *total_difficulty;
        little_endian.reverse();
        let mut node = pair(hash, &little_endian);
        let level = self.count.trailing_ones() as usize;
        for left in &self.open[..level] {
            node = pair(left, &node);
        }
        self.open[level] = node;
        self.count += 1;
        true
    }

    /// The root over the records so far.
    pub fn root(&self) -> [u8; 32] {
        let mut zero = [0; 32];
        let mut node = zero;
        for level in 0..DEPTH {
            node = if self.count >> level & 1 == 1 {
                pair(&self.open[level], &node)
            } else {
                pair(&node, &zero)
            };
            zero = pair(&zero, &zero);
        }
        if self.is_full() {
            node = self.open[DEPTH];
        }
        let mut length = [0; 32];
        length[..8].copy_from_slice(&(self.count as u64).to_le_bytes());
        pair(&node, &length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, with every leaf in memory.
    fn naive(records: &[([u8; 32], [u8; 32])]) -> [u8; 32] {
        let mut level: Vec<[u8; 32]> = vec![[0; 32]; ERA_BLOCKS];
        for (leaf, (hash, total)) in level.iter_mut().zip(records) {
            let mut little_endian = *total;
            little_endian.reverse();
            *leaf = pair(hash, &little_endian);
        }
        while level.len() > 1 {
            level = level.chunks(2).map(|two| pair(&two[0], &two[1])).collect();
        }
        let mut length = [0; 32];
        length[..8].copy_from_slice(&(records.len() as u64).to_le_bytes());
        pair(&level[0], &length)
    }

    #[test]
    fn agrees_with_the_definition() {
        let record = |i: usize| {
            let mut hash = [0x11; 32];
            hash[..8].copy_from_slice(&(i as u64).to_be_bytes());
            (hash, [i as u8; 32])
        };
        let records: Vec<_> = (0..ERA_BLOCKS).map(record).collect();
        let mut accumulator = Accumulator::default();
        for count in 0..=ERA_BLOCKS {
            if [0, 1, 5, 4096, 8191, 8192].contains(&count) {
                assert_eq!(accumulator.root(), naive(&records[..count]), "{count} records");
            }
            if let Some((hash, total)) = records.get(count) {
                assert!(accumulator.push(hash, total));
            }
        }
        assert!(accumulator.is_full());
        assert!(!accumulator.push(&[0; 32], &[0; 32]));
    }
}
