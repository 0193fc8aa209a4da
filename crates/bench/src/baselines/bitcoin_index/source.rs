//! Ways to read a block file: all of it, as Bitcoin Core does, in a memory map, or like the
//! product.

use super::{Read, io_error};
use crate::baselines::file_map::FileMap;
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFile, MAX_BLOCK, Positioned, Source};
use blockmill_platform::holes::end_of_hole;
use blockmill_platform::input_file::InputFile;
use std::io;

/// The stream's buffer: a block of the largest size stays in it while the frame after it is read,
/// and what is moved to its front is a third of what is read.
const STREAM_BUFFER: usize = 4 * MAX_BLOCK as usize;

/// What the stream keeps when its buffer is full.
const STREAM_KEEP: usize = MAX_BLOCK as usize + 1024;

/// An open file, and the way it is read.
pub(super) enum Opened {
    Map(FileMap),
    Positioned(InputFile),
    Stream(InputFile),
}

impl Opened {
    pub fn open(file: &BlockFile, read: Read) -> Result<Self, Error> {
        let open = || match read {
            Read::Map => {
                let file = file.open()?;
                let local = file.local().ok_or(io::ErrorKind::Unsupported)?;
                FileMap::of(local).map(Self::Map)
            }
            Read::Positioned => file.open().map(Self::Positioned),
            Read::Stream => file.open().map(Self::Stream),
        };
        open().map_err(|source| io_error(file, "cannot open", source))
    }

    pub fn source(&self) -> AnySource<'_> {
        match self {
            Self::Map(map) => AnySource::Map(map),
            Self::Positioned(file) => AnySource::Positioned(Positioned::new(file)),
            Self::Stream(file) => AnySource::Stream(Stream::new(file)),
        }
    }
}

/// The bytes of a file, however they are read.
pub(super) enum AnySource<'a> {
    Map(&'a [u8]),
    Positioned(Positioned<'a>),
    Stream(Stream<'a>),
}

impl Source for AnySource<'_> {
    fn look_ahead(&mut self, offset: u64, length: usize, ahead: usize) -> io::Result<&[u8]> {
        match self {
            Self::Map(bytes) => bytes.look_ahead(offset, length, ahead),
            Self::Positioned(file) => file.look_ahead(offset, length, ahead),
            Self::Stream(file) => file.look_ahead(offset, length, ahead),
        }
    }

    fn end_of_hole(&self, offset: u64, length: u64) -> u64 {
        match self {
            Self::Map(bytes) => bytes.end_of_hole(offset, length),
            Self::Positioned(file) => file.end_of_hole(offset, length),
            Self::Stream(file) => file.end_of_hole(offset, length),
        }
    }

    fn note_stride(&mut self, latest: u64) {
        if let Self::Positioned(file) = self {
            file.note_stride(latest);
        }
    }

    fn bytes_read(&self) -> u64 {
        match self {
            Self::Map(bytes) => bytes.bytes_read(),
            Self::Positioned(file) => file.bytes_read(),
            Self::Stream(file) => file.bytes_read(),
        }
    }
}

/// Reads everything, one large piece after the other.
pub(super) struct Stream<'a> {
    file: &'a InputFile,
    /// Where in the file the buffer begins.
    start: u64,
    bytes: Vec<u8>,
    /// How many of `bytes` are of the file.
    filled: usize,
    /// Bytes read from the file.
    read: u64,
}

impl<'a> Stream<'a> {
    fn new(file: &'a InputFile) -> Self {
        // fresh pages are zero without being touched
        Self { file, start: 0, bytes: vec![0; STREAM_BUFFER], filled: 0, read: 0 }
    }

    fn has(&self, offset: u64, length: usize) -> bool {
        let end = self.start + self.filled as u64;
        self.start <= offset && offset.saturating_add(length as u64) <= end
    }

    /// Reads on from where the last read ended, until `length` bytes at `offset` are there. Going
    /// back further than the buffer reaches begins anew there.
    fn read_to(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let length = length.min(STREAM_KEEP);
        if offset < self.start {
            (self.start, self.filled) = (offset, 0);
        }
        while !self.has(offset, length) {
            if self.filled == STREAM_BUFFER {
                let drop = STREAM_BUFFER - STREAM_KEEP;
                self.bytes.copy_within(drop.., 0);
                (self.start, self.filled) = (self.start + drop as u64, STREAM_KEEP);
            }
            let end = self.start + self.filled as u64;
            let read = self.file.read_full_at(&mut self.bytes[self.filled..], end)?;
            if read == 0 {
                break;
            }
            self.filled += read;
            self.read += read as u64;
        }
        Ok(())
    }
}

impl Source for Stream<'_> {
    fn look_ahead(&mut self, offset: u64, length: usize, _ahead: usize) -> io::Result<&[u8]> {
        self.read_to(offset, length)?;
        let skip = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        Ok(&self.bytes[skip.min(self.filled)..self.filled])
    }

    fn end_of_hole(&self, offset: u64, length: u64) -> u64 {
        self.file.local().map_or(offset, |file| end_of_hole(file, offset, length))
    }

    fn bytes_read(&self) -> u64 {
        self.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_shows_the_same_bytes_forwards_and_backwards() {
        let length = STREAM_BUFFER + STREAM_BUFFER / 2;
        let bytes: Vec<u8> = (0..length).map(|i| ((i * i) >> 7) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, &bytes).unwrap();
        let file = || InputFile::open(&path).unwrap();
        let map = Opened::Map(FileMap::of(file().local().unwrap()).unwrap());
        for opened in [map, Opened::Positioned(file()), Opened::Stream(file())] {
            let mut source = opened.source();
            source.note_stride(1 << 20);
            for offset in [0, 5, 70_000, 6, 9_000_000, 5_000_000, 23_999_990, 24_000_001, 1 << 40] {
                let expected = &bytes[offset.min(length)..(offset + 88).min(length)];
                let found = source.look(offset as u64, 88).unwrap();
                assert_eq!(&found[..found.len().min(88)], expected, "at {offset}");
            }
        }
    }
}
