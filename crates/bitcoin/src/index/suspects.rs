//! Finds records that may hide other blocks, without reading all bodies.

use super::{Found, GENESIS, Tree};
use crate::error::Error;
use crate::run::TrailingBytes;
use crate::types::Block;
use blockmill_archive::blkdat::{BlockFiles, BodyReader};

/// Bytes of blocks that are read near gaps, before and after each, in total.
const NEAR_GAPS: u64 = 256 << 20;
/// Bytes of blocks that are read near the best tip.
const NEAR_TIP: u64 = 1 << 20;

/// Returns the records that are longer than their blocks. Examines only suspects: records near the
/// best tip, near a gap, or overlapping with the next record.
pub(crate) fn find(files: &BlockFiles, tree: &Tree) -> Result<Vec<TrailingBytes>, Error> {
    if files.headers_only().is_some() {
        return Ok(vec![]);
    }
    let found = tree.found();
    let overlaps = |pair: &[Found]| {
        pair[0].file == pair[1].file && pair[0].offset + u64::from(pair[0].size) > pair[1].offset
    };
    let mut records: Vec<u32> =
        (0..).zip(found.windows(2)).filter(|(_, pair)| overlaps(pair)).map(|(at, _)| at).collect();
    let tip = tree.record_number(tree.best_tip());
    if found.get(tip as usize).is_some() {
        records.extend(near(tree, &[tip], NEAR_TIP));
    }
    records.extend(near(tree, &gaps(tree), NEAR_GAPS));
    records.sort_unstable();
    records.dedup();
    let (mut reader, mut block, mut trailing) =
        (BodyReader::new(files, 1), Block::default(), vec![]);
    for record in records {
        let Some(found) = found.get(record as usize) else { continue };
        match reader.read(found.location(), &mut block.raw) {
            Ok(()) => {}
            Err(error @ blockmill_archive::Error::Io { .. }) => return Err(error.into()),
            // a corrupt body is none of the headers' business
            Err(_) => continue,
        }
        if let Ok(bytes @ 1..) = block.parse_record() {
            trailing.push(TrailingBytes { record, bytes });
        }
    }
    Ok(trailing)
}

/// The first records of gaps; none in files from the middle of a chain, which begin with a gap.
fn gaps(tree: &Tree) -> Vec<u32> {
    match tree.record(GENESIS) {
        None if tree.height(tree.best_tip()) == 0 => vec![],
        _ => tree.gaps().iter().map(|gap| gap.first).collect(),
    }
}

/// Records before and after these, the nearest first, of so many bytes in all.
fn near(tree: &Tree, records: &[u32], bytes: u64) -> Vec<u32> {
    let found = tree.found();
    let (mut near, mut left) = (vec![], bytes);
    let mut reach: Vec<_> = records.iter().map(|it| (*it as usize, *it as usize)).collect();
    while !reach.is_empty() {
        for (low, high) in &mut reach {
            let before = low.checked_sub(1);
            let after = Some(*high).filter(|high| *high < found.len());
            for record in before.into_iter().chain(after) {
                left = left.saturating_sub(found[record].size.into());
                near.push(record as u32);
            }
            (*low, *high) = (low.saturating_sub(1), *high + 1);
        }
        reach.retain(|(low, high)| left > 0 && (*low > 0 || *high < found.len()));
    }
    near
}
