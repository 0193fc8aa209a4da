//! A state that is kept twice, made whole again: damaged bytes count as absent, and what one copy
//! lacks is made from the other.

use super::on_disk::state_error;
use super::{ExecutedStore, Facts};
use crate::fault::Error;
use crate::state::{DiskOptions, Healed, LostNode, SharedState, StateKind};
use blockmill_pipeline::Cancel;
use blockmill_store::Options;
use std::path::Path;

/// Pieces of a state that are healed one after the other.
pub const HEAL_PIECES: u64 = 256;

/// What healing a state came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Healing {
    /// What was put right.
    pub healed: Healed,
    /// Corrupt places of files. They were replaced, unless something is lost or the run was
    /// stopped: then these files are as they were.
    pub damaged: Vec<String>,
    /// The first nodes that cannot be made again.
    pub lost: Vec<LostNode>,
    /// All was inspected.
    pub is_whole: bool,
}

impl ExecutedStore {
    /// Opens the store in `dir` for [`ExecutedStore::heal`]: what is damaged of flat values and
    /// nodes is left out.
    ///
    /// # Errors
    /// Those of [`ExecutedStore::open`].
    pub fn open_to_heal(dir: &Path) -> Result<Self, Error> {
        let disk = DiskOptions { salvages: true, ..DiskOptions::DEFAULT };
        let limits = super::Limits { disk, ..super::Limits::default() };
        Ok(Self::open(dir, &Options::default(), limits)?.0)
    }

    /// Puts the flat values and the nodes of the tries right, each from the other, where a state is
    /// kept in both (`state=flat+trie`); `watch` is told after each of [`HEAL_PIECES`] pieces.
    ///
    /// First the state as of the last commit, up to the root in the header of its block, then what
    /// the log has since. Where files are damaged, they are replaced in one commit at the end, and
    /// only if nothing is lost: what is lost stays damaged. Otherwise what was put right is
    /// committed when the memory for changes is full, too. Who begins anew after a stop finds less
    /// to do.
    ///
    /// # Errors
    /// [`Error::Unwind`] where the state is not kept twice; damage of other files; those of the
    /// system. The store must be opened again then, and after a healing that is not whole or lost
    /// something.
    pub fn heal(&mut self, cancel: &Cancel, mut watch: impl FnMut(u64)) -> Result<Healing, Error> {
        let disk = self.disk().filter(|disk| disk.read().kind() == StateKind::FlatTrie).cloned();
        let (Some(disk), Some(facts)) = (disk, self.facts) else {
            let expected = "a store with values and nodes of its state (state=flat+trie)".into();
            let found = match self.facts {
                Some(_) => format!("{}, which keeps each value once", self.kind()),
                None => "a store without a state".into(),
            };
            return Err(Error::Unwind { expected, found });
        };
        let damaged: Vec<_> = disk.read().damage().iter().map(ToString::to_string).collect();
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

    /// Takes the state root as of the last commit from the header of its block, where the store has
    /// it; whether the state had another one.
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
