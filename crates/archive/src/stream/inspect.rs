//! Inspects RLP exports and header streams.

use std::path::Path;

use super::known::Known;
use super::{Items, ListFormat, Packed, number_of};
use crate::chunk::PackedBlocks;
use crate::report::{FileReport, access_lists};
use crate::{ChunkLimit, Error};

/// Reads the whole file, because there is no index. Stops at the first list that cannot be
/// delimited, since the start of the next one is then unknown. `deep` checks the RLP at every
/// depth.
pub(crate) fn inspect(
    format: &'static ListFormat,
    path: &Path,
    deep: bool,
    report: &mut FileReport,
) {
    let mut items = match Items::open(format, path) {
        Ok(items) => items,
        Err(error) => return report.add_error(&error),
    };
    if let Some(compression) = items.compression() {
        report.compression = compression.name();
        report.notes.push("offsets count the unpacked bytes".into());
    }
    let (mut packed, mut rest) = (Packed::default(), None);
    let mut known = Known::new(format);
    let mut found_lists = 0u64;
    loop {
        match rest.take() {
            Some(rest) => packed = rest,
            None => match items.read(ChunkLimit::default(), &mut packed) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    report.add_error(&error);
                    break;
                }
            },
        }
        let (again, outcome) = known.skip(&packed);
        let other = outcome.is_err();
        outcome.unwrap_or_else(|error| report.add_error(&error));
        packed.keep(again + usize::from(other), packed.blocks());
        if packed.blocks() == 0 {
            continue;
        }
        let end = known.record(&packed);
        rest = (end < packed.blocks()).then(|| packed.split_off(end));
        for i in 0..packed.blocks() {
            found_lists += u64::from(list(format, &packed, i, deep, report));
        }
    }
    report.notes.extend(known.note());
    report.notes.extend(access_lists(found_lists));
}

/// Adds one block to the report. Returns whether it has a block access list.
fn list(
    format: &'static ListFormat,
    packed: &Packed,
    i: usize,
    deep: bool,
    report: &mut FileReport,
) -> bool {
    let item = packed.item(i);
    let what = format.noun;
    let rlp_error = |source| Error::Rlp { location: packed.location(i), what, source };
    report.blocks += 1;
    let shape = (format.split)(item).map(|parts| !parts.access_list.is_empty());
    let depth = if deep { blockmill_rlp::validate(item) } else { Ok(()) };
    if let Some(source) = shape.err().or(depth.err()) {
        report.add_error(&rlp_error(source));
    }
    match number_of(format, item) {
        Ok(found) => follow(found, packed, i, report),
        Err(source) => report.add_error(&rlp_error(source)),
    }
    shape.unwrap_or(false)
}

/// Extends the range by a block, which must follow the last one.
fn follow(found: u64, packed: &Packed, i: usize, report: &mut FileReport) {
    let expected = report.last.map(|last| last.saturating_add(1));
    if let Some(expected) = expected.filter(|expected| *expected != found) {
        let location = packed.location(i);
        report.add_error(&Error::Gap { expected, found, before: location.file.clone(), location });
    }
    report.first.get_or_insert(found);
    report.last = Some(found);
}
