//! An append-only log of records, each named by its end.
//!
//! Undo data is read from its end, newest first. So the length and checksum of a record follow its
//! bytes: a reader that knows the end of a record can read it, and then knows the end of the record
//! before. Layout: `docs/formats/store.md`.

use std::{path::Path, sync::Arc};

use crate::{
    disk::RealDisk,
    error::{Error, Result, mismatch},
    folder::Folder,
    manifest::{self, Fields, Manifest, PartKind},
    segmented_file::SegmentedFile,
    table::Salt,
};

/// Length and CRC-32 after the bytes of a record.
const TRAILER: usize = 8;

/// A log file of a [`crate::Store`]; see the module text. Appended records count after the next
/// [`crate::Store::commit`].
pub struct LogFile {
    pub(crate) folder: Arc<Folder>,
    name: String,
    file_bytes: u64,
    file: SegmentedFile,
    /// The next commit cuts the files to the length that is known here.
    is_cut: bool,
    frame: Vec<u8>,
}

impl LogFile {
    /// Opens the log with these facts of a manifest; `None` if it is new. For writing, bytes that
    /// no commit names are cut off; for reading, missing bytes are found when they are read.
    pub(crate) fn open(
        folder: &Arc<Folder>,
        name: &str,
        file_bytes: u64,
        facts: Option<&[u8]>,
        writes: bool,
    ) -> Result<LogFile> {
        check_size(file_bytes)?;
        let len = match facts {
            None => 0,
            Some(facts) => {
                let (len, size) = read_facts(facts, name, &folder.dir)?;
                if size != file_bytes {
                    return Err(mismatch("bytes of a log file", size, file_bytes));
                }
                len
            }
        };
        let disk = Arc::clone(&folder.disk);
        let mut file = SegmentedFile::new(disk, &folder.dir, name, file_bytes, writes);
        let found = if writes { file.whole_len() } else { len };
        if found < len {
            let (path, offset) = file.location(found);
            let (expected, found) = (format!("{len} bytes in all"), format!("{found} bytes"));
            return Err(Error::Corrupt { path, offset, what: "log file", expected, found });
        }
        if found > len {
            file.cut(len)?;
        }
        file.resume(len, len);
        let folder = Arc::clone(folder);
        Ok(LogFile { folder, name: name.into(), file_bytes, file, is_cut: false, frame: vec![] })
    }

    /// Opens the log `name` of the store in `dir` for reading, as of the last commit; nothing is
    /// created or cut. Bytes that are missing show when they are read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the manifest is not as written; [`Error::Mismatch`] when the files
    /// of the log have another size.
    pub fn open_read_only(dir: &Path, name: &str, file_bytes: u64) -> Result<LogFile> {
        let manifest = Manifest::read(&RealDisk, dir)?;
        let facts = manifest.as_ref().and_then(|m| m.part(PartKind::Log, name));
        let folder = Folder::new(dir, Arc::new(RealDisk), Salt::random(), 0);
        LogFile::open(&Arc::new(folder), name, file_bytes, facts, false)
    }

    /// Reads all records of the log with these facts, from the last to the first, while `watch`,
    /// which gets the bytes of each record, returns true. The first corrupt record ends it, because
    /// only a whole record gives the end of the record before.
    pub(crate) fn survey(
        folder: &Arc<Folder>,
        name: &str,
        facts: &[u8],
        watch: &dyn Fn(u64) -> bool,
    ) -> Result<()> {
        let (mut end, size) = read_facts(facts, name, &folder.dir)?;
        let log = LogFile::open(folder, name, size, Some(facts), false)?;
        let mut record = vec![];
        while end > 0 {
            let start = log.read(end, &mut record)?;
            if !watch(end - start) {
                break;
            }
            end = start;
        }
        Ok(())
    }

    /// Bytes of the log with these facts.
    pub(crate) fn bytes_of(facts: &[u8]) -> u64 {
        Fields(facts).long().unwrap_or(0)
    }

    /// Returns whether `file` is the name of a file of the log `name`.
    pub(crate) fn is_own_file(file: &str, name: &str) -> bool {
        SegmentedFile::number_of(file, name).is_some()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes so far: the end of the last record.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.file.len()
    }

    /// Returns whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a record and returns its end.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the record has 4 GiB or more, or when the log was cut since the
    /// last commit.
    pub fn append(&mut self, record: &[u8]) -> Result<u64> {
        self.append_all([record])
    }

    /// Appends records in one go and returns the end of the last one.
    ///
    /// # Errors
    /// As [`LogFile::append`].
    pub fn append_all<'a>(&mut self, records: impl IntoIterator<Item = &'a [u8]>) -> Result<u64> {
        if self.is_cut {
            // bytes that would be overwritten still count
            return Err(mismatch("log file", "a commit after it was cut", "an append"));
        }
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
        self.file.append(&self.frame)?;
        Ok(self.file.len())
    }

    /// Reads the record that ends at `end` into `out` and returns where it starts, which is where
    /// the record before it ends. From any thread.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when `end` lies outside; [`Error::Corrupt`] when no whole record ends
    /// there.
    pub fn read(&self, end: u64, out: &mut Vec<u8>) -> Result<u64> {
        let Some(trailer) = end.checked_sub(TRAILER as u64).filter(|_| end <= self.len()) else {
            return Err(mismatch("end of a record", format!("8 to {}", self.len()), end));
        };
        let mut bytes = [0; TRAILER];
        self.file.read(trailer, &mut bytes)?;
        let len = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let expected = bytes.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let corrupt = |expected: String, found: String| {
            let (path, offset) = self.file.location(trailer);
            Error::Corrupt { path, offset, what: "record of a log file", expected, found }
        };
        let Some(start) = trailer.checked_sub(u64::from(len)) else {
            return Err(corrupt(format!("at most {trailer} bytes"), format!("{len}")));
        };
        out.resize(len as usize, 0);
        self.file.read(start, out)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(out);
        hasher.update(&bytes[..4]);
        let found = hasher.finalize();
        if found != expected {
            return Err(corrupt(format!("CRC-32 {expected:08x}"), format!("{found:08x}")));
        }
        Ok(start)
    }

    /// Removes all records after `len`, the end of a record. The bytes are cut off by the next
    /// commit, before which nothing can be appended.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the log is shorter.
    pub fn cut(&mut self, len: u64) -> Result<()> {
        if len > self.len() {
            return Err(mismatch("length to cut to", format!("at most {}", self.len()), len));
        }
        self.file.resume(len, self.file.durable().min(len));
        self.is_cut = true;
        Ok(())
    }

    /// Returns whether it has changed since the last commit.
    pub(crate) fn has_changed(&self) -> bool {
        self.is_cut || self.file.len() != self.file.durable()
    }

    /// Makes all records survive a power loss. Returns the facts for the manifest.
    pub(crate) fn prepare(&mut self) -> Result<Vec<u8>> {
        self.file.sync()?;
        Ok([self.len().to_le_bytes(), self.file_bytes.to_le_bytes()].concat())
    }

    /// Cuts off removed bytes after the commit that was prepared.
    pub(crate) fn finish_commit(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_cut) {
            self.file.cut(self.file.len())?;
        }
        self.file.mark_durable();
        Ok(())
    }
}

fn check_size(file_bytes: u64) -> Result<()> {
    if file_bytes > 0 { Ok(()) } else { Err(mismatch("bytes of a log file", "at least 1", 0)) }
}

/// Facts of a log in a manifest: its length, and the size of its files.
fn read_facts(facts: &[u8], name: &str, dir: &Path) -> Result<(u64, u64)> {
    let mut fields = Fields(facts);
    match (fields.long(), fields.long(), fields.0) {
        (Some(len), Some(size), []) if size > 0 => Ok((len, size)),
        _ => {
            let found = format!("{} other bytes", facts.len());
            Err(manifest::corrupt(dir, format!("facts of log file {name}"), found))
        }
    }
}
