//! Builds every node of the state trie from contract storage in key order. Only the branches on the
//! path to the current key are in memory.
//!
//! The parent of a leaf is the branch at the longer of the two prefixes that its key shares with
//! the previous and the next key. A branch is complete when the next key leaves it.

use super::{NODE, key_of};
use crate::error::Error;
use crate::types::UInt256;
use blockmill_hashes::sha256;
use blockmill_leveldb::Sorter;
use blockmill_trie::codec::{BranchParts, Codec, LeafParts, Neo};

/// The child of a branch for the key that ends at it.
const OWN: usize = 16;
/// Precedes the reference count of an active node (`IsActiveValue`).
const ACTIVE: u8 = 1;

/// Combines two values of a node: adds their reference counts.
pub(crate) fn add_references(value: &mut [u8], other: &[u8]) {
    if let (Some(count), Some(more)) = (value.last_chunk_mut(), other.last_chunk()) {
        let sum = u32::from_le_bytes(*count).saturating_add(u32::from_le_bytes(*more));
        *count = sum.to_le_bytes();
    }
}

/// A branch that is not complete.
struct OpenBranch {
    /// Its depth in nibbles.
    depth: usize,
    children: [Option<[u8; 32]>; 17],
}

/// Builds the nodes from the pairs, each with its reference count (`KeepOnlyLatestState: true`).
pub(crate) struct Nodes<'a> {
    into: &'a mut Sorter,
    codec: Neo,
    open: Vec<OpenBranch>,
    /// The last pair, its key in nibbles. The next key determines its parent.
    last: Option<(Vec<u8>, Vec<u8>)>,
    /// Nibbles that its key shares with the previous key.
    shared: Option<usize>,
    root: UInt256,
    node: Vec<u8>,
}

impl<'a> Nodes<'a> {
    /// Begins a trie.
    pub fn new(into: &'a mut Sorter) -> Self {
        let (codec, open, node) = (Neo::new(), vec![], vec![]);
        Self { into, codec, open, last: None, shared: None, root: UInt256::ZERO, node }
    }

    /// Adds the next pair.
    ///
    /// # Errors
    /// Returns the error of the sorter.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let key: Vec<u8> = key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
        self.attach(Some(&key))?;
        self.last = Some((key, value.to_vec()));
        Ok(())
    }

    /// Completes the trie. Returns its root.
    ///
    /// # Errors
    /// Returns the error of the sorter.
    pub fn finish(mut self) -> Result<UInt256, Error> {
        self.attach(None)?;
        Ok(self.root)
    }

    /// Adds the leaf of the last pair, and completes the branches that end with it.
    fn attach(&mut self, next: Option<&[u8]>) -> Result<(), Error> {
        let Some((key, value)) = self.last.take() else { return Ok(()) };
        let shared = |next: &[u8]| key.iter().zip(next).take_while(|(a, b)| a == b).count();
        let after = next.map(shared);
        let parent = self.shared.max(after);
        self.shared = after;
        self.codec.leaf(&LeafParts { key: &[], depth: 0, value: [&value, &[]] }, &mut self.node);
        let leaf = self.put()?;
        self.place(leaf, &key, parent, key.len())?;
        while let Some(branch) = self.open.pop_if(|open| Some(open.depth) > after) {
            let parent = self.open.last().map(|open| open.depth).max(after);
            let mask = (0..17).filter(|slot| branch.children[*slot].is_some());
            let mask = mask.fold(0, |mask, slot| mask | 1 << slot);
            let references: Vec<[u8; 32]> = branch.children.iter().flatten().copied().collect();
            let parts = BranchParts { mask, inline: 0, references: &references, value: [&[], &[]] };
            self.codec.branch(&parts, &mut self.node, |_, _| {});
            let hash = self.put()?;
            self.place(hash, &key, parent, branch.depth)?;
        }
        Ok(())
    }

    /// Links a node at `depth` of the path `key` to the branch at `parent`, or makes it the root.
    fn place(
        &mut self,
        mut hash: [u8; 32],
        key: &[u8],
        parent: Option<usize>,
        depth: usize,
    ) -> Result<(), Error> {
        let from = parent.map_or(0, |parent| parent + 1);
        if from < depth {
            self.codec.extension(&key[from..depth], &hash, false, &mut self.node);
            hash = self.put()?;
        }
        let Some(parent) = parent else {
            self.root = UInt256(hash);
            return Ok(());
        };
        if self.open.last().is_none_or(|open| open.depth != parent) {
            self.open.push(OpenBranch { depth: parent, children: [None; 17] });
        }
        // a key that ends at the branch has its own child slot
        let slot = key.get(parent).map_or(OWN, |half| usize::from(*half));
        if let Some(open) = self.open.last_mut() {
            open.children[slot] = Some(hash);
        }
        Ok(())
    }

    /// Puts the encoded node. Returns its hash.
    fn put(&mut self) -> Result<[u8; 32], Error> {
        let hash = sha256(&sha256(&self.node));
        self.node.push(ACTIVE);
        self.node.extend_from_slice(&1_u32.to_le_bytes());
        self.into.push(&key_of(NODE, &[&hash]), &self.node)?;
        self.node.clear();
        Ok(hash)
    }
}
