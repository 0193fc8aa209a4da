//! Inspects era1 files.

use blockmill_verdict::{Digits, Location};
use std::path::Path;

use super::Reader;
use super::layout::{Layout, count_blocks};
use crate::check_blocks::check_blocks;
use crate::formats::e2store::accumulator::{Accumulator, ERA_BLOCKS};
use crate::formats::e2store::read::BlockFile;
use crate::{Chunk, Error, FileReport, Survey};

/// Fills in `report`. Without `deep` only the version record, the index and the accumulator record
/// are read. With it every block is decoded, and the accumulator is computed from hashes and total
/// difficulties.
pub(crate) fn inspect(path: &Path, deep: bool, report: &mut FileReport) {
    report.compression = "snappy";
    let layout = match Layout::open(path) {
        Ok(layout) => layout,
        Err(error) => {
            report.add_error(&error);
            return inspect_without_index(path, report);
        }
    };
    if let Some(compression) = layout.file.compression {
        report.notes.push(format!(
            "the file is compressed with {compression}; offsets count the unpacked bytes"
        ));
    }
    let blocks = layout.blocks() as u64;
    report.first = Some(layout.first);
    report.last = Some(layout.first + blocks - 1);
    report.blocks = blocks;
    report.notes.extend(notes_of_name(path, &layout));
    let others = layout.file.others(layout.others);
    report.notes.extend(others.map(|what| format!("not checked: {what}")));
    if deep {
        check_accumulator(path, &layout, report);
    }
}

/// Counts the blocks from the start of a file with a corrupt index.
fn inspect_without_index(path: &Path, report: &mut FileReport) {
    match count_blocks(path) {
        Ok((blocks, end, error)) => {
            report.blocks = blocks;
            report.notes.push(format!("{blocks} whole blocks stand before byte {end}"));
            if let Some(error) = error {
                report.add_error(&error);
            }
        }
        Err(error) => report.add_error(&error),
    }
}

/// Adds the notes on a file, although all its blocks may be valid, and what of it is not checked.
pub(crate) fn survey(path: &Path, survey: &mut Survey) {
    // a file that cannot be opened is reported by its reader
    let Ok(layout) = Layout::open(path) else { return };
    survey.notes.extend(notes_of_name(path, &layout));
    survey.unchecked.extend(layout.file.others(layout.others));
}

/// Notes on a name `NETWORK-ERA-ROOT.era1` that contradicts the content. Other names are ignored.
fn notes_of_name(path: &Path, layout: &Layout) -> Vec<String> {
    let mut notes = vec![];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let parts: Vec<_> = stem.split('-').collect();
    let [_, era, root] = parts[..] else { return notes };
    let is_root = root.len() == 8 && root.bytes().all(|c| c.is_ascii_hexdigit());
    let expected = Digits(&layout.accumulator[..4]).to_string();
    if is_root && !root.eq_ignore_ascii_case(&expected) {
        notes.push(format!("{name}: expected the root {expected} in its name, found {root}"));
    }
    let (first, era) = (layout.first, era.parse::<u64>().ok());
    let expected = first / ERA_BLOCKS as u64;
    if let Some(found) = era.filter(|era| *era != expected) {
        notes.push(format!(
            "{name}: expected the era {expected} in its name, as it begins with block {first}, \
             found {found}"
        ));
    }
    notes
}

/// Decodes all blocks and compares the root over them with the stated one.
fn check_accumulator(path: &Path, layout: &Layout, report: &mut FileReport) {
    let mut accumulator = Accumulator::default();
    let last = layout.first + layout.blocks() as u64 - 1;
    let open = |want, range| Ok(Box::new(Reader::new(vec![path.to_path_buf()], want, range)) as _);
    check_blocks(open, layout.first..=last, report, |chunk: &Chunk, _| {
        for (header, total) in chunk.headers.iter().zip(&chunk.total_difficulties) {
            accumulator.push(&blockmill_rlp::ethereum::block_hash(header), total);
        }
    });
    // without all blocks the root cannot be compared
    if accumulator.count() == layout.blocks() && accumulator.root() != layout.accumulator {
        report.add_error(&Error::BadRecord {
            location: Location::new(path, layout.accumulator_at),
            what: "accumulator",
            expected: Digits(&accumulator.root()).to_string(),
            found: Digits(&layout.accumulator).to_string(),
        });
    }
}
