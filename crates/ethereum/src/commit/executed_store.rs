//! The executed state on disk: a checkpoint, and a log of what each block changed since.
//!
//! Both are parts of the store of the blocks, under one manifest, so that blocks and state are
//! committed together. The *log* is two segments that are used alternately: a record for each block
//! with the new values and, for rollback, the old ones. The *checkpoint* is a checksummed table of
//! accounts, slots and codes. When the log since the last checkpoint exceeds a share of it, or the
//! rollback depth, it is applied to the table in one durable commit. If the active segment has as
//! many blocks as the rollback depth, the other segment is emptied and becomes active.
//!
//! A state on disk (`state=pages`, `flat+trie`) is its own checkpoint. When it has enough changes,
//! the commit of the last block with changes in it commits it; later chunks wait for that
//! (`crate::execute::stages`).
//!
//! Recovery loads the checkpoint and applies the log since; the state root must be that of the
//! stored block. Blocks that were stored without a log are executed again. Bytes:
//! `docs/formats/state-log.md`.

mod adopt;
mod block_changes;
mod facts;
mod flat;
mod heal;
mod kept_state;
mod log;
mod on_disk;
mod parts;
mod past_state;
mod recover;
mod repair;
mod unwind;

pub use block_changes::{AccountRecord, BlockChanges, Malformed, SlotRecord};
pub(crate) use block_changes::{Input, put_account, put_number, put_word};
pub use facts::Facts;
pub use heal::{HEAL_PIECES, Healing};
pub use kept_state::KeptState;
pub use log::LogValues;
pub use parts::is_state_part;
pub(crate) use recover::{execute_stored, unready, unusable};
pub use repair::{StateAfter, repair};
pub use unwind::Unwound;

use crate::Hash;
use crate::error::Error;
use crate::state::{DiskOptions, SharedState, StateKind};
use blockmill_store::{ChainStore, Options, Recovery, Tip};
use parts::{Parts, StatePart};
use std::path::Path;

/// Limits and options of an executed store.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rollback depth: blocks that can be undone at least, and the most blocks between checkpoints.
    pub depth: u64,
    /// Least bytes of log between checkpoints.
    pub least_log: u64,
    /// Least bytes of log between checkpoints, as a fraction (one over this) of the checkpoint.
    pub share: u64,
    /// Bytes of a file of a new log.
    pub file_bytes: u64,
    /// Bytes of memory for the changes of a checkpoint.
    pub memory_bytes: usize,
    /// Where a new store keeps its state. An existing store keeps its kind.
    pub state: StateKind,
    /// How a state on disk is opened.
    pub disk: DiskOptions,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 10_000,
            least_log: 256 << 20,
            share: 2,
            file_bytes: 1 << 30,
            memory_bytes: 64 << 20,
            state: StateKind::Memory,
            disk: DiskOptions::DEFAULT,
        }
    }
}

/// A store of blocks and of the state after the last one.
pub struct ExecutedStore {
    /// The blocks.
    pub(crate) blocks: ChainStore,
    parts: Parts,
    /// Facts of the state, appended blocks included; `None` without a state.
    facts: Option<Facts>,
    limits: Limits,
}

impl ExecutedStore {
    /// Opens the store in `dir` for writing, or makes an empty one there. One that has only blocks
    /// stays so until there is a state; its commits say from now on where that will be.
    ///
    /// # Errors
    /// [`blockmill_store::Error::Locked`] if the store is open elsewhere;
    /// [`blockmill_store::Error::Corrupt`] if its parts or the facts of the state are corrupt.
    pub fn open(dir: &Path, options: &Options, limits: Limits) -> Result<(Self, Recovery), Error> {
        let ((blocks, recovery), parts) =
            ChainStore::open_with(dir, options, |opening| Parts::open(opening, dir, &limits))?;
        let mut store = Self::from_parts(blocks, parts, limits)?;
        let flat = Some(limits.disk.flat_store);
        let planned_kind = KeptState { kind: store.parts.kind, flat }.encode();
        if store.facts.is_none() && !planned_kind.is_empty() {
            store.blocks.set_state_of_parts(&planned_kind)?;
        }
        Ok((store, recovery))
    }

    /// Opens the store in `dir` as of its last commit, to be read.
    ///
    /// # Errors
    /// [`blockmill_store::Error::NoStore`] if there is no store;
    /// [`blockmill_store::Error::Corrupt`] if it is corrupt.
    pub fn open_read_only(dir: &Path) -> Result<Self, Error> {
        let limits = Limits::default();
        let ((blocks, _), parts) =
            ChainStore::open_read_only_with(dir, |opening| Parts::open(opening, dir, &limits))?;
        Self::from_parts(blocks, parts, limits)
    }

    fn from_parts(blocks: ChainStore, parts: Parts, limits: Limits) -> Result<Self, Error> {
        let dir = blocks.dir();
        let facts = match blocks.state_of_parts() {
            [] => None,
            bytes if KeptState::is_encoded(bytes) => None,
            bytes => Some(Facts::decode(bytes).ok_or_else(|| {
                let found = format!("{} other bytes", bytes.len());
                damaged_facts(dir, "what a commit says of the state", found)
            })?),
        };
        if let Some(facts) = &facts
            && facts.kind != parts.kind
        {
            let (expected, found) = (facts.kind.name(), parts.kind.name());
            let expected = format!("the parts of a state of the kind {expected}");
            return Err(damaged_facts(dir, &expected, format!("those of the kind {found}")));
        }
        if let Some(facts) = &facts
            && facts.start > parts.logs[facts.active].len()
        {
            let found = format!("{} bytes", parts.logs[facts.active].len());
            let expected = format!("a log {} of at least {} bytes", facts.active, facts.start);
            return Err(damaged_facts(dir, &expected, found));
        }
        Ok(Self { blocks, parts, facts, limits })
    }

    /// The blocks.
    #[must_use]
    pub fn blocks(&self) -> &ChainStore {
        &self.blocks
    }

    /// Facts of the state; `None` without a state.
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// The facts to commit. `None` without a state, and until the genesis state on disk is
    /// committed.
    fn named_facts(&self) -> Option<&Facts> {
        let is_kept = |facts: &&Facts| self.disk().is_none() || facts.checkpoint.is_some();
        self.facts.as_ref().filter(is_kept)
    }

    /// Whether a state on disk should be written, if it is the one after the last block of the log.
    fn wants_checkpoint(&self) -> bool {
        let (Some(facts), Some(disk)) = (&self.facts, self.disk()) else { return false };
        let since = facts.checkpoint.map(|number| facts.block - number);
        since.is_none_or(|blocks| blocks >= self.limits.depth) || disk.read().wants_commit()
    }

    /// Appends the record of the next block. The next commit makes it durable.
    ///
    /// # Errors
    /// [`blockmill_store::Error::Mismatch`] where the block does not follow the last one; those of
    /// the store.
    pub(crate) fn log(&mut self, number: u64, hash: Hash, record: &[u8]) -> Result<(), Error> {
        let next = |facts: &&mut Facts| facts.block + 1 == number;
        let Some(facts) = self.facts.as_mut().filter(next) else {
            let expected = self.facts.map_or("none".into(), |f| (f.block + 1).to_string());
            return Err(Error::Store(blockmill_store::Error::Mismatch {
                what: "block of a state log",
                expected,
                found: number.to_string(),
            }));
        };
        log::append(&mut self.parts.logs[facts.active], record)?;
        (facts.block, facts.hash) = (number, hash);
        Ok(())
    }

    /// Limits and options.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Where the state is.
    #[must_use]
    pub fn kind(&self) -> StateKind {
        self.parts.kind
    }

    /// The state on disk; `None` for a state in memory.
    pub(crate) fn disk(&self) -> Option<&SharedState> {
        self.parts.disk()
    }

    /// Commits appended blocks and log records; durably if a checkpoint is due. With
    /// `writes_state`, a state on disk is the one after the last block, and is written. Until the
    /// first such commit only blocks are committed.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn commit(&mut self, tip: &Tip, writes_state: bool) -> Result<(), Error> {
        if !writes_state && self.named_facts().is_none() {
            return Ok(self.blocks.commit(tip)?);
        }
        let Some(facts) = &self.facts else { return Ok(self.blocks.commit(tip)?) };
        let grown = self.parts.logs[facts.active].len() - facts.start;
        // bounds the log to twice the rollback depth
        let blocks = facts.block - facts.checkpoint.unwrap_or(0);
        let is_due = match &self.parts.state {
            StatePart::Disk(_) => writes_state,
            StatePart::Table(table) => {
                let share = table.bytes() / self.limits.share.max(1);
                grown >= self.limits.least_log.max(share) || blocks >= self.limits.depth
            }
        };
        if !is_due {
            let state = facts.encode();
            return self.parts.commit(&mut self.blocks, tip, &state, false);
        }
        // the facts change after the commit: after an error they must not name a state that is not
        // on disk
        let mut now = *facts;
        if let StatePart::Table(table) = &mut self.parts.state {
            flat::checkpoint(table, &self.parts.logs[facts.active], facts)?;
        }
        self.parts.stage()?;
        let (end, other) = (self.parts.logs[facts.active].len(), 1 - facts.active);
        now.checkpoint = Some(facts.block);
        match facts.is_long(&self.limits) {
            false => now.start = end,
            true => {
                if !self.parts.logs[other].is_empty() {
                    self.parts.logs[other].cut(0)?;
                }
                (now.active, now.start) = (other, 0);
                now.first[other] = facts.block + 1;
            }
        }
        self.parts.commit_all(&mut self.blocks, tip, &now.encode())?;
        self.facts = Some(now);
        Ok(())
    }

    /// Makes everything committed survive a power loss.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        let Some(tip) = self.blocks.tip() else { return Ok(self.blocks.sync()?) };
        let Some(facts) = self.named_facts() else { return Ok(self.blocks.sync()?) };
        let state = facts.encode();
        self.parts.commit(&mut self.blocks, &tip, &state, true)
    }
}

/// Corruption of what a manifest says.
fn damaged_facts(dir: &Path, expected: &str, found: String) -> Error {
    Error::Store(blockmill_store::Error::Corrupt {
        path: dir.join(blockmill_store::MANIFEST),
        offset: 0,
        what: "manifest",
        expected: expected.to_owned(),
        found,
    })
}
