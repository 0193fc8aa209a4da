//! All runs of a table at one moment, to look keys up in from any thread.

use std::{
    ops::Bound,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    PageCache, Salt, Scan,
    cursor::{KeyRange, Merged, RunCursor, Source},
    memtable::Known,
    run::{Room, Run},
    run_writer::Shape,
};
use crate::error::Result;

/// Keys whose filters are fetched ahead of their turn.
const AHEAD: usize = 12;

/// All runs at one moment. Commits and merges make new ones; this one stays as it is, and its files
/// stay readable, as long as somebody holds it.
pub struct Runs {
    pub(crate) generation: u64,
    /// Newest first.
    pub(crate) runs: Vec<Arc<Run>>,
    pub(crate) salt: Salt,
    pub(crate) shape: Shape,
    pub(crate) cache: Option<PageCache>,
}

/// What [`Runs::fetch`] found, key by key. Reused from call to call.
#[derive(Debug, Default)]
pub struct Fetched {
    generation: u64,
    bytes: Vec<u8>,
    /// One past the last byte of each key's value, and whether the key is live.
    ends: Vec<(usize, bool)>,
    hashes: Vec<u64>,
    room: Room,
}

/// What the runs of some moment say of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint<'a> {
    /// Which moment: see [`Runs::generation`].
    pub generation: u64,
    /// The value, if the key was live in the runs.
    pub value: Option<&'a [u8]>,
}

impl Fetched {
    /// What was found for key `index` of the last [`Runs::fetch`]; `None` beyond its keys.
    #[must_use]
    pub fn hint(&self, index: usize) -> Option<Hint<'_>> {
        let (end, live) = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].0);
        Some(Hint { generation: self.generation, value: live.then(|| &self.bytes[start..end]) })
    }

    /// The value of key `index` of the last [`Runs::fetch`], if it is live.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        self.hint(index)?.value
    }

    /// Pages read from files by all fetches so far.
    #[must_use]
    pub fn pages_read(&self) -> u64 {
        self.room.reads
    }
}

impl Runs {
    /// Counts the flushes; what was fetched in one generation is not taken for true in another.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of runs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// Bytes of indexes and filters in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.runs.iter().map(|run| run.memory() + size_of::<Run>()).sum()
    }

    /// Bytes on disk.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.disk_bytes()).sum()
    }

    /// Live keys in the runs, where changes say exactly whether keys were live.
    #[must_use]
    pub fn len(&self) -> u64 {
        let growth = self.runs.iter().map(|run| run.facts.live as i64 - run.facts.below as i64);
        growth.sum::<i64>().max(0) as u64
    }

    /// Are there no live keys?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks keys up and leaves the answers in `out`, in the order of `keys`.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] names the file and the offset of a page that is not as written.
    pub fn fetch<K: AsRef<[u8]>>(&self, keys: &[K], out: &mut Fetched) -> Result<()> {
        self.fetch_over(keys, out, |_| Known::Nothing)
    }

    /// The same, where `newer` may know a key first.
    pub(crate) fn fetch_over<'a, K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        out: &mut Fetched,
        newer: impl Fn(&[u8]) -> Known<'a>,
    ) -> Result<()> {
        out.generation = self.generation;
        out.bytes.clear();
        out.ends.clear();
        out.hashes.clear();
        out.hashes.extend(keys.iter().map(|key| self.salt.hash(key.as_ref())));
        for (at, key) in keys.iter().enumerate() {
            if let Some(ahead) = out.hashes.get(at + AHEAD) {
                self.runs.iter().for_each(|run| run.filter.touch(*ahead));
            }
            let (key, hash) = (key.as_ref(), out.hashes[at]);
            let live = match newer(key) {
                Known::Live(value) => {
                    out.bytes.extend_from_slice(value);
                    true
                }
                Known::Dead => false,
                Known::Nothing => self.look_up(key, hash, &mut out.room, &mut out.bytes)?,
            };
            out.ends.push((out.bytes.len(), live));
        }
        Ok(())
    }

    /// Looks one key up and appends its value to `out`. Returns whether it is live.
    ///
    /// # Errors
    /// Those of [`Runs::fetch`].
    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        self.look_up(key, self.salt.hash(key), &mut Room::default(), out)
    }

    fn look_up(&self, key: &[u8], hash: u64, room: &mut Room, out: &mut Vec<u8>) -> Result<bool> {
        for run in self.runs.iter().filter(|run| run.filter.may_hold(hash)) {
            if let Some((kind, value)) = run.find(key, self.cache.as_ref(), room)? {
                out.extend_from_slice(value);
                return Ok(kind.live);
            }
        }
        Ok(false)
    }

    /// The live pairs of a range, in the order of keys, as of the last commit.
    ///
    /// # Errors
    /// Those of reading.
    pub fn scan(&self, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<Scan<'static>> {
        let range = (range.0.map(<[u8]>::to_vec), range.1.map(<[u8]>::to_vec));
        let sources = self.sources(&range)?;
        Ok(Scan { merged: Merged::new(sources, true, range)? })
    }

    /// The live pairs whose keys begin with `prefix`, as of the last commit.
    ///
    /// # Errors
    /// Those of reading.
    pub fn scan_prefix(&self, prefix: &[u8]) -> Result<Scan<'static>> {
        let range = prefix_range(prefix);
        let sources = self.sources(&range)?;
        Ok(Scan { merged: Merged::new(sources, true, range)? })
    }

    /// A cursor in each run that may hold keys of the range.
    pub(crate) fn sources<'a>(&self, range: &KeyRange) -> Result<Vec<Source<'a>>> {
        let hash = self.prefix_hash(range);
        let runs = self.runs.iter().filter(|run| hash.is_none_or(|h| run.filter.may_hold(h)));
        runs.map(|run| {
            let cursor = RunCursor::from(Arc::clone(run), &range.0, self.cache.clone())?;
            Ok(Source::Run(Box::new(cursor)))
        })
        .collect()
    }

    /// What the filters hold of all keys of the range, if they have a beginning in common that is
    /// long enough.
    fn prefix_hash(&self, range: &KeyRange) -> Option<u64> {
        let Bound::Included(start) = &range.0 else { return None };
        let bytes = usize::from(self.shape.prefix_bytes);
        let prefix = start.get(..bytes).filter(|prefix| !prefix.is_empty())?;
        let is_within = match (&range.1, &prefix_range(prefix).1) {
            (_, Bound::Unbounded) => true,
            (Bound::Included(end), Bound::Excluded(beyond)) => end < beyond,
            (Bound::Excluded(end), Bound::Excluded(beyond)) => end <= beyond,
            _ => false,
        };
        is_within.then(|| self.salt.hash(prefix))
    }
}

/// The keys that begin with `prefix`.
pub(crate) fn prefix_range(prefix: &[u8]) -> KeyRange {
    let mut beyond = prefix.to_vec();
    while let Some(last) = beyond.pop() {
        if last < u8::MAX {
            beyond.push(last + 1);
            return (Bound::Included(prefix.to_vec()), Bound::Excluded(beyond));
        }
    }
    (Bound::Included(prefix.to_vec()), Bound::Unbounded)
}

/// Gives other threads the newest runs.
#[derive(Clone)]
pub struct TableReader(pub(crate) Arc<Mutex<Arc<Runs>>>);

impl TableReader {
    /// The runs of the last commit.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Runs> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn publish(&self, runs: Arc<Runs>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = runs;
    }
}
