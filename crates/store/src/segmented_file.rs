//! One append-only byte sequence over files of a fixed size.
//!
//! Byte `p` of the sequence is in file `p / file_bytes` at offset `p % file_bytes`, so a position
//! determines the file: there is no table of files. Checksums of the bytes are kept by
//! `checksummed_file.rs`. Layout: `docs/formats/segment.md`.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use crate::{
    disk::{Disk, DiskFile, Open},
    error::{Error, Result, io_error, missing_or},
};

/// Files kept open for each segmented file. A chain of hundreds of GiB has hundreds of files.
const OPEN_FILES: usize = 16;
/// Bytes after which write-back to disk starts, so that little is left for the last sync.
const WRITE_BACK: u64 = 64 << 20;
/// Piece size of sequential reads.
const PIECE: usize = 1 << 18;

/// An append-only byte sequence; see the module text.
pub(crate) struct SegmentedFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    name: String,
    file_bytes: u64,
    writable: bool,
    /// Bytes before this position are removed.
    start: u64,
    len: u64,
    durable: u64,
    open: Mutex<Vec<(u64, Arc<dyn DiskFile>)>>,
    /// Where the last write-back began, and the thread that does it.
    write_back: (u64, Option<JoinHandle<io::Result<()>>>),
}

/// The name of file `number` of the segmented file `name`.
pub(crate) fn file_name(name: &str, number: u64) -> String {
    format!("{name}.{number:05}")
}

impl SegmentedFile {
    /// The segmented file `name` in `dir`, empty until [`SegmentedFile::resume`] sets its length.
    /// Opens no file.
    pub fn new(
        disk: Arc<dyn Disk>,
        dir: &Path,
        name: &str,
        file_bytes: u64,
        writable: bool,
    ) -> SegmentedFile {
        SegmentedFile {
            disk,
            dir: dir.to_path_buf(),
            name: name.into(),
            file_bytes,
            writable,
            start: 0,
            len: 0,
            durable: 0,
            open: Mutex::new(Vec::new()),
            write_back: (0, None),
        }
    }

    /// Assumes that `len` bytes are written and the first `durable` of them are safe on disk.
    /// Reading and appending continue from there.
    pub fn resume(&mut self, len: u64, durable: u64) {
        self.len = len;
        self.durable = durable;
    }

    /// Sets the first byte to keep. [`SegmentedFile::give_up`] removes those before it; they need
    /// not exist.
    pub fn begin_at(&mut self, start: u64) {
        self.start = start;
    }

    /// Number of the first file with a byte that is not removed, or of the last file.
    fn first_file(&self) -> u64 {
        self.start.min(self.len.saturating_sub(1)) / self.file_bytes
    }

    /// Bytes appended so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The part of them that is safe on disk.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// The file that holds byte `position`, and its offset there.
    pub fn location(&self, position: u64) -> (PathBuf, u64) {
        (self.path(position / self.file_bytes), position % self.file_bytes)
    }

    fn path(&self, file: u64) -> PathBuf {
        self.dir.join(file_name(&self.name, file))
    }

    fn file(&self, number: u64, create: bool) -> Result<Arc<dyn DiskFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, file)) = open.iter().find(|(n, _)| *n == number) {
            return Ok(Arc::clone(file));
        }
        let path = self.path(number);
        let how = match (self.writable, create) {
            (false, _) => Open::Read,
            (true, false) => Open::Write,
            (true, true) => Open::Create,
        };
        let file = self.disk.open(&path, how).map_err(|source| missing_or(source, &path))?;
        if open.len() == OPEN_FILES {
            open.remove(0);
        }
        open.push((number, Arc::clone(&file)));
        Ok(file)
    }

    /// Appends `bytes`: one system call, one more for each file boundary crossed.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (number, offset) = (self.len / self.file_bytes, self.len % self.file_bytes);
            let room = usize::try_from(self.file_bytes - offset).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            let written = self.file(number, true)?.write_all_at(now, offset);
            written.map_err(io_error("write", &self.path(number)))?;
            self.len += now.len() as u64;
            bytes = later;
        }
        if self.len.saturating_sub(self.write_back.0) >= WRITE_BACK {
            self.begin_write_back()?;
        }
        Ok(())
    }

    /// Starts writing the newest file to disk in the background, unless that is still in progress.
    fn begin_write_back(&mut self) -> Result<()> {
        if self.write_back.1.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        self.end_write_back()?;
        let file = self.file(self.len.saturating_sub(1) / self.file_bytes, false)?;
        // without a thread the last sync has more to do
        self.write_back = (self.len, thread::Builder::new().spawn(move || file.sync()).ok());
        Ok(())
    }

    /// Waits for the write-back and returns its error, which the system reports only once.
    fn end_write_back(&mut self) -> Result<()> {
        match self.write_back.1.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => {
                Err(io_error("sync", &self.path(self.len / self.file_bytes))(error))
            }
            _ => Ok(()),
        }
    }

    /// Fills `out` from `position`. The range must lie within [`SegmentedFile::len`]; missing bytes
    /// on disk are an error that names file and offset.
    pub fn read(&self, mut position: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let (number, offset) = (position / self.file_bytes, position % self.file_bytes);
            let room = usize::try_from(self.file_bytes - offset).unwrap_or(usize::MAX);
            let now = out.len().min(room);
            let (piece, rest) = out.split_at_mut(now);
            self.file(number, false)?
                .read_exact_at(piece, offset)
                .map_err(|source| self.short_read(number, offset, now, source))?;
            position += now as u64;
            out = rest;
        }
        Ok(())
    }

    fn short_read(&self, number: u64, offset: u64, wanted: usize, source: io::Error) -> Error {
        let path = self.path(number);
        if source.kind() != io::ErrorKind::UnexpectedEof {
            return Error::Io { action: "read", path, source };
        }
        let size = self.file_size(number);
        Error::Corrupt {
            path,
            offset,
            what: "file length",
            expected: format!("{} bytes", offset + wanted as u64),
            found: format!("{size} bytes"),
        }
    }

    /// Calls `each` with the bytes of `range`, in pieces of at most 256 KiB, in order. Pieces start
    /// at multiples of 256 KiB from the start of the range.
    pub fn stream(&self, range: Range<u64>, mut each: impl FnMut(&[u8])) -> Result<()> {
        let size = usize::try_from(range.end - range.start).unwrap_or(PIECE).min(PIECE);
        let mut buffer = vec![0; size];
        let mut position = range.start;
        while position < range.end {
            let now = buffer.len().min((range.end - position) as usize);
            self.read(position, &mut buffer[..now])?;
            each(&buffer[..now]);
            position += now as u64;
        }
        Ok(())
    }

    /// Writes over bytes that were appended before. They are no longer durable.
    pub fn rewrite(&mut self, mut position: u64, mut bytes: &[u8]) -> Result<()> {
        self.durable = self.durable.min(position);
        while !bytes.is_empty() {
            let (number, offset) = (position / self.file_bytes, position % self.file_bytes);
            let room = usize::try_from(self.file_bytes - offset).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            let written = self.file(number, false)?.write_all_at(now, offset);
            written.map_err(io_error("write", &self.path(number)))?;
            position += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Checks by the sizes of the files that the first `len` bytes exist, except for removed ones.
    pub fn check_len(&self, len: u64) -> Result<()> {
        for number in self.first_file()..len.div_ceil(self.file_bytes) {
            let wanted = (len - number * self.file_bytes).min(self.file_bytes);
            let found = self.file_size(number);
            if found < wanted {
                return Err(Error::Corrupt {
                    path: self.path(number),
                    offset: found,
                    what: "file length",
                    expected: format!("{wanted} bytes"),
                    found: format!("{found} bytes"),
                });
            }
        }
        Ok(())
    }

    /// Bytes from the start that are there without a gap, whether they count or not.
    pub fn whole_len(&self) -> u64 {
        let sizes = (0..).map(|number| self.file_size(number));
        let full = sizes.take_while(|size| *size >= self.file_bytes).count() as u64;
        full * self.file_bytes + self.file_size(full)
    }

    /// Bytes on disk beyond those that count.
    pub fn excess(&self) -> Result<u64> {
        let on_disk: u64 = self.file_numbers()?.into_iter().map(|n| self.file_size(n)).sum();
        Ok(on_disk.saturating_sub(self.len - self.first_file() * self.file_bytes))
    }

    fn file_size(&self, number: u64) -> u64 {
        self.disk.file_bytes(&self.path(number)).unwrap_or(0)
    }

    fn file_numbers(&self) -> Result<Vec<u64>> {
        let names = self.disk.list(&self.dir).map_err(io_error("list", &self.dir))?;
        let number = |name: &std::ffi::OsString| Self::number_of(name.to_str()?, &self.name);
        Ok(names.iter().filter_map(number).collect())
    }

    /// The number of the file with this name; `None` if `file` is not a name of such a file.
    pub fn number_of(file: &str, name: &str) -> Option<u64> {
        let number = file.strip_prefix(name)?.strip_prefix('.')?.parse().ok()?;
        (file_name(name, number) == file).then_some(number)
    }

    /// Removes the files whose numbers are outside of `kept`.
    fn remove_outside(&mut self, kept: Range<u64>) -> Result<()> {
        self.open.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        for number in self.file_numbers()?.into_iter().filter(|number| !kept.contains(number)) {
            let path = self.path(number);
            self.disk.remove(&path).map_err(io_error("remove", &path))?;
        }
        Ok(())
    }

    /// Removes the files of removed bytes, and punches a hole in the first file that stays.
    pub fn give_up(&mut self) -> Result<()> {
        let (first, start) = (self.first_file(), self.start);
        self.remove_outside(first..u64::MAX)?;
        let bytes = start.min(self.len) - first * self.file_bytes;
        if bytes > 0 {
            self.file(first, false)?.give_back(0, bytes);
        }
        Ok(())
    }

    /// Removes every byte from `len` on, and the files that become empty or lie before the start.
    pub fn cut(&mut self, len: u64) -> Result<()> {
        let files = len.div_ceil(self.file_bytes);
        self.remove_outside(self.first_file()..files)?;
        if files > 0 {
            let number = files - 1;
            let size = len - number * self.file_bytes;
            self.file(number, false)?
                .set_bytes(size)
                .map_err(io_error("shorten", &self.path(number)))?;
        }
        self.len = len;
        Ok(())
    }

    /// Makes every appended byte survive a power loss. The caller syncs the folder afterwards.
    pub fn sync(&mut self) -> Result<()> {
        self.end_write_back()?;
        for number in self.durable / self.file_bytes..self.len.div_ceil(self.file_bytes) {
            self.file(number, false)?.sync().map_err(io_error("sync", &self.path(number)))?;
        }
        Ok(())
    }

    /// All bytes up to here are durable.
    pub fn mark_durable(&mut self) {
        self.durable = self.len;
    }
}
