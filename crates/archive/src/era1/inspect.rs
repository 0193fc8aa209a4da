//! What is in an era1 file, and where it is damaged.

use std::path::Path;

use super::accumulator::Accumulator;
use super::layout::{Layout, count_blocks};
use crate::deep::check_blocks;
use crate::{Chunk, Error, FileReport, Place};

/// Fills in `report`. Without `deep` version record, index and accumulator record are read; with
/// it every block is decoded and the accumulator is computed from hashes and total difficulties.
pub(crate) fn inspect(path: &Path, deep: bool, report: &mut FileReport) {
    report.compression = "snappy";
    let layout = match Layout::open(path) {
        Ok(layout) => layout,
        Err(error) => {
            report.damaged(&error);
            return inspect_without_index(path, report);
        }
    };
    let blocks = layout.blocks() as u64;
    report.first = Some(layout.first);
    report.last = Some(layout.first + blocks - 1);
    report.blocks = blocks;
    if !name_carries(path, &layout.accumulator) {
        let root = hex(&layout.accumulator);
        report.notes.push(format!("the file's name does not carry its accumulator {root}"));
    }
    if deep {
        check_accumulator(path, &layout, report);
    }
}

/// Counts the blocks from the front of a file whose index is of no use.
fn inspect_without_index(path: &Path, report: &mut FileReport) {
    match count_blocks(path) {
        Ok((blocks, end, error)) => {
            report.blocks = blocks;
            report.notes.push(format!("{blocks} whole blocks stand before byte {end}"));
            if let Some(error) = error {
                report.damaged(&error);
            }
        }
        Err(error) => report.damaged(&error),
    }
}

/// True when the name ends with the first four bytes of `root`, or is not of that kind at all.
fn name_carries(path: &Path, root: &[u8; 32]) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let last = stem.rsplit('-').next().unwrap_or_default();
    let is_root = last.len() == 8 && last.bytes().all(|c| c.is_ascii_hexdigit());
    !is_root || last.eq_ignore_ascii_case(&hex(&root[..4]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes all blocks and compares the root over them with the stated one.
fn check_accumulator(path: &Path, layout: &Layout, report: &mut FileReport) {
    let mut accumulator = Accumulator::default();
    let last = layout.first + layout.blocks() as u64 - 1;
    check_blocks(path, layout.first..=last, report, |chunk: &Chunk, _| {
        for (header, total) in chunk.headers.iter().zip(&chunk.total_difficulties) {
            accumulator.push(&crypto::keccak256(header), total);
        }
    });
    // With blocks missing the root says nothing more.
    if accumulator.count() == layout.blocks() && accumulator.root() != layout.accumulator {
        report.damaged(&Error::BadRecord {
            place: Place::new(path, layout.accumulator_at),
            what: "accumulator",
            expected: hex(&accumulator.root()),
            found: hex(&layout.accumulator),
        });
    }
}
