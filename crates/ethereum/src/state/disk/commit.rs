//! When a state on disk is written, and the commit that it is a part of.

use super::{DiskError, DiskState, Layout};
use crate::state::StateError;
use blockmill_store::CommitPart;

impl DiskState {
    /// Commits the parts by `act`, with other parts of the same store.
    ///
    /// # Errors
    /// Errors of `act`, and of RocksDB. The store must be opened again then.
    pub fn commit_with<'p, T>(
        &'p mut self,
        mut others: Vec<CommitPart<'p>>,
        act: impl FnOnce(&mut [CommitPart<'_>]) -> blockmill_store::Result<T>,
    ) -> blockmill_store::Result<T> {
        others.push((&mut self.codes).into());
        match &mut self.layout {
            Layout::Pages(pages) => {
                others.push((&mut **pages).into());
                act(&mut others)
            }
            Layout::FlatTrie(state) => state.commit(|own| {
                // for as long as all of them are there
                let mut all = own;
                all.extend(others);
                act(&mut all)
            }),
        }
    }

    /// Whether a commit is due.
    #[must_use]
    pub fn wants_commit(&self) -> bool {
        self.codes.wants_flush()
            || match &self.layout {
                Layout::Pages(pages) => pages.buffer_bytes() >= self.memory_bytes / 4,
                Layout::FlatTrie(state) => state.wants_flush(),
            }
    }

    /// Writes changes out now, so that they take no memory until the commit that names them.
    ///
    /// # Errors
    /// Those of the system. The store must be opened again then.
    pub fn spill(&mut self) -> Result<(), StateError> {
        let written = self.codes.spill().and_then(|()| match &mut self.layout {
            Layout::Pages(pages) => pages.spill(),
            Layout::FlatTrie(state) => state.spill(),
        });
        Ok(written.map_err(DiskError::from)?)
    }
}
