//! Repairs a flat+trie state from its redundant copy. Corrupt bytes count as missing.

use super::on_disk::state_error;
use super::{ExecutedStore, Facts};
use crate::error::Error;
use crate::state::{DiskOptions, Healed, LostNode, SharedState, StateKind};
use blockmill_pipeline::Cancel;
use blockmill_store::Options;
use std::path::Path;

/// Number of pieces of a state, which are repaired one by one.
pub const HEAL_PIECES: u64 = 256;

/// The result of repairing a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Healing {
    /// Counts of repairs.
    pub healed: Healed,
    /// Corrupt places of files. The files were replaced, unless data is lost or the run was
    /// cancelled: then they are unchanged.
    pub damaged: Vec<String>,
    /// The first nodes that cannot be rebuilt.
    pub lost: Vec<LostNode>,
    /// Whether all pieces were inspected.
    pub is_whole: bool,
}

impl ExecutedStore {
    /// Opens the store in `dir` for [`ExecutedStore::heal`]: what is damaged of flat values and
    /// nodes is left out.
    ///
    /// # Errors
    /// [`Error::Store`] if another process has the store open, or other parts are corrupt.
    pub fn open_to_heal(dir: &Path) -> Result<Self, Error> {
        let disk = DiskOptions { salvages: true, ..DiskOptions::DEFAULT };
        let limits = super::Limits { disk, ..super::Limits::default() };
        Ok(Self::open(dir, &Options::default(), limits)?.0)
    }

    /// Repairs the flat values and the trie nodes of a flat+trie state from each other. `watch`
    /// gets the number of finished pieces, of [`HEAL_PIECES`].
    ///
    /// Repairs the state of the last commit, up to the root in the header of its block, then
    /// applies the log since. Corrupt files are replaced in one commit at the end, if nothing is
    /// lost. Without corrupt files, repairs are also committed when the memory for changes is full,
    /// so that a later run has less to do.
    ///
    /// # Errors
    /// [`Error::KeptOnce`] where the state is not kept twice; corruption of other files; those of
    /// the system. The store must be opened again then, and after a healing that is not whole or
    /// lost something.
    pub fn heal(&mut self, cancel: &Cancel, mut watch: impl FnMut(u64)) -> Result<Healing, Error> {
        let disk = self.disk().filter(|disk| disk.read().kind() == StateKind::FlatTrie).cloned();
        let (Some(disk), Some(facts)) = (disk, self.facts) else {
            let found = match self.facts {
                Some(_) => format!("{}, which keeps each value once", self.kind()),
                None => "a store without a state".into(),
            };
            return Err(Error::KeptOnce { found });
        };
        let damaged: Vec<_> = disk.read().corruption().iter().map(ToString::to_string).collect();
        let mut healed = Healed::default();
        healed.nodes += u64::from(self.trust_header(&disk, &facts)?);
        let mut pieces = 0..=u8::MAX;
        for piece in pieces.by_ref().take_while(|_| !cancel.is_cancelled()) {
            let mut state = disk.write();
            healed.add(&state.heal(piece).map_err(state_error)?);
            match state.wants_commit() {
                true if damaged.is_empty() => {
                    drop(state);
                    self.commit_checkpoint(&facts)?;
                }
                true => state.spill().map_err(state_error)?,
                false => {}
            }
            watch(u64::from(piece) + 1);
        }
        let is_whole = !cancel.is_cancelled();
        let lost = disk.read().lost().to_vec();
        let mut healing = Healing { healed, damaged, lost, is_whole };
        if !healing.damaged.is_empty() && (healed.lost > 0 || !is_whole) {
            return Ok(healing);
        }
        self.commit_checkpoint(&facts)?;
        if is_whole && healed.lost == 0 && self.last_block_before_state().is_none() {
            healing.is_whole = self.redo_on_disk(&disk, cancel)?;
            if healing.is_whole {
                self.checkpoint_on_disk()?;
            }
        }
        Ok(healing)
    }

    /// Sets the state root of the last commit to the one in the header of its block, if the store
    /// has it. Returns whether it was another one.
    fn trust_header(&self, disk: &SharedState, facts: &Facts) -> Result<bool, Error> {
        let last = self.blocks.tip().map(|tip| tip.number);
        match facts.checkpoint.filter(|number| Some(*number) <= last) {
            Some(number) => {
                let root = self.root_of(number)?;
                disk.write().trust_root(&root).map_err(state_error)
            }
            None => Ok(false),
        }
    }

    /// Commits the state on disk, which is the one as of the last commit.
    fn commit_checkpoint(&mut self, facts: &Facts) -> Result<(), Error> {
        match self.blocks.tip() {
            Some(tip) => self.parts.commit_all(&mut self.blocks, &tip, &facts.encode()),
            None => Ok(()),
        }
    }

    /// Commits the state on disk, which is the one after the last block.
    fn checkpoint_on_disk(&mut self) -> Result<(), Error> {
        match self.blocks.tip() {
            Some(tip) => self.commit(&tip, true),
            None => Ok(()),
        }
    }
}
