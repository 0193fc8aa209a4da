//! Decodes every block of an indexed archive and continues after corruption, for `inspect`.

use std::ops::RangeInclusive;
use std::path::Path;

use blockmill_verdict::{Digits, Location};

use crate::difficulty::number_and_difficulty;
use crate::row::ReadBlocks;
use crate::{Chunk, ChunkLimit, Column, Error, FileReport, Packed, Part, Want};

const EVERYTHING: Want = Want { bodies: true, receipts: true };
const ONE_BLOCK: ChunkLimit = ChunkLimit { blocks: 1, bytes: 0 };

/// Findings that are listed for one file. More of them add nothing.
const MOST: usize = 100;

/// Reads `blocks` of an archive, records what is corrupt, and calls `each` for every chunk that is
/// not. A chunk with a corrupt block is read again block by block. `open` opens the archive for the
/// blocks of a range.
pub(crate) fn check_blocks(
    open: impl Fn(Want, RangeInclusive<u64>) -> Result<Box<dyn ReadBlocks>, Error>,
    blocks: RangeInclusive<u64>,
    report: &mut FileReport,
    mut each: impl FnMut(&Chunk, &mut FileReport),
) {
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    let (mut next, last) = blocks.into_inner();
    let (mut one_by_one_to, mut numbers) = (next, Numbers::default());
    while next <= last {
        if report.corruption.len() >= MOST {
            return report.notes.push(format!("more corruption than listed from block {next} on"));
        }
        let one = next < one_by_one_to;
        let (limit, end) = if one { (ONE_BLOCK, next) } else { (ChunkLimit::default(), last) };
        let from = next;
        let result = open(EVERYTHING, from..=end).and_then(|mut reader| {
            while reader.read(limit.clamped(), &mut packed)? {
                packed.unpack(&mut chunk)?;
                check_rlp(&chunk, report);
                numbers.compare(&chunk, next, report);
                each(&chunk, report);
                next += chunk.blocks() as u64;
            }
            Ok(())
        });
        match result {
            Ok(()) if next == from => {
                report.add_error(&not_there(&report.path, next));
                next += 1;
            }
            Ok(()) => {}
            Err(error) if one => {
                report.add_error(&error);
                next += 1;
            }
            Err(_) => one_by_one_to = next.saturating_add(ChunkLimit::default().blocks as u64),
        }
    }
}

/// Compares the number in each header with the position of its block in the archive.
#[derive(Default)]
struct Numbers {
    /// By how much the last number exceeds the position, modulo 2^64.
    shift: u64,
}

impl Numbers {
    /// Compares the headers of a chunk of which the first block has the position `first`. Of
    /// consecutive headers that are shifted alike only the first one is reported.
    fn compare(&mut self, chunk: &Chunk, first: u64, report: &mut FileReport) {
        for ((i, header), expected) in chunk.headers.iter().enumerate().zip(first..) {
            let location = || location_of(chunk, Part::Header, i, &report.path);
            let what = "number in the header";
            let found = match number_and_difficulty(header) {
                Ok((found, _)) => found,
                Err(source) => {
                    let error = Error::Rlp { location: location(), what, source };
                    // what is no RLP was reported before
                    if blockmill_rlp::validate(header).is_ok() {
                        report.add_error(&error);
                    }
                    continue;
                }
            };
            let shift = found.wrapping_sub(expected);
            if shift != 0 && shift != self.shift {
                let (location, found) = (location(), found.to_string());
                let expected = format!("{expected}, by the position of the block");
                report.add_error(&Error::BadRecord { location, what, expected, found });
            }
            self.shift = shift;
        }
    }
}

/// The error of a block that is in the range of the archive and that the reader does not find.
fn not_there(archive: &Path, number: u64) -> Error {
    let (location, expected) = (Location::new(archive, 0), format!("block {number}"));
    Error::Missing { location, what: "block", expected, found: "none".into() }
}

/// Every part of every block must be one canonical RLP item.
fn check_rlp(chunk: &Chunk, report: &mut FileReport) {
    let parts: [(Part, &Column, _); 4] = [
        (Part::Header, &chunk.headers, "header"),
        (Part::Body, &chunk.bodies, "body"),
        (Part::Receipts, &chunk.receipts, "receipts"),
        (Part::AccessList, &chunk.access_lists, "block access list"),
    ];
    for (part, column, what) in parts {
        for (i, item) in column.iter().enumerate() {
            let absent = part == Part::AccessList && item.is_empty();
            if let Err(source) = blockmill_rlp::validate(item)
                && !absent
            {
                let location = location_of(chunk, part, i, &report.path);
                report.add_error(&Error::Rlp { location, what, source });
            }
        }
    }
}

/// The location of a part of a block that was read from `archive`; a store states none.
fn location_of(chunk: &Chunk, part: Part, i: usize, archive: &Path) -> Location {
    chunk.location(part, i).unwrap_or_else(|| Location::new(archive, 0))
}

/// Compares the hash of each header with the one that the archive states.
pub(crate) fn compare_hashes(chunk: &Chunk, report: &mut FileReport) {
    for (i, (header, stated)) in chunk.headers.iter().zip(&chunk.stated_hashes).enumerate() {
        let hash = blockmill_rlp::ethereum::block_hash(header);
        if hash != *stated {
            report.add_error(&Error::BadRecord {
                location: location_of(chunk, Part::Header, i, &report.path),
                what: "hash of the header",
                expected: Digits(stated).to_string(),
                found: Digits(&hash).to_string(),
            });
        }
    }
}
