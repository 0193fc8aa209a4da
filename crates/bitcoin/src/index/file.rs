//! The index file: what a scan found, and of which files, for the next run.
//!
//! Layout: `docs/formats/block-index.md`. The file is a shortcut, never the truth: whatever is
//! wrong with it, the blocks are scanned again and it is written anew.

use super::Found;
use crate::BlockHash;
use crate::header::HEADER_BYTES;
use blockmill_platform::files;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::{ffi::OsStrExt, fs::MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What an index file begins with.
pub(crate) const MAGIC: [u8; 8] = *b"BMINDEX1";
const HEAD_BYTES: usize = 32;
const RECORD_BYTES: usize = 48 + HEADER_BYTES;
/// A stamp without its path.
const STAMP_BYTES: usize = 30;
const SUM_BYTES: usize = 4;
/// Records that are encoded or decoded at once.
const BATCH: usize = 4096;

/// In a stamp instead of the length: the file has damage, and is scanned again in any case.
pub const DAMAGED_LENGTH: u64 = u64::MAX;

/// What a file of blocks was like when it was scanned. It is scanned again when this changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes.
    pub length: u64,
    /// When it was written last: seconds since 1970.
    pub modified: i64,
    /// And nanoseconds.
    pub modified_nanos: u32,
    /// The key with which it was read (`xor.dat`); zeros when its bytes are plain.
    pub xor_key: [u8; 8],
}

impl FileStamp {
    /// The stamp of a file as it is now, read with `xor_key`.
    pub fn of(path: &Path, xor_key: [u8; 8]) -> io::Result<FileStamp> {
        let metadata = fs::metadata(path)?;
        Ok(FileStamp {
            path: path.to_path_buf(),
            length: metadata.len(),
            modified: metadata.mtime(),
            modified_nanos: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
            xor_key,
        })
    }

    /// The stamp of what came through a pipe: never that of another run.
    pub fn of_pipe(path: &Path, length: u64) -> FileStamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        FileStamp {
            path: path.to_path_buf(),
            length,
            modified: i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
            modified_nanos: now.subsec_nanos(),
            xor_key: [0; 8],
        }
    }
}

/// What an index file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The files that were scanned.
    pub files: Vec<FileStamp>,
    /// What was found in them; [`Found::file`] is an index of `files`.
    pub found: Vec<Found>,
}

/// What [`load`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// No index file.
    Nothing,
    /// A whole one.
    Index(Saved),
    /// One that cannot be used.
    Corrupt(Corruption),
    /// A whole one, of the network with this magic.
    Foreign([u8; 4]),
}

/// What is wrong with an index file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is damaged, the blocks are scanned again: \
     {what}: expected {expected}, found {found}", path.display()
)]
pub struct Corruption {
    /// The index file.
    pub path: PathBuf,
    /// Which of its properties.
    pub what: &'static str,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

/// The operating system refused something.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// The verb: "open", "read", "write", ...
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Writes the index file at `path` for the network with this magic. A kill at any moment leaves
/// the old file or the new one. Nothing waits for the disk: after a power loss the file may be
/// damaged, which [`load`] sees, and the blocks are scanned again.
///
/// Refuses ([`io::ErrorKind::InvalidInput`]) paths of more than 65,535 bytes and records of files
/// that are not in `files`.
pub fn save(
    path: &Path,
    magic: [u8; 4],
    files: &[FileStamp],
    found: &[Found],
) -> Result<(), FileError> {
    let temporary = path.with_extension("tmp");
    files::expect_no_link(&temporary).map_err(error("create", &temporary))?;
    let file = File::create(&temporary).map_err(error("create", &temporary))?;
    let mut out = Summed { inner: &file, sum: Sum::new() };
    write_all(&mut out, magic, files, found).map_err(error("write", &temporary))?;
    fs::rename(&temporary, path).map_err(error("rename", &temporary))
}

fn write_all(
    out: &mut Summed<impl Write>,
    magic: [u8; 4],
    files: &[FileStamp],
    found: &[Found],
) -> io::Result<()> {
    let refuse = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
    let mut list = Vec::new();
    for file in files {
        let path = file.path.as_os_str().as_bytes();
        let length = u16::try_from(path.len()).map_err(|_| refuse("path too long"))?;
        list.extend(file.length.to_le_bytes());
        list.extend(file.modified.to_le_bytes());
        list.extend(file.modified_nanos.to_le_bytes());
        list.extend(file.xor_key);
        list.extend(length.to_le_bytes());
        list.extend(path);
    }
    let count = u32::try_from(files.len()).map_err(|_| refuse("too many files"))?;
    if found.iter().any(|found| found.file >= count) {
        return Err(refuse("a record of an unknown file"));
    }
    let mut head = Vec::with_capacity(HEAD_BYTES + list.len());
    head.extend(MAGIC);
    head.extend(magic);
    head.extend(count.to_le_bytes());
    head.extend((found.len() as u64).to_le_bytes());
    head.extend((list.len() as u64).to_le_bytes());
    head.append(&mut list);
    out.put(&head)?;
    let mut bytes = Vec::with_capacity(BATCH.min(found.len()) * RECORD_BYTES);
    for batch in found.chunks(BATCH) {
        bytes.clear();
        for record in batch {
            bytes.extend_from_slice(&record.file.to_le_bytes());
            bytes.extend_from_slice(&record.size.to_le_bytes());
            bytes.extend_from_slice(&record.offset.to_le_bytes());
            bytes.extend_from_slice(&record.hash.0);
            bytes.extend_from_slice(&record.header);
        }
        out.put(&bytes)?;
    }
    let sum = std::mem::replace(&mut out.sum, Sum::new()).finalize();
    out.put(&sum.to_le_bytes())
}

/// Reads the index file at `path`, if it is there and of the network with this magic.
pub fn load(path: &Path, magic: [u8; 4]) -> Result<Loaded, FileError> {
    let opened = files::if_there(path, File::open(path)).map_err(error("open", path))?;
    let Some(file) = opened else { return Ok(Loaded::Nothing) };
    let length = file.metadata().map_err(error("read", path))?.len();
    let input = Summed { inner: file, sum: Sum::new() };
    match (Reading { input, length }).all(magic) {
        Ok(saved) => Ok(Loaded::Index(saved)),
        Err(Bad::Io(source)) => Err(error("read", path)(source)),
        Err(Bad::Network(network)) => Ok(Loaded::Foreign(network)),
        Err(Bad::Content { what, expected, found }) => {
            let path = path.to_path_buf();
            Ok(Loaded::Corrupt(Corruption { path, what, expected, found }))
        }
    }
}

fn error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_path_buf();
    move |source| FileError { action, path, source }
}

enum Bad {
    Io(io::Error),
    Network([u8; 4]),
    Content { what: &'static str, expected: String, found: String },
}

fn bad(what: &'static str, expected: impl ToString, found: impl ToString) -> Bad {
    Bad::Content { what, expected: expected.to_string(), found: found.to_string() }
}

struct Reading {
    input: Summed<File>,
    /// Of the whole file.
    length: u64,
}

impl Reading {
    fn all(mut self, magic: [u8; 4]) -> Result<Saved, Bad> {
        let least = (HEAD_BYTES + SUM_BYTES) as u64;
        if self.length < least {
            return Err(bad("length", format!("{least} or more"), self.length));
        }
        let mut head = [0; HEAD_BYTES];
        self.input.take(&mut head)?;
        let mut at = Cursor(&head);
        let (found_magic, found_network) = (at.array::<8>()?, at.array::<4>()?);
        if found_magic != MAGIC {
            return Err(bad("magic", MAGIC.escape_ascii(), found_magic.escape_ascii()));
        }
        let (files, records, list) = (at.number_u32()?, at.number_u64()?, at.number_u64()?);
        // the sizes are those of the file, so nothing below takes more memory than it has bytes
        let wanted = records
            .checked_mul(RECORD_BYTES as u64)
            .and_then(|bytes| bytes.checked_add(list)?.checked_add(least));
        if wanted != Some(self.length) {
            let wanted = wanted.map_or("a possible one".to_string(), |bytes| bytes.to_string());
            return Err(bad("length", wanted, self.length));
        }
        let files = self.files(files, list)?;
        let found = self.records(records, files.len())?;
        let expected = std::mem::replace(&mut self.input.sum, Sum::new()).finalize();
        let mut sum = [0; SUM_BYTES];
        self.input.take(&mut sum)?;
        let sum = u32::from_le_bytes(sum);
        if sum != expected {
            return Err(bad("checksum", format!("{expected:08x}"), format!("{sum:08x}")));
        }
        // whole, but not ours
        if found_network != magic {
            return Err(Bad::Network(found_network));
        }
        Ok(Saved { files, found })
    }

    fn files(&mut self, count: u32, bytes: u64) -> Result<Vec<FileStamp>, Bad> {
        let least = u64::from(count) * STAMP_BYTES as u64;
        if bytes < least {
            return Err(bad("file list", format!("{least} bytes or more"), bytes));
        }
        let mut list = vec![0; bytes as usize];
        self.input.take(&mut list)?;
        let mut at = Cursor(&list);
        let mut files = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let (length, modified) = (at.number_u64()?, i64::from_le_bytes(at.array()?));
            let (modified_nanos, xor_key) = (at.number_u32()?, at.array()?);
            let path_bytes = usize::from(u16::from_le_bytes(at.array()?));
            let path = PathBuf::from(OsStr::from_bytes(at.take(path_bytes)?));
            files.push(FileStamp { path, length, modified, modified_nanos, xor_key });
        }
        if !at.0.is_empty() {
            return Err(bad("file list", bytes - at.0.len() as u64, bytes));
        }
        Ok(files)
    }

    fn records(&mut self, count: u64, files: usize) -> Result<Vec<Found>, Bad> {
        let mut found = Vec::with_capacity(count as usize);
        let mut bytes = vec![0; RECORD_BYTES * BATCH.min(count as usize)];
        while found.len() < count as usize {
            let batch = BATCH.min(count as usize - found.len());
            let bytes = &mut bytes[..batch * RECORD_BYTES];
            self.input.take(bytes)?;
            let mut at = Cursor(bytes);
            for _ in 0..batch {
                let (file, size) = (at.number_u32()?, at.number_u32()?);
                if file as usize >= files {
                    return Err(bad("file of a record", format!("below {files}"), file));
                }
                let (offset, hash, header) =
                    (at.number_u64()?, BlockHash(at.array()?), at.array()?);
                found.push(Found { file, offset, size, header, hash });
            }
        }
        Ok(found)
    }
}

/// What of a saved index is still true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Records of unchanged files; [`Found::file`] is an index of the new list of files.
    pub found: Vec<Found>,
    /// The indexes of files that are new or changed, in order: to be scanned.
    pub to_scan: Vec<u32>,
}

/// Compares a saved index with the files of today.
pub fn take_over(saved: Saved, files: &[FileStamp]) -> Kept {
    let mut indexes = std::collections::HashMap::new();
    for (index, file) in files.iter().enumerate() {
        indexes.entry(&file.path).or_insert(index);
    }
    let mut new_indexes = vec![None; saved.files.len()];
    let mut is_kept = vec![false; files.len()];
    for (new_index, file) in new_indexes.iter_mut().zip(&saved.files) {
        let same = indexes.get(&file.path).copied().filter(|index| files[*index] == *file);
        if let Some(index) = same.filter(|index| !std::mem::replace(&mut is_kept[*index], true)) {
            *new_index = Some(index as u32);
        }
    }
    let mut found = saved.found;
    found.retain_mut(|record| match new_indexes.get(record.file as usize) {
        Some(Some(index)) => {
            record.file = *index;
            true
        }
        _ => false,
    });
    let to_scan = (0..files.len()).filter(|index| !is_kept[*index]).map(|index| index as u32);
    Kept { found, to_scan: to_scan.collect() }
}

type Sum = crc32fast::Hasher;

/// A file with the checksum of what went through.
struct Summed<T> {
    inner: T,
    sum: Sum,
}

impl<T: Write> Summed<T> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }
}

impl<T: Read> Summed<T> {
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), Bad> {
        match self.inner.read_exact(bytes) {
            Ok(()) => self.sum.update(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(bad("length", "as when it was opened", "a shorter file"));
            }
            Err(error) => return Err(Bad::Io(error)),
        }
        Ok(())
    }
}

/// Takes bytes from the front.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Bad> {
        let Some((front, rest)) = self.0.split_at_checked(count) else {
            return Err(bad("file list", format!("{count} more bytes"), self.0.len()));
        };
        self.0 = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn number_u32(&mut self) -> Result<u32, Bad> {
        self.array().map(u32::from_le_bytes)
    }

    fn number_u64(&mut self) -> Result<u64, Bad> {
        self.array().map(u64::from_le_bytes)
    }
}
