//! Entries in any order, more than memory holds, into the order that a database wants.

use super::{BulkWriter, Error, Library, Scan};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

/// Combines the first value of a key with another one.
pub type Combine = fn(&mut Vec<u8>, &[u8]);

/// Sorts entries. What fills the memory becomes a database of its own, and all of these are merged
/// in the end; several values under a key are combined to one, in the order in which they came.
#[derive(Debug)]
pub struct Sorter {
    /// The folder of the databases, created for the first one and removed at the end.
    folder: PathBuf,
    memory: usize,
    combine: Combine,
    bytes: Vec<u8>,
    places: Vec<Place>,
    runs: usize,
}

/// The position of an entry in memory: its key, then its value.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: usize,
    value: usize,
    end: usize,
}

impl Sorter {
    /// Creates a sorter with `memory` bytes, and a new folder for entries that do not fit.
    #[must_use]
    pub fn new(folder: &Path, memory: usize, combine: Combine) -> Self {
        let (bytes, places) = (Vec::new(), Vec::new());
        Self { folder: folder.into(), memory, combine, bytes, places, runs: 0 }
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the entries in memory cannot be written.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.places.push(Place { key: start, value: middle, end: self.bytes.len() });
        let taken = self.bytes.len() + self.places.len() * size_of::<Place>();
        if taken >= self.memory { self.spill() } else { Ok(()) }
    }

    /// Passes all entries to `each` in key order, each key once.
    ///
    /// # Errors
    ///
    /// Returns the errors of `each`, and [`Error::Io`] or [`Error::Malformed`] if the written
    /// entries cannot be read.
    pub fn finish<E: From<Error>>(
        mut self,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs == 0 {
            return self.drain(&mut each);
        }
        self.spill()?;
        self.bytes = Vec::new();
        let mut heads = BinaryHeap::with_capacity(self.runs);
        for run in 0..self.runs {
            let mut scan = Scan::open(&self.run(run))?;
            if scan.advance()? {
                heads.push(Head { scan, run });
            }
        }
        let (mut key, mut value): (Option<Vec<u8>>, _) = (None, Vec::new());
        while let Some(mut head) = heads.peek_mut() {
            match &mut key {
                Some(key) if head.scan.key() == key => {
                    (self.combine)(&mut value, head.scan.value())
                }
                key => {
                    if let Some(key) = key {
                        each(key, &value)?;
                    }
                    copy(head.scan.key(), key.get_or_insert_default());
                    copy(head.scan.value(), &mut value);
                }
            }
            if !head.scan.advance()? {
                PeekMut::pop(head);
            }
        }
        if let Some(key) = key {
            each(&key, &value)?;
        }
        let removed = fs::remove_dir_all(&self.folder);
        Ok(removed.map_err(Error::io(&self.folder, "cannot remove"))?)
    }

    /// Writes what is in memory.
    fn spill(&mut self) -> Result<(), Error> {
        if self.runs == 0 {
            let made = fs::create_dir(&self.folder);
            made.map_err(Error::io(&self.folder, "cannot create"))?;
        }
        let mut database = BulkWriter::create(&self.run(self.runs), Library::LevelDb)?;
        self.drain(&mut |key: &[u8], value: &[u8]| database.put(key, value))?;
        database.finish()?;
        self.runs += 1;
        Ok(())
    }

    /// Gives out what is in memory, and forgets it.
    fn drain<E>(&mut self, each: &mut impl FnMut(&[u8], &[u8]) -> Result<(), E>) -> Result<(), E> {
        let (bytes, mut places) = (mem::take(&mut self.bytes), mem::take(&mut self.places));
        let key = |place: &Place| &bytes[place.key..place.value];
        // a stable sort, so that values stay in their order
        places.sort_by(|a, b| key(a).cmp(key(b)));
        let mut value = Vec::new();
        for same in places.chunk_by(|a, b| key(a) == key(b)) {
            value.clear();
            value.extend_from_slice(&bytes[same[0].value..same[0].end]);
            for place in &same[1..] {
                (self.combine)(&mut value, &bytes[place.value..place.end]);
            }
            each(key(&same[0]), &value)?;
        }
        places.clear();
        (self.bytes, self.places) = (bytes, places);
        self.bytes.clear();
        Ok(())
    }

    fn run(&self, number: usize) -> PathBuf {
        self.folder.join(number.to_string())
    }
}

/// Puts bytes into a buffer instead of what was there.
fn copy(bytes: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(bytes);
}

/// The next entry of a run; the largest of them is the one with the least key, of several the one
/// that came first.
struct Head {
    scan: Scan,
    run: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.scan.key(), other.run).cmp(&(self.scan.key(), self.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}
