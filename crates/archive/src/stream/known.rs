//! Detects repeated blocks: in files that overlap, or twice in one file. Memory is bounded, because
//! a repeated block is compared with the earlier one on disk.

use blockmill_verdict::Location;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{Items, ListFormat, Packed, number_of};
use crate::chunk::PackedBlocks;
use crate::{ChunkLimit, Error};

/// The blocks that were read from some files.
#[derive(Debug)]
pub(crate) struct Known {
    format: &'static ListFormat,
    /// Starts of runs of consecutive blocks, ordered by number: one for each chunk.
    places: Vec<Place>,
    last: Option<Last>,
    /// Reads earlier blocks again.
    cursor: Option<Cursor>,
    again: Option<Again>,
}

/// The start of a run of blocks.
#[derive(Clone, Debug)]
struct Place {
    number: u64,
    file: Arc<Path>,
    offset: u64,
}

/// The last block that was read.
#[derive(Debug)]
pub(super) struct Last {
    pub number: u64,
    pub file: Arc<Path>,
    header: Vec<u8>,
}

/// Repeated blocks, equal to earlier ones.
#[derive(Debug)]
struct Again {
    blocks: u64,
    first: u64,
    at: Location,
}

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { blocks, first, at } = self;
        let count = if *blocks == 1 { "1 block".into() } else { format!("{blocks} blocks") };
        write!(f, "{count} came again and were skipped: equal to those read before, ")?;
        write!(f, "the first is block {first}, {at}")
    }
}

impl Known {
    /// Nothing was read yet of files of `format`.
    pub fn new(format: &'static ListFormat) -> Self {
        Self { format, places: vec![], last: None, cursor: None, again: None }
    }

    /// The last block that was read.
    pub fn last(&self) -> Option<&Last> {
        self.last.as_ref()
    }

    /// Whether a block of this number was read.
    fn has(&self, number: u64) -> bool {
        let first = self.places.first().map(|place| place.number);
        let Some((first, last)) = first.zip(self.last.as_ref()) else { return false };
        (first..=last.number).contains(&number)
    }

    /// Number of blocks at the start of `packed` that were read before and are equal to the earlier
    /// ones.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Repeated`] if the next block differs from the earlier block of its number
    /// and does not follow the last block (if it does follow, its number is wrong, which the
    /// verifier reports). Returns the error of reading an earlier block again.
    pub fn skip(&mut self, packed: &Packed) -> (usize, Result<(), Error>) {
        for i in 0..packed.blocks() {
            let number = number_of(self.format, packed.item(i)).ok();
            let Some(number) = number.filter(|number| self.has(*number)) else {
                return (i, Ok(()));
            };
            match self.is_same(number, packed, i) {
                Ok(true) => {}
                other => return (i, other.map(drop)),
            }
            let none = || Again { blocks: 0, first: number, at: packed.location(i) };
            self.again.get_or_insert_with(none).blocks += 1;
        }
        (packed.blocks(), Ok(()))
    }

    /// Records the blocks of `packed`, of which the first is new. Returns the number of blocks
    /// before the first one with a known number.
    pub fn record(&mut self, packed: &Packed) -> usize {
        let number = |i: usize| number_of(self.format, packed.item(i)).ok();
        let Some(first) = number(0) else { return packed.blocks() };
        let mut run = 1;
        let mut end = packed.blocks();
        while run < packed.blocks() {
            let expected = first.saturating_add(run as u64);
            match number(run) {
                Some(found) if found == expected => run += 1,
                Some(found) if found < expected && (self.has(found) || found >= first) => {
                    end = run;
                    break;
                }
                // a gap, or no header: for the verifier to report
                _ => break,
            }
        }
        let is_new = self.last.as_ref().is_none_or(|last| first > last.number);
        if let (Some(file), true) = (&packed.file, is_new) {
            self.places.push(Place { number: first, file: file.clone(), offset: packed.offset });
            let header = (self.format.split)(packed.item(run - 1)).map_or(&[][..], |p| p.header);
            let number = first.saturating_add(run as u64 - 1);
            self.last = Some(Last { number, file: file.clone(), header: header.to_vec() });
        }
        end
    }

    /// A note on the skipped blocks.
    pub fn note(&self) -> Option<String> {
        self.again.as_ref().map(Again::to_string)
    }

    /// Whether block `i` of `packed` equals the earlier block of its number.
    fn is_same(&mut self, number: u64, packed: &Packed, i: usize) -> Result<bool, Error> {
        let Ok(found) = (self.format.split)(packed.item(i)) else { return Ok(false) };
        self.find(number)?;
        let Some(cursor) = &self.cursor else { return Ok(false) };
        let item = cursor.packed.item(cursor.at);
        let before = || cursor.packed.location(cursor.at);
        let rlp = |source| Error::Rlp { location: before(), what: "block", source };
        let known = (self.format.split)(item).map_err(rlp)?;
        if (found.header, found.body) == (known.header, known.body) {
            return Ok(true);
        }
        let last = self.last.as_ref().map(|last| blockmill_rlp::ethereum::block_hash(&last.header));
        if found.header != known.header && parent(found.header).is_some_and(|p| last == Some(*p)) {
            return Ok(false);
        }
        Err(Error::Repeated {
            number,
            expected: Box::new(blockmill_rlp::ethereum::block_hash(known.header)),
            found: Box::new(blockmill_rlp::ethereum::block_hash(found.header)),
            before: Box::new(before()),
            location: packed.location(i),
        })
    }

    /// Moves the cursor to the block of this number.
    fn find(&mut self, number: u64) -> Result<(), Error> {
        if let Some(cursor) = &mut self.cursor
            && cursor.number.checked_add(1) == Some(number)
            && cursor.advance(self.format)?
        {
            return Ok(());
        }
        self.cursor = None;
        let index = self.places.partition_point(|place| place.number <= number);
        let Some(place) = index.checked_sub(1).map(|index| self.places[index].clone()) else {
            return Ok(());
        };
        let mut cursor = Cursor::open(self.format, &place)?;
        while cursor.number < number && cursor.advance(self.format)? {}
        if cursor.number != number {
            let (expected, found) = (format!("block {number}"), cursor.number.to_string());
            let location = cursor.packed.location(cursor.at);
            return Err(Error::BadRecord { location, what: "block read before", expected, found });
        }
        self.cursor = Some(cursor);
        Ok(())
    }
}

/// A reader of blocks that were read before.
#[derive(Debug)]
struct Cursor {
    items: Items,
    packed: Packed,
    at: usize,
    number: u64,
}

impl Cursor {
    fn open(format: &'static ListFormat, place: &Place) -> Result<Self, Error> {
        let mut items = Items::open_at(format, &place.file, place.offset)?;
        let mut packed = Packed::default();
        if !items.read(ChunkLimit::default(), &mut packed)? {
            let location = Location::new(&*place.file, place.offset);
            let (expected, found) = ("a block".into(), "the end of the file".into());
            return Err(Error::BadRecord { location, what: "block read before", expected, found });
        }
        Ok(Self { items, packed, at: 0, number: place.number })
    }

    /// Moves to the next block; false if its number does not follow.
    fn advance(&mut self, format: &'static ListFormat) -> Result<bool, Error> {
        self.at += 1;
        if self.at == self.packed.blocks() {
            self.at = 0;
            if !self.items.read(ChunkLimit::default(), &mut self.packed)? {
                return Ok(false);
            }
        }
        let next = self.number.checked_add(1);
        let is_next = next.is_some() && number_of(format, self.packed.item(self.at)).ok() == next;
        self.number += u64::from(is_next);
        Ok(is_next)
    }
}

/// The parent hash in a header.
fn parent(header: &[u8]) -> Option<&[u8; 32]> {
    blockmill_rlp::Reader::new(header).list().ok()?.fixed().ok()
}
