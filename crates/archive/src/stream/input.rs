//! The bytes of a file, unpacked when it is gzip.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::{Error, Place};

/// A file from its first to its last byte.
#[derive(Debug)]
pub(super) struct Input {
    path: PathBuf,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Plain(Counted),
    /// Several gzip members in a row count as one, as the gzip program has it.
    Gzip(Box<MultiGzDecoder<BufReader<Counted>>>),
}

/// A file and how much of it was read.
#[derive(Debug)]
struct Counted {
    file: File,
    read: u64,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.read += count as u64;
        Ok(count)
    }
}

/// The first two bytes of every gzip member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Compressed bytes that are read at once.
const GZIP_BUFFER: usize = 64 << 10;

impl Input {
    /// Opens a file. Content decides whether it is gzip, not the name.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(Error::io("cannot open", path))?;
        let mut magic = vec![];
        let read = (&mut file).take(2).read_to_end(&mut magic);
        read.and_then(|_| file.rewind()).map_err(Error::io("cannot read", path))?;
        let counted = Counted { file, read: 0 };
        let source = if magic == GZIP_MAGIC {
            let buffered = BufReader::with_capacity(GZIP_BUFFER, counted);
            Source::Gzip(Box::new(MultiGzDecoder::new(buffered)))
        } else {
            Source::Plain(counted)
        };
        Ok(Self { path: path.to_path_buf(), source })
    }

    /// True when the file is gzip.
    pub fn is_gzip(&self) -> bool {
        matches!(self.source, Source::Gzip(_))
    }

    /// Bytes read from disk so far.
    pub fn disk_bytes(&self) -> u64 {
        match &self.source {
            Source::Plain(file) => file.read,
            Source::Gzip(decoder) => decoder.get_ref().get_ref().read,
        }
    }

    /// Reads the next bytes, 0 at the end. `offset` is how far the caller has read, for errors.
    pub fn read(&mut self, into: &mut [u8], offset: u64) -> Result<usize, Error> {
        loop {
            let result = match &mut self.source {
                Source::Plain(file) => file.read(into),
                Source::Gzip(decoder) => decoder.read(into),
            };
            return match result {
                Ok(count) => Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) if self.is_gzip() && !is_system(&source) => {
                    let file = self.path.clone();
                    Err(Error::Gzip { place: Place { file, offset, unpacked: true }, source })
                }
                Err(source) => Err(Error::io("cannot read", &self.path)(source)),
            };
        }
    }
}

/// True when the system made the error, not the decoder.
fn is_system(error: &io::Error) -> bool {
    error.raw_os_error().is_some()
}
