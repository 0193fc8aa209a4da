//! Merkle roots of transaction ids, computed level by level in SHA-256 lanes.

use crate::Hash;
use blockmill_hashes::ManySha256;

/// A root, and whether another list may have the same root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The root; zero without leaves.
    pub hash: Hash,
    /// Whether two equal neighbours are hashed together. Then the list without the second one may
    /// have the same root (CVE-2012-2459).
    pub repeated: bool,
}

/// Computes merkle roots. Keeps its memory for the next ones.
#[derive(Clone, Debug)]
pub struct Merkle {
    hasher: ManySha256,
    level: Vec<Hash>,
    next: Vec<Hash>,
}

impl Merkle {
    /// Creates an instance for lists of any length.
    #[must_use]
    pub fn new(hasher: ManySha256) -> Self {
        Self { hasher, level: Vec::new(), next: Vec::new() }
    }

    /// The root of `leaves`. A level with an odd number of nodes repeats the last one.
    pub fn root(&mut self, leaves: &[Hash]) -> Root {
        let (&[hash] | &[hash, ..]) = leaves else {
            return Root { hash: Hash::default(), repeated: false };
        };
        if leaves.len() == 1 {
            return Root { hash, repeated: false };
        }
        let mut repeated = self.hash_level(leaves);
        while self.next.len() > 1 {
            std::mem::swap(&mut self.level, &mut self.next);
            let level = std::mem::take(&mut self.level);
            repeated |= self.hash_level(&level);
            self.level = level;
        }
        Root { hash: self.next[0], repeated }
    }

    /// Writes the level above `nodes` to `next`. Returns whether a pair has two equal halves.
    fn hash_level(&mut self, nodes: &[Hash]) -> bool {
        let (pairs, _) = nodes.as_flattened().as_chunks::<64>();
        self.next.resize(pairs.len(), Hash::default());
        self.hasher.sha256d_64(pairs, &mut self.next);
        if let (1, Some(last)) = (nodes.len() % 2, nodes.last()) {
            self.next.push(blockmill_hashes::sha256d([*last, *last].as_flattened()));
        }
        nodes.as_chunks::<2>().0.iter().any(|[left, right]| left == right)
    }
}
