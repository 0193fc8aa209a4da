//! Blocks that are missing are told apart from blocks whose number is wrong.

use super::Tip;
use crate::batch::Batch;
use crate::error::Rule;
use crate::fault::Cause;
use archive::{Error, Part, Place};
use std::path::PathBuf;

/// A header whose number is higher than the next one, and whose parent is not the block before it,
/// follows a block that is not there: then the fault of `batch` is a gap.
pub(super) fn tell(tip: Option<&Tip>, batch: &mut Batch) {
    let i = batch.good;
    let is_number = |cause: &Cause| matches!(cause, Cause::Rule(v) if v.rule == Rule::Number);
    if !batch.fault.as_ref().is_some_and(|fault| is_number(&fault.cause)) {
        return;
    }
    let before = match i.checked_sub(1) {
        Some(before) => Some((batch.number(before), batch.hashes[before])),
        None => tip.map(|tip| (tip.id.number, tip.id.hash)),
    };
    let (Some((last, hash)), Ok(header)) = (before, batch.header(i)) else { return };
    let (expected, found) = (last.saturating_add(1), header.number);
    if found <= expected || *header.parent_hash == hash {
        return;
    }
    // of the store's last block the file is not known
    let file = |place: Option<Place>| place.map_or(PathBuf::new(), |place| place.file);
    let Some(place) = batch.chunk.place(Part::Header, i) else { return };
    let before = match i.checked_sub(1) {
        Some(before) => file(batch.chunk.place(Part::Header, before)),
        None => place.file.clone(),
    };
    let gap = Error::Gap { expected, found, before, place };
    if let Some(fault) = &mut batch.fault {
        (fault.block, fault.hash, fault.cause) = (expected, None, Cause::Archive(gap));
    }
}
