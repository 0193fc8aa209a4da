//! The bytes of an archive's file, decompressed: in order, or at random offsets. A path of `-` is
//! standard input.

mod batches;
#[cfg(test)]
pub(crate) mod pack;
mod raw;
mod spool;
#[cfg(test)]
mod tests;

use blockmill_verdict::Location;
use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

pub(crate) use batches::{Batches, Filled, Start};
pub use raw::{STDIN, stop_waiting};
pub(crate) use spool::{Seekable, needs_copy};

use raw::{Raw, Stopped, check_stopped};

use crate::Error;
use crate::compression::{Compression, CompressionFault, Decoder};

/// Number of bytes that are compared at once.
const COMPARED: usize = 1 << 20;

/// Bytes that are read first of the head of a file.
const HEAD_STEP: usize = 64 << 10;

/// Bytes that identify the compression of a file.
const MAGIC: usize = 6;

/// Whether `path` can be read only once, in order: standard input or another pipe.
pub fn is_pipe(path: &Path) -> bool {
    raw::is_pipe(path)
}

/// A note for the user on files that were copied to temporary files.
pub(crate) fn copied(files: usize, bytes: Option<u64>) -> String {
    let files = if files == 1 { "1 file was".into() } else { format!("{files} files were") };
    let bytes = bytes.map_or(String::new(), |bytes| format!(" of {bytes} bytes"));
    let folder = std::env::temp_dir();
    format!(
        "{files} unpacked or copied to temporary files{bytes} in {} to be read, which are gone now",
        folder.display()
    )
}

/// Reads all bytes of a file, unpacked if it is compressed.
///
/// # Errors
/// Returns [`Error::Io`] if the file cannot be read or has more than `most` bytes, and
/// [`Error::Compressed`] if it cannot be unpacked.
pub fn read_whole(path: &Path, most: usize) -> Result<Vec<u8>, Error> {
    let mut input = Input::open(path)?;
    let (bytes, fault) = input.head(most.saturating_add(1));
    if let Some(error) = fault {
        return Err(error);
    }
    if bytes.len() > most {
        let text = match input.is_compressed() {
            true => format!("it has more than {most} bytes when it is unpacked"),
            false => format!("it has more than {most} bytes"),
        };
        let too_long = io::Error::new(io::ErrorKind::InvalidData, text);
        return Err(Error::io("cannot read", path)(too_long));
    }
    Ok(bytes)
}

/// Whether two files have the same bytes, unpacked.
pub(crate) fn is_same(first: &Path, second: &Path) -> Result<bool, Error> {
    let (mut first, mut second) = (Input::open(first)?, Input::open(second)?);
    loop {
        let ((a, fault), (b, other)) = (first.head(COMPARED), second.head(COMPARED));
        if let Some(error) = fault.or(other) {
            return Err(error);
        }
        if a != b || a.is_empty() {
            return Ok(a == b);
        }
    }
}

/// A file that other crates read in order, unpacked if it is compressed: text, for example.
#[derive(Debug)]
pub struct Unpacked {
    input: Input,
    offset: u64,
}

impl Unpacked {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { input: Input::open(path)?, offset: 0 })
    }

    /// Reads the next bytes; returns 0 at the end.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Compressed`] if it cannot be unpacked.
    pub fn read(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        let count = self.input.read(into, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }

    /// Bytes read from disk so far.
    pub fn disk_bytes(&self) -> u64 {
        self.input.disk_bytes()
    }
}

/// A file that is read in order, unpacked if it is compressed.
pub(crate) struct Input {
    path: PathBuf,
    compression: Option<Compression>,
    decoder: Decoder<Stoppable>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, compression, .. } = self;
        f.debug_struct("Input").field("path", path).field("compression", compression).finish()
    }
}

/// Raw bytes. Reads of compressed data fail when the user requests a stop, because a decoder may
/// read many bytes before it returns any.
struct Stoppable {
    raw: Raw,
    compressed: bool,
}

impl Read for Stoppable {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.compressed {
            check_stopped()?;
        }
        self.raw.read(into)
    }
}

impl Seek for Stoppable {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.raw.seek(to)
    }
}

impl Input {
    /// Opens a file. The content determines the compression, not the name.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if let Some(copy) = spool::copy_of_pipe(path) {
            // the bytes read from the pipe are gone, but this file has all of them
            let raw = Stoppable { raw: Raw::of(copy.file().clone()), compressed: false };
            let (path, compression) = (path.to_path_buf(), copy.compression);
            return Ok(Self { path, compression, decoder: Decoder::Plain(raw) });
        }
        let mut raw = Raw::open(path).map_err(Error::io("cannot open", path))?;
        let head = raw.peek(MAGIC).map_err(|source| read_error(path, source))?;
        let compression = Compression::detect(&head);
        if compression == Some(Compression::Zip) {
            raw.make_seekable().map_err(|source| read_error(path, source))?;
        }
        let raw = Stoppable { raw, compressed: compression.is_some() };
        let decoder = Decoder::new(raw, compression).map_err(Error::io("cannot unpack", path))?;
        Ok(Self { path: path.to_path_buf(), compression, decoder })
    }

    /// The compression of the file.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Whether offsets count unpacked bytes instead of bytes of the file.
    pub fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// Bytes read from disk so far.
    pub fn disk_bytes(&self) -> u64 {
        self.decoder.raw().raw.bytes_read()
    }

    /// Reads the next bytes; returns 0 at the end. `offset` is the number of bytes that the caller
    /// has read, for errors.
    pub fn read(&mut self, into: &mut [u8], offset: u64) -> Result<usize, Error> {
        loop {
            return match self.decoder.read(into) {
                Ok(count) => Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(self.error(error, offset)),
            };
        }
    }

    /// Skips the next `count` bytes of a file of which nothing was read; fewer at its end.
    pub fn skip(&mut self, count: u64) -> Result<(), Error> {
        if let Decoder::Plain(source) = &mut self.decoder {
            source.raw.skip(count);
            return Ok(());
        }
        let mut piece = vec![0; 1 << 16];
        let mut left = count;
        while left > 0 {
            let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match self.read(&mut piece[..most], count - left)? {
                0 => break,
                read => left -= read as u64,
            }
        }
        Ok(())
    }

    /// Reads up to `length` more bytes. Returns fewer at the end of the file or before an error,
    /// which is returned with them.
    pub fn head(&mut self, length: usize) -> (Vec<u8>, Option<Error>) {
        let (mut head, mut filled) = (vec![], 0);
        let mut fault = None;
        while filled < length && fault.is_none() {
            // the buffer doubles, so that memory follows the bytes that are there
            head.resize(length.min(filled.saturating_mul(2).max(HEAD_STEP)), 0);
            match self.read(&mut head[filled..], filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) => fault = Some(error),
            }
        }
        head.truncate(filled);
        (head, fault)
    }

    fn error(&self, source: io::Error, offset: u64) -> Error {
        let stopped = source.get_ref().is_some_and(|inner| inner.is::<Stopped>());
        let fault = CompressionFault::from_io(&source).filter(|_| !stopped);
        match (self.compression, fault) {
            (Some(compression), Some(fault)) => {
                let location = Location { file: self.path.clone(), offset, unpacked: true };
                Error::Compressed { location, compression, fault }
            }
            _ => read_error(&self.path, source),
        }
    }
}

fn read_error(path: &Path, source: io::Error) -> Error {
    if source.get_ref().is_some_and(|inner| inner.is::<Stopped>()) {
        return Error::Stopped { path: path.to_path_buf() };
    }
    Error::io("cannot read", path)(source)
}
