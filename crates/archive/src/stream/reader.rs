//! Reads the files of an archive in order, within a range of block numbers.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::known::Known;
use super::{Items, ListFormat, Packed, number_of};
use crate::chunk::PackedBlocks;
use crate::error::expect_next;
use crate::row::ReadBlocks;
use crate::{ChunkLimit, Error, Want};

/// RLP exports or header streams, read in the given order.
#[derive(Debug)]
pub(crate) struct Reader {
    format: &'static ListFormat,
    files: std::vec::IntoIter<PathBuf>,
    current: Option<Items>,
    want: Want,
    range: RangeInclusive<u64>,
    /// The blocks that were read.
    known: Known,
    /// The rest of a chunk, starting with a block of a number that was read before.
    rest: Option<Packed>,
    /// True until the first chunk of a file has been read.
    at_start: bool,
}

impl Reader {
    /// Reads `files`, all of `format`, in this order.
    pub fn new(
        format: &'static ListFormat,
        files: Vec<PathBuf>,
        want: Want,
        range: RangeInclusive<u64>,
    ) -> Self {
        let files = files.into_iter();
        let known = Known::new(format);
        Self { format, files, current: None, want, range, known, rest: None, at_start: true }
    }

    /// Reads the next chunk; false at the end.
    ///
    /// Numbers are compared where files join. Inside a file they are compared only if a range is
    /// requested, because the verifier of the headers compares each header with its parent.
    pub fn read(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<bool, Error> {
        loop {
            let Some(items) = &mut self.current else {
                let Some(path) = self.files.next() else {
                    into.ends.clear();
                    return Ok(false);
                };
                self.current = Some(Items::open(self.format, &path)?);
                self.at_start = true;
                continue;
            };
            if let Some(rest) = self.rest.take() {
                *into = rest;
            } else if !items.read(limit, into)? {
                self.current = None;
                continue;
            }
            into.bodies = self.want.bodies;
            into.format = Some(self.format);
            let (again, outcome) = self.known.skip(into);
            outcome?;
            into.keep(again, into.blocks());
            if into.blocks() == 0 {
                continue;
            }
            if self.at_start {
                self.check_join(into)?;
            }
            let end = self.known.record(into);
            if end < into.blocks() {
                self.rest = Some(into.split_off(end));
            }
            let past_end = self.range != (0..=u64::MAX) && self.cut_to_range(into)?;
            if past_end {
                (self.current, self.rest) = (None, None);
                self.files = vec![].into_iter();
            }
            if into.blocks() > 0 {
                return Ok(true);
            }
        }
    }

    /// The first block of a file follows the last one of the file before.
    fn check_join(&mut self, packed: &Packed) -> Result<(), Error> {
        self.at_start = false;
        // a header without a number is for the verifier to report
        let last = self.known.last().map(|last| (last.number, last.file.to_path_buf()));
        match last {
            Some(last) if self.number(packed, 0).is_ok() => {
                self.check_follows(packed, 0, last).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// List `i` carries the number after `last`'s; returns it.
    fn check_follows(
        &self,
        packed: &Packed,
        i: usize,
        (last, before): (u64, PathBuf),
    ) -> Result<u64, Error> {
        let found = self.number(packed, i)?;
        expect_next(last.saturating_add(1), &before, found, packed.location(i))?;
        Ok(found)
    }

    fn number(&self, packed: &Packed, i: usize) -> Result<u64, Error> {
        let what = "block number";
        number_of(self.format, packed.item(i)).map_err(|source| Error::Rlp {
            location: packed.location(i),
            what,
            source,
        })
    }

    /// Removes the blocks outside the range. Returns true if the range is complete. Blocks must
    /// follow each other up to its end, because otherwise blocks of the range could come later.
    fn cut_to_range(&self, packed: &mut Packed) -> Result<bool, Error> {
        let mut first = 0;
        let mut previous = self.number(packed, 0)?;
        for i in 0..packed.blocks() {
            if i > 0 && previous >= *self.range.end() {
                packed.keep(first.min(i), i);
                return Ok(true);
            }
            if i > 0 {
                let file = packed.location(i).file;
                previous = self.check_follows(packed, i, (previous, file))?;
            }
            if previous < *self.range.start() {
                first = i + 1;
            }
            if previous > *self.range.end() {
                packed.keep(first.min(i), i);
                return Ok(true);
            }
        }
        packed.keep(first, packed.blocks());
        Ok(previous == *self.range.end())
    }
}

impl ReadBlocks for Reader {
    fn read(&mut self, limit: ChunkLimit, into: &mut crate::Packed) -> Result<bool, Error> {
        into.fill(|packed| self.read(limit, packed))
    }

    fn note(&self) -> Option<String> {
        self.known.note()
    }
}
