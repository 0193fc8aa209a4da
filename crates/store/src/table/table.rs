//! A table: changes in memory over runs on disk.

use std::{ops::Bound, sync::Arc};

use super::{
    Compression, MAX_KEY_BYTES, MAX_VALUE_BYTES, PageCache, Scan,
    cursor::{ALL, CursorSource, KeyRange, Merged, RunCursor},
    fetch::{Fetched, Hint},
    memtable::{Known, Memtable},
    merge::Merge,
    part::Pending,
    run_writer::{self, Shape},
    runs::{Runs, TableReader, prefix_range},
};
use crate::{
    error::{Error, Result, mismatch},
    folder::Folder,
};

/// The part of the memory that changes get at least, however large the filters are.
const LEAST_FOR_CHANGES: usize = 8;

/// Bytes that a flush needs for each entry: ten bits of a filter, a place in the index, a place in
/// the order of its segment.
const FLUSH_BYTES: usize = 2;

/// How to open a [`Table`]. `prefix_bytes` and `counted` must be those that it was created with;
/// another `compression` applies to what is written from now on.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Bytes of memory for changes, indexes, filters and merges; the cache is apart.
    pub memory_bytes: usize,
    /// Pages that were read stay here. `None` if values are read once.
    pub cache: Option<PageCache>,
    /// Filters also contain this many first bytes of keys, so that [`Table::scan_prefix`] reads
    /// only runs that may have some; 0 for none.
    pub prefix_bytes: u8,
    /// Changes always say whether the key was live, so that the number of live keys is known:
    /// [`Table::put`] and [`Table::delete`] are refused.
    pub counted: bool,
    /// How pages are stored.
    pub compression: Compression,
}

impl TableOptions {
    /// A table of values that are read again and again, within `memory_bytes`, a half of which is a
    /// cache of its own.
    #[must_use]
    pub fn new(memory_bytes: usize) -> TableOptions {
        TableOptions {
            memory_bytes: memory_bytes / 2,
            cache: Some(PageCache::new(memory_bytes as u64 / 2)),
            prefix_bytes: 0,
            counted: false,
            compression: Compression::None,
        }
    }

    /// A counted table of values that are read once and then removed, within `memory_bytes`.
    #[must_use]
    pub fn read_once(memory_bytes: usize) -> TableOptions {
        TableOptions { memory_bytes, cache: None, counted: true, ..TableOptions::new(0) }
    }
}

/// A table of a [`crate::Store`]; see the module text.
///
/// Changes go to memory only. [`crate::Store::commit`] writes them out; changes after the last
/// commit are lost when the process ends.
pub struct Table {
    pub(crate) folder: Arc<Folder>,
    pub(crate) shape: Shape,
    pub(crate) changes: Memtable,
    pub(crate) runs: Arc<Runs>,
    pub(crate) reader: TableReader,
    pub(crate) merge: Option<Merge>,
    pub(crate) memory_bytes: usize,
    /// Written by a commit that does not count yet.
    pub(crate) pending: Option<Pending>,
    /// The newest run is one that no commit names yet.
    pub(crate) has_spilled: bool,
    /// Numbers of corrupt runs, and of others with them, that the next commit does not name.
    pub(crate) replaced: Vec<u64>,
}

impl Table {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shape.table
    }

    /// Puts in a value under a key that the runs do not hold live: one that is new, or was taken.
    /// Returns whether the key was live in memory; its value is replaced then.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the key has not 1 to 255 bytes, when the value is longer than
    /// [`MAX_VALUE_BYTES`], or when there are 16 GiB of changes.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.change(key, value, false)
    }

    /// Inserts a value under any key. Returns whether the key was live; its value is replaced then.
    /// Slower than [`Table::insert`] and [`Table::put`], because it reads the runs.
    ///
    /// # Errors
    /// As [`Table::insert`] and [`Table::get`].
    pub fn replace(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let below = match self.changes.get(key) {
            Known::Nothing => self.runs.get(key, &mut Vec::new())?,
            _ => false,
        };
        Ok(self.change(key, value, below)? || below)
    }

    /// Inserts a value under any key, live or not.
    ///
    /// # Errors
    /// As [`Table::insert`]; [`Error::Mismatch`] if the table is counted.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_uncounted()?;
        self.change(key, value, true)?;
        Ok(())
    }

    /// Removes a key, live or not.
    ///
    /// # Errors
    /// As [`Table::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.check_uncounted()?;
        check_key(key)?;
        match self.changes.take(key, &mut Vec::new()).ok_or_else(full)? {
            Known::Live(_) | Known::Dead => Ok(()),
            Known::Nothing => self.changes.add_tombstone(key).ok_or_else(full),
        }
    }

    fn check_uncounted(&self) -> Result<()> {
        match self.shape.counted {
            true => {
                Err(mismatch("change of a counted table", "one that looks", "one that does not"))
            }
            false => Ok(()),
        }
    }

    fn change(&mut self, key: &[u8], value: &[u8], below: bool) -> Result<bool> {
        check_key(key)?;
        if value.len() > MAX_VALUE_BYTES {
            let expected = format!("at most {MAX_VALUE_BYTES}");
            return Err(mismatch("bytes of a value", expected, value.len()));
        }
        self.changes.put(key, value, below).ok_or_else(full)
    }

    /// Removes a key and appends its value to `out`. Returns whether it was live; `out` stays as it
    /// is if not. With a `hint` of the newest generation the runs are not asked.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names the file and the offset of a page that is not as written;
    /// [`Error::Mismatch`] when the key has not 1 to 255 bytes or there are 16 GiB of changes.
    /// Nothing has changed then.
    pub fn take(&mut self, key: &[u8], hint: Option<Hint>, out: &mut Vec<u8>) -> Result<bool> {
        check_key(key)?;
        match self.changes.take(key, out).ok_or_else(full)? {
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
        if live && self.changes.add_tombstone(key).is_none() {
            out.truncate(before);
            return Err(full());
        }
        Ok(live)
    }

    /// Returns whether the key is live. With a `hint` of the newest generation the runs are not
    /// read.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn contains(&self, key: &[u8], hint: Option<Hint>) -> Result<bool> {
        match self.changes.get(key) {
            Known::Live(_) => Ok(true),
            Known::Dead => Ok(false),
            Known::Nothing => match self.fresh(hint) {
                Some(value) => Ok(value.is_some()),
                None => self.runs.get(key, &mut Vec::new()),
            },
        }
    }

    /// Appends the value of a key to `out`, if the key is live. Returns whether it is. For many
    /// keys at once, [`Runs::fetch`] of a snapshot has lower latency.
    ///
    /// # Errors
    /// [`Error::Corrupt`] names file and offset of a corrupt page; [`Error::Io`] if it cannot be
    /// read.
    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match self.changes.get(key) {
            Known::Live(value) => {
                out.extend_from_slice(value);
                Ok(true)
            }
            Known::Dead => Ok(false),
            Known::Nothing => self.runs.get(key, out),
        }
    }

    /// Looks up keys, including changes since the last commit, and writes the answers to `out` in
    /// the order of `keys`.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn fetch<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut Fetched) -> Result<()> {
        self.runs.fetch_over(keys, out, |key| self.changes.get(key))
    }

    /// The answer of a hint, if it is of the newest generation.
    fn fresh<'a>(&self, hint: Option<Hint<'a>>) -> Option<Option<&'a [u8]>> {
        hint.filter(|hint| hint.generation == self.runs.generation).map(|hint| hint.value)
    }

    /// Prefetches what the next calls for these keys will read. Called for about a hundred keys at
    /// a time, right before those calls, this hides most of the memory latency.
    pub fn touch<K: AsRef<[u8]>>(&self, keys: &[K]) {
        self.changes.touch(keys);
    }

    /// The runs of the last commit.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Runs> {
        Arc::clone(&self.runs)
    }

    /// Gives other threads the runs of the last commit, also of later ones.
    #[must_use]
    pub fn reader(&self) -> TableReader {
        self.reader.clone()
    }

    /// Number of live keys, where the table is counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.runs.len().saturating_add_signed(self.changes.growth())
    }

    /// Returns whether there are no live keys, if the table is counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys that changed since the last commit.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.changes.entries()
    }

    /// Bytes that the table has from the system: changes, indexes, filters, a merge; not the cache.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.changes.reserved() + self.fixed()
    }

    /// Bytes of indexes and filters, and of the merge that is going on.
    fn fixed(&self) -> usize {
        self.runs.memory() + self.merge.as_ref().map_or(0, |merge| merge.memory)
    }

    /// Bytes that records may take; memory that a flush of them needs is reserved.
    pub(crate) fn room(&self) -> usize {
        let flush = self.changes.entries() * FLUSH_BYTES + run_writer::BUFFER;
        let taken = self.fixed() + self.changes.tables() + flush + self.changes.long_bytes();
        let least = self.memory_bytes / LEAST_FOR_CHANGES;
        self.memory_bytes.saturating_sub(taken).max(least)
    }

    /// Returns whether a commit is due: the next chunk of memory would exceed
    /// [`TableOptions::memory_bytes`], and less than a quarter of the newest one is left.
    #[must_use]
    pub fn wants_flush(&self) -> bool {
        let arena = self.changes.arena();
        let is_last = arena.used() + arena.chunk_bytes() > self.room() || !arena.may_grow();
        let is_long = self.changes.long_bytes() > self.memory_bytes / 2;
        is_long || is_last && arena.used() > 0 && arena.left() < arena.chunk_bytes() / 4
    }

    /// Bytes of its runs on disk, as of the last commit.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.runs.runs.iter().filter_map(|run| run.facts.file_bytes()).sum()
    }

    /// All live pairs in the order of keys, including changes since the last commit.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn iter(&self) -> Result<Scan<'_>> {
        let cursor = |run| CursorSource::Run(Box::new(RunCursor::new(run)));
        let table = CursorSource::Table(self.changes.sorted(ALL));
        let runs = self.runs.runs.iter().cloned().map(cursor);
        let sources = std::iter::once(table).chain(runs).collect();
        Ok(Scan { merged: Merged::new(sources, true, ALL)? })
    }

    /// The live pairs of a range in the order of keys, including changes since the last commit. It
    /// iterates over all changes of keys with the same first byte.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn scan(&self, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<Scan<'_>> {
        self.scan_range((range.0.map(<[u8]>::to_vec), range.1.map(<[u8]>::to_vec)))
    }

    /// The live pairs whose keys begin with `prefix`; see [`Table::scan`].
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn scan_prefix(&self, prefix: &[u8]) -> Result<Scan<'_>> {
        self.scan_range(prefix_range(prefix))
    }

    fn scan_range(&self, range: KeyRange) -> Result<Scan<'_>> {
        let mut sources = vec![];
        if self.changes.entries() > 0 {
            sources.push(CursorSource::Table(self.changes.sorted(range.clone())));
        }
        sources.extend(self.runs.sources(&range)?);
        Ok(Scan { merged: Merged::new(sources, true, range)? })
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    match key.len() {
        1..=MAX_KEY_BYTES => Ok(()),
        other => Err(mismatch("bytes of a key", "1 to 255", other)),
    }
}

/// The error for an arena that cannot grow.
fn full() -> Error {
    mismatch("bytes of changes between two commits", "at most 16 GiB", "more")
}
