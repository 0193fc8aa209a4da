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

/// Hashes of a proof: the total difficulty of the block, the siblings up to the root of the tree,
/// and the number of records.
const BRANCH: usize = 1 + DEPTH + 1;

/// The accumulator that a proof of block `index` of an era gives, from the hash of the block.
/// `None` if the proof has another length (portal network,
/// `BlockProofHistoricalHashesAccumulator`).
pub fn proven(hash: &[u8; 32], index: usize, proof: &[u8]) -> Option<[u8; 32]> {
    let (branch, rest) = proof.as_chunks::<32>();
    let [total, siblings @ .., length] = branch else { return None };
    if branch.len() != BRANCH || !rest.is_empty() {
        return None;
    }
    let mut node = pair(hash, total);
    for (level, sibling) in siblings.iter().enumerate() {
        node = match index >> level & 1 {
            0 => pair(&node, sibling),
            _ => pair(sibling, &node),
        };
    }
    Some(pair(&node, length))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    type Record = ([u8; 32], [u8; 32]);

    /// The definition, with every leaf in memory.
    fn naive(records: &[Record]) -> [u8; 32] {
        pair(&levels(records)[DEPTH][0], &length(records))
    }

    /// The nodes of the tree, leaves first.
    fn levels(records: &[Record]) -> Vec<Vec<[u8; 32]>> {
        let mut level: Vec<[u8; 32]> = vec![[0; 32]; ERA_BLOCKS];
        for (leaf, (hash, total)) in level.iter_mut().zip(records) {
            *leaf = pair(hash, &reversed(total));
        }
        let mut levels = vec![level];
        while levels[levels.len() - 1].len() > 1 {
            let last = &levels[levels.len() - 1];
            levels.push(last.chunks(2).map(|two| pair(&two[0], &two[1])).collect());
        }
        levels
    }

    fn reversed(total: &[u8; 32]) -> [u8; 32] {
        let mut little_endian = *total;
        little_endian.reverse();
        little_endian
    }

    fn length(records: &[Record]) -> [u8; 32] {
        let mut length = [0; 32];
        length[..8].copy_from_slice(&(records.len() as u64).to_le_bytes());
        length
    }

    fn record(i: usize) -> Record {
        let mut hash = [0x11; 32];
        hash[..8].copy_from_slice(&(i as u64).to_be_bytes());
        (hash, [i as u8; 32])
    }

    /// The proof of record `index`, with every node in memory.
    pub(crate) fn proof(records: &[Record], index: usize) -> Vec<u8> {
        let levels = levels(records);
        let siblings = (0..DEPTH).map(|level| levels[level][index >> level ^ 1]);
        let (total, length) = (reversed(&records[index].1), length(records));
        [total].into_iter().chain(siblings).chain([length]).flatten().collect()
    }

    #[test]
    fn a_proof_leads_to_the_accumulator_and_a_changed_one_does_not() {
        for count in [1, 55, ERA_BLOCKS] {
            let records: Vec<_> = (0..count).map(record).collect();
            let root = naive(&records);
            for index in [0, count / 3, count - 1] {
                let (hash, mut proof) = (&records[index].0, proof(&records, index));
                assert_eq!(proven(hash, index, &proof), Some(root), "{index} of {count}");
                assert_ne!(proven(hash, index ^ 1, &proof), Some(root));
                assert_eq!(proven(hash, index, &proof[1..]), None);
                for at in 0..proof.len() {
                    proof[at] ^= 1;
                    assert_ne!(proven(hash, index, &proof), Some(root), "byte {at}");
                    proof[at] ^= 1;
                }
            }
        }
    }

    #[test]
    fn agrees_with_the_definition() {
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
