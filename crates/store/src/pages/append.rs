//! Writing pages: records are packed in the order in which they come, and whole pages are appended
//! to the current file, many at once.

use super::files::{HEADER, PageFile, PageFiles, sum};
use crate::{
    crash::CrashPoint,
    disk::Open,
    error::{Error, Result, io_error, mismatch},
    table::path_of,
};

/// Bytes that are collected before they are written.
const WRITE: usize = 4 << 20;
/// Pages that can be named.
const MOST_PAGES: u64 = 1 << 31;

impl PageFiles {
    /// Appends a record of so many grained bytes; the page that will have it.
    pub fn append(&mut self, record: &[u8], live: u64) -> Result<u32> {
        let units = self.units(live);
        if !self.page.is_empty() && HEADER + self.page.len() + record.len() > self.page_bytes {
            self.end_page(1)?;
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
        self.page.extend_from_slice(record);
        if units > 1 {
            self.end_page(units)?;
        }
        Ok(page)
    }

    fn too_many(&self) -> Error {
        mismatch("pages", format!("less than {MOST_PAGES}"), "more")
    }

    /// Begins a new file where the current one has no room for so many pages.
    fn make_room(&mut self, units: usize) -> Result<()> {
        let pending = self.pending.len() / self.page_bytes;
        let used = self.current.and_then(|slot| self.slots[slot as usize].as_ref());
        let fits =
            |file: &PageFile| file.pages as usize + pending + units <= self.file_pages as usize;
        if used.is_some_and(fits) {
            return Ok(());
        }
        self.write()?;
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

    /// Ends the page in the making, which takes so many units.
    fn end_page(&mut self, units: usize) -> Result<()> {
        let Some(slot) = self.current.filter(|_| !self.page.is_empty()) else { return Ok(()) };
        let Some(Some(file)) = self.slots.get(slot as usize) else { return Ok(()) };
        let index = file.pages + (self.pending.len() / self.page_bytes) as u32;
        let start = self.pending.len();
        self.pending.extend([0; 4]);
        self.pending.extend((self.page.len() as u16).to_le_bytes());
        self.pending.extend((units as u16).to_le_bytes());
        self.pending.append(&mut self.page);
        self.pending.resize(start + units * self.page_bytes, 0);
        let sum = sum(file.number, index, &self.pending[start + 4..]);
        self.pending[start..start + 4].copy_from_slice(&sum.to_le_bytes());
        if self.pending.len() >= WRITE { self.write() } else { Ok(()) }
    }

    /// Writes the whole pages that wait.
    fn write(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let Some(Some(file)) = self.current.and_then(|slot| self.slots.get_mut(slot as usize))
        else {
            return Ok(());
        };
        let path = path_of(&self.folder.dir, &self.name, file.number);
        let offset = u64::from(file.pages) * self.page_bytes as u64;
        let half = if self.folder.is_due(CrashPoint::HalfPages) {
            self.pending.len() / 2
        } else {
            self.pending.len()
        };
        let written = file.handle.write_all_at(&self.pending[..half], offset);
        written.map_err(io_error("write", &path))?;
        if half < self.pending.len() {
            return Err(Error::Crash(CrashPoint::HalfPages));
        }
        file.pages += (self.pending.len() / self.page_bytes) as u32;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Ends the page in the making and writes everything that was appended.
    pub fn write_all(&mut self) -> Result<()> {
        self.end_page(1)?;
        self.write()
    }

    /// Makes everything that was written survive a power loss.
    pub fn sync(&self) -> Result<()> {
        for file in self.slots.iter().flatten().filter(|file| file.pages > file.synced) {
            let path = path_of(&self.folder.dir, &self.name, file.number);
            file.handle.sync().map_err(io_error("sync", &path))?;
        }
        Ok(())
    }

    /// Takes note that it does.
    pub fn is_synced(&mut self) {
        self.slots.iter_mut().flatten().for_each(|file| file.synced = file.pages);
    }

    /// Takes a file out whose records do not count any more.
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
