//! An append-only journal of records, each named by where it ends.
//!
//! Undo data is read from its end, newest first. So a record carries its length and checksum
//! behind its bytes: who knows where one ends can read it and knows where the one before ends.
//! Layout: `docs/formats/points.md`.

use std::{fs::File, path::Path};

use crate::{
    error::{Error, Result, io_error, mismatch},
    rope::Rope,
};

/// Length and CRC-32 behind a record's bytes.
const TRAILER: usize = 8;
/// The file's name; a number follows.
const NAME: &str = "journal";

/// The journal; see the module text.
pub struct Journal {
    dir: std::path::PathBuf,
    rope: Rope,
    frame: Vec<u8>,
}

impl Journal {
    /// Opens the journal in `dir` and cuts it to `len` bytes, which must be the end of a record;
    /// 0 makes an empty one. Its files get `file_bytes` each, always the same number.
    ///
    /// # Errors
    /// [`Error::Damaged`] names the file that ends before `len`.
    pub fn open(dir: &Path, file_bytes: u64, len: u64) -> Result<Journal> {
        if file_bytes == 0 {
            return Err(mismatch("bytes of a journal file", "at least 1", 0));
        }
        std::fs::create_dir_all(dir).map_err(io_error("make", dir))?;
        let mut rope = Rope::new(dir, NAME, file_bytes, true);
        let found = rope.whole_len();
        if found < len {
            let (path, offset) = rope.place(found);
            let (expected, found) = (format!("{len} bytes in all"), format!("{found} bytes"));
            return Err(Error::Damaged { path, offset, what: "journal", expected, found });
        }
        rope.cut(len)?;
        rope.resume(len, len);
        Ok(Journal { dir: dir.to_path_buf(), rope, frame: Vec::new() })
    }

    /// Opens the journal in `dir`, which has `len` bytes, for reading; nothing is made or cut.
    /// Bytes that are missing show when they are read.
    pub fn open_read_only(dir: &Path, file_bytes: u64, len: u64) -> Result<Journal> {
        if file_bytes == 0 {
            return Err(mismatch("bytes of a journal file", "at least 1", 0));
        }
        let mut rope = Rope::new(dir, NAME, file_bytes, false);
        rope.resume(len, len);
        Ok(Journal { dir: dir.to_path_buf(), rope, frame: Vec::new() })
    }

    /// Whether there is a file of a journal in `dir`.
    pub fn is_there(dir: &Path) -> Result<bool> {
        match dir.is_dir() {
            true => Rope::new(dir, NAME, 1, false).has_files(),
            false => Ok(false),
        }
    }

    /// Bytes so far: the end of the last record.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rope.len()
    }

    /// Is there no record?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a record and returns its end. It is durable after the next [`Journal::sync`].
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the record has 4 GiB or more.
    pub fn append(&mut self, record: &[u8]) -> Result<u64> {
        self.append_all([record])
    }

    /// Appends records in one go and returns the end of the last one.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn append_all<'a>(&mut self, records: impl IntoIterator<Item = &'a [u8]>) -> Result<u64> {
        self.frame.clear();
        for record in records {
            let Ok(len) = u32::try_from(record.len()) else {
                return Err(mismatch("bytes of a record", "less than 4 GiB", record.len()));
            };
            let start = self.frame.len();
            self.frame.extend_from_slice(record);
            self.frame.extend(len.to_le_bytes());
            self.frame.extend(crc32fast::hash(&self.frame[start..]).to_le_bytes());
        }
        self.rope.append(&self.frame)?;
        Ok(self.rope.len())
    }

    /// Reads the record that ends at `end` into `out` and returns where it starts, which is where
    /// the record before it ends. From any thread.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when `end` lies outside; [`Error::Damaged`] when no whole record ends
    /// there.
    pub fn read(&self, end: u64, out: &mut Vec<u8>) -> Result<u64> {
        let Some(trailer) = end.checked_sub(TRAILER as u64).filter(|_| end <= self.len()) else {
            return Err(mismatch("end of a record", format!("8 to {}", self.len()), end));
        };
        let mut bytes = [0; TRAILER];
        self.rope.read(trailer, &mut bytes)?;
        let len = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let expected = bytes.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let damaged = |expected: String, found: String| {
            let (path, offset) = self.rope.place(trailer);
            Error::Damaged { path, offset, what: "record of a journal", expected, found }
        };
        let Some(start) = trailer.checked_sub(u64::from(len)) else {
            return Err(damaged(format!("at most {trailer} bytes"), format!("{len}")));
        };
        out.resize(len as usize, 0);
        self.rope.read(start, out)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(out);
        hasher.update(&bytes[..4]);
        let found = hasher.finalize();
        if found != expected {
            return Err(damaged(format!("CRC-32 {expected:08x}"), format!("{found:08x}")));
        }
        Ok(start)
    }

    /// Makes all records survive a power loss.
    pub fn sync(&mut self) -> Result<()> {
        self.rope.sync()?;
        let folder = File::open(&self.dir).map_err(io_error("open", &self.dir))?;
        folder.sync_all().map_err(io_error("sync", &self.dir))?;
        self.rope.mark_durable();
        Ok(())
    }

    /// Removes all records after `len`, the end of a record.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the journal is shorter.
    pub fn cut(&mut self, len: u64) -> Result<()> {
        if len > self.len() {
            return Err(mismatch("length to cut to", format!("at most {}", self.len()), len));
        }
        self.rope.cut(len)?;
        self.rope.resume(len, len);
        Ok(())
    }
}
