//! The store: changes in memory over runs on disk.

use std::{path::PathBuf, sync::Arc};

use super::{
    Key, MAX_POINT_BYTES,
    crash::{PointCrash, PointCrashPlan},
    cursor::{Merged, RunCursor, Source},
    iter::Points,
    memtable::{Known, Memtable},
    merge::Merge,
    run_writer,
    runs::{Hint, PointReader, Runs},
    salt::Salt,
};
use crate::error::{Error, Result, mismatch};

/// The part of the memory that changes get at least, however large the filters are.
const LEAST_FOR_CHANGES: usize = 8;

/// Bytes that a flush needs for each entry: ten bits of a filter, a place in the index, a place in
/// the order of its segment.
const FLUSH_BYTES: usize = 2;

/// How to open a [`PointStore`].
#[derive(Clone, Debug)]
pub struct PointOptions {
    /// Bytes of memory for everything: changes, tables, filters, indexes and merges.
    pub memory_bytes: usize,
    /// For tests: stop at this point, after having passed it so often.
    pub crash_at: Option<(PointCrash, u32)>,
}

impl PointOptions {
    /// A store that takes `memory_bytes` of memory.
    #[must_use]
    pub fn new(memory_bytes: usize) -> PointOptions {
        PointOptions { memory_bytes, crash_at: None }
    }
}

/// A store of small values under 36-byte keys in a folder; see the module text.
///
/// Changes go to memory only. [`PointStore::commit`] writes them out; changes after the last commit
/// are lost when the process ends.
pub struct PointStore {
    pub(crate) dir: PathBuf,
    /// Held as long as the store is open.
    pub(crate) _lock: std::fs::File,
    pub(crate) table: Memtable,
    pub(crate) salt: Salt,
    /// The number of the next run.
    pub(crate) next: u64,
    pub(crate) runs: Arc<Runs>,
    pub(crate) reader: PointReader,
    pub(crate) merge: Option<Merge>,
    pub(crate) memory_bytes: usize,
    pub(crate) crash: PointCrashPlan,
    /// An earlier write failed, or a change was lost.
    pub(crate) failed: bool,
}

impl PointStore {
    /// Puts in a value under a key that the runs do not hold live: one that is new, or was taken.
    /// Returns whether the key was live in memory; its value is replaced then.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the value is longer than [`MAX_POINT_BYTES`], or when there are
    /// 16 GiB of changes.
    pub fn insert(&mut self, key: &Key, value: &[u8]) -> Result<bool> {
        self.put(key, value, false)
    }

    /// Puts in a value under any key. Returns whether the key was live; its value is replaced then.
    /// Slower than [`PointStore::insert`], because the runs are asked.
    ///
    /// # Errors
    /// Those of [`PointStore::insert`] and of reading.
    pub fn replace(&mut self, key: &Key, value: &[u8]) -> Result<bool> {
        let below = match self.table.get(key) {
            Known::Nothing => self.runs.get(key, &mut Vec::new())?,
            _ => false,
        };
        Ok(self.put(key, value, below)? || below)
    }

    fn put(&mut self, key: &Key, value: &[u8], below: bool) -> Result<bool> {
        if value.len() > MAX_POINT_BYTES {
            let expected = format!("at most {MAX_POINT_BYTES}");
            return Err(mismatch("bytes of a value", expected, value.len()));
        }
        self.table.put(key, value, below).ok_or_else(full)
    }

    /// Removes a key and appends its value to `out`. Returns whether it was live; `out` stays as it
    /// is if not. With a `hint` of the newest generation the runs are not asked.
    ///
    /// # Errors
    /// [`Error::Damaged`] names the file and the place of a page that is not as written;
    /// [`Error::Mismatch`] when there are 16 GiB of changes. Nothing has changed then.
    pub fn take(&mut self, key: &Key, hint: Option<Hint>, out: &mut Vec<u8>) -> Result<bool> {
        match self.table.take(key, out).ok_or_else(full)? {
            Known::Live(_) => return Ok(true),
            Known::Dead => return Ok(false),
            Known::Nothing => {}
        }
        let before = out.len();
        let live = match self.fresh(hint) {
            Some(value) => {
                out.extend_from_slice(value.unwrap_or_default());
                value.is_some()
            }
            None => self.runs.get(key, out)?,
        };
        if live && self.table.bury(key).is_none() {
            out.truncate(before);
            return Err(full());
        }
        Ok(live)
    }

    /// Is the key live? With a `hint` of the newest generation the runs are not asked.
    ///
    /// # Errors
    /// Those of reading.
    pub fn contains(&self, key: &Key, hint: Option<Hint>) -> Result<bool> {
        match self.table.get(key) {
            Known::Live(_) => Ok(true),
            Known::Dead => Ok(false),
            Known::Nothing => match self.fresh(hint) {
                Some(value) => Ok(value.is_some()),
                None => self.runs.get(key, &mut Vec::new()),
            },
        }
    }

    /// Appends the value of a key to `out`, if the key is live. Returns whether it is.
    ///
    /// # Errors
    /// Those of reading.
    pub fn get(&self, key: &Key, out: &mut Vec<u8>) -> Result<bool> {
        match self.table.get(key) {
            Known::Live(value) => {
                out.extend_from_slice(value);
                Ok(true)
            }
            Known::Dead => Ok(false),
            Known::Nothing => self.runs.get(key, out),
        }
    }

    /// What a hint says, if it is of the newest generation.
    fn fresh<'a>(&self, hint: Option<Hint<'a>>) -> Option<Option<&'a [u8]>> {
        hint.filter(|hint| hint.generation == self.runs.generation).map(|hint| hint.value)
    }

    /// Has the CPU fetch what the next calls for these keys will need. For the keys of a hundred
    /// calls or so at a time, right before them, this hides most of the waiting for memory.
    pub fn touch(&self, keys: &[Key]) {
        self.table.touch(keys);
    }

    /// The runs of the last flush.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Runs> {
        Arc::clone(&self.runs)
    }

    /// Gives other threads the runs of the last flush, also of later ones.
    #[must_use]
    pub fn reader(&self) -> PointReader {
        self.reader.clone()
    }

    /// Number of live keys.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.runs.len().saturating_add_signed(self.table.growth())
    }

    /// Are there no live keys?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys that changed since the last flush.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.table.entries()
    }

    /// Bytes that the store has from the system: changes, tables, indexes, filters, a merge.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.table.reserved() + self.fixed()
    }

    /// Bytes of indexes and filters, and of the merge that is going on.
    fn fixed(&self) -> usize {
        self.runs.memory() + self.merge.as_ref().map_or(0, |merge| merge.memory)
    }

    /// Bytes that records may take; what a flush of them will need besides is kept free.
    pub(crate) fn room(&self) -> usize {
        let flush = self.table.entries() * FLUSH_BYTES + run_writer::BUFFER;
        let taken = self.fixed() + self.table.tables() + flush;
        let least = self.memory_bytes / LEAST_FOR_CHANGES;
        self.memory_bytes.saturating_sub(taken).max(least)
    }

    /// Is it time to commit? True when the next chunk of memory would exceed
    /// [`PointOptions::memory_bytes`] and less than a quarter of the newest is left.
    #[must_use]
    pub fn wants_flush(&self) -> bool {
        let arena = self.table.arena();
        let is_last = arena.used() + arena.chunk_bytes() > self.room() || !arena.may_grow();
        is_last && arena.used() > 0 && arena.left() < arena.chunk_bytes() / 4
    }

    /// All live pairs, changes since the last commit included, in the order of keys.
    ///
    /// # Errors
    /// Those of reading.
    pub fn iter(&self) -> Result<Points<'_>> {
        let cursor = |run| Source::Run(Box::new(RunCursor::new(Arc::clone(run))));
        let table = Source::Table(self.table.sorted());
        let sources = std::iter::once(table).chain(self.runs.runs.iter().map(cursor)).collect();
        Ok(Points { merged: Merged::new(sources, true)? })
    }
}

/// The error for an arena that cannot grow.
fn full() -> Error {
    mismatch("bytes of changes between two commits", "at most 16 GiB", "more")
}
