//! Healing of a state that is kept twice.

use super::{DiskError, DiskState, Layout, flat_trie_error};
use crate::Hash;
use crate::state::{FlatTrie, Healed, LostNode, StateError};

impl DiskState {
    /// Repairs a piece of a flat+trie state ([`FlatTrie::heal`]). Does nothing for pages, which are
    /// not redundant.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn heal(&mut self, piece: u8) -> Result<Healed, StateError> {
        let Self { layout, dir, .. } = self;
        match layout {
            Layout::Pages(_) => Ok(Healed::default()),
            Layout::FlatTrie(state) => {
                let healed = state.heal(piece);
                Ok(healed.map_err(|error| DiskError::from(flat_trie_error(dir, error)))?)
            }
        }
    }

    /// Sets the state root to the one that a header has; whether it was another one
    /// ([`FlatTrie::trust_root`]).
    ///
    /// # Errors
    /// Those of the tables.
    pub fn trust_root(&mut self, root: &Hash) -> Result<bool, StateError> {
        let Self { layout, dir, .. } = self;
        match layout {
            Layout::Pages(_) => Ok(false),
            Layout::FlatTrie(state) => {
                let trusted = state.trust_root(root);
                Ok(trusted.map_err(|error| DiskError::from(flat_trie_error(dir, error)))?)
            }
        }
    }

    /// What is damaged of its files and was left out ([`FlatTrie::corruption`]).
    #[must_use]
    pub fn corruption(&self) -> &[blockmill_store::Error] {
        self.flat_trie().map_or(&[], FlatTrie::corruption)
    }

    /// The first nodes that could not be rebuilt.
    #[must_use]
    pub fn lost(&self) -> &[LostNode] {
        self.flat_trie().map_or(&[], FlatTrie::lost)
    }

    fn flat_trie(&self) -> Option<&FlatTrie> {
        match &self.layout {
            Layout::Pages(_) => None,
            Layout::FlatTrie(state) => Some(state),
        }
    }
}
