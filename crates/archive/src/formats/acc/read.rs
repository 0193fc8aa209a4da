//! Cuts dumps into batches of whole blocks, in the order of their heights.

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use super::{Batch, Dump, Dumps, Head, MAX_BLOCK, MIN_BLOCK, height_of};
use crate::input::{Batches, Filled, Start};
use crate::{ChunkLimit, Error};

/// Bytes of a block's length.
const LENGTH: usize = 4;

/// A reader of dumps in order, from a height on.
#[derive(Debug)]
pub struct Reader {
    files: std::vec::IntoIter<Dump>,
    current: Option<File>,
    limit: ChunkLimit,
    /// The first height to return.
    from: u32,
    until: u32,
    /// Height of the next block that is not repeated.
    next: u32,
    /// The previous file, for the error of a gap.
    before: Option<Arc<Path>>,
    /// The error after the last valid block; the reader has ended after it.
    fault: Option<Error>,
    ended: bool,
}

/// A dump that is read.
#[derive(Debug)]
struct File {
    batches: Batches,
    progress: Progress,
}

/// How far a dump is read.
#[derive(Debug)]
struct Progress {
    /// Height of the next block in the file.
    height: u32,
    /// Blocks that were read.
    read: u32,
    /// Blocks that are to be read.
    end: u32,
    /// Blocks that the file states.
    count: u32,
    /// Blocks below this height are skipped.
    from: u32,
}

impl Reader {
    /// Creates a reader of the blocks of `dumps` from height `from` on. Blocks of repeated heights
    /// are returned, too, in batches of their own.
    #[must_use]
    pub fn new(dumps: &Dumps, from: u32, limit: ChunkLimit) -> Self {
        let first = dumps.range().map_or(0, |(first, _)| first);
        Self {
            files: dumps.files().to_vec().into_iter(),
            current: None,
            limit: limit.clamped(),
            from,
            until: u32::MAX,
            next: first.max(from),
            before: None,
            fault: None,
            ended: false,
        }
    }

    /// Continues a store that has all blocks below height `next`: they count as repeated.
    #[must_use]
    pub fn continuing(self, next: u32) -> Self {
        Self { next: self.next.max(next), ..self }
    }

    /// Ends with the block of height `last`; with the last block of the dumps if that is `None`.
    #[must_use]
    pub fn until(self, last: Option<u32>) -> Self {
        Self { until: last.unwrap_or(u32::MAX), ..self }
    }

    /// Reads the next batch; false at the end. If a block is corrupt, the valid blocks before it
    /// come first, the next call returns the error, and later calls return false.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if a file cannot be read, [`Error::Truncated`] or [`Error::Missing`]
    /// if it ends early, [`Error::TooLarge`] or [`Error::BadRecord`] for an impossible length or
    /// bytes after the last block, and [`Error::Gap`] if a block has another height than expected.
    pub fn read(&mut self, into: &mut Batch) -> Result<bool, Error> {
        into.clear();
        while !self.ended {
            if let Some(fault) = self.fault.take() {
                self.ended = true;
                return Err(fault);
            }
            match self.read_some(into) {
                Ok(true) if into.is_empty() => {}
                Ok(true) => return Ok(true),
                Ok(false) => self.ended = true,
                Err(fault) => {
                    self.fault = Some(fault);
                    if !into.is_empty() {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Reads blocks, or opens or ends a file; false at the end.
    fn read_some(&mut self, into: &mut Batch) -> Result<bool, Error> {
        let Some(file) = &mut self.current else {
            let Some(dump) = self.files.next() else { return Ok(false) };
            if dump.head.last() >= self.from && dump.head.first <= self.until {
                self.current = Some(self.open(&dump)?);
            }
            return Ok(true);
        };
        if file.progress.read == file.progress.end {
            file.expect_end()?;
            self.before = Some(file.batches.start().file.clone());
            self.current = None;
            return Ok(true);
        }
        file.fill(self.limit, &mut self.next, into)?;
        Ok(true)
    }

    fn open(&self, dump: &Dump) -> Result<File, Error> {
        let mut file = File::open(dump, self.from, self.until)?;
        if dump.head.first > self.next {
            let before = self.before.as_deref().unwrap_or(Path::new("")).to_path_buf();
            let (expected, found) = (self.next.into(), dump.head.first.into());
            return Err(Error::Gap { expected, found, before, location: file.location() });
        }
        file.skip_head(dump.head.length() as usize)?;
        Ok(file)
    }
}

impl File {
    fn open(dump: &Dump, from: u32, until: u32) -> Result<Self, Error> {
        let Head { first, count, .. } = dump.head;
        let end = count.min((until - first).saturating_add(1));
        let progress = Progress { height: first, read: 0, end, count, from };
        Ok(Self { batches: Batches::open(&dump.path)?, progress })
    }

    fn location(&self) -> Location {
        self.batches.start().location(0)
    }

    /// Skips the head, which was read when the dump was found.
    fn skip_head(&mut self, length: usize) -> Result<(), Error> {
        let (_, filled) = self.batches.fill(&mut vec![], |_, bytes, used| {
            let is_there = bytes.len() >= length;
            *used = if is_there { length } else { 0 };
            Ok(is_there)
        });
        match filled? {
            Filled::Whole => Ok(()),
            Filled::AtEnd(available) => {
                let (needed, available) = (length as u64, available as u64);
                let (location, what) = (self.location(), "beginning of a dump");
                Err(Error::Truncated { location, what, needed, available })
            }
        }
    }

    /// All blocks are read: nothing may follow the last one of the file.
    fn expect_end(&mut self) -> Result<(), Error> {
        let Progress { read, count, .. } = self.progress;
        if read < count || self.batches.is_at_end()? {
            return Ok(());
        }
        Err(Error::BadRecord {
            location: self.location(),
            what: "end of the dump",
            expected: format!("nothing after the last of {count} blocks"),
            found: "more bytes".into(),
        })
    }

    /// Reads until the batch is full or the blocks of the file are read. `into` has the whole
    /// blocks, also if a later one is an error.
    fn fill(&mut self, limit: ChunkLimit, next: &mut u32, into: &mut Batch) -> Result<(), Error> {
        let start = self.batches.start();
        into.file = Some(start.file.clone());
        into.unpacked = start.unpacked;
        into.offset = start.offset;
        let mut bytes = std::mem::take(&mut into.bytes);
        let progress = &mut self.progress;
        let (_, result) = self.batches.fill(&mut bytes, |start, bytes, used| {
            progress.cut(limit, start, bytes, used, next, into)
        });
        into.bytes = bytes;
        into.disk_bytes = self.batches.take_disk_bytes();
        match result? {
            Filled::Whole => Ok(()),
            Filled::AtEnd(_) => Err(self.cut_short()),
        }
    }

    /// The error of a file that ends before its last block.
    fn cut_short(&self) -> Error {
        let (location, rest) = (self.location(), self.batches.rest());
        if rest.is_empty() {
            let Progress { read, count, .. } = self.progress;
            return Error::Missing {
                location,
                what: "blocks of the dump",
                expected: count.to_string(),
                found: read.to_string(),
            };
        }
        let needed = match rest.first_chunk() {
            Some(length) => LENGTH as u64 + u64::from(u32::from_le_bytes(*length)),
            None => LENGTH as u64,
        };
        Error::Truncated { location, what: "block", needed, available: rest.len() as u64 }
    }
}

impl Progress {
    /// Appends whole blocks until the batch is full (true) or bytes are missing (false).
    fn cut(
        &mut self,
        limit: ChunkLimit,
        start: &Start,
        bytes: &[u8],
        used: &mut usize,
        next: &mut u32,
        into: &mut Batch,
    ) -> Result<bool, Error> {
        while self.read < self.end
            && (into.is_empty() || into.len() < limit.blocks)
            && (*used == 0 || *used < limit.bytes)
            && (into.is_empty() || into.repeated == (self.height < *next))
        {
            let rest = &bytes[*used..];
            let Some((length, rest)) = rest.split_first_chunk() else { return Ok(false) };
            let length = u32::from_le_bytes(*length);
            check_length(length, || start.location(*used))?;
            let Some(block) = rest.get(..length as usize) else { return Ok(false) };
            let at = *used + LENGTH;
            if let Some(found) = height_of(block).filter(|found| *found != self.height) {
                let (expected, before) = (self.height.into(), start.file.to_path_buf());
                let location = start.location(at);
                return Err(Error::Gap { expected, found: found.into(), before, location });
            }
            *used = at + block.len();
            if self.height >= self.from {
                if into.is_empty() {
                    (into.first, into.repeated) = (self.height, self.height < *next);
                }
                into.blocks.push((at as u32, *used as u32));
                *next = (*next).max(self.height.saturating_add(1));
            }
            self.height = self.height.saturating_add(1);
            self.read += 1;
        }
        Ok(true)
    }
}

fn check_length(length: u32, location: impl Fn() -> Location) -> Result<(), Error> {
    if length > MAX_BLOCK {
        let (limit, announced) = (MAX_BLOCK.into(), length.into());
        return Err(Error::TooLarge { location: location(), what: "block", limit, announced });
    }
    if length < MIN_BLOCK {
        let expected = format!("a length of {MIN_BLOCK} bytes or more");
        let (what, found) = ("length of a block", length.to_string());
        return Err(Error::BadRecord { location: location(), what, expected, found });
    }
    Ok(())
}
