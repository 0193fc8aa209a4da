//! Pages on disk: numbered append-only files, each page with its checksum. A page is never
//! overwritten; a file with few live cells is compacted and removed.

use std::{
    ops::Range,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
};

use super::{
    PagesOptions,
    batch::Held,
    branches::Child,
    cell::{self, Place},
    descent::prefetch_all,
    page_reads::{self, Reader, Wanted},
};
use blockmill_store::{
    Error, PageCache, Result,
    disk::{DiskFile, Open},
    part::{Folder, io_error, mismatch, missing_or, path_of},
};

/// Bytes of a page before its records: checksum, length of the records, number of units.
pub(super) const HEADER: usize = 8;

/// A file of pages.
#[derive(Debug)]
pub(super) struct PageFile {
    /// Never given twice.
    pub number: u64,
    /// Pages in it.
    pub pages: u32,
    /// Bytes of records that count.
    pub live: u64,
    /// Pages that survive a power loss.
    pub synced: u32,
    pub handle: Arc<dyn DiskFile>,
}

/// Pages that are to be written.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The number of their file.
    pub number: u64,
    pub handle: Arc<dyn DiskFile>,
    /// The first of them in the file.
    pub first: u32,
    pub bytes: Vec<u8>,
    pub is_written: AtomicBool,
}

/// Facts of a file in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileFacts {
    /// Its slot: page `p` is in slot `p / pages of a file`.
    pub slot: u32,
    pub number: u64,
    pub pages: u32,
    pub live: u64,
}

/// All files of pages.
#[derive(Debug)]
pub(super) struct PageFiles {
    pub folder: Arc<Folder>,
    pub name: String,
    pub page_bytes: usize,
    /// Pages of a file.
    pub file_pages: u32,
    pub slots: Vec<Option<PageFile>>,
    /// The one that is appended to.
    pub current: Option<u32>,
    cache: PageCache,
    /// Pages that an update will need.
    pub held: Held,
    pub reader: Reader,
    /// Whole pages that come next.
    pub pending: Vec<u8>,
    /// Pages after those on disk, to be written concurrently with readers.
    pub waiting: Vec<Waiting>,
    /// Records of the current page.
    pub page: Vec<u8>,
    /// Files that are removed when the next commit counts.
    pub ended: Vec<u64>,
    /// Bytes written so far.
    pub written: u64,
}

impl PageFiles {
    pub fn new(folder: &Arc<Folder>, name: &str, options: &PagesOptions) -> Self {
        let page_bytes = options.page_bytes;
        let file_pages = (options.file_bytes / page_bytes as u64).clamp(8, 1 << 20) as u32;
        let (cache, reader) = (options.cache.clone(), Reader::new(options.read_method));
        Self {
            folder: Arc::clone(folder),
            name: name.into(),
            page_bytes,
            file_pages,
            slots: vec![],
            current: None,
            cache,
            held: Held::default(),
            reader,
            pending: vec![],
            waiting: vec![],
            page: vec![],
            ended: vec![],
            written: 0,
        }
    }

    /// Adds a file of the last commit and checks its length.
    pub fn resume(&mut self, facts: &FileFacts, how: Open) -> Result<()> {
        let path = path_of(&self.folder.dir, &self.name, facts.number);
        let disk = &self.folder.disk;
        let handle = disk.open(&path, how).map_err(|source| missing_or(source, &path))?;
        let found = handle.bytes().map_err(io_error("read", &path))?;
        let expected = u64::from(facts.pages) * self.page_bytes as u64;
        if found < expected {
            return Err(Error::Corrupt {
                path,
                offset: found,
                what: "file of pages",
                expected: format!("{expected} bytes"),
                found: format!("{found} bytes"),
            });
        }
        let slot = facts.slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        let FileFacts { number, pages, live, .. } = *facts;
        if pages < self.file_pages {
            self.current = Some(facts.slot);
        }
        self.slots[slot] = Some(PageFile { number, pages, live, synced: pages, handle });
        Ok(())
    }

    /// Facts of all files for the manifest.
    pub fn facts(&self) -> impl Iterator<Item = FileFacts> {
        (0..).zip(&self.slots).filter_map(|(slot, file)| {
            let PageFile { number, pages, live, .. } = *file.as_ref()?;
            Some(FileFacts { slot, number, pages, live })
        })
    }

    /// Bytes of all files, and of the records in them that count.
    pub fn bytes(&self) -> (u64, u64) {
        let files = || self.slots.iter().flatten();
        let all: u64 = files().map(|file| u64::from(file.pages)).sum();
        (all * self.page_bytes as u64, files().map(|file| file.live).sum())
    }

    /// Counts a record of `bytes` bytes as dead.
    pub fn release(&mut self, page: u32, bytes: u64) {
        if let Some(Some(file)) = self.slots.get_mut((page / self.file_pages) as usize) {
            file.live = file.live.saturating_sub(bytes);
        }
    }

    /// Number of pages for a record of this many bytes.
    pub fn units(&self, bytes: u64) -> usize {
        (HEADER + bytes as usize).div_ceil(self.page_bytes).max(1)
    }

    fn file(&self, page: u32) -> Result<(&PageFile, u32)> {
        let file = self.slots.get((page / self.file_pages) as usize).and_then(Option::as_ref);
        let file = file.ok_or_else(|| mismatch("page", "one of a file of the store", page))?;
        Ok((file, page % self.file_pages))
    }

    /// A page that is in memory.
    pub fn cached(&self, page: u32) -> Option<Arc<[u8]>> {
        let (file, index) = self.file(page).ok()?;
        self.cache.get(file.number, index).or_else(|| self.waits(file.number, index))
    }

    /// Of many pages those that are in memory.
    pub fn cached_many(&self, pages: impl Iterator<Item = u32>) -> Result<Vec<Option<Arc<[u8]>>>> {
        let name = |page| self.file(page).map(|(file, index)| (file.number, index));
        let names = pages.map(name).collect::<Result<Vec<_>>>()?;
        let mut found = self.cache.get_many(&names);
        for ((file, index), found) in names.into_iter().zip(&mut found) {
            if found.is_none() {
                *found = self.waits(file, index);
            }
        }
        Ok(found)
    }

    /// A page that is to be written.
    fn waits(&self, file: u64, index: u32) -> Option<Arc<[u8]>> {
        let mut waiting = self.waiting.iter().filter(|it| it.number == file && it.first <= index);
        waiting.find_map(|it| {
            let start = (index - it.first) as usize * self.page_bytes;
            let bytes = it.bytes.get(start..).filter(|bytes| !bytes.is_empty())?;
            let (_, units) = head(bytes)?;
            Some(bytes.get(..units * self.page_bytes)?.into())
        })
    }

    /// Reads and verifies a page of `units` units.
    pub fn read(&self, page: u32, units: usize) -> Result<Arc<[u8]>> {
        if let Some(bytes) = self.held.get(&page) {
            return Ok(Arc::clone(bytes));
        }
        if let Some(bytes) = self.cached(page) {
            return Ok(bytes);
        }
        let (file, index) = self.file(page)?;
        let mut bytes = page_reads::room(units * self.page_bytes);
        let offset = u64::from(index) * self.page_bytes as u64;
        let read = file.handle.read_exact_at(Arc::make_mut(&mut bytes), offset);
        read.map_err(|source| io_error("read", &self.path(file.number))(source))?;
        self.accept(page, bytes)
    }

    /// The read of a page with a record of this many bytes.
    pub fn wanted(&self, page: u32, bytes: u64) -> Result<Wanted> {
        let (file, index) = self.file(page)?;
        let offset = u64::from(index) * self.page_bytes as u64;
        let bytes = self.units(bytes) * self.page_bytes;
        Ok(Wanted { file: Arc::clone(&file.handle), offset, bytes })
    }

    /// The records of a page of unknown length, past the cache, and its units.
    pub fn scan(&self, page: u32) -> Result<(Vec<u8>, u32)> {
        let (file, index) = self.file(page)?;
        let path = self.path(file.number);
        let offset = u64::from(index) * self.page_bytes as u64;
        let mut bytes = vec![0; self.page_bytes];
        let read = |bytes: &mut [u8], at: u64| {
            file.handle.read_exact_at(bytes, at).map_err(io_error("read", &path))
        };
        read(&mut bytes, offset)?;
        // a corrupt number of units cannot exceed the file, and is at least one
        let units = head(&bytes).map_or(1, |(_, units)| units);
        let units = units.clamp(1, (file.pages - index).max(1) as usize);
        bytes.resize(units * self.page_bytes, 0);
        read(&mut bytes[self.page_bytes..], offset + self.page_bytes as u64)?;
        Ok((self.records(page, &bytes)?.to_vec(), units as u32))
    }

    /// Verifies a page that was read, and adds it to the cache.
    pub fn accept(&self, page: u32, bytes: Arc<[u8]>) -> Result<Arc<[u8]>> {
        let (file, index) = self.file(page)?;
        self.records(page, &bytes)?;
        self.cache.insert(file.number, index, Arc::clone(&bytes));
        Ok(bytes)
    }

    /// The records of a page, after its checksum was verified.
    fn records<'b>(&self, page: u32, bytes: &'b [u8]) -> Result<&'b [u8]> {
        let (file, index) = self.file(page)?;
        let expected = bytes.first_chunk().map_or(0, |sum| u32::from_le_bytes(*sum));
        let found = sum(file.number, index, bytes.get(4..).unwrap_or_default());
        let records = head(bytes).and_then(|(used, _)| bytes.get(HEADER..)?.get(..used));
        records.filter(|_| expected == found).ok_or_else(|| Error::Corrupt {
            path: self.path(file.number),
            offset: u64::from(index) * self.page_bytes as u64,
            what: "page",
            expected: format!("CRC-32 {expected:08x}"),
            found: format!("{found:08x}"),
        })
    }

    pub fn path(&self, number: u64) -> PathBuf {
        path_of(&self.folder.dir, &self.name, number)
    }

    /// Bytes of a unit of offsets of records after the header.
    pub fn offset_unit_bytes(&self) -> usize {
        self.page_bytes / 256
    }

    /// The record at `place`, which `child` locates in a page.
    pub fn record(&self, place: &Place, page: u32, child: &Child) -> Result<CellBytes> {
        let bytes = self.read(page, self.units(child.bytes()))?;
        let at = self.place_in(place, page, child, &bytes)?;
        Ok(CellBytes::InPage(bytes, at))
    }

    /// Prefetches the record of a child.
    pub fn prefetch_record(&self, child: &Child, page: &[u8]) {
        let start = HEADER + usize::from(child.offset_units()) * self.offset_unit_bytes();
        let end = page.len().min(start + child.bytes() as usize);
        prefetch_all(page.get(start..end).unwrap_or_default());
    }

    /// The range of the record at `place` in its page, whose checksum was verified.
    pub fn place_in(
        &self,
        place: &Place,
        page: u32,
        child: &Child,
        bytes: &[u8],
    ) -> Result<Range<usize>> {
        let start = HEADER + usize::from(child.offset_units()) * self.offset_unit_bytes();
        let records = head(bytes).and_then(|(used, _)| bytes.get(start..HEADER + used));
        if let Some(len) =
            records.and_then(|records| cell::len_at(records, place, child.is_evicted()))
        {
            return Ok(start..start + len);
        }
        let (file, index) = self.file(page)?;
        Err(Error::Corrupt {
            path: self.path(file.number),
            offset: u64::from(index) * self.page_bytes as u64 + start as u64,
            what: "page",
            expected: format!("a record of trie {} at depth {}", place.trie, place.depth),
            found: "another one, or none".into(),
        })
    }
}

/// Length of the records of a page, and its number of units, from its header.
fn head(page: &[u8]) -> Option<(usize, usize)> {
    let [a, b, c, d] = *page.get(4..8)?.first_chunk()?;
    Some((u16::from_le_bytes([a, b]).into(), u16::from_le_bytes([c, d]).into()))
}

/// CRC-32 of a page and its position, so that a page in the place of another is detected.
pub(super) fn sum(file: u64, index: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file.to_le_bytes());
    hasher.update(&index.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// The record of a cell.
#[derive(Clone, Debug)]
pub(super) enum CellBytes {
    /// Taken out of the buffer.
    Own(Box<[u8]>),
    /// In a page.
    InPage(Arc<[u8]>, Range<usize>),
}

impl std::ops::Deref for CellBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::InPage(page, range) => &page[range.clone()],
        }
    }
}
