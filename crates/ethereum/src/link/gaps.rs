//! Blocks that are missing are told apart from blocks whose number is wrong.

use super::{BlockId, Tip};
use crate::batch::Batch;
use crate::error::Rule;
use crate::fault::Cause;
use crate::header::HeaderView;
use blockmill_archive::{Error, Part};
use blockmill_verdict::Location;
use std::path::PathBuf;

/// The gap in front of `header`, which stands at `location`: its number is higher than that behind
/// `last`, the block before it, and `last` is not its parent. None where it is no gap. `file` is
/// that of `last`, where it is known.
pub(crate) fn before(
    header: &HeaderView<'_>,
    location: Location,
    last: BlockId,
    file: Option<PathBuf>,
) -> Option<Error> {
    let (expected, found) = (last.number.saturating_add(1), header.number);
    let is_gap = found > expected && *header.parent_hash != last.hash;
    let before = file.unwrap_or_else(|| location.file.clone());
    is_gap.then_some(Error::Gap { expected, found, before, location })
}

/// A header whose number is higher than the next one, and whose parent is not the block before it,
/// follows a block that is not there: then the fault of `batch` is a gap.
pub(super) fn tell(tip: Option<&Tip>, batch: &mut Batch) {
    let i = batch.verdict.good;
    let is_number = |cause: &Cause| matches!(cause, Cause::Rule(v) if v.rule == Rule::Number);
    if !batch.verdict.fault.as_ref().is_some_and(|fault| is_number(&fault.cause)) {
        return;
    }
    let last = match i.checked_sub(1) {
        Some(i) => Some(BlockId { number: batch.blocks.number(i), hash: batch.blocks.hashes[i] }),
        None => tip.map(|tip| tip.id),
    };
    let (Some(last), Ok(header)) = (last, batch.blocks.header(i)) else { return };
    let Some(location) = batch.blocks.chunk.location(Part::Header, i) else { return };
    // of the store's last block the file is not known
    let file = i.checked_sub(1).and_then(|i| batch.blocks.chunk.location(Part::Header, i));
    let Some(gap) = before(&header, location, last, file.map(|location| location.file)) else {
        return;
    };
    if let Some(fault) = &mut batch.verdict.fault {
        (fault.block, fault.hash) = (last.number.saturating_add(1), None);
        fault.cause = Cause::Archive(gap);
    }
}
