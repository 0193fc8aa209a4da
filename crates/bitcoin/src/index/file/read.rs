//! Reads an index file.

use super::{
    BATCH, CHECKSUM_BYTES, ChecksummedFile, Corruption, Crc32, FileError, FileStamp, HEAD_BYTES,
    Loaded, MAGIC, RECORD_BYTES, STAMP_BYTES, Saved, error,
};
use crate::BlockHash;
use crate::index::Found;
use blockmill_platform::files;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Reads the index file at `path`, if there is one, for the network with this magic.
///
/// # Errors
/// Returns [`FileError`] if the file cannot be read. Corruption is no error, see [`Loaded`].
pub fn load(path: &Path, magic: [u8; 4]) -> Result<Loaded, FileError> {
    let opened = files::if_there(path, File::open(path)).map_err(error("open", path))?;
    let Some(file) = opened else { return Ok(Loaded::Nothing) };
    let length = file.metadata().map_err(error("read", path))?.len();
    let input = ChecksummedFile { inner: file, checksum: Crc32::new() };
    match (Reader { input, length }).index(magic) {
        Ok(saved) => Ok(Loaded::Index(saved)),
        Err(Bad::Io(source)) => Err(error("read", path)(source)),
        Err(Bad::Network(network)) => Ok(Loaded::Foreign(network)),
        Err(Bad::Content { what, expected, found }) => {
            let path = path.to_path_buf();
            Ok(Loaded::Corrupt(Corruption { path, what, expected, found }))
        }
    }
}

/// Why an index file was not loaded.
enum Bad {
    Io(io::Error),
    Network([u8; 4]),
    Content { what: &'static str, expected: String, found: String },
}

fn bad(what: &'static str, expected: impl ToString, found: impl ToString) -> Bad {
    Bad::Content { what, expected: expected.to_string(), found: found.to_string() }
}

struct Reader {
    input: ChecksummedFile<File>,
    /// Length of the file.
    length: u64,
}

impl Reader {
    fn index(mut self, magic: [u8; 4]) -> Result<Saved, Bad> {
        let least = (HEAD_BYTES + CHECKSUM_BYTES) as u64;
        if self.length < least {
            return Err(bad("length", format!("{least} or more"), self.length));
        }
        let mut head = [0; HEAD_BYTES];
        self.input.read(&mut head)?;
        let mut at = Cursor(&head);
        let (found_magic, found_network) = (at.array::<8>()?, at.array::<4>()?);
        if found_magic != MAGIC {
            return Err(bad("magic", MAGIC.escape_ascii(), found_magic.escape_ascii()));
        }
        let (files, records, list) = (at.number_u32()?, at.number_u64()?, at.number_u64()?);
        // sizes are consistent with the length, so nothing below takes more memory than the file
        let wanted = records
            .checked_mul(RECORD_BYTES as u64)
            .and_then(|bytes| bytes.checked_add(list)?.checked_add(least));
        if wanted != Some(self.length) {
            let wanted = wanted.map_or("a possible one".to_string(), |bytes| bytes.to_string());
            return Err(bad("length", wanted, self.length));
        }
        let files = self.files(files, list)?;
        let records = self.records(records, files.len())?;
        let expected = std::mem::replace(&mut self.input.checksum, Crc32::new()).finalize();
        let mut stated = [0; CHECKSUM_BYTES];
        self.input.read(&mut stated)?;
        let found = u32::from_le_bytes(stated);
        if found != expected {
            return Err(bad("checksum", format!("{expected:08x}"), format!("{found:08x}")));
        }
        // complete, but of another network
        if found_network != magic {
            return Err(Bad::Network(found_network));
        }
        Ok(Saved { files, found: records })
    }

    fn files(&mut self, count: u32, bytes: u64) -> Result<Vec<FileStamp>, Bad> {
        let least = u64::from(count) * STAMP_BYTES as u64;
        if bytes < least {
            return Err(bad("file list", format!("{least} bytes or more"), bytes));
        }
        let mut list = vec![0; bytes as usize];
        self.input.read(&mut list)?;
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
            self.input.read(bytes)?;
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

impl<T: Read> ChecksummedFile<T> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Bad> {
        match self.inner.read_exact(bytes) {
            Ok(()) => self.checksum.update(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(bad("length", "as when it was opened", "a shorter file"));
            }
            Err(error) => return Err(Bad::Io(error)),
        }
        Ok(())
    }
}

/// Bytes to read from the front.
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
