//! Unpacks the records of blocks into a chunk.

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use super::framing::FrameDecoder;
use super::{Record, Records, TOTAL_DIFFICULTY};
use crate::{Chunk, Column, Error, MAX_BODY, MAX_HEADER, MAX_RECEIPTS, Part};

/// Unpacks records of one file.
pub(crate) struct Unpacker<'c> {
    frames: FrameDecoder,
    pub file: Arc<Path>,
    pub chunk: &'c mut Chunk,
}

impl<'c> Unpacker<'c> {
    /// Unpacks records of `file` into `chunk`.
    pub fn new(file: Arc<Path>, chunk: &'c mut Chunk) -> Self {
        Self { frames: FrameDecoder::default(), file, chunk }
    }

    /// Unpacks the header, the body or the receipts of the next block.
    pub fn part(&mut self, record: Record, part: Part) -> Result<(), Error> {
        self.part_if(record, part, |_| Ok(()))
    }

    /// Unpacks a part of the next block, which `is_right` may refuse.
    pub fn part_if(
        &mut self,
        record: Record,
        part: Part,
        is_right: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (limit, what) = match part {
            Part::Body => (MAX_BODY, "body"),
            Part::Receipts => (MAX_RECEIPTS, "receipts"),
            Part::Header | Part::TotalDifficulty | Part::AccessList => (MAX_HEADER, "header"),
        };
        let column: &mut Column = match part {
            Part::Body => &mut self.chunk.bodies,
            Part::Receipts => &mut self.chunk.receipts,
            Part::Header | Part::TotalDifficulty | Part::AccessList => &mut self.chunk.headers,
        };
        let start = column.bytes.len();
        self.frames
            .unpack(record.data, limit, &mut column.bytes)
            .map_err(|error| error.at(Location::new(&*self.file, record.offset), what))?;
        is_right(&column.bytes[start..])?;
        column.end_item();
        self.chunk.track(part).push(&self.file, record.offset);
        Ok(())
    }

    /// Unpacks a record that is no part of the chunk.
    pub fn other(
        &mut self,
        record: Record,
        limit: usize,
        what: &'static str,
        into: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.frames
            .unpack(record.data, limit, into)
            .map_err(|error| error.at(Location::new(&*self.file, record.offset), what))?;
        Ok(())
    }

    /// The total difficulty of the next block, in the only record that is left.
    pub fn total_difficulty(&mut self, records: &mut Records) -> Result<(), Error> {
        let offset = records.location().offset;
        let mut value = records.expect_word(TOTAL_DIFFICULTY, "total difficulty record")?;
        records.expect_end()?;
        value.reverse();
        self.chunk.total_difficulties.push(value);
        self.chunk.track(Part::TotalDifficulty).push(&self.file, offset);
        Ok(())
    }
}
