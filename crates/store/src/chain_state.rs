//! What the commits of a chain store carry in addition to the lengths of its parts.

use crate::{chain_store::ChainStore, error::Result, tip::Tip};

impl ChainStore {
    /// The last committed block; `None` in an empty store.
    pub fn tip(&self) -> Option<Tip> {
        (self.committed > 0).then_some(self.state.tip)
    }

    /// Number of the first block; `None` in an empty store.
    pub fn first(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.state.first)
    }

    /// Whether the importer added the first block, which the archive leaves out.
    pub fn is_first_added(&self) -> bool {
        self.state.first_added
    }

    /// Notes in an empty store whether the importer adds the first block, which the archive leaves
    /// out. The first commit keeps it.
    pub fn set_first_added(&mut self, added: bool) {
        if self.count() == 0 {
            self.state.first_added = added;
        }
    }

    /// The state that the last [`ChainStore::commit_with`] carried; empty when there was none.
    pub fn state_of_parts(&self) -> &[u8] {
        &self.state_of_parts
    }

    /// Sets the state of the parts next to the blocks. The next commits carry it, until a commit of
    /// parts replaces it.
    ///
    /// # Errors
    /// `ReadOnly` of [`Error`](crate::Error); `Mismatch` if `state` is longer than 512 KiB.
    pub fn set_state_of_parts(&mut self, state: &[u8]) -> Result<()> {
        self.check_parts(&[], state)?;
        state.clone_into(&mut self.state_of_parts);
        Ok(())
    }
}
