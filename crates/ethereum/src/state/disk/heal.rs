//! Healing of a state that is kept twice.

use super::{Design, DiskError, DiskState, of_tables};
use crate::Hash;
use crate::state::{FlatTrie, Healed, LostNode, StateError};

impl DiskState {
    /// Puts a piece of values and nodes right, each from the other ([`FlatTrie::heal`]); nothing of
    /// pages, which have each value once.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn heal(&mut self, piece: u8) -> Result<Healed, StateError> {
        let Self { design, dir, .. } = self;
        match design {
            Design::Pages(_) => Ok(Healed::default()),
            Design::FlatTrie(state) => {
                let healed = state.heal(piece);
                Ok(healed.map_err(|error| DiskError::from(of_tables(dir, error)))?)
            }
        }
    }

    /// Sets the state root to the one that a header has; whether it was another one
    /// ([`FlatTrie::trust_root`]).
    ///
    /// # Errors
    /// Those of the tables.
    pub fn trust_root(&mut self, root: &Hash) -> Result<bool, StateError> {
        let Self { design, dir, .. } = self;
        match design {
            Design::Pages(_) => Ok(false),
            Design::FlatTrie(state) => {
                let trusted = state.trust_root(root);
                Ok(trusted.map_err(|error| DiskError::from(of_tables(dir, error)))?)
            }
        }
    }

    /// What is damaged of its files and was left out ([`FlatTrie::damage`]).
    #[must_use]
    pub fn damage(&self) -> &[blockmill_store::Error] {
        self.flat_trie().map_or(&[], FlatTrie::damage)
    }

    /// The first nodes that could not be made again.
    #[must_use]
    pub fn lost(&self) -> &[LostNode] {
        self.flat_trie().map_or(&[], FlatTrie::lost)
    }

    fn flat_trie(&self) -> Option<&FlatTrie> {
        match &self.design {
            Design::Pages(_) => None,
            Design::FlatTrie(state) => Some(state),
        }
    }
}
