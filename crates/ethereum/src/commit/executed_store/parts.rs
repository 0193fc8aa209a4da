//! The parts of a store with the state: the log, and the checkpoint or the state on disk.

use super::Limits;
use super::on_disk::state_error;
use crate::error::Error;
use crate::state::{DiskState, SharedState, StateKind};
use blockmill_store::{
    ChainStore, CommitPart, Compression, Opening, Segment, Table, TableOptions, Tip,
};
use std::path::Path;

/// Names of the parts besides the blocks; a state on disk names its own.
const LOGS: [&str; 2] = ["state-log-0", "state-log-1"];
pub(super) const TABLE: &str = "state";

/// Returns whether a part of a store belongs to the state or its log.
#[must_use]
pub fn is_state_part(name: &str) -> bool {
    name == TABLE || LOGS.contains(&name) || DiskState::is_part(name)
}

/// See the module's text.
pub(crate) struct Parts {
    /// Where the state is.
    pub kind: StateKind,
    pub state: StatePart,
    pub logs: [Segment; 2],
}

/// The state as of the last checkpoint.
pub(crate) enum StatePart {
    /// A checkpoint of the state that is in memory.
    Table(Box<Table>),
    /// The state, with what changed since the last commit in memory.
    Disk(SharedState),
}

impl Parts {
    /// Opens or creates them.
    pub fn open(
        opening: &mut Opening,
        dir: &Path,
        limits: &Limits,
    ) -> blockmill_store::Result<Self> {
        let there = match opening.has(TABLE) {
            true => Some(StateKind::Memory),
            false => StateKind::from_parts(|name| opening.has(name)),
        };
        let kind = there.unwrap_or(limits.state);
        let state = match DiskState::open(opening, dir, kind, &limits.disk)? {
            Some(disk) => StatePart::Disk(SharedState::new(disk)),
            None => {
                let options = TableOptions {
                    memory_bytes: limits.memory_bytes,
                    cache: None,
                    prefix_bytes: 0,
                    counted: false,
                    compression: Compression::None,
                };
                StatePart::Table(Box::new(opening.table(TABLE, &options)?))
            }
        };
        let logs = [
            opening.segment(LOGS[0], limits.file_bytes)?,
            opening.segment(LOGS[1], limits.file_bytes)?,
        ];
        Ok(Self { kind, state, logs })
    }

    /// The state on disk; `None` for a state in memory.
    pub fn disk(&self) -> Option<&SharedState> {
        match &self.state {
            StatePart::Table(_) => None,
            StatePart::Disk(disk) => Some(disk),
        }
    }

    /// Calls `act` with the logs, and the checkpoint or the state where `all` says so.
    fn with<T>(
        &mut self,
        all: bool,
        act: impl FnOnce(&mut [CommitPart<'_>]) -> Result<T, blockmill_store::Error>,
    ) -> Result<T, Error> {
        let Self { state, logs, .. } = self;
        let mut logs: Vec<_> = logs.iter_mut().map(CommitPart::Segment).collect();
        let done = match state {
            _ if !all => act(&mut logs),
            StatePart::Table(table) => {
                logs.push((&mut **table).into());
                act(&mut logs)
            }
            StatePart::Disk(disk) => disk.write().commit_with(logs, act),
        };
        Ok(done?)
    }

    /// Commits blocks and log; durably on request, or if the genesis state is not on disk yet.
    pub fn commit(
        &mut self,
        blocks: &mut ChainStore,
        tip: &Tip,
        state: &[u8],
        durable: bool,
    ) -> Result<(), Error> {
        match &self.state {
            StatePart::Table(table) if table.has_changed() => self.commit_all(blocks, tip, state),
            _ if durable => self.with(false, |parts| blocks.commit_with(tip, parts, state)),
            _ => self.with(false, |parts| blocks.commit_light_with(tip, parts, state)),
        }
    }

    /// Writes most of what changed of a state on disk ahead of the commit that names it.
    pub fn stage(&self) -> Result<(), Error> {
        match self.disk() {
            Some(disk) => disk.stage().map_err(state_error),
            None => Ok(()),
        }
    }

    /// Commits everything, durably.
    pub fn commit_all(
        &mut self,
        blocks: &mut ChainStore,
        tip: &Tip,
        state: &[u8],
    ) -> Result<(), Error> {
        self.with(true, |parts| blocks.commit_with(tip, parts, state))
    }

    /// Makes `tip` the last block, with the present parts as the state after it.
    pub fn truncate_after(
        &mut self,
        blocks: &mut ChainStore,
        tip: &Tip,
        state: &[u8],
        all: bool,
    ) -> Result<(), Error> {
        self.with(all, |parts| blocks.truncate_after_with(tip, parts, state))
    }
}
