//! Reads blocks by their locations, many at a time.

use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Location;
use std::ops::Range;

use super::files::{BlockFile, BlockFiles};
use super::probe::Shape;
use super::{MAX_BLOCK, hex};
use crate::Error;

/// The location of a block in [`BlockFiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockLocation {
    /// Index of the file in [`BlockFiles`].
    pub file: u32,
    /// Offset of the block, after its frame.
    pub offset: u64,
    /// Its bytes.
    pub size: u32,
}

/// Blocks with less than this between them are read at once: reading it costs less than a call.
const MAX_GAP: u64 = 16 << 10;

/// Reads blocks of some files. Each thread has its own.
pub struct BodyReader<'a> {
    files: &'a BlockFiles,
    /// The files that were used last, the latest at the end.
    open: Vec<(u32, InputFile)>,
    max_open: usize,
    order: Vec<u32>,
    digits: Vec<u8>,
}

/// A stretch of one file and of the buffer.
struct Run {
    file: u32,
    start: u64,
    end: u64,
    at: usize,
}

impl<'a> BodyReader<'a> {
    /// Keeps up to `max_open` files open, at least one.
    pub fn new(files: &'a BlockFiles, max_open: usize) -> Self {
        Self { files, open: vec![], max_open: max_open.max(1), order: vec![], digits: vec![] }
    }

    /// Replaces `into` by the bytes of one block.
    pub fn read(&mut self, location: BlockLocation, into: &mut Vec<u8>) -> Result<(), Error> {
        let mut span = 0..0;
        self.fill(&[location], into, std::slice::from_mut(&mut span))?;
        into.truncate(span.end);
        Ok(())
    }

    /// Replaces `into` by the bytes of some blocks and the bytes between them, and `spans` by the
    /// range of each block in it. Blocks that are close to each other in a file are read at once,
    /// whatever their order here.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if a file cannot be read, and [`Error::Truncated`] if it ends in a
    /// block.
    pub fn read_batch(
        &mut self,
        locations: &[BlockLocation],
        into: &mut Vec<u8>,
        spans: &mut Vec<Range<usize>>,
    ) -> Result<(), Error> {
        spans.clear();
        spans.resize(locations.len(), 0..0);
        self.fill(locations, into, spans)
    }

    fn fill(
        &mut self,
        locations: &[BlockLocation],
        into: &mut Vec<u8>,
        spans: &mut [Range<usize>],
    ) -> Result<(), Error> {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..locations.len() as u32);
        order.sort_unstable_by_key(|i| locations[*i as usize]);
        let mut filled = 0;
        let mut run: Option<Run> = None;
        for i in &order {
            let location = locations[*i as usize];
            self.check(location)?;
            if self.file(location.file)?.shape() == Shape::Hex {
                filled = self.finish(run.take(), into, filled)?;
                spans[*i as usize] = self.read_line(location, into, filled)?;
                filled = spans[*i as usize].end;
                continue;
            }
            let end = location.offset + u64::from(location.size);
            let joins = |run: &Run| {
                run.file == location.file && location.offset <= run.end.saturating_add(MAX_GAP)
            };
            if !run.as_ref().is_some_and(joins) {
                filled = self.finish(run.take(), into, filled)?;
            }
            let (file, start) = (location.file, location.offset);
            let run = run.get_or_insert(Run { file, start, end, at: filled });
            run.end = run.end.max(end);
            let start = run.at + (location.offset - run.start) as usize;
            spans[*i as usize] = start..start + location.size as usize;
        }
        self.finish(run, into, filled)?;
        self.order = order;
        Ok(())
    }

    /// Reads a run to its place in the buffer; returns how far the buffer is filled.
    fn finish(
        &mut self,
        run: Option<Run>,
        into: &mut Vec<u8>,
        filled: usize,
    ) -> Result<usize, Error> {
        let Some(run) = run else { return Ok(filled) };
        let end = run.at + (run.end - run.start) as usize;
        if into.len() < end {
            into.resize(end, 0);
        }
        let key = self.file(run.file)?.key();
        self.read_exact(run.file, run.start, &mut into[run.at..end])?;
        key.apply(&mut into[run.at..end], run.start);
        Ok(end)
    }

    fn read_line(
        &mut self,
        location: BlockLocation,
        into: &mut Vec<u8>,
        filled: usize,
    ) -> Result<Range<usize>, Error> {
        let mut digits = std::mem::take(&mut self.digits);
        digits.resize(2 * location.size as usize, 0);
        self.read_exact(location.file, location.offset, &mut digits)?;
        let mut block = vec![];
        if hex::decode(&digits, &mut block).is_none() {
            return Err(Error::BadRecord {
                location: self.location(location)?,
                what: "block in hex",
                expected: "hex digits".into(),
                found: "another character".into(),
            });
        }
        self.digits = digits;
        into.truncate(filled);
        into.extend_from_slice(&block);
        Ok(filled..into.len())
    }

    fn read_exact(&mut self, index: u32, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let path = self.file(index)?.path();
        let file = self.opened(index)?;
        let read = file.read_full_at(bytes, offset).map_err(Error::io("cannot read", path))?;
        if read < bytes.len() {
            return Err(Error::Truncated {
                location: self.file(index)?.location(offset),
                what: "blocks",
                needed: bytes.len() as u64,
                available: read as u64,
            });
        }
        Ok(())
    }

    fn opened(&mut self, index: u32) -> Result<&InputFile, Error> {
        match self.open.iter().position(|(open, _)| *open == index) {
            Some(position) => self.open[position..].rotate_left(1),
            None => {
                let file = self.file(index)?;
                let file = file.open().map_err(Error::io("cannot open", file.path()))?;
                if self.open.len() >= self.max_open {
                    self.open.remove(0);
                }
                self.open.push((index, file));
            }
        }
        let last = self.open.len() - 1;
        Ok(&self.open[last].1)
    }

    fn file(&self, index: u32) -> Result<&'a BlockFile, Error> {
        let files = self.files.files();
        files.get(index as usize).ok_or_else(|| Error::Index {
            location: Location::new("", 0),
            what: "number of a block file",
            expected: format!("below {}", files.len()),
            found: index.to_string(),
        })
    }

    fn location(&self, location: BlockLocation) -> Result<Location, Error> {
        Ok(self.file(location.file)?.location(location.offset))
    }

    /// Checks that a block of that size fits the file, before memory is allocated for it.
    fn check(&self, location: BlockLocation) -> Result<(), Error> {
        if location.size > MAX_BLOCK {
            return Err(Error::TooLarge {
                location: self.location(location)?,
                what: "block",
                limit: MAX_BLOCK.into(),
                announced: location.size.into(),
            });
        }
        let length = self.file(location.file)?.length();
        let available = length.saturating_sub(location.offset);
        if available < u64::from(location.size) {
            return Err(Error::Truncated {
                location: self.location(location)?,
                what: "block",
                needed: location.size.into(),
                available,
            });
        }
        Ok(())
    }
}
