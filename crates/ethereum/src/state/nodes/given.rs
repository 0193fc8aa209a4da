//! The nodes and codes of a stateless witness: two columns, hashed in lanes, each with an index.

use crate::Hash;
use blockmill_archive::Column;
use blockmill_hashes::ManyKeccak;
use hashbrown::HashMap;

/// Trie nodes and codes by their hashes.
#[derive(Debug)]
pub(super) struct Given {
    nodes: Hashed,
    codes: Hashed,
}

/// Items of a column by their Keccak-256.
#[derive(Debug)]
struct Hashed {
    items: Column,
    places: HashMap<Hash, u32>,
}

impl Given {
    pub fn new(nodes: Column, codes: Column) -> Self {
        let hasher = ManyKeccak::detect();
        Self { nodes: Hashed::new(nodes, hasher), codes: Hashed::new(codes, hasher) }
    }

    /// The node with this hash.
    pub fn node(&self, hash: &Hash) -> Option<&[u8]> {
        self.nodes.get(hash)
    }

    /// The bytes of the code with this hash.
    pub fn code(&self, hash: &Hash) -> Option<&[u8]> {
        self.codes.get(hash)
    }

    /// Nodes and codes in the order in which they were given.
    pub fn columns(&self) -> (&Column, &Column) {
        (&self.nodes.items, &self.codes.items)
    }
}

impl Hashed {
    fn new(items: Column, hasher: ManyKeccak) -> Self {
        let mut hashes = vec![[0; 32]; items.len()];
        hasher.keccak256_column(&items.bytes, &items.ends, &mut hashes);
        Self { items, places: hashes.into_iter().zip(0..).collect() }
    }

    fn get(&self, hash: &Hash) -> Option<&[u8]> {
        self.places.get(hash).map(|place| self.items.get(*place as usize))
    }
}
