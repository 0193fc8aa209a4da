//! The layout of an ere file: the offsets of all records of all sections, and the accumulator.

use std::ops::Range;
use std::path::Path;

use super::index::{CURRENT, Index, entries};
use super::name::EraName;
use super::read::Packed;
use crate::formats::e2store::accumulator::ERA_BLOCKS;
use crate::formats::e2store::file::RecordFile;
use crate::formats::e2store::read::BlockFile;
use crate::formats::e2store::{ACCUMULATOR, HEADER, Records, VERSION, not_cut, word};
use crate::{Error, Want};

/// Number of sections, which are in this order in a file. Those after the bodies can be left out.
pub(super) const SECTIONS: usize = 5;
pub(super) const HEADERS: usize = 0;
pub(super) const BODIES: usize = 1;
pub(super) const RECEIPTS: usize = 2;
pub(super) const PROOFS: usize = 3;
pub(super) const TOTALS: usize = 4;

/// The order of the parts of a block in the index.
const INDEX_ORDER: [usize; SECTIONS] = [HEADERS, BODIES, RECEIPTS, TOTALS, PROOFS];

/// What the records of a section are.
pub(super) const NAMES: [&str; SECTIONS] =
    ["header record", "body record", "receipts record", "proof record", "total difficulty record"];

/// The accumulator of a file and the offset of its record, if the file has one.
type Accumulator = Option<([u8; 32], u64)>;

/// An open file of which the index was read and checked: the records of each section are back to
/// back, and so are the sections.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(super) index: Index,
    /// Offset of each record of a section, then of its end; empty if the file leaves it out.
    pub(super) sections: [Vec<u64>; SECTIONS],
    /// The accumulator and the offset of its record.
    pub(super) accumulator: Accumulator,
    /// Records of unknown types between the last section and the accumulator.
    pub(super) others: usize,
    /// What the file's name says of it.
    pub(super) name: Option<EraName>,
}

impl BlockFile for Layout {
    type Packed = Packed;

    fn open(path: &Path) -> Result<Self, Error> {
        let index = Index::open(path)?;
        let compression = index.file.compression;
        Self::of(index).map_err(|error| not_cut(error).unpacked_if(compression))
    }

    fn file(&self) -> &RecordFile {
        &self.index.file
    }

    fn first(&self) -> u64 {
        self.index.first
    }

    fn blocks(&self) -> usize {
        self.index.count
    }

    fn beginning(&self) -> u64 {
        HEADER as u64
    }

    fn bytes(&self, blocks: Range<usize>, want: Want) -> u64 {
        let bytes = |section: usize| {
            self.sections[section][blocks.end] - self.sections[section][blocks.start]
        };
        self.wanted(want).map(bytes).sum()
    }

    fn fill(&self, blocks: Range<usize>, want: Want, into: &mut Packed) -> Result<(), Error> {
        into.fill(self, blocks, want)
    }
}

impl Layout {
    fn of(index: Index) -> Result<Self, Error> {
        let mut sections = offsets(&index)?;
        let order: Vec<_> = (0..SECTIONS).filter(|section| index.has(*section)).collect();
        for pair in order.windows(2) {
            let end = sections[pair[1]][0];
            sections[pair[0]].push(end);
        }
        // the bodies are always there
        let last = order.last().copied().unwrap_or(BODIES);
        let last_record = sections[last].last().copied().unwrap_or(index.at);
        let end = index.file.record_at(last_record, index.at)?.1;
        sections[last].push(end);
        let (others, accumulator) = read_end(&index, end)?;
        let name = EraName::of(&index.file.path);
        let layout = Self { index, sections, accumulator, others, name };
        layout.check_name()?;
        Ok(layout)
    }

    /// The sections that a reader of the parts in `want` reads.
    pub(super) fn wanted(&self, want: Want) -> impl Iterator<Item = usize> + '_ {
        let wanted = [true, want.bodies, want.receipts, want.bodies, true];
        (0..SECTIONS).filter(move |section| wanted[*section] && self.index.has(*section))
    }

    /// Whether the parts of a block are in the order of the specification in the index.
    pub(super) fn is_in_order(&self) -> bool {
        let expected = INDEX_ORDER.iter().filter(|section| self.index.has(**section));
        self.index.parts.iter().eq(expected)
    }

    /// Whether the file has the types of records of the first version of the format.
    pub(super) fn is_early(&self) -> bool {
        self.index.types != CURRENT
    }

    /// Compares the era in the file's name with the first block. The reader compares the hash.
    fn check_name(&self) -> Result<(), Error> {
        let expected = self.index.first / ERA_BLOCKS as u64;
        let Some(name) = self.name.as_ref().filter(|name| name.era != expected) else {
            return Ok(());
        };
        let first = self.index.first;
        let expected = format!("{expected}, as it begins with block {first}");
        let (at, what) = (self.index.at + HEADER as u64, "era in the name of the file");
        Err(self.index.file.bad(at, what, expected, name.era.to_string()))
    }
}

/// The offsets of the records of each section. They ascend, and sections do not overlap.
fn offsets(index: &Index) -> Result<[Vec<u64>; SECTIONS], Error> {
    let entries = entries(index)?;
    let mut sections: [Vec<u64>; SECTIONS] = Default::default();
    let highest = index.at - HEADER as u64;
    for (i, entry) in entries.chunks_exact(8).enumerate() {
        let (section, relative) = (index.parts[i % index.parts.len()], word(entry, 0));
        let column = &mut sections[section];
        let lowest = column.last().map_or(HEADER as u64, |last| last + HEADER as u64);
        match index.offset(relative) {
            Some(offset) if offset >= lowest && offset <= highest => column.push(offset),
            _ => {
                let location = index.file.location(index.at + HEADER as u64 + 8 + 8 * i as u64);
                let expected = format!("{lowest} to {highest}");
                let (what, found) = (NAMES[section], index.shown(relative));
                return Err(Error::Index { location, what, expected, found });
            }
        }
    }
    let mut end = HEADER as u64;
    for (section, column) in sections.iter().enumerate() {
        let [first, .., last] = &column[..] else {
            let Some(only) = column.first() else { continue };
            end = expect_begin(index, section, end, *only)?;
            continue;
        };
        expect_begin(index, section, end, *first)?;
        end = last + HEADER as u64;
    }
    Ok(sections)
}

/// Checks that a section begins after the end of the last record before it, and the headers after
/// the version record. Returns the least end of a section of one record.
fn expect_begin(index: &Index, section: usize, least: u64, found: u64) -> Result<u64, Error> {
    let is_right = if section == HEADERS { found == least } else { found >= least };
    if is_right {
        return Ok(found + HEADER as u64);
    }
    let part = index.parts.iter().position(|part| *part == section).unwrap_or(0);
    let location = index.file.location(index.at + HEADER as u64 + 8 + 8 * part as u64);
    let expected = match section {
        HEADERS => format!("{least}, after the version record"),
        _ => format!("{least} or more, after the section before it"),
    };
    Err(Error::Index { location, what: NAMES[section], expected, found: found.to_string() })
}

/// Reads what is between the last section, which ends at `end`, and the index: the number of
/// records of unknown types, and the accumulator with its offset.
fn read_end(index: &Index, end: u64) -> Result<(usize, Accumulator), Error> {
    let mut known = index.types.sections.to_vec();
    known.extend([VERSION, index.types.index]);
    let (others, at) = index.file.count_others(end, index.at, ACCUMULATOR, &known)?;
    if at == index.at {
        return Ok((others, None));
    }
    let mut bytes = vec![];
    index.file.read(at, index.at, &mut bytes)?;
    let mut records = Records::new(&bytes, at, &index.file.path);
    let root = records.expect_word(ACCUMULATOR, "accumulator record")?;
    let after = records.location().offset;
    if after != index.at {
        let (what, found) = ("what follows the accumulator", "another record");
        return Err(index.file.bad(after, what, "the block index", found));
    }
    Ok((others, Some((root, at))))
}
