//! Random access to a large file, a few bytes at a time.

use std::io;

use blockmill_platform::holes::end_of_hole;
use blockmill_platform::input_file::InputFile;

/// If records are at most this long on average, more than one is read at once.
const SMALL_STRIDE: u64 = 4 << 10;

/// Number of bytes that are read at once if records are small, or while a magic is searched.
pub(super) const CHUNK: usize = 64 << 10;

/// A source of the bytes of a block file, as they are on disk, obfuscated or not.
///
/// [`Positioned`] is the one of an import. A byte slice is a file in memory. The crate
/// `blockmill-bench` imitates other programs.
pub trait Source {
    /// Returns the bytes from `offset` on, at least `length` if the file has them. A source that
    /// has to read reads at least `ahead` bytes.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the file cannot be read.
    fn look_ahead(&mut self, offset: u64, length: usize, ahead: usize) -> io::Result<&[u8]>;

    /// Returns the bytes from `offset` on, at least `length` if the file has them.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the file cannot be read.
    fn look(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        self.look_ahead(offset, length, 0)
    }

    /// Returns the end of the hole at `offset` in a file of `length` bytes; `offset` if there is no
    /// hole or the source cannot know.
    fn end_of_hole(&self, offset: u64, _length: u64) -> u64 {
        offset
    }

    /// Reports the distance between the last two records.
    fn note_stride(&mut self, _latest: u64) {}

    /// Bytes read from the file so far.
    fn bytes_read(&self) -> u64;
}

/// A file in memory.
impl Source for &[u8] {
    fn look_ahead(&mut self, offset: u64, _length: usize, _ahead: usize) -> io::Result<&[u8]> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        Ok(&self[start..])
    }

    fn bytes_read(&self) -> u64 {
        0
    }
}

/// A source with positioned reads. It reads more than requested only if records are small.
pub struct Positioned<'a> {
    file: &'a InputFile,
    window: Window,
    /// The mean length of the last few records.
    stride: u64,
}

/// A part of the file in memory.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// Number of `bytes` that are of the file.
    filled: usize,
    /// Bytes read from the file.
    read: u64,
}

impl<'a> Positioned<'a> {
    /// Reads `file`.
    #[must_use]
    pub fn new(file: &'a InputFile) -> Self {
        Self { file, window: Window::default(), stride: 0 }
    }
}

impl Source for Positioned<'_> {
    fn look_ahead(&mut self, offset: u64, length: usize, ahead: usize) -> io::Result<&[u8]> {
        if !self.window.has(offset, length) {
            let ahead = if self.stride <= SMALL_STRIDE { CHUNK } else { ahead };
            self.window.read_at(self.file, offset, length.max(ahead))?;
        }
        Ok(self.window.from(offset))
    }

    fn end_of_hole(&self, offset: u64, length: u64) -> u64 {
        self.file.local().map_or(offset, |file| end_of_hole(file, offset, length))
    }

    fn note_stride(&mut self, latest: u64) {
        self.stride = self.stride.saturating_mul(3).saturating_add(latest) / 4;
    }

    fn bytes_read(&self) -> u64 {
        self.window.read
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

    fn read_at(&mut self, file: &InputFile, offset: u64, length: usize) -> io::Result<()> {
        if self.bytes.len() < length {
            self.bytes.resize(length, 0);
        }
        (self.start, self.filled) = (offset, 0);
        self.filled = file.read_full_at(&mut self.bytes[..length], offset)?;
        self.read += self.filled as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_shows_the_same_bytes_as_memory_forwards_and_backwards() {
        let length = 24_000_000;
        let bytes: Vec<u8> = (0..length).map(|i| ((i * i) >> 7) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, &bytes).unwrap();
        let file = InputFile::open(&path).unwrap();
        let (mut memory, mut positioned) = (&bytes[..], Positioned::new(&file));
        positioned.note_stride(1 << 20);
        for offset in [0, 5, 70_000, 6, 9_000_000, 5_000_000, 23_999_990, 24_000_001, 1 << 40] {
            let expected = &bytes[offset.min(length)..(offset + 88).min(length)];
            for source in [&mut memory as &mut dyn Source, &mut positioned] {
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
        let file = InputFile::open(&path).unwrap();
        let mut source = Positioned::new(&file);
        for record in 0..4 {
            source.look(record << 20, 88).unwrap();
            source.note_stride(1 << 20);
        }
        assert_eq!(source.bytes_read(), CHUNK as u64 + 3 * 88);
    }
}
