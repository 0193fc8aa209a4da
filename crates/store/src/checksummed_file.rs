//! A segmented file with a CRC-32 for each piece of 4096 bytes, verified whenever a byte of the
//! piece is read.
//!
//! The checksums of whole pieces are in a file of their own, four bytes each, so the position of a
//! piece gives the position of its checksum, and the files do not depend on how data was split into
//! appends. The checksum of the last, partial piece is in the manifest. A piece has the size of a
//! page of the operating system: the smallest unit that a disk loses, and small enough to read for
//! one hash. The cost is a thousandth of the data's size and one pass over appended bytes. The
//! proof that a commit reached the disk then covers checksums instead of data.

mod verify;

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crc32fast::Hasher;

use crate::{
    disk::Disk,
    error::{Error, Result, mismatch},
    segmented_file::SegmentedFile,
};

/// Bytes that one checksum covers.
pub(crate) const PIECE: u64 = 4096;
/// Bytes of a checksum.
const SUM: u64 = 4;
/// Bytes that are read at once where more than one piece is wanted; whole pieces.
const STRETCH: u64 = 64 * PIECE;
/// Bytes that are kept after a short read, for the next one; whole pieces.
const WINDOW: u64 = 16 * PIECE;

/// Length of a checksummed file, and what proves its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    /// Bytes before this position are removed.
    pub start: u64,
    /// Bytes of data.
    pub len: u64,
    /// The part of them that was safe on disk.
    pub durable: u64,
    /// CRC-32 of the checksums written since then.
    pub since: u32,
    /// CRC-32 of the last piece, as far as it goes.
    pub tail: u32,
}

/// Bytes that were read and found good.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

/// A sequence of bytes with its checksums; see the module text.
pub(crate) struct ChecksummedFile {
    data: SegmentedFile,
    sums: SegmentedFile,
    /// Bytes before this position are removed; pieces that lie before it are not read.
    start: u64,
    /// Of the last piece, while it is not full.
    tail: Hasher,
    /// CRC-32 of the checksums since the last durable point.
    since: Hasher,
    /// Sums on their way to the file.
    fresh: Vec<u8>,
    window: Mutex<Window>,
}

impl ChecksummedFile {
    /// The file `name` in `dir` with its file of checksums. Empty until
    /// [`ChecksummedFile::resume`].
    pub fn new(
        disk: &Arc<dyn Disk>,
        dir: &Path,
        name: &str,
        file_bytes: u64,
        writable: bool,
    ) -> ChecksummedFile {
        let file =
            |name: &str| SegmentedFile::new(Arc::clone(disk), dir, name, file_bytes, writable);
        ChecksummedFile {
            data: file(name),
            sums: file(&format!("{name}-sums")),
            start: 0,
            tail: Hasher::new(),
            since: Hasher::new(),
            fresh: Vec::new(),
            window: Mutex::default(),
        }
    }

    /// Assumes that the bytes of `proof` are written. Reading and appending continue from there.
    pub fn resume(&mut self, proof: Proof) {
        let Proof { start, len, durable, since, tail } = proof;
        self.begin_at(start);
        self.data.resume(len, durable);
        self.sums.resume(len / PIECE * SUM, durable / PIECE * SUM);
        self.since = Hasher::new_with_initial(since);
        self.tail = Hasher::new_with_initial(tail);
        self.forget_window();
    }

    /// Sets the first byte to keep; [`ChecksummedFile::give_up`] removes those before it.
    pub fn begin_at(&mut self, start: u64) {
        self.start = start;
        self.data.begin_at(start / PIECE * PIECE);
        self.sums.begin_at(start / PIECE * SUM);
    }

    /// The first byte that is not removed.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Bytes appended so far, including removed ones.
    pub fn len(&self) -> u64 {
        self.data.len()
    }

    /// The range of bytes that must exist; begins at a piece.
    pub fn whole(&self) -> Range<u64> {
        self.start / PIECE * PIECE..self.len()
    }

    /// The proof of the bytes appended so far.
    pub fn proof(&self) -> Proof {
        let (start, len, tail) = (self.start, self.len(), self.tail());
        let (durable, since) = (self.data.durable(), self.since.clone().finalize());
        Proof { start, len, durable, since, tail }
    }

    /// CRC-32 of the last piece, as far as it goes; 0 where it has no byte yet.
    fn tail(&self) -> u32 {
        self.tail.clone().finalize()
    }

    /// Returns the tail of a [`Proof`] of the first `len` bytes.
    pub fn tail_at(&self, len: u64) -> Result<u32> {
        let mut piece = vec![0; (len % PIECE) as usize];
        self.read(len - len % PIECE, &mut piece)?;
        Ok(crc32fast::hash(&piece))
    }

    /// The file that holds byte `position`, and its offset there.
    pub fn location(&self, position: u64) -> (PathBuf, u64) {
        self.data.location(position)
    }

    /// Appends bytes, and the checksums of the pieces that they fill.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let filled = (self.data.len() % PIECE) as usize;
        self.data.append(bytes)?;
        self.fresh.clear();
        let (first, rest) = bytes.split_at(match filled {
            0 => 0,
            _ => (PIECE as usize - filled).min(bytes.len()),
        });
        self.tail.update(first);
        if filled + first.len() == PIECE as usize {
            self.fresh.extend(self.tail().to_le_bytes());
            self.tail.reset();
        }
        let pieces = rest.chunks_exact(PIECE as usize);
        self.tail.update(pieces.remainder());
        for piece in pieces {
            self.fresh.extend(crc32fast::hash(piece).to_le_bytes());
        }
        if self.fresh.is_empty() {
            return Ok(());
        }
        self.since.update(&self.fresh);
        self.sums.append(&self.fresh)
    }

    /// Fills `out` with verified bytes from `position` on. The range must be within
    /// [`ChecksummedFile::len`].
    pub fn read(&self, mut position: u64, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
            let end = window.start + window.bytes.len() as u64;
            if !(window.start..end).contains(&position) {
                if out.len() as u64 > WINDOW {
                    drop(window);
                    return self.read_stretches(position, out);
                }
                // a reader that continues where the last read ended is likely to read on
                let wanted = if position == end && end > 0 { WINDOW } else { out.len() as u64 };
                self.fill(&mut window, position, wanted)?;
            }
            let from = (position - window.start) as usize;
            let now = out.len().min(window.bytes.len() - from);
            let (piece, rest) = out.split_at_mut(now);
            piece.copy_from_slice(&window.bytes[from..from + now]);
            position += now as u64;
            out = rest;
        }
        Ok(())
    }

    /// Reads the pieces of `wanted` bytes from `position` into the window.
    fn fill(&self, window: &mut Window, position: u64, wanted: u64) -> Result<()> {
        let start = position - position % PIECE;
        let end = (position + wanted).next_multiple_of(PIECE).min(self.len());
        if position >= end {
            return Err(self.beyond(position));
        }
        window.bytes.resize((end - start) as usize, 0);
        window.start = start;
        let good = self.read_pieces(start, &mut window.bytes);
        if good.is_err() {
            window.bytes.clear();
        }
        good
    }

    fn beyond(&self, position: u64) -> Error {
        mismatch("position in a segmented file", format!("at most {}", self.len()), position)
    }

    /// Fills a long `out` without the window, so that threads do not wait for one another.
    fn read_stretches(&self, position: u64, out: &mut [u8]) -> Result<()> {
        let end = position + out.len() as u64;
        let mut filled = 0;
        self.pieces(position..end, |start, bytes| {
            let skip = position.saturating_sub(start) as usize;
            let now = (bytes.len() - skip).min(out.len() - filled);
            out[filled..filled + now].copy_from_slice(&bytes[skip..skip + now]);
            filled += now;
        })
    }

    /// Calls `each` with the verified bytes of `range`, in order, in whole pieces except at both
    /// ends.
    pub fn stream(&self, range: Range<u64>, mut each: impl FnMut(&[u8])) -> Result<()> {
        self.pieces(range.clone(), |start, bytes| {
            let from = range.start.saturating_sub(start) as usize;
            let to = (range.end - start).min(bytes.len() as u64) as usize;
            each(&bytes[from..to]);
        })
    }

    /// Calls `each` with the places and bytes of all pieces in which `range` has a byte, many at a
    /// time.
    fn pieces(&self, range: Range<u64>, mut each: impl FnMut(u64, &[u8])) -> Result<()> {
        let end = range.end.next_multiple_of(PIECE).min(self.len());
        let mut start = range.start - range.start % PIECE;
        if range.end > self.len() {
            return Err(self.beyond(range.end));
        }
        let mut bytes = vec![0; STRETCH.min(end.saturating_sub(start)) as usize];
        while start < end {
            let now = STRETCH.min(end - start) as usize;
            self.read_pieces(start, &mut bytes[..now])?;
            each(start, &bytes[..now]);
            start += now as u64;
        }
        Ok(())
    }

    /// Fills `out` with whole pieces (but for the last one) from `start` on, and checks them.
    fn read_pieces(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.data.read(start, out)?;
        let first = start / PIECE;
        let whole = ((start + out.len() as u64).min(self.len() / PIECE * PIECE)).max(start);
        let mut sums = vec![0; ((whole / PIECE - first) * SUM) as usize];
        self.sums.read(first * SUM, &mut sums)?;
        let sums = sums.as_chunks().0.iter().map(|sum| u32::from_le_bytes(*sum));
        let expected = sums.chain(std::iter::once_with(|| self.tail()));
        for ((piece, expected), number) in out.chunks(PIECE as usize).zip(expected).zip(first..) {
            let found = crc32fast::hash(piece);
            if found != expected {
                let (path, offset) = self.data.location(number * PIECE);
                return Err(Error::Corrupt {
                    path,
                    offset,
                    what: "piece of 4096 bytes",
                    expected: format!("CRC-32 {expected:08x}"),
                    found: format!("{found:08x}"),
                });
            }
        }
        Ok(())
    }

    /// Bytes on disk beyond those that count.
    pub fn excess(&self) -> Result<u64> {
        Ok(self.data.excess()? + self.sums.excess()?)
    }

    /// Cuts the files to the bytes that count.
    pub fn cut(&mut self) -> Result<()> {
        self.data.cut(self.data.len())?;
        self.sums.cut(self.sums.len())
    }

    /// Removes files of removed bytes, and punches holes where only a part of a file is removed.
    pub fn give_up(&mut self) -> Result<()> {
        self.data.give_up()?;
        self.sums.give_up()
    }

    fn forget_window(&mut self) {
        *self.window.get_mut().unwrap_or_else(PoisonError::into_inner) = Window::default();
    }

    /// Makes every appended byte survive a power loss. The caller syncs the folder afterwards.
    pub fn sync(&mut self) -> Result<()> {
        self.data.sync()?;
        self.sums.sync()
    }

    /// Starts a new proof: all bytes up to here are durable.
    pub fn mark_durable(&mut self) {
        self.data.mark_durable();
        self.sums.mark_durable();
        self.since = Hasher::new();
    }
}
