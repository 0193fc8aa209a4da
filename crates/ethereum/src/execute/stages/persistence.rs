//! When a state on disk is written, and where it is during a run that keeps no state.

use crate::commit::executed_store::{ExecutedStore, LogValues};
use crate::error::Error;
use crate::import::batch::Batch;
use crate::settings::Settings;
use crate::state::{DiskOptions, DiskState, SharedState, StateKind, Tries};
use blockmill_pipeline::Flow;
use blockmill_store::{Store, StoreOptions};
use tempfile::TempDir;

/// Where a state on disk is kept.
pub(super) enum Persistence {
    /// The state is in memory.
    Memory,
    /// The state is a part of the store. When it has enough changes, the commit of a chunk writes
    /// it. No later chunk is rooted until then, so that the state is that of the last block.
    Store {
        /// Blocks since the state was written; `None` if it never was.
        since: Option<u64>,
        /// Limit of `since`.
        depth: u64,
    },
    /// The state is in a temporary folder, which is removed after the run.
    Scratch(Box<Scratch>),
}

/// A store that contains a state only.
pub(super) struct Scratch {
    store: Store,
    _folder: TempDir,
}

impl Persistence {
    /// Chooses by the settings and the store of the run, if any. Returns the state, too, if it is
    /// on disk.
    ///
    /// # Errors
    /// [`Error::Setting`] for options that contradict the store; [`Error::Store`] if a temporary
    /// store cannot be created.
    pub fn begin(
        settings: &Settings,
        threads: usize,
        store: Option<&ExecutedStore>,
    ) -> Result<(Self, Option<SharedState>), Error> {
        let kind = settings.state;
        let has_state = |store: &ExecutedStore| store.facts().is_some();
        if let Some(store) = store
            && store.kind() != kind
            && (has_state(store) || settings.log != LogValues::None)
        {
            let expected = format!("{}, as this store keeps it", store.kind());
            return Err(Error::Setting { expected, found: kind.to_string() });
        }
        if let Some(store) = store
            && let Some(kept) = store.disk().and_then(|disk| disk.read().flat_store())
            && kept != settings.flat_store
            && (has_state(store) || settings.log != LogValues::None)
        {
            let expected = format!("{kept}, as this store keeps it");
            let found = settings.flat_store.to_string();
            return Err(Error::Setting { expected, found });
        }
        match store {
            _ if kind == StateKind::Memory => Ok((Self::Memory, None)),
            Some(store) if settings.log != LogValues::None => {
                let depth = store.limits().depth;
                Ok((Self::Store { since: None, depth }, store.disk().cloned()))
            }
            Some(store) if has_state(store) => {
                let expected = format!("{} with {kind}", LogValues::Both);
                Err(Error::Setting { expected, found: LogValues::None.to_string() })
            }
            // no state is kept after the run
            _ => {
                let (scratch, state) = Scratch::new(settings, threads)?;
                Ok((Self::Scratch(Box::new(scratch)), Some(state)))
            }
        }
    }

    /// Reads from the store when its state was written last.
    pub fn resume(&mut self, store: Option<&ExecutedStore>) {
        if let (Self::Store { since, .. }, Some(store)) = (self, store)
            && let Some(facts) = store.facts()
        {
            *since = facts.checkpoint.map(|number| facts.block - number);
        }
    }

    /// Called after the roots of a chunk, if all are right. Writes a temporary state if it has
    /// enough changes. For the state of a store, returns a barrier if the commit of this chunk
    /// should write it.
    ///
    /// # Errors
    /// [`Error::Store`] if a temporary state cannot be written.
    pub fn after(&mut self, tries: &Tries, batch: &mut Batch) -> Result<Flow, Error> {
        batch.executed.writes_state = false;
        let Some(disk) = tries.disk() else { return Ok(Flow::Continue) };
        match self {
            Self::Memory => {}
            Self::Store { since, depth } => {
                let blocks = batch.executed.blocks.len() as u64;
                let now = since.map(|since| since + blocks);
                let is_due = now.is_none_or(|now| now >= *depth) || disk.read().wants_commit();
                *since = if is_due { Some(0) } else { now };
                if is_due && blocks > 0 {
                    batch.executed.writes_state = true;
                    return Ok(Flow::Barrier);
                }
            }
            Self::Scratch(scratch) => {
                let mut disk = disk.write();
                if disk.wants_commit() {
                    disk.commit_with(vec![], |parts| scratch.store.commit(parts, &[]))?;
                }
            }
        }
        Ok(Flow::Continue)
    }
}

impl Scratch {
    fn new(settings: &Settings, threads: usize) -> Result<(Self, SharedState), Error> {
        let folder = TempDir::with_prefix("blockmill-state-").map_err(|source| {
            let path = std::env::temp_dir();
            blockmill_store::Error::Io { action: "create", path, source }
        })?;
        let mut opening = Store::open(folder.path(), &StoreOptions::default())?;
        let options = settings.disk(DiskOptions::MEMORY, threads);
        let state = DiskState::open(&mut opening, folder.path(), settings.state, &options)?;
        let (store, _) = opening.finish()?;
        let Some(state) = state else { return Err(Error::Empty) };
        Ok((Self { store, _folder: folder }, SharedState::new(state)))
    }
}
