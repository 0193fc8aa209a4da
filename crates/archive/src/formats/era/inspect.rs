//! Inspects era files.

use blockmill_verdict::counted;
use std::path::Path;

use super::Reader;
use super::layout::{Blocks, Layout};
use crate::check_blocks::check_blocks;
use crate::formats::e2store::read::BlockFile;
use crate::{FileReport, Survey};

/// Parts of every file that no reader checks.
const UNCHECKED: &str = "era files: signatures of beacon blocks, and states, except their roots of \
                         blocks";

/// Fills in `report`. Without `deep` only the indices, the state and the first block are read.
/// With it every beacon block with an execution payload is decoded.
pub(crate) fn inspect(path: &Path, deep: bool, report: &mut FileReport) {
    report.compression = "snappy";
    let layout = match Layout::open(path) {
        Ok(layout) => layout,
        Err(error) => return report.add_error(&error),
    };
    if let Some(compression) = layout.file().compression {
        report.notes.push(format!(
            "the file is compressed with {compression}; offsets count the unpacked bytes"
        ));
    }
    let index = &layout.blocks.index;
    let slots = match index.end_slot {
        0 => "the state of the genesis".into(),
        end => format!("slots {} to {}", index.first_slot(), end - 1),
    };
    let blocks = counted(index.slots.len() as u64, "beacon block");
    report.notes.push(format!("era {}, {slots}: {blocks}", index.era()));
    let mut found = Survey::default();
    survey_of(&layout.blocks, &mut found);
    report.notes.extend(found.notes);
    report.notes.extend(found.unchecked.iter().map(|what| format!("not checked: {what}")));
    report.blocks = layout.blocks() as u64;
    if report.blocks == 0 {
        return;
    }
    let (first, last) = (layout.first(), layout.first() + report.blocks - 1);
    (report.first, report.last) = (Some(first), Some(last));
    if deep {
        let open =
            |want, range| Ok(Box::new(Reader::new(vec![path.to_path_buf()], want, range)) as _);
        check_blocks(open, first..=last, report, |_, _| {});
    }
}

/// Adds the notes on a file, and the parts of it that are not checked.
pub(super) fn survey_of(blocks: &Blocks, survey: &mut Survey) {
    let name = blocks.index.file.path.file_name().unwrap_or_default().to_string_lossy();
    survey.unchecked.extend(blocks.index.file.others(blocks.index.others));
    if blocks.skipped > 0 {
        let skipped = counted(blocks.skipped as u64, "beacon block");
        let reason = "from before the merge, without an execution block";
        survey.unchecked.push(format!("{name}: {skipped} {reason}"));
    }
    if !survey.unchecked.iter().any(|it| it == UNCHECKED) {
        survey.unchecked.push(UNCHECKED.into());
    }
}
