//! The state trie (`pkg/core/mpt`): one root over contract storage for each block.

use super::Change;
use crate::types::UInt256;
use blockmill_hashes::ManySha256;
use blockmill_trie::codec::Neo;
use blockmill_trie::update::{Changes, Error, Forest, TrieId, Update};

/// The trie over contract storage, all of it in memory.
#[derive(Debug)]
pub struct StateTrie {
    forest: Forest<Neo>,
    trie: TrieId,
    /// Its root; zero without leaves.
    root: UInt256,
}

impl StateTrie {
    /// A trie without leaves, whose nodes are hashed by `hasher`.
    ///
    /// # Errors
    /// Never fails: a new forest has room for a trie.
    pub fn new(hasher: ManySha256) -> Result<Self, Error> {
        let mut forest = Forest::new(Neo::with_hasher(hasher));
        let trie = forest.create()?;
        Ok(Self { forest, trie, root: UInt256::ZERO })
    }

    /// The root after the last block.
    #[must_use]
    pub fn root(&self) -> UInt256 {
        self.root
    }

    /// Applies the changes of a block, as [`super::State::end_block`] returns them. Returns the
    /// root after it.
    ///
    /// # Errors
    /// Returns an error if the trie exceeds its address space.
    pub fn apply(&mut self, changes: &[Change]) -> Result<UInt256, Error> {
        let updates = self.updates(changes);
        self.forest.update(&Changes { updates: &updates, ..Changes::default() })?;
        self.root = UInt256(self.forest.root(self.trie)?);
        Ok(self.root)
    }

    /// Applies the changes of several blocks. Returns the root after each. The nodes of all
    /// versions are hashed together, which fills the lanes even if each block changes little.
    ///
    /// # Errors
    /// Returns the errors of [`StateTrie::apply`].
    pub fn apply_group<B: AsRef<[Change]>>(&mut self, blocks: &[B]) -> Result<Vec<UInt256>, Error> {
        let updates: Vec<Vec<Update<'_>>> =
            blocks.iter().map(|changes| self.updates(changes.as_ref())).collect();
        let changes: Vec<Changes<'_>> =
            updates.iter().map(|updates| Changes { updates, ..Changes::default() }).collect();
        let groups = self.forest.update_group(&changes)?;
        // a block that changes nothing has the root of the one before
        let mut roots = Vec::with_capacity(groups.len());
        for group in groups {
            let changed = group.iter().find(|(trie, _)| *trie == self.trie);
            self.root = changed.map_or(self.root, |(_, root)| UInt256(*root));
            roots.push(self.root);
        }
        Ok(roots)
    }

    fn updates<'a>(&self, changes: &'a [Change]) -> Vec<Update<'a>> {
        let update = |(key, value): &'a Change| Update {
            trie: self.trie,
            key: key.as_slice(),
            value: value.as_deref(),
        };
        changes.iter().map(update).collect()
    }

    /// The value of a key in the trie.
    ///
    /// # Errors
    /// Never fails while the whole trie is in memory.
    pub fn get(&self, key: &super::StorageKey) -> Result<Option<Vec<u8>>, Error> {
        self.forest.get(self.trie, key.as_slice())
    }
}
