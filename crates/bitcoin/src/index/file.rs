//! The index file: the records that a scan found, and the files that it read, for the next run.
//!
//! `docs/formats/block-index.md` specifies the layout. The file is a cache: if it is unusable in
//! any way, the blocks are scanned again and the file is written anew.

mod read;
mod reuse;

pub use read::load;
pub use reuse::{Reusable, reuse};

use super::Found;
use crate::header::HEADER_BYTES;
use blockmill_platform::input_file::InputFile;
use blockmill_platform::{files, remote};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::{ffi::OsStrExt, fs::MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The first bytes of an index file.
pub(crate) const MAGIC: [u8; 8] = *b"BMINDEX1";
const HEAD_BYTES: usize = 32;
const RECORD_BYTES: usize = 48 + HEADER_BYTES;
/// A stamp without its path.
const STAMP_BYTES: usize = 30;
const CHECKSUM_BYTES: usize = 4;
/// Number of records in a batch of encoding or decoding.
const BATCH: usize = 4096;

/// Length in the stamp of a corrupt file, which is therefore always scanned again.
pub const CORRUPT_LENGTH: u64 = u64::MAX;

/// Properties of a block file when it was scanned. If they change, the file is scanned again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Its path.
    pub path: PathBuf,
    /// Its length in bytes.
    pub length: u64,
    /// Time of the last modification, in seconds since 1970.
    pub modified: i64,
    /// Nanoseconds of that time.
    pub modified_nanos: u32,
    /// The key of its obfuscation (`xor.dat`); zeros if it is not obfuscated.
    pub xor_key: [u8; 8],
}

impl FileStamp {
    /// The stamp of a file now, with its obfuscation key.
    pub fn read(path: &Path, xor_key: [u8; 8]) -> io::Result<FileStamp> {
        if remote::is_remote(path) {
            let file = InputFile::open(path)?;
            return Ok(FileStamp {
                path: path.to_path_buf(),
                length: file.length()?,
                modified: file.version().unwrap_or_default().cast_signed(),
                modified_nanos: 0,
                xor_key,
            });
        }
        let metadata = fs::metadata(path)?;
        Ok(FileStamp {
            path: path.to_path_buf(),
            length: metadata.len(),
            modified: metadata.mtime(),
            modified_nanos: u32::try_from(metadata.mtime_nsec()).unwrap_or(0),
            xor_key,
        })
    }

    /// The stamp of a pipe, which differs in each run.
    pub fn for_pipe(path: &Path, length: u64) -> FileStamp {
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

/// The content of an index file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The files that were scanned.
    pub files: Vec<FileStamp>,
    /// The records found; [`Found::file`] is an index in `files`.
    pub found: Vec<Found>,
}

/// The result of [`load`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// There is no index file.
    Nothing,
    /// A valid index.
    Index(Saved),
    /// The file is corrupt.
    Corrupt(Corruption),
    /// A valid index of the network with this magic.
    Foreign([u8; 4]),
}

/// Corruption of an index file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is corrupt, the blocks are scanned again: \
     {what}: expected {expected}, found {found}", path.display()
)]
pub struct Corruption {
    /// The index file.
    pub path: PathBuf,
    /// The wrong property.
    pub what: &'static str,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
}

/// The operating system returned an error.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// The verb: "open", "read", "write", ...
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// Writes the index file at `path` for the network with this magic. If the process is killed, the
/// file is the old or the new one. The file is not synced: after a power loss it may be corrupt,
/// which [`load`] detects, and the blocks are scanned again.
///
/// # Errors
/// Returns [`FileError`] if the file cannot be written, and with [`io::ErrorKind::InvalidInput`]
/// for paths of more than 65,535 bytes and records of files that are not in `files`.
pub fn save(
    path: &Path,
    magic: [u8; 4],
    files: &[FileStamp],
    found: &[Found],
) -> Result<(), FileError> {
    let temporary = path.with_extension("tmp");
    files::expect_no_link(&temporary).map_err(error("create", &temporary))?;
    let file = File::create(&temporary).map_err(error("create", &temporary))?;
    let mut out = ChecksummedFile { inner: &file, checksum: Crc32::new() };
    write_all(&mut out, magic, files, found).map_err(error("write", &temporary))?;
    fs::rename(&temporary, path).map_err(error("rename", &temporary))
}

fn write_all(
    out: &mut ChecksummedFile<impl Write>,
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
    out.write(&head)?;
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
        out.write(&bytes)?;
    }
    let checksum = std::mem::replace(&mut out.checksum, Crc32::new()).finalize();
    out.write(&checksum.to_le_bytes())
}

fn error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_path_buf();
    move |source| FileError { action, path, source }
}

type Crc32 = crc32fast::Hasher;

/// A file with the checksum of all bytes that were read or written.
struct ChecksummedFile<T> {
    inner: T,
    checksum: Crc32,
}

impl<T: Write> ChecksummedFile<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.inner.write_all(bytes)
    }
}
