//! A segmented file that knows what its bytes should be: a CRC-32 for each piece of 4096 bytes,
//! checked whenever a byte of the piece is read.
//!
//! The sums of whole pieces stand in a file of their own, four bytes each, so that a place in the
//! data says where its sum is, and a store does not depend on the chunks in which it was written.
//! The sum of the piece that is not full yet stands in the manifest. A piece is as long as a page
//! of the system: the least that a disk loses, and little to read for the sake of one hash. A
//! thousandth of the data's size and one pass over what is appended are the price; the proof that a
//! commit reached the disk is then made of the sums, not of the data again.

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

/// Bytes that one sum covers.
pub(crate) const PIECE: u64 = 4096;
/// Bytes of a sum.
const SUM: u64 = 4;
/// Bytes that are read at once where more than one piece is wanted; whole pieces.
const STRETCH: u64 = 64 * PIECE;
/// Bytes that are kept after a short read, for the next one; whole pieces.
const WINDOW: u64 = 16 * PIECE;

/// Where the two files are, and what proves them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    /// Bytes before are given up.
    pub start: u64,
    /// Bytes of data.
    pub len: u64,
    /// The part of them that was safe on disk.
    pub durable: u64,
    /// CRC-32 of the sums written since then.
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

/// A sequence of bytes with its sums; see the module text.
pub(crate) struct ChecksummedFile {
    data: SegmentedFile,
    sums: SegmentedFile,
    /// Bytes before are given up; the pieces that they fill are not read.
    start: u64,
    /// Of the last piece, while it is not full.
    tail: Hasher,
    /// Of the sums since the last durable point.
    since: Hasher,
    /// Sums on their way to the file.
    fresh: Vec<u8>,
    window: Mutex<Window>,
}

impl ChecksummedFile {
    /// The file `name` in `dir`, its sums beside it, empty until [`ChecksummedFile::resume`].
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

    /// Takes what `proof` says as written. Reading and appending go on from there.
    pub fn resume(&mut self, proof: Proof) {
        let Proof { start, len, durable, since, tail } = proof;
        self.begin_at(start);
        self.data.resume(len, durable);
        self.sums.resume(len / PIECE * SUM, durable / PIECE * SUM);
        self.since = Hasher::new_with_initial(since);
        self.tail = Hasher::new_with_initial(tail);
        self.forget_window();
    }

    /// The bytes before `start` are given up, once [`ChecksummedFile::give_up`] is called.
    pub fn begin_at(&mut self, start: u64) {
        self.start = start;
        self.data.begin_at(start / PIECE * PIECE);
        self.sums.begin_at(start / PIECE * SUM);
    }

    /// The first byte that is not given up.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Bytes appended so far, with those that are given up.
    pub fn len(&self) -> u64 {
        self.data.len()
    }

    /// The bytes that are to be there, from the first piece with such a byte on.
    pub fn whole(&self) -> Range<u64> {
        self.start / PIECE * PIECE..self.len()
    }

    /// What proves the bytes appended so far.
    pub fn proof(&self) -> Proof {
        let (start, len, tail) = (self.start, self.len(), self.tail());
        let (durable, since) = (self.data.durable(), self.since.clone().finalize());
        Proof { start, len, durable, since, tail }
    }

    /// CRC-32 of the last piece, as far as it goes; 0 where it has no byte yet.
    fn tail(&self) -> u32 {
        self.tail.clone().finalize()
    }

    /// What the tail of a [`Proof`] would be after `len` bytes.
    pub fn tail_at(&self, len: u64) -> Result<u32> {
        let mut piece = vec![0; (len % PIECE) as usize];
        self.read(len - len % PIECE, &mut piece)?;
        Ok(crc32fast::hash(&piece))
    }

    /// The file that holds byte `position`, and its offset there.
    pub fn location(&self, position: u64) -> (PathBuf, u64) {
        self.data.location(position)
    }

    /// Appends bytes, and the sums of the pieces that they fill.
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

    /// Fills `out` from `position` with bytes whose sums hold. The range must lie within
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
                // who reads on where the last read ended will go on reading
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

    /// Calls `each` with the bytes of `range`, whose sums hold, in order, in whole pieces but for
    /// both ends.
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

    /// Finds every corrupt piece in `range`, which begins at a piece and ends at one or at the end
    /// of the file: `corrupt` gets its bytes and what is wrong.
    ///
    /// # Errors
    /// Those of the system. Missing bytes are corruption.
    pub fn survey(
        &self,
        range: Range<u64>,
        mut corrupt: impl FnMut(Range<u64>, Error),
    ) -> Result<()> {
        let mut bytes = vec![0; STRETCH.min(range.end.saturating_sub(range.start)) as usize];
        let mut start = range.start;
        while start < range.end {
            let stretch = &mut bytes[..STRETCH.min(range.end - start) as usize];
            match self.read_pieces(start, stretch) {
                Err(Error::Corrupt { .. }) => self.survey_stretch(start, stretch, &mut corrupt)?,
                other => other?,
            }
            start += stretch.len() as u64;
        }
        Ok(())
    }

    /// The same piece by piece.
    fn survey_stretch(
        &self,
        mut start: u64,
        stretch: &mut [u8],
        corrupt: &mut impl FnMut(Range<u64>, Error),
    ) -> Result<()> {
        for piece in stretch.chunks_mut(PIECE as usize) {
            let end = start + piece.len() as u64;
            match self.read_pieces(start, piece) {
                Err(error @ Error::Corrupt { .. }) => corrupt(start..end, error),
                other => other?,
            }
            start = end;
        }
        Ok(())
    }

    /// Takes what `proof` speaks of as written, and checks that it is there: all of it by the sizes
    /// of the files, what came after the durable part and the last piece byte by byte.
    pub fn prove(&mut self, proof: Proof) -> Result<()> {
        self.resume(proof);
        let Proof { len, durable, since, .. } = proof;
        let (from, to) = (durable / PIECE, len / PIECE);
        self.data.check_len(len)?;
        self.sums.check_len(to * SUM)?;
        let mut found = Hasher::new();
        self.sums.stream(from * SUM..to * SUM, |bytes| found.update(bytes))?;
        let found = found.finalize();
        if found != since {
            let (path, offset) = self.sums.location(from * SUM);
            return Err(Error::Corrupt {
                path,
                offset,
                what: "sums since the last durable point",
                expected: format!("CRC-32 {since:08x}"),
                found: format!("{found:08x}"),
            });
        }
        self.pieces(from * PIECE..len, |_, _| {})
    }

    /// Bytes on disk beyond those that count.
    pub fn excess(&self) -> Result<u64> {
        Ok(self.data.excess()? + self.sums.excess()?)
    }

    /// Removes from the files what is beyond the bytes that count.
    pub fn cut(&mut self) -> Result<()> {
        self.data.cut(self.data.len())?;
        self.sums.cut(self.sums.len())
    }

    /// Removes the files of what is given up, or gives their room back.
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
