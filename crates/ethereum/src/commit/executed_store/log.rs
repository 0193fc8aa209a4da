//! A log of records that can be read in both directions: each record is between two copies of its
//! length. The segment has the checksums.

use super::{BlockChanges, Malformed};
use crate::error::Error;
use blockmill_store::Segment;

blockmill_pipeline::named_option! {
    /// Which values the log of the state keeps of each block's changes.
    ///
    /// [Format](../formats/state-log.md). With `off` a store keeps the blocks only, and the next
    /// run executes them again.
    pub enum LogValues: "log", level Execution {
        /// None: there is no log.
        None = "off",
        /// New values: blocks cannot be taken back.
        New = "redo",
        /// New and old values, for `blockmill unwind`.
        Both = "redo+undo",
    }
}

/// Bytes of a length.
const EDGE: u64 = 4;

/// Appends a record.
pub(super) fn append(log: &mut Segment, record: &[u8]) -> Result<(), Error> {
    let Ok(len) = u32::try_from(record.len()) else {
        return Err(Error::Store(blockmill_store::Error::Mismatch {
            what: "bytes of a state log's record",
            expected: "less than 4 GiB".into(),
            found: record.len().to_string(),
        }));
    };
    let mut frame = Vec::with_capacity(record.len() + 2 * EDGE as usize);
    frame.extend(len.to_le_bytes());
    frame.extend(record);
    frame.extend(len.to_le_bytes());
    Ok(log.append(&frame)?)
}

/// Reads the record that begins at `start`, and returns its end.
pub(super) fn read_from(log: &Segment, start: u64) -> Result<(BlockChanges, u64), Error> {
    let len = length_at(log, start, log.len())?;
    let end = start + 2 * EDGE + len;
    Ok((read(log, start, len, end - EDGE)?, end))
}

/// Reads the record that ends at `end`, and returns its start.
pub(super) fn read_to(log: &Segment, end: u64) -> Result<(BlockChanges, u64), Error> {
    let Some(edge) = end.checked_sub(EDGE) else { return Err(damaged(log, 0, "a record", end)) };
    let len = length_at(log, edge, end)?;
    let Some(start) = edge.checked_sub(len + EDGE) else {
        return Err(damaged(log, edge, "the length of a record", len));
    };
    Ok((read(log, start, len, start)?, start))
}

/// Reads the length at `edge`.
fn length_at(log: &Segment, edge: u64, end: u64) -> Result<u64, Error> {
    let mut bytes = [0; EDGE as usize];
    if edge.checked_add(EDGE).is_none_or(|behind| behind > end) {
        return Err(damaged(log, edge.min(end), "the length of a record", "the end of the log"));
    }
    log.read(edge, &mut bytes)?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}

/// Reads the record of `len` bytes in the frame from `start` on, whose other copy of the length is
/// at `other`.
fn read(log: &Segment, start: u64, len: u64, other: u64) -> Result<BlockChanges, Error> {
    let fits = start.checked_add(2 * EDGE + len).is_some_and(|end| end <= log.len());
    if !fits {
        return Err(damaged(log, start, "a record within the log", format!("{len} bytes")));
    }
    let again = length_at(log, other, log.len())?;
    if again != len {
        return Err(damaged(log, other, &format!("a record's length again, {len}"), again));
    }
    let mut bytes = vec![0; len as usize];
    log.read(start + EDGE, &mut bytes)?;
    BlockChanges::decode(&bytes).map_err(|Malformed { offset, expected, found }| {
        damaged(log, start + EDGE + offset as u64, expected, found)
    })
}

/// The error for corrupt bytes at `position`.
pub(super) fn damaged(log: &Segment, position: u64, expected: &str, found: impl ToString) -> Error {
    let (path, offset) = log.location(position);
    Error::Store(blockmill_store::Error::Corrupt {
        path,
        offset,
        what: "state log",
        expected: expected.to_owned(),
        found: found.to_string(),
    })
}
