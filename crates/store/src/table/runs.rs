//! All runs of a table at one moment, to look keys up in from any thread.

use std::{
    ops::Bound,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    PageCache, Salt, Scan,
    cursor::{CursorSource, KeyRange, Merged, RunCursor},
    run::{Room, Run},
    run_writer::Shape,
};
use crate::error::Result;

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

impl Runs {
    /// Counts the flushes. A hint of one generation is not valid in another.
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

    /// Returns whether there are no live keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks up one key and appends its value to `out`. Returns whether it is live.
    ///
    /// # Errors
    /// As [`Runs::fetch`].
    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let (hash, mut room) = (self.salt.hash(key), Room::default());
        for run in self.runs.iter().filter(|run| run.filter.may_hold(hash)) {
            if let Some((kind, value)) = run.find(key, self.cache.as_ref(), &mut room)? {
                out.extend_from_slice(value);
                return Ok(kind.live);
            }
        }
        Ok(false)
    }

    /// The live pairs of a range, in the order of keys, as of the last commit.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] and [`crate::Error::Io`] of reading.
    pub fn scan(&self, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<Scan<'static>> {
        let range = (range.0.map(<[u8]>::to_vec), range.1.map(<[u8]>::to_vec));
        let sources = self.sources(&range)?;
        Ok(Scan { merged: Merged::new(sources, true, range)? })
    }

    /// The live pairs whose keys begin with `prefix`, as of the last commit.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] and [`crate::Error::Io`] of reading.
    pub fn scan_prefix(&self, prefix: &[u8]) -> Result<Scan<'static>> {
        let range = prefix_range(prefix);
        let sources = self.sources(&range)?;
        Ok(Scan { merged: Merged::new(sources, true, range)? })
    }

    /// A cursor in each run that may hold keys of the range.
    pub(crate) fn sources<'a>(&self, range: &KeyRange) -> Result<Vec<CursorSource<'a>>> {
        let hash = self.prefix_hash(range);
        let runs = self.runs.iter().filter(|run| hash.is_none_or(|h| run.filter.may_hold(h)));
        runs.map(|run| {
            let cursor = RunCursor::within(Arc::clone(run), range, self.cache.clone())?;
            Ok(CursorSource::Run(Box::new(cursor)))
        })
        .collect()
    }

    /// The prefix in the filters that all keys of the range share, if it is long enough.
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
