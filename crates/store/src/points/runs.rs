//! All runs at one moment, to look keys up in from any thread.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Key, run::Run, salt::Salt};
use crate::error::Result;

/// All runs at one moment. Flushes and merges make new ones; this one stays as it is, and its files
/// stay readable, as long as somebody holds it.
pub struct Runs {
    pub(crate) generation: u64,
    /// Newest first.
    pub(crate) runs: Vec<Arc<Run>>,
    pub(crate) salt: Salt,
}

/// What [`Runs::fetch`] found, key by key. Reused from call to call.
#[derive(Debug, Default)]
pub struct Fetched {
    generation: u64,
    bytes: Vec<u8>,
    /// One past the last byte of each key's value, and whether the key is live.
    ends: Vec<(usize, bool)>,
    hashes: Vec<u64>,
    page: Vec<u8>,
    pages_read: u64,
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

    /// Pages read by all fetches so far.
    #[must_use]
    pub fn pages_read(&self) -> u64 {
        self.pages_read
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

    /// Live keys in the runs.
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
    /// [`crate::Error::Damaged`] names the file and the place of a page that is not as written.
    pub fn fetch(&self, keys: &[Key], out: &mut Fetched) -> Result<()> {
        out.generation = self.generation;
        out.bytes.clear();
        out.ends.clear();
        out.hashes.clear();
        out.hashes.extend(keys.iter().map(|key| self.salt.hash(key)));
        for (at, key) in keys.iter().enumerate() {
            if let Some(ahead) = out.hashes.get(at + 12) {
                self.runs.iter().for_each(|run| run.filter.touch(*ahead));
            }
            let hash = out.hashes[at];
            let reads = self.look_up(key, hash, &mut out.page, &mut out.bytes)?;
            out.pages_read += reads.1;
            out.ends.push((out.bytes.len(), reads.0));
        }
        Ok(())
    }

    /// Looks one key up and appends its value to `out`. Returns whether it is live.
    pub(crate) fn get(&self, key: &Key, out: &mut Vec<u8>) -> Result<bool> {
        Ok(self.look_up(key, self.salt.hash(key), &mut Vec::new(), out)?.0)
    }

    /// Whether the key is live, and the number of runs that were read for it.
    fn look_up(
        &self,
        key: &Key,
        hash: u64,
        page: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(bool, u64)> {
        let mut reads = 0;
        for run in self.runs.iter().filter(|run| run.filter.may_hold(hash)) {
            reads += 1;
            if let Some((kind, value)) = run.find(key, page)? {
                out.extend_from_slice(&page[value]);
                return Ok((kind.live, reads));
            }
        }
        Ok((false, reads))
    }
}

/// Gives other threads the newest runs.
#[derive(Clone)]
pub struct PointReader(pub(crate) Arc<Mutex<Arc<Runs>>>);

impl PointReader {
    /// The runs of the last flush.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Runs> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn publish(&self, runs: Arc<Runs>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = runs;
    }
}
