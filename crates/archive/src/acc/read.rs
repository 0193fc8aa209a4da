//! Cuts dumps into batches of whole blocks, in the order of their heights.

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use super::{Batch, Dump, Dumps, Head, MAX_BLOCK, MIN_BLOCK, height_of};
use crate::input::Input;
use crate::{ChunkLimit, Error};

/// Bytes that are read beyond what the last batch needed.
const STEP: usize = 64 << 10;
/// Bytes of a block's length.
const LENGTH: usize = 4;

/// Reads dumps one after the other, from a height on.
#[derive(Debug)]
pub struct Reader {
    files: std::vec::IntoIter<Dump>,
    current: Option<File>,
    limit: ChunkLimit,
    /// Heights to be handed out.
    from: u32,
    until: u32,
    /// Height of the next block that did not come before.
    next: u32,
    /// The file before; a gap names it.
    before: Option<Arc<Path>>,
    /// The error behind the last good block, and then the end.
    fault: Option<Error>,
    ended: bool,
}

/// A dump that is read.
#[derive(Debug)]
struct File {
    input: Input,
    path: Arc<Path>,
    /// Height of the next block in the file.
    height: u32,
    /// Blocks that were read, those that are to be read, and those that the file says it has.
    read: u32,
    end: u32,
    count: u32,
    /// Blocks below this height are passed over.
    from: u32,
    /// Offset of the next batch's first byte.
    offset: u64,
    /// Bytes read beyond the last batch.
    carry: Vec<u8>,
    last_length: usize,
    disk_bytes: u64,
}

impl Reader {
    /// Reads the blocks of `dumps` from height `from` on. Blocks of heights that came before are
    /// handed out, too, in batches of their own.
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

    /// Continues a store whose next block has this height: blocks before it came before.
    #[must_use]
    pub fn continuing(self, next: u32) -> Self {
        Self { next: self.next.max(next), ..self }
    }

    /// Ends with the block of this height; none for the last one.
    #[must_use]
    pub fn until(self, last: Option<u32>) -> Self {
        Self { until: last.unwrap_or(u32::MAX), ..self }
    }

    /// Reads the next batch; false at the end. Good blocks before a fault come first; the call
    /// after them returns the error, and the calls after that false.
    ///
    /// # Errors
    /// When a file cannot be read, is cut, has fewer blocks than it says or bytes behind them, when
    /// a length is that of no block, and when a block has another height than the one that follows.
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

    /// Reads some blocks, or opens or ends a file; false at the end.
    fn read_some(&mut self, into: &mut Batch) -> Result<bool, Error> {
        let Some(file) = &mut self.current else {
            let Some(dump) = self.files.next() else { return Ok(false) };
            if dump.head.last() >= self.from && dump.head.first <= self.until {
                self.current = Some(self.open(&dump)?);
            }
            return Ok(true);
        };
        if file.read == file.end {
            file.expect_end()?;
            self.before = Some(file.path.clone());
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
            return Err(Error::Gap { expected, found, before, location: file.location(0) });
        }
        let mut head = vec![0; dump.head.length() as usize];
        file.read_exactly(&mut head)?;
        file.offset = dump.head.length();
        Ok(file)
    }
}

impl File {
    fn open(dump: &Dump, from: u32, until: u32) -> Result<Self, Error> {
        let Head { first, count, .. } = dump.head;
        Ok(Self {
            input: Input::open(&dump.path)?,
            path: dump.path.as_path().into(),
            height: first,
            read: 0,
            end: count.min((until - first).saturating_add(1)),
            count,
            from,
            offset: 0,
            carry: vec![],
            last_length: 0,
            disk_bytes: 0,
        })
    }

    fn location(&self, at: usize) -> Location {
        let offset = self.offset + at as u64;
        Location { file: self.path.to_path_buf(), offset, unpacked: self.input.is_compressed() }
    }

    /// Reads the head, which was there a moment ago.
    fn read_exactly(&mut self, into: &mut [u8]) -> Result<(), Error> {
        let mut filled = 0;
        while filled < into.len() {
            match self.input.read(&mut into[filled..], filled as u64)? {
                0 => {
                    let (needed, available) = (into.len() as u64, filled as u64);
                    let (location, what) = (self.location(0), "beginning of a dump");
                    return Err(Error::Truncated { location, what, needed, available });
                }
                count => filled += count,
            }
        }
        Ok(())
    }

    /// All blocks are read: nothing may follow the last one of the file.
    fn expect_end(&mut self) -> Result<(), Error> {
        let mut byte = [0];
        if self.read < self.count {
            return Ok(());
        }
        if self.carry.is_empty() && self.input.read(&mut byte, self.offset)? == 0 {
            return Ok(());
        }
        Err(Error::BadRecord {
            location: self.location(0),
            what: "end of the dump",
            expected: format!("nothing behind the last of {} blocks", self.count),
            found: "more bytes".into(),
        })
    }

    /// Reads until the batch is full or the blocks of the file are, and leaves whole blocks in
    /// `into`, also when it fails after them.
    fn fill(&mut self, limit: ChunkLimit, next: &mut u32, into: &mut Batch) -> Result<(), Error> {
        into.file = Some(self.path.clone());
        into.unpacked = self.input.is_compressed();
        into.offset = self.offset;
        let mut bytes = std::mem::take(&mut into.bytes);
        let mut filled = self.carry.len();
        if bytes.len() < filled {
            bytes.resize(filled, 0);
        }
        bytes[..filled].copy_from_slice(&self.carry);
        let mut walked = 0;
        let result = loop {
            match self.walk(limit, &bytes[..filled], &mut walked, next, into) {
                Ok(true) => break Ok(()),
                Ok(false) => match self.read_step(&mut bytes, filled, walked) {
                    Ok(0) => break Err(self.cut(&bytes[walked..filled], walked)),
                    Ok(count) => filled += count,
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        self.carry.clear();
        self.carry.extend_from_slice(&bytes[walked..filled]);
        self.offset += walked as u64;
        self.last_length = walked;
        into.bytes = bytes;
        into.disk_bytes = self.input.disk_bytes() - self.disk_bytes;
        self.disk_bytes += into.disk_bytes;
        result
    }

    /// Reads once: as much as the last batch had, else as much as is there of an unfinished block,
    /// so that memory stays below a constant times what was read.
    fn read_step(
        &mut self,
        bytes: &mut Vec<u8>,
        filled: usize,
        walked: usize,
    ) -> Result<usize, Error> {
        let step = self.last_length.saturating_sub(filled).max(filled - walked).max(STEP);
        if bytes.len() < filled + step {
            bytes.resize(filled + step, 0);
        }
        self.input.read(&mut bytes[filled..filled + step], self.offset + filled as u64)
    }

    /// Appends whole blocks until the batch is full (true) or bytes are missing (false).
    fn walk(
        &mut self,
        limit: ChunkLimit,
        bytes: &[u8],
        walked: &mut usize,
        next: &mut u32,
        into: &mut Batch,
    ) -> Result<bool, Error> {
        while self.read < self.end
            && (into.is_empty() || into.len() < limit.blocks)
            && (*walked == 0 || *walked < limit.bytes)
            && (into.is_empty() || into.repeated == (self.height < *next))
        {
            let rest = &bytes[*walked..];
            let Some((length, rest)) = rest.split_first_chunk() else { return Ok(false) };
            let length = u32::from_le_bytes(*length);
            self.check_length(length, *walked)?;
            let Some(block) = rest.get(..length as usize) else { return Ok(false) };
            let start = *walked + LENGTH;
            if let Some(found) = height_of(block).filter(|found| *found != self.height) {
                let (expected, before) = (self.height.into(), self.path.to_path_buf());
                let location = self.location(start);
                return Err(Error::Gap { expected, found: found.into(), before, location });
            }
            *walked = start + block.len();
            if self.height >= self.from {
                if into.is_empty() {
                    (into.first, into.repeated) = (self.height, self.height < *next);
                }
                into.blocks.push((start as u32, *walked as u32));
                *next = (*next).max(self.height.saturating_add(1));
            }
            self.height = self.height.saturating_add(1);
            self.read += 1;
        }
        Ok(true)
    }

    fn check_length(&self, length: u32, at: usize) -> Result<(), Error> {
        let (location, what) = (self.location(at), "block");
        if length > MAX_BLOCK {
            let (limit, announced) = (MAX_BLOCK.into(), length.into());
            return Err(Error::TooLarge { location, what, limit, announced });
        }
        if length < MIN_BLOCK {
            let expected = format!("a length of {MIN_BLOCK} bytes or more");
            let found = length.to_string();
            return Err(Error::BadRecord { location, what: "length of a block", expected, found });
        }
        Ok(())
    }

    /// The file ends where `rest` is left of an unfinished block.
    fn cut(&self, rest: &[u8], at: usize) -> Error {
        let location = self.location(at);
        if rest.is_empty() {
            return Error::Missing {
                location,
                what: "blocks of the dump",
                expected: self.count.to_string(),
                found: self.read.to_string(),
            };
        }
        let needed = match rest.first_chunk() {
            Some(length) => LENGTH as u64 + u64::from(u32::from_le_bytes(*length)),
            None => LENGTH as u64,
        };
        Error::Truncated { location, what: "block", needed, available: rest.len() as u64 }
    }
}
