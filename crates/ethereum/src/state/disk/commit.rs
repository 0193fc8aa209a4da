//! When a state on disk is written, and the commit that it is a part of.

use super::{Design, DiskError, DiskState};
use crate::state::StateError;
use blockmill_store::CommitPart;

impl DiskState {
    /// Has the parts committed by `act`, with others of the same store.
    ///
    /// # Errors
    /// Those of `act`, and of what is beside the store: it must be opened again then.
    pub fn commit_with<'p, T>(
        &'p mut self,
        mut others: Vec<CommitPart<'p>>,
        act: impl FnOnce(&mut [CommitPart<'_>]) -> blockmill_store::Result<T>,
    ) -> blockmill_store::Result<T> {
        others.push((&mut self.codes).into());
        match &mut self.design {
            Design::Pages(pages) => {
                others.push((&mut **pages).into());
                act(&mut others)
            }
            Design::FlatTrie(state) => state.commit(|own| {
                // for as long as all of them are there
                let mut all = own;
                all.extend(others);
                act(&mut all)
            }),
        }
    }

    /// Is it time to commit?
    #[must_use]
    pub fn wants_commit(&self) -> bool {
        self.codes.wants_flush()
            || match &self.design {
                Design::Pages(pages) => pages.buffer_bytes() >= self.memory_bytes / 4,
                Design::FlatTrie(state) => state.wants_flush(),
            }
    }

    /// Writes changes out now, so that they take no memory until the commit that names them.
    ///
    /// # Errors
    /// Those of the system. The store must be opened again then.
    pub fn spill(&mut self) -> Result<(), StateError> {
        let written = self.codes.spill().and_then(|()| match &mut self.design {
            Design::Pages(pages) => pages.spill(),
            Design::FlatTrie(state) => state.spill(),
        });
        Ok(written.map_err(DiskError::from)?)
    }
}
