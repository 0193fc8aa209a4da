//! RLP exports and header streams: lists, one after the other.

use std::collections::HashSet;
use std::ops::Range;

use super::Truth;
use crate::chains::{Kind, Original};

/// Where the content of an item begins and where the item ends; none when it is cut, or is not in
/// the shortest form.
fn item(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = usize::from(*bytes.first()?);
    let (start, length) = match first {
        0..0x80 => (0, 1),
        0x80..0xb8 => (1, first - 0x80),
        0xc0..0xf8 => (1, first - 0xc0),
        _ => {
            let digits = if first < 0xc0 { first - 0xb7 } else { first - 0xf7 };
            let length = bytes.get(1..=digits)?;
            let value = length
                .iter()
                .try_fold(0_usize, |n, byte| n.checked_mul(256).map(|n| n + usize::from(*byte)))?;
            (length[0] != 0 && value >= 56).then_some((1 + digits, value))?
        }
    };
    let end = start.checked_add(length).filter(|end| *end <= bytes.len())?;
    Some((start, end))
}

/// The lists of a file from its beginning on.
pub fn extents(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = vec![];
    let mut at = 0;
    while let Some((_, end)) = item(&bytes[at..]).filter(|_| bytes[at] >= 0xc0) {
        ranges.push(at..at + end);
        at += end;
    }
    ranges
}

/// The lists of a file of nothing else.
fn split(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let ranges = extents(bytes);
    let end = ranges.last().map_or(0, |range| range.end);
    (end == bytes.len()).then(|| ranges.into_iter().map(|range| &bytes[range]).collect())
}

/// What follows the header in a block.
fn body(block: &[u8]) -> Option<&[u8]> {
    let (start, end) = item(block)?;
    let inside = &block[start..end];
    Some(&inside[item(inside)?.1..])
}

/// The difficulty in a header, its eighth field.
pub fn difficulty(header: &[u8]) -> u64 {
    let (start, end) = item(header).expect("a header");
    let mut fields = &header[start..end];
    for _ in 0..7 {
        fields = &fields[item(fields).expect("a field").1..];
    }
    let (start, end) = item(fields).expect("a field");
    fields[start..end].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub fn truth(original: &Original, found: &[u8], trusted: bool, must: bool) -> Truth {
    let whole = split(&original.files[original.target]).expect("the original's records");
    let Some(mut found) = split(found).filter(|found| !found.is_empty()) else {
        return Truth::Broken("it is not a row of lists".into());
    };
    // an equal block that comes again is passed over
    let mut seen = HashSet::new();
    found.retain(|record| seen.insert(*record));
    let last = |start: usize| (start + found.len() - 1) as u64;
    if found == whole {
        return Truth::Same { last: last(0), must };
    }
    // a block of another chain alone contradicts nothing: it is believed, and that is said
    if !trusted && found == [original.foreign.as_slice()] {
        return Truth::LastHeader;
    }
    let fits = |start: &usize| *start + found.len() <= whole.len();
    let starts = (0..whole.len()).filter(fits);
    if let Some(start) = starts.clone().find(|start| whole[*start..].starts_with(&found)) {
        return match trusted && start + found.len() < whole.len() {
            true => Truth::Broken("the trusted block is not there".into()),
            // exports may leave the genesis block out, which every reader knows
            false => Truth::Part { from: (start > 1).then_some(start as u64), last: last(start) },
        };
    }
    let (tip, before) = found.split_last().expect("it is not empty");
    let same_body = |start: usize| {
        original.kind == Kind::Headers || body(tip) == body(whole[start + before.len()])
    };
    let but_last = |start: &usize| whole[*start..].starts_with(before) && same_body(*start);
    match starts.clone().any(|start| but_last(&start)) {
        true if !trusted => Truth::LastHeader,
        true => Truth::Broken("the trusted block is another one".into()),
        false => Truth::Broken("blocks are missing, changed or out of order".into()),
    }
}
