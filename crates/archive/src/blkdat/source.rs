//! Three ways to look at a few bytes of a large file: a memory map, positioned reads, a stream.

use std::fs::File;
use std::io;

use blockmill_platform::holes::end_of_hole;

use super::MAX_BLOCK;
use crate::input::read_full_at;

/// Reads of up to this size are joined with what follows when records are that small.
const SMALL_STRIDE: u64 = 4 << 10;

/// How much is read at once where records are small, or where a magic is searched.
pub(super) const CHUNK: usize = 64 << 10;

/// The stream's buffer: a block of the largest size stays in it while the frame behind it is
/// looked at, and what is moved to its front is a third of what is read.
const STREAM_BUFFER: usize = 4 * MAX_BLOCK as usize;

/// What the stream keeps when its buffer is full.
const STREAM_KEEP: usize = MAX_BLOCK as usize + 1024;

/// Where a file's bytes come from. Bytes are as they are in the file, obfuscated or not.
pub struct Source<'a>(Kind<'a>);

enum Kind<'a> {
    Map(&'a [u8]),
    Positioned { file: &'a File, window: Window, stride: u64 },
    Stream { file: &'a File, window: Window },
}

/// A stretch of the file in memory.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// How many of `bytes` are of the file.
    filled: usize,
    /// Bytes that were read from the file.
    read: u64,
}

impl<'a> Source<'a> {
    /// A file that is mapped to memory, or was read before.
    pub fn map(bytes: &'a [u8]) -> Self {
        Self(Kind::Map(bytes))
    }

    /// Reads what is looked at, and more than that only where records are small.
    pub fn positioned(file: &'a File) -> Self {
        Self(Kind::Positioned { file, window: Window::default(), stride: 0 })
    }

    /// Reads everything, one large piece after the other, as Bitcoin Core does.
    pub fn stream(file: &'a File) -> Self {
        Self(Kind::Stream { file, window: Window::default() })
    }

    /// The bytes from `offset` on, at least `length` of them where the file has as many.
    pub fn look(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        self.look_ahead(offset, length, 0)
    }

    /// Like [`look`](Self::look); what has to be read, is read with `ahead` bytes at least.
    pub fn look_ahead(&mut self, offset: u64, length: usize, ahead: usize) -> io::Result<&[u8]> {
        match &mut self.0 {
            Kind::Map(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                Ok(&bytes[start..])
            }
            Kind::Positioned { file, window, stride } => {
                if !window.has(offset, length) {
                    let ahead = if *stride <= SMALL_STRIDE { CHUNK } else { ahead };
                    window.read_at(file, offset, length.max(ahead))?;
                }
                Ok(window.from(offset))
            }
            Kind::Stream { file, window } => {
                window.stream_to(file, offset, length)?;
                Ok(window.from(offset))
            }
        }
    }

    /// Where the bytes stand that follow a hole at `offset`, in a file of `length` bytes; `offset`
    /// where there is no hole or nothing is known of it.
    pub(super) fn end_of_hole(&self, offset: u64, length: u64) -> u64 {
        match &self.0 {
            Kind::Map(_) => offset,
            Kind::Positioned { file, .. } | Kind::Stream { file, .. } => {
                end_of_hole(file, offset, length)
            }
        }
    }

    /// Says how far the last record is from the one before it.
    pub fn note_stride(&mut self, latest: u64) {
        if let Kind::Positioned { stride, .. } = &mut self.0 {
            // the mean of the last few
            *stride = (*stride * 3).saturating_add(latest) / 4;
        }
    }

    /// Bytes that were read from the file so far; none of a map.
    pub fn bytes_read(&self) -> u64 {
        match &self.0 {
            Kind::Map(_) => 0,
            Kind::Positioned { window, .. } | Kind::Stream { window, .. } => window.read,
        }
    }
}

impl Window {
    fn has(&self, offset: u64, length: usize) -> bool {
        let end = self.start + self.filled as u64;
        self.start <= offset && offset.saturating_add(length as u64) <= end
    }

    fn from(&self, offset: u64) -> &[u8] {
        let skip = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        &self.bytes[skip.min(self.filled)..self.filled]
    }

    fn read_at(&mut self, file: &File, offset: u64, length: usize) -> io::Result<()> {
        if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
        (self.start, self.filled) = (offset, 0);
        self.filled = read_full_at(file, &mut self.bytes[..length], offset)?;
        self.read += self.filled as u64;
        Ok(())
    }

    /// Reads on from where the last read ended, until `length` bytes at `offset` are there. Going
    /// back further than the buffer reaches begins anew there.
    fn stream_to(&mut self, file: &File, offset: u64, length: usize) -> io::Result<()> {
        if self.bytes.is_empty() {
            // fresh pages are zero without being touched
            self.bytes = vec![0; STREAM_BUFFER];
        }
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
            let read = read_full_at(file, &mut self.bytes[self.filled..], end)?;
            if read == 0 {
                break;
            }
            self.filled += read;
            self.read += read as u64;
        }
        Ok(())
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
        let file = File::open(&path).unwrap();
        let ways = [Source::map(&bytes), Source::positioned(&file), Source::stream(&file)];
        for mut source in ways {
            source.note_stride(1 << 20);
            for offset in [0, 5, 70_000, 6, 9_000_000, 5_000_000, 23_999_990, 24_000_001, 1 << 40] {
                let expected = &bytes[offset.min(length)..(offset + 88).min(length)];
                let found = source.look(offset as u64, 88).unwrap();
                assert_eq!(&found[..found.len().min(88)], expected, "at {offset}");
            }
        }
    }

    #[test]
    fn positioned_reads_take_little_more_than_what_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![1; 4 << 20]).unwrap();
        let file = File::open(&path).unwrap();
        let mut source = Source::positioned(&file);
        for record in 0..4 {
            source.look(record << 20, 88).unwrap();
            source.note_stride(1 << 20);
        }
        assert_eq!(source.bytes_read(), CHUNK as u64 + 3 * 88);
    }
}
