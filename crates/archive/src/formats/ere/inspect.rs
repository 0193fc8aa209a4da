//! Inspects ere files.

use blockmill_verdict::{Digits, counted};
use std::path::Path;

use super::Reader;
use super::layout::{HEADERS, Layout, NAMES, PROOFS, RECEIPTS, SECTIONS, TOTALS};
use crate::check_blocks::check_blocks;
use crate::difficulty::ChainTotals;
use crate::formats::e2store::HEADER;
use crate::formats::e2store::accumulator::Accumulator;
use crate::formats::e2store::file::RecordFile;
use crate::formats::e2store::read::BlockFile;
use crate::{Chunk, Error, FileReport, Survey};

/// Fills in `report`. Without `deep` only the version record, the index and the accumulator record
/// are read. With it every record is decoded, and the accumulator is computed from hashes and total
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
    if let Some(compression) = layout.file().compression {
        report.notes.push(format!(
            "the file is compressed with {compression}; offsets count the unpacked bytes"
        ));
    }
    let blocks = layout.blocks() as u64;
    report.first = Some(layout.first());
    report.last = Some(layout.first() + blocks - 1);
    report.blocks = blocks;
    report.notes.push(parts(&layout));
    let mut found = Survey::default();
    survey(&layout, deep, &mut found);
    report.notes.extend(found.notes);
    report.notes.extend(found.unchecked.iter().map(|what| format!("not checked: {what}")));
    if deep {
        check_all(path, &layout, report);
    }
}

/// The optional parts of blocks that a file has.
fn parts(layout: &Layout) -> String {
    let optional = [
        (layout.index.has(RECEIPTS), "receipts"),
        (layout.index.has(PROOFS), "proofs"),
        (layout.index.has(TOTALS), "total difficulties"),
        (layout.accumulator.is_some(), "an accumulator"),
    ];
    let found: Vec<_> = optional.iter().filter(|(has, _)| *has).map(|(_, name)| *name).collect();
    match &found[..] {
        [] => "headers and bodies only".into(),
        found => format!("headers and bodies, with {}", found.join(", ")),
    }
}

/// Adds the notes on a file, and the parts of it that are not checked. A reader `with_bodies`
/// checks proofs, and counts those that it cannot check.
pub(super) fn survey(layout: &Layout, with_bodies: bool, survey: &mut Survey) {
    let name = layout.file().path.file_name().unwrap_or_default().to_string_lossy();
    let mut note = |text: String| survey.notes.push(format!("{name}: {text}"));
    if layout.is_early() {
        note("record types of the first version of the format, named .erae".into());
    }
    if !layout.is_in_order() {
        note("the index names the parts of a block in another order than ere.md".into());
    }
    if let Some(said) = &layout.name {
        for (without, section, what) in
            [(said.no_receipts, RECEIPTS, "receipts"), (said.no_proofs, PROOFS, "proofs")]
        {
            if without == layout.index.has(section) {
                let (has, says) = if without { ("has", "none") } else { ("has no", "there are") };
                note(format!("it {has} {what}, and its name says {says}"));
            }
        }
    }
    survey.unchecked.extend(layout.file().others(layout.others));
    if layout.index.has(PROOFS) && !with_bodies {
        let proofs = counted(layout.blocks() as u64, "proof");
        survey.unchecked.push(format!("{name}: {proofs} that blocks are canonical"));
    }
}

/// Counts the records from the start of a file with a corrupt index.
fn inspect_without_index(path: &Path, report: &mut FileReport) {
    match count_records(path) {
        Ok((counts, end)) => {
            report.blocks = counts[HEADERS];
            let counts: Vec<_> = NAMES
                .iter()
                .zip(counts)
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| counted(count, name))
                .collect();
            let found = if counts.is_empty() { "no record".into() } else { counts.join(", ") };
            report.notes.push(format!("whole before byte {end}: {found}"));
        }
        Err(error) => report.add_error(&error),
    }
}

/// The number of whole records of each section from the start of a file, and the offset after them.
fn count_records(path: &Path) -> Result<([u64; SECTIONS], u64), Error> {
    let file = RecordFile::open(path)?;
    let (mut counts, mut at) = ([0; SECTIONS], HEADER as u64);
    while at < file.size {
        let (kind, after) = match file.record_at(at, file.size) {
            Ok(record) => record,
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(_) => break,
        };
        let Some(section) = super::index::CURRENT.sections.iter().position(|it| *it == kind) else {
            break;
        };
        counts[section] += 1;
        at = after;
    }
    Ok((counts, at))
}

/// Decodes all blocks and compares the root over those before the merge with the stated one.
fn check_all(path: &Path, layout: &Layout, report: &mut FileReport) {
    let (mut accumulator, mut totals) = (Accumulator::default(), ChainTotals::default());
    let (mut blocks, mut proofs) = (0, 0);
    // total difficulties are known from block 0 on, or where the file states them
    let mut is_known = true;
    let last = layout.first() + layout.blocks() as u64 - 1;
    let open = |want, range| Ok(Box::new(Reader::new(vec![path.to_path_buf()], want, range)) as _);
    check_blocks(open, layout.first()..=last, report, |chunk: &Chunk, _| {
        proofs += chunk.unchecked_proofs;
        for (i, header) in chunk.headers.iter().enumerate() {
            is_known &= totals.follow(path, chunk, i).is_ok();
            blocks += 1;
            if !totals.has_work() {
                continue;
            }
            match totals.total(path) {
                Ok(total) => {
                    accumulator.push(&blockmill_rlp::ethereum::block_hash(header), &total);
                }
                Err(_) => is_known = false,
            }
        }
    });
    if proofs > 0 {
        let proofs = counted(proofs, "proof");
        report.notes.push(format!("not checked: {proofs} that blocks are canonical"));
    }
    let Some((stated, offset)) = layout.accumulator else { return };
    // without all blocks the root cannot be compared
    if blocks != layout.blocks() {
        return;
    }
    if !is_known {
        return report.notes.push("not checked: the accumulator, without difficulties".into());
    }
    if accumulator.count() == 0 || accumulator.root() != stated {
        let expected = match accumulator.count() {
            0 => "none, as no block is from before the merge".into(),
            _ => Digits(&accumulator.root()).to_string(),
        };
        let found = Digits(&stated).to_string();
        report.add_error(&layout.file().bad(offset, "accumulator", expected, found));
    }
}
