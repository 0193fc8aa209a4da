//! Tells missing blocks apart from blocks with a wrong number.

use super::{BlockId, Tip};
use crate::fault::Cause;
use crate::header::HeaderView;
use crate::rule::Rule;
use crate::verify::{Checked, Verdict};
use blockmill_archive::{Error, Part};
use blockmill_verdict::Location;
use std::path::PathBuf;

/// The gap before `header`, which is at `location`: its number is higher than the one after `last`,
/// the block before it, and `last` is not its parent. `None` if there is no gap. `file` has `last`,
/// if it is known.
pub(crate) fn before(
    header: &HeaderView<'_>,
    location: Location,
    last: BlockId,
    file: Option<PathBuf>,
) -> Option<Error> {
    let (expected, found) = (last.number.saturating_add(1), header.number);
    let is_gap = found > expected && *header.parent_hash != last.hash;
    let before = file.unwrap_or_default();
    is_gap.then_some(Error::Gap { expected, found, before, location })
}

/// Turns the fault of a wrong number into a gap, if the header's number is too high and its parent
/// is not the block before it: then blocks are missing. `tip` is the last block before these, and
/// whether the run read it.
pub(super) fn recognise(
    (tip, is_read): (Option<&Tip>, bool),
    checked: Checked<'_>,
    verdict: &mut Verdict,
) {
    let (i, blocks) = (verdict.good, checked.blocks);
    let is_number = |cause: &Cause| matches!(cause, Cause::Rule(v) if v.rule == Rule::Number);
    let Some(fault) = verdict.fault.as_mut().filter(|fault| is_number(&fault.cause)) else {
        return;
    };
    let last = match i.checked_sub(1) {
        Some(i) => Some(BlockId { number: blocks.number(i), hash: blocks.hashes[i] }),
        None => tip.map(|tip| tip.id),
    };
    let (Some(last), Some(header)) = (last, checked.decoded(i)) else { return };
    let Some(location) = blocks.chunk.location(Part::Header, i) else { return };
    // files are read in the order of their blocks; that of the store's last block is unknown
    let file = match i.checked_sub(1) {
        Some(i) => blocks.chunk.location(Part::Header, i).map(|location| location.file),
        None => is_read.then(|| location.file.clone()),
    };
    if let Some(gap) = before(&header, location, last, file) {
        (fault.block, fault.hash) = (last.number.saturating_add(1), None);
        fault.cause = Cause::Archive(gap);
    }
}
