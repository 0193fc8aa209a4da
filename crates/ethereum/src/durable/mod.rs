//! The executed state on disk: a checkpoint, and a log of what each block changed since.
//!
//! Both are parts of the store of the blocks, under its one manifest, so that blocks and state are
//! true together. The *log* is two segments, which are appended to in turn: a record for each block
//! with the new values and, where the way back is kept, the old ones. The *checkpoint* is a table
//! of accounts, slots and codes, in order and with sums. When the log since the last checkpoint has
//! grown to a share of it, or has as many blocks as the way back is to have, what the log says is
//! put into the table in one durable commit. Then, too, the other log is begun if the active one
//! has as many blocks as the way back is to have, and what the other one had is given up.
//!
//! Recovery is the checkpoint and the log since; the state root, computed from all of it, must be
//! that of the stored block. Blocks that were stored without a log are executed again. Bytes:
//! `docs/formats/state-log.md`.

mod adopt;
mod behind;
mod block_changes;
mod facts;
mod flat;
mod log;
mod recover;
mod unwind;

pub use block_changes::{AccountRecord, BlockChanges, Malformed, SlotRecord};
pub(crate) use block_changes::{Input, put_account, put_number, put_word};
pub use facts::Facts;
pub(crate) use recover::{execute_stored, unusable};
pub use unwind::Unwound;

use crate::Hash;
use crate::fault::Error;
use std::path::Path;
use store::{
    ChainStore, CommitPart, Compression, Opening, Options, Recovery, Segment, Table, TableOptions,
    Tip,
};

/// How large things become.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Blocks that can be taken back at least, where the log has as many. After as many there is a
    /// checkpoint, too.
    pub depth: u64,
    /// Bytes of log since the last checkpoint before there is another one.
    pub least_log: u64,
    /// And at least the checkpoint's bytes divided by this.
    pub share: u64,
    /// Bytes in a file of a new log.
    pub file_bytes: u64,
    /// Bytes of memory for the changes of a checkpoint.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 10_000,
            least_log: 256 << 20,
            share: 2,
            file_bytes: 1 << 30,
            memory_bytes: 64 << 20,
        }
    }
}

/// Which values the log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogValues {
    /// There is no log: blocks are executed again.
    None,
    /// New ones: there is no way back.
    New,
    /// New and old ones.
    Both,
}

/// Names of the parts besides the blocks.
const LOGS: [&str; 2] = ["state-log-0", "state-log-1"];
const TABLE: &str = "state";

/// The parts of the state.
pub(crate) struct Parts {
    table: Table,
    logs: [Segment; 2],
}

impl Parts {
    fn open(opening: &mut Opening, limits: &Limits) -> store::Result<Self> {
        let options = TableOptions {
            memory_bytes: limits.memory_bytes,
            cache: None,
            prefix_bytes: 0,
            counted: false,
            compression: Compression::None,
        };
        Ok(Self {
            table: opening.table(TABLE, &options)?,
            logs: [
                opening.segment(LOGS[0], limits.file_bytes)?,
                opening.segment(LOGS[1], limits.file_bytes)?,
            ],
        })
    }

    fn logs(&mut self) -> [CommitPart<'_>; 2] {
        self.logs.each_mut().map(CommitPart::Segment)
    }

    fn all(&mut self) -> [CommitPart<'_>; 3] {
        let Self { table, logs: [a, b] } = self;
        [table.into(), a.into(), b.into()]
    }
}

/// A store of blocks and of the state behind the last one.
pub struct ExecutedStore {
    /// The blocks.
    pub(crate) blocks: ChainStore,
    parts: Parts,
    /// As of what was appended; none without a state.
    facts: Option<Facts>,
    limits: Limits,
}

impl ExecutedStore {
    /// Opens the store in `dir` for writing, or makes an empty one there. One that has only blocks
    /// stays so until there is a state.
    ///
    /// # Errors
    /// Those of [`ChainStore::open`]; [`store::Error::Damaged`] where what it says of the state
    /// makes no sense.
    pub fn open(dir: &Path, options: &Options, limits: Limits) -> Result<(Self, Recovery), Error> {
        let ((blocks, recovery), parts) =
            ChainStore::open_with(dir, options, |opening| Parts::open(opening, &limits))?;
        Ok((Self::of_parts(blocks, parts, limits)?, recovery))
    }

    /// Opens the store in `dir` as of its last commit, to be read.
    ///
    /// # Errors
    /// Those of [`ExecutedStore::open`]; [`store::Error::NoStore`] where there is none.
    pub fn open_read_only(dir: &Path) -> Result<Self, Error> {
        let limits = Limits::default();
        let ((blocks, _), parts) =
            ChainStore::open_read_only_with(dir, |opening| Parts::open(opening, &limits))?;
        Self::of_parts(blocks, parts, limits)
    }

    fn of_parts(blocks: ChainStore, parts: Parts, limits: Limits) -> Result<Self, Error> {
        let dir = blocks.dir();
        let facts = match blocks.state_of_parts() {
            [] => None,
            bytes => Some(Facts::decode(bytes).ok_or_else(|| {
                let found = format!("{} other bytes", bytes.len());
                damaged_facts(dir, "what a commit says of the state", found)
            })?),
        };
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

    /// What the last commit says of the state; none where there is none.
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// Appends the record of the next block. It counts after the next commit.
    ///
    /// # Errors
    /// [`store::Error::Mismatch`] where the block does not follow the last one; those of the store.
    pub(crate) fn log(&mut self, number: u64, hash: Hash, record: &[u8]) -> Result<(), Error> {
        let next = |facts: &&mut Facts| facts.block + 1 == number;
        let Some(facts) = self.facts.as_mut().filter(next) else {
            let expected = self.facts.map_or("none".into(), |f| (f.block + 1).to_string());
            return Err(Error::Store(store::Error::Mismatch {
                what: "block of a state log",
                expected,
                found: number.to_string(),
            }));
        };
        log::append(&mut self.parts.logs[facts.active], record)?;
        (facts.block, facts.hash) = (number, hash);
        Ok(())
    }

    /// Commits what was appended to blocks and log. Durable where a checkpoint is due.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn commit(&mut self, tip: &Tip) -> Result<(), Error> {
        let Some(facts) = &mut self.facts else { return Ok(self.blocks.commit(tip)?) };
        let grown = self.parts.logs[facts.active].len() - facts.start;
        let share = self.parts.table.bytes() / self.limits.share.max(1);
        // and a log that is long enough to go back goes no further than twice that
        let blocks = facts.block - facts.checkpoint.unwrap_or(0);
        if grown < self.limits.least_log.max(share) && blocks < self.limits.depth {
            let state = facts.encode();
            match self.parts.table.has_changed() {
                false => self.blocks.commit_light_with(tip, &mut self.parts.logs(), &state)?,
                // the state that the chain begins with
                true => self.blocks.commit_with(tip, &mut self.parts.all(), &state)?,
            }
            return Ok(());
        }
        flat::checkpoint(&mut self.parts, facts)?;
        let (end, other) = (self.parts.logs[facts.active].len(), 1 - facts.active);
        facts.checkpoint = Some(facts.block);
        match facts.is_long(&self.limits) {
            false => facts.start = end,
            true => {
                if !self.parts.logs[other].is_empty() {
                    self.parts.logs[other].cut(0)?;
                }
                (facts.active, facts.start) = (other, 0);
                facts.first[other] = facts.block + 1;
            }
        }
        let state = facts.encode();
        self.blocks.commit_with(tip, &mut self.parts.all(), &state)?;
        Ok(())
    }

    /// Makes everything committed survive a power loss.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        let Some(tip) = self.blocks.tip() else { return Ok(self.blocks.sync()?) };
        let Some(facts) = &self.facts else { return Ok(self.blocks.sync()?) };
        let state = facts.encode();
        match self.parts.table.has_changed() {
            false => self.blocks.commit_with(&tip, &mut self.parts.logs(), &state)?,
            true => self.blocks.commit_with(&tip, &mut self.parts.all(), &state)?,
        }
        Ok(())
    }
}

/// Damage of what a manifest says.
fn damaged_facts(dir: &Path, expected: &str, found: String) -> Error {
    Error::Store(store::Error::Damaged {
        path: dir.join(store::MANIFEST),
        offset: 0,
        what: "manifest",
        expected: expected.to_owned(),
        found,
    })
}
