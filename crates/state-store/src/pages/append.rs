//! Writing pages: records are packed in the order in which they come, and whole pages are appended
//! to the current file, many at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use super::files::{HEADER, PageFile, PageFiles, Waiting, sum};
use blockmill_store::{
    CrashPoint, Error, Result,
    disk::Open,
    part::{io_error, mismatch, path_of},
};

/// Bytes that are collected before they are written.
const WRITE: usize = 4 << 20;
/// Pages that can be named.
const MOST_PAGES: u64 = 1 << 31;

impl PageFiles {
    /// Appends a record of `live` bytes, rounded up to length units. Returns its page and its
    /// offset units in it.
    pub fn append(&mut self, record: &[u8], live: u64) -> Result<(u32, u8)> {
        let units = self.units(live);
        let mut start = self.page.len().next_multiple_of(self.offset_unit_bytes());
        if start > 0 && HEADER + start + record.len() > self.page_bytes {
            self.end_page(1);
            start = 0;
        }
        if self.page.is_empty() {
            self.make_room(units)?;
        }
        let Some(slot) = self.current else { return Err(self.too_many()) };
        let pending = (self.pending.len() / self.page_bytes) as u32;
        let Some(Some(file)) = self.slots.get_mut(slot as usize) else {
            return Err(self.too_many());
        };
        let page = slot * self.file_pages + file.pages + pending;
        file.live += live;
        self.page.resize(start, 0);
        self.page.extend_from_slice(record);
        if units > 1 {
            self.end_page(units);
        }
        // a page has fewer than 256 offset units after its header
        Ok((page, (start / self.offset_unit_bytes()) as u8))
    }

    fn too_many(&self) -> Error {
        mismatch("pages", format!("less than {MOST_PAGES}"), "more")
    }

    /// Starts a new file if the current one has no room for this many pages.
    fn make_room(&mut self, units: usize) -> Result<()> {
        let pending = self.pending.len() / self.page_bytes;
        let used = self.current.and_then(|slot| self.slots[slot as usize].as_ref());
        let fits =
            |file: &PageFile| file.pages as usize + pending + units <= self.file_pages as usize;
        if used.is_some_and(fits) {
            return Ok(());
        }
        self.end_pages();
        let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if (free as u64 + 1) * u64::from(self.file_pages) > MOST_PAGES {
            return Err(self.too_many());
        }
        let number = self.folder.take_number();
        let path = self.path(number);
        let handle =
            self.folder.disk.open(&path, Open::Empty).map_err(io_error("create", &path))?;
        let file = PageFile { number, pages: 0, live: 0, synced: 0, handle };
        if free == self.slots.len() {
            self.slots.push(None);
        }
        self.slots[free] = Some(file);
        self.current = Some(free as u32);
        Ok(())
    }

    /// Completes the current page, which takes this many units.
    fn end_page(&mut self, units: usize) {
        let Some(slot) = self.current.filter(|_| !self.page.is_empty()) else { return };
        let Some(Some(file)) = self.slots.get(slot as usize) else { return };
        let index = file.pages + (self.pending.len() / self.page_bytes) as u32;
        let start = self.pending.len();
        self.pending.extend([0; 4]);
        self.pending.extend((self.page.len() as u16).to_le_bytes());
        self.pending.extend((units as u16).to_le_bytes());
        self.pending.append(&mut self.page);
        self.pending.resize(start + units * self.page_bytes, 0);
        let sum = sum(file.number, index, &self.pending[start + 4..]);
        self.pending[start..start + 4].copy_from_slice(&sum.to_le_bytes());
        if self.pending.len() < WRITE {
            return;
        }
        self.end_pages();
    }

    /// The whole pages are to be written now.
    fn end_pages(&mut self) {
        let current = self.current.and_then(|slot| self.slots.get_mut(slot as usize));
        let Some(Some(file)) = current.filter(|_| !self.pending.is_empty()) else { return };
        let bytes = std::mem::take(&mut self.pending);
        let (number, handle, first) = (file.number, Arc::clone(&file.handle), file.pages);
        file.pages += (bytes.len() / self.page_bytes) as u32;
        self.written += bytes.len() as u64;
        let is_written = AtomicBool::new(false);
        self.waiting.push(Waiting { number, handle, first, bytes, is_written });
    }

    /// Completes the current page, and with it everything that was appended.
    pub fn end_all(&mut self) {
        self.end_page(1);
        self.end_pages();
    }

    /// Writes the pages that wait for it.
    pub fn write(&self) -> Result<()> {
        for Waiting { number, handle, first, bytes, is_written } in &self.waiting {
            if is_written.load(Relaxed) {
                continue;
            }
            let is_half = self.folder.is_due(CrashPoint::HalfPages);
            let now = if is_half { &bytes[..bytes.len() / 2] } else { &bytes[..] };
            let path = path_of(&self.folder.dir, &self.name, *number);
            let written = handle.write_all_at(now, u64::from(*first) * self.page_bytes as u64);
            written.map_err(io_error("write", &path))?;
            if is_half {
                return Err(Error::Crash(CrashPoint::HalfPages));
            }
            is_written.store(true, Relaxed);
        }
        Ok(())
    }

    /// Writes those that still wait; none does then.
    pub fn write_all(&mut self) -> Result<()> {
        self.write()?;
        if let Some(Waiting { mut bytes, .. }) = self.waiting.pop() {
            bytes.clear();
            self.pending = bytes;
        }
        self.waiting.clear();
        Ok(())
    }

    /// Makes everything that was written survive a power loss.
    pub fn sync(&self) -> Result<()> {
        for file in self.slots.iter().flatten().filter(|file| file.pages > file.synced) {
            let path = path_of(&self.folder.dir, &self.name, file.number);
            file.handle.sync().map_err(io_error("sync", &path))?;
        }
        Ok(())
    }

    /// Notes that all pages are synced.
    pub fn is_synced(&mut self) {
        self.slots.iter_mut().flatten().for_each(|file| file.synced = file.pages);
    }

    /// Removes a file whose records do not count any more.
    pub fn end_file(&mut self, slot: u32) {
        if let Some(file) = self.slots.get_mut(slot as usize).and_then(Option::take) {
            self.ended.push(file.number);
        }
        if self.current == Some(slot) {
            self.current = None;
        }
    }

    pub fn is_current(&self, slot: u32) -> bool {
        self.current == Some(slot)
    }
}
