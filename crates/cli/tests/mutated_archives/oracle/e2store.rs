//! era, era1 and ere files: records of a type, a length, two zeros and data.

use std::io::Read;
use std::ops::Range;

use super::Truth;
use crate::chains::{Files, Original};

/// Beacon block and beacon state; header, body, receipts and slim receipts of a block; in Snappy
/// frames.
const COMPRESSED: [u16; 6] = [1, 2, 3, 4, 5, 10];
/// The total difficulty after a block, and the accumulator.
const PLAIN: [u16; 2] = [6, ACCUMULATOR];
const ACCUMULATOR: u16 = 7;

/// The records of a file from its beginning on.
pub fn extents(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = vec![];
    let mut at = 0;
    while let Some([_, _, a, b, c, d, 0, 0]) = bytes.get(at..at + 8) {
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let end = at.saturating_add(8).saturating_add(length);
        if end > bytes.len() {
            break;
        }
        ranges.push(at..end);
        at = end;
    }
    ranges
}

/// Type and content of everything that a chain is made of. The version, the index and unknown
/// types say nothing about it; what is after the last whole record is an error.
fn content(bytes: &[u8]) -> Result<Vec<(u16, Vec<u8>)>, String> {
    let ranges = extents(bytes);
    if ranges.last().is_none_or(|range| range.end != bytes.len()) {
        return Err("it is not a row of records".into());
    }
    let mut found = vec![];
    for range in ranges {
        let kind = u16::from_le_bytes([bytes[range.start], bytes[range.start + 1]]);
        let data = &bytes[range.start + 8..range.end];
        if COMPRESSED.contains(&kind) {
            let mut plain = vec![];
            let read = snap::read::FrameDecoder::new(data).read_to_end(&mut plain);
            read.map_err(|error| format!("a record does not unpack: {error}"))?;
            found.push((kind, plain));
        } else if PLAIN.contains(&kind) {
            found.push((kind, data.to_vec()));
        }
    }
    Ok(found)
}

pub fn truth(original: &Original, found: &Files, must: bool) -> Truth {
    let bytes = original.files.values().next().expect("one file");
    let expected = content(bytes).expect("the original's records");
    let Some(bytes) = found.values().next() else {
        return Truth::Broken("the file is not there".into());
    };
    let blocks = expected.iter().filter(|(kind, _)| [1, 3].contains(kind)).count();
    let last = original.first + blocks as u64 - 1;
    // an ere file may have no accumulator, and records of other types
    let without: Vec<_> = expected.iter().filter(|(kind, _)| *kind != ACCUMULATOR).collect();
    match content(bytes) {
        Err(why) => Truth::Broken(why),
        Ok(found) if found == expected => Truth::Same { last, must },
        Ok(found) if original.name == "ere" && found.iter().eq(without) => Truth::Unknown { last },
        Ok(_) => Truth::Broken("a record is missing or changed".into()),
    }
}
