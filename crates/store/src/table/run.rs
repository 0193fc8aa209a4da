//! A sorted run: entries in the order of keys in one file that never changes.
//!
//! Its index and its filter are in memory. Layout: `docs/formats/store.md`.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::{
    Compression, EntryKind, PageCache,
    bloom::{BLOCK_BYTES, Bloom},
    page::{self, Malformed, Page, unit_of},
    run_index::Index,
};
use crate::{
    disk::{Disk, DiskFile, Open},
    error::{Error, Result, io_error, missing_or},
};

/// Facts of a run in a manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunFacts {
    /// Names the file; never given twice.
    pub number: u64,
    /// Entries, tombstones included.
    pub entries: u64,
    /// Entries that make their key live.
    pub live: u64,
    /// Entries whose key is, or may be, live in older runs.
    pub below: u64,
    /// Units of all pages.
    pub units: u64,
    /// Number of pages in the index.
    pub pages: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Blocks of the filter.
    pub filter_blocks: u64,
    /// CRC-32 of index and filter.
    pub sum: u32,
    pub compression: Compression,
}

impl RunFacts {
    /// Bytes of the pages; `None` when no file is that long.
    fn page_bytes(&self) -> Option<u64> {
        self.units.checked_mul(unit_of(self.compression) as u64)
    }

    /// Bytes of the file; `None` when no file is that long.
    pub fn file_bytes(&self) -> Option<u64> {
        let filter = self.filter_blocks.checked_mul(BLOCK_BYTES as u64)?;
        self.page_bytes()?.checked_add(self.index_bytes)?.checked_add(filter)
    }
}

/// Bytes of a neighbourhood.
const AROUND: u64 = 1 << 16;
/// Largest ratio of a run's size to the cache for which neighbours of a page are read.
const SMALL: u64 = 8;

/// A number for a run in caches, which tables of several stores may share.
fn take_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed)
}

/// The file of run `number` of a table in `dir`.
#[must_use]
pub fn path_of(dir: &Path, table: &str, number: u64) -> PathBuf {
    dir.join(format!("{table}.{number:06}"))
}

/// The number of the run of `table` with this file name; `None` for any other name.
#[must_use]
pub fn number_of(name: &str, table: &str) -> Option<u64> {
    let number = name.strip_prefix(table)?.strip_prefix('.')?.parse().ok()?;
    (path_of(Path::new(""), table, number).to_str() == Some(name)).then_some(number)
}

/// A run; see the module text.
pub(crate) struct Run {
    pub path: PathBuf,
    pub file: Arc<dyn DiskFile>,
    pub facts: RunFacts,
    /// Its name in caches.
    pub id: u64,
    pub index: Index,
    pub filter: Bloom,
    /// A bit for each neighbourhood that the system was asked to bring; see [`Run::read_around`].
    brought: Vec<AtomicU64>,
}

/// Room for a page, used again and again.
#[derive(Debug, Default)]
pub(crate) struct Room {
    stored: Vec<u8>,
    unpacked: Vec<u8>,
    cached: Option<Arc<[u8]>>,
    /// Pages read from files so far.
    pub reads: u64,
}

impl Run {
    /// Opens the run of `table` that `facts` describe and reads its index and filter.
    pub fn open(disk: &dyn Disk, dir: &Path, table: &str, facts: RunFacts) -> Result<Run> {
        let path = path_of(dir, table, facts.number);
        let file = disk.open(&path, Open::Read).map_err(|source| missing_or(source, &path))?;
        let found = file.bytes().map_err(io_error("read", &path))?;
        let corrupt = |offset: u64, what: &'static str, expected: String, found: String| {
            Error::Corrupt { path: path.clone(), offset, what, expected, found }
        };
        if facts.file_bytes() != Some(found) {
            let expected = format!("{} bytes", facts.file_bytes().unwrap_or(u64::MAX));
            return Err(corrupt(found, "file length", expected, format!("{found} bytes")));
        }
        let start = facts.page_bytes().unwrap_or(u64::MAX);
        let mut bytes = vec![0; (found - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(io_error("read", &path))?;
        let sum = crc32fast::hash(&bytes);
        if sum != facts.sum {
            let (expected, found) = (format!("CRC-32 {:08x}", facts.sum), format!("{sum:08x}"));
            return Err(corrupt(start, "index of a run", expected, found));
        }
        let (index, filter) = bytes.split_at(facts.index_bytes as usize);
        let end = u32::try_from(facts.units).ok();
        let index = end.and_then(|end| Index::decode(index, facts.pages, end));
        let Some(index) = index.filter(|_| !filter.is_empty()) else {
            let expected = "pages one after the other".into();
            return Err(corrupt(start, "index of a run", expected, "another order".into()));
        };
        let filter = Bloom::from_bytes(filter);
        Ok(Run::new(path, file, facts, index, filter))
    }

    /// The run in a file, of which index and filter are known.
    pub fn new(
        path: PathBuf,
        file: Arc<dyn DiskFile>,
        facts: RunFacts,
        index: Index,
        filter: Bloom,
    ) -> Run {
        let places = facts.page_bytes().unwrap_or(0) / AROUND;
        let brought = (0..=places / 64).map(|_| AtomicU64::new(0)).collect();
        Run { path, file, facts, id: take_id(), index, filter, brought }
    }

    /// Bytes in memory.
    pub fn memory(&self) -> usize {
        self.index.memory() + self.filter.memory()
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.facts.file_bytes().unwrap_or(u64::MAX)
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.index.pages()
    }

    /// Bytes on disk of a range of pages.
    pub fn bytes_of(&self, pages: Range<usize>) -> usize {
        let units = self.index.starts[pages.end] - self.index.starts[pages.start];
        units as usize * unit_of(self.facts.compression)
    }

    fn offset_of(&self, page: usize) -> u64 {
        u64::from(self.index.starts[page]) * unit_of(self.facts.compression) as u64
    }

    /// Reads a range of pages into `out`, unchecked.
    pub fn read_pages(&self, pages: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
        let offset = self.offset_of(pages.start);
        out.resize(self.bytes_of(pages), 0);
        self.file.read_exact_at(out, offset).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::Corrupt {
                path: self.path.clone(),
                offset,
                what: "page of a run",
                expected: format!("{} bytes", out.len()),
                found: "the end of the file".into(),
            },
            _ => Error::Io { action: "read", path: self.path.clone(), source },
        })
    }

    /// Checks page `number` as it is on disk; its bytes, unpacked in `room` if need be.
    pub fn unpack<'a>(
        &self,
        number: usize,
        stored: &'a [u8],
        room: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        let unit = self.index.starts[number];
        page::unpack(stored, self.facts.number, unit, room).map_err(|(expected, found)| {
            Error::Corrupt {
                path: self.path.clone(),
                offset: self.offset_of(number),
                what: "page of a run",
                expected: format!("CRC-32 {expected:08x}"),
                found: format!("{found:08x}"),
            }
        })
    }

    /// The error for a page that holds no entry at `at`.
    pub fn malformed(&self, number: usize, at: usize) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            offset: self.offset_of(number) + at as u64,
            what: "entry of a run",
            expected: "key, kind and value".into(),
            found: "other bytes".into(),
        }
    }

    /// Reads page `number`, from the cache if it is there.
    pub fn load<'a>(
        &self,
        number: usize,
        cache: Option<&PageCache>,
        room: &'a mut Room,
    ) -> Result<&'a [u8]> {
        match cache.and_then(|cache| cache.get(self.id, number as u32)) {
            Some(page) => Ok(room.cached.insert(page)),
            None => self.read(number, cache, room),
        }
    }

    /// Asks the operating system to read page `number` from the disk soon.
    pub fn will_need(&self, number: usize) {
        let bytes = self.bytes_of(number..number + 1) as u64;
        self.file.will_need(self.offset_of(number), bytes);
    }

    /// Asks the operating system, once, to read the neighbours of page `number` as well, if the run
    /// is not much larger than the cache: a few large reads then load all of it, instead of one for
    /// each page.
    fn read_around(&self, number: usize, cache: &PageCache) {
        let place = self.offset_of(number) / AROUND;
        let (word, bit) = (&self.brought[place as usize / 64], 1 << (place % 64));
        if word.load(Relaxed) & bit == 0
            && self.disk_bytes() / cache.capacity().max(1) < SMALL
            && word.fetch_or(bit, Relaxed) & bit == 0
        {
            self.file.will_need(place * AROUND, AROUND);
        }
    }

    /// Reads page `number` from its file and puts it into the cache.
    pub fn read<'a>(
        &self,
        number: usize,
        cache: Option<&PageCache>,
        room: &'a mut Room,
    ) -> Result<&'a [u8]> {
        let Room { stored, unpacked, reads, .. } = room;
        *reads += 1;
        if let Some(cache) = cache {
            self.read_around(number, cache);
        }
        self.read_pages(number..number + 1, stored)?;
        let bytes = self.unpack(number, stored, unpacked)?;
        if let Some(cache) = cache {
            cache.insert(self.id, number as u32, bytes.into());
        }
        Ok(bytes)
    }

    /// The entry of `key`: its kind and its value.
    pub fn find<'a>(
        &self,
        key: &[u8],
        cache: Option<&PageCache>,
        room: &'a mut Room,
    ) -> Result<Option<(EntryKind, &'a [u8])>> {
        let Some(number) = self.index.page_of(key) else { return Ok(None) };
        let bytes = self.load(number, cache, room)?;
        let page = Page::new(bytes).and_then(|page| page.find(key));
        page.map_err(|Malformed| self.malformed(number, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_that_are_given_name_a_run() {
        for number in [0, 7, 999_999, 1_000_000] {
            let path = path_of(Path::new(""), "coins", number);
            let name = path.to_str().unwrap();
            assert_eq!(number_of(name, "coins"), Some(number));
            assert_eq!(number_of(name, "coin"), None);
        }
        for name in
            ["coins.7", "coins.txt", "coins.+00007", "coins.0000007", "coins.", "xcoins.000007"]
        {
            assert_eq!(number_of(name, "coins"), None, "{name}");
        }
    }
}
