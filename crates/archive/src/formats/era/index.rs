//! The slot indices at the end of an era file: where its beacon blocks and its state are.

use std::path::Path;

use crate::Error;
use crate::formats::e2store::file::RecordFile;
use crate::formats::e2store::{
    BEACON_BLOCK, BEACON_STATE, BLOCK_INDEX, COMPRESSED_BODY, COMPRESSED_HEADER,
    COMPRESSED_RECEIPTS, DYNAMIC_INDEX, HEADER, Records, SLOT_INDEX, VERSION, not_cut, word,
};

/// Slots of an era: `SLOTS_PER_HISTORICAL_ROOT` of the main network preset.
pub(crate) const ERA_SLOTS: u64 = 8192;

/// Types of records that have their place elsewhere in this file or in other ones.
const KNOWN: [u16; 9] = [
    VERSION,
    BEACON_BLOCK,
    BEACON_STATE,
    SLOT_INDEX,
    COMPRESSED_HEADER,
    COMPRESSED_BODY,
    COMPRESSED_RECEIPTS,
    BLOCK_INDEX,
    DYNAMIC_INDEX,
];

/// Bytes of a slot index of `slots` slots: the head of the record, first slot, offsets, count.
const fn index_size(slots: u64) -> u64 {
    HEADER as u64 + 8 + 8 * slots + 8
}

/// An open file of which the indices were read and checked.
#[derive(Debug)]
pub(super) struct Index {
    pub file: RecordFile,
    /// The slot of the state, in which the era ends.
    pub end_slot: u64,
    /// The slots that have a block, counted from the first slot of the era.
    pub slots: Vec<u16>,
    /// Offset of each block, then of the state.
    pub offsets: Vec<u64>,
    /// Records of unknown types after the state.
    pub others: usize,
    /// Offset of the index of blocks, or of the state in the era of the genesis.
    at: u64,
}

impl Index {
    /// Opens `path` and reads its indices. Offsets are in the unpacked file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = RecordFile::open(path)?;
        let compression = file.compression;
        Self::read(file).map_err(|error| error.unpacked_if(compression))
    }

    fn read(file: RecordFile) -> Result<Self, Error> {
        file.expect_version()?;
        let (state_index, end_slot, state) = match state_index(&file) {
            Ok(found) => found,
            Err(error) => return Err(reason(&file, error)),
        };
        let (at, entries) = match end_slot {
            0 => (state_index, vec![]),
            _ => block_index(&file, state_index, end_slot)?,
        };
        let mut index = Self { file, end_slot, slots: vec![], offsets: vec![], others: 0, at };
        index.read_entries(&entries, state)?;
        index.offsets.push(state);
        index.check_beginning()?;
        let (kind, after) = index.file.record_at(state, at).map_err(not_cut)?;
        if kind != BEACON_STATE {
            let found = format!("record type {kind:#06x}");
            return Err(index.file.bad(state, "beacon state record", "record type 0x0002", found));
        }
        index.others = index.file.count_others(after, at, SLOT_INDEX, &KNOWN)?.0;
        Ok(index)
    }

    /// The first slot of the era.
    pub fn first_slot(&self) -> u64 {
        self.end_slot.saturating_sub(ERA_SLOTS)
    }

    /// Number of the era, which ends with the state.
    pub fn era(&self) -> u64 {
        self.end_slot / ERA_SLOTS
    }

    /// Offset of the record of the state.
    pub fn state(&self) -> u64 {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// The error of an entry of the index of blocks.
    pub fn wrong_entry(
        &self,
        slot: usize,
        what: &'static str,
        expected: String,
        found: String,
    ) -> Error {
        let location = self.file.location(self.at + HEADER as u64 + 8 + 8 * slot as u64);
        Error::Index { location, what, expected, found }
    }

    /// The entries that are not 0: offsets, which ascend up to that of the state.
    fn read_entries(&mut self, entries: &[u8], state: u64) -> Result<(), Error> {
        for slot in 0..entries.len() / 8 {
            let relative = word(entries, 8 * slot);
            if relative == 0 {
                continue;
            }
            let lowest = self.offsets.last().map_or(HEADER as u64, |last| last + HEADER as u64);
            let offset = self.at.checked_add_signed(relative as i64);
            match offset.filter(|offset| (lowest..state).contains(offset)) {
                Some(offset) => self.offsets.push(offset),
                None => {
                    let found = offset.map_or("before the file".into(), |it| it.to_string());
                    let expected = format!("{lowest} to {}", state.saturating_sub(1));
                    return Err(self.wrong_entry(slot, "beacon block record", expected, found));
                }
            }
            self.slots.push(slot as u16);
        }
        Ok(())
    }

    /// The first record follows the version record. It does not in a file of several eras.
    fn check_beginning(&self) -> Result<(), Error> {
        let (found, expected) = (self.offsets[0], HEADER as u64);
        if found == expected {
            return Ok(());
        }
        if found > expected
            && let Some(before) = found.checked_sub(HEADER as u64)
            && matches!(self.file.record_at(before, found), Ok((VERSION, _)))
        {
            return Err(Error::Unsupported {
                path: self.file.path.to_path_buf(),
                what: "an era file of several eras".into(),
                instead: "give one file for each era, as nodes write them".into(),
            });
        }
        let (expected, found) = (expected.to_string(), found.to_string());
        Err(self.file.bad(HEADER as u64, "offset of the first record", expected, found))
    }
}

/// The index of the state, which ends the file: its offset, the slot, and the state's offset.
fn state_index(file: &RecordFile) -> Result<(u64, u64, u64), Error> {
    let (at, data) = slot_index(file, file.size, 1, "slot index of the state")?;
    let (slot, relative) = (word(&data, 0), word(&data, 8));
    if !slot.is_multiple_of(ERA_SLOTS) {
        let (what, expected) = ("slot of the state", "a multiple of 8192");
        return Err(file.bad(at + HEADER as u64, what, expected, slot.to_string()));
    }
    let range = HEADER as u64..at;
    match at.checked_add_signed(relative as i64).filter(|offset| range.contains(offset)) {
        Some(state) => Ok((at, slot, state)),
        None => Err(Error::Index {
            location: file.location(at + HEADER as u64 + 8),
            what: "beacon state record",
            expected: format!("{range:?}"),
            found: format!("{} bytes from the index", relative as i64),
        }),
    }
}

/// The index of the blocks, before the index of the state: its offset and its entries.
fn block_index(file: &RecordFile, end: u64, end_slot: u64) -> Result<(u64, Vec<u8>), Error> {
    let (at, mut data) = slot_index(file, end, ERA_SLOTS, "slot index of the blocks")?;
    let (expected, found) = (end_slot - ERA_SLOTS, word(&data, 0));
    if found != expected {
        let expected = format!("{expected}, an era before the state");
        let what = "first slot of the blocks";
        return Err(file.bad(at + HEADER as u64, what, expected, found.to_string()));
    }
    data.truncate(data.len() - 8);
    data.drain(..8);
    Ok((at, data))
}

/// The slot index of `slots` slots that ends at `end`: its offset and its data.
fn slot_index(
    file: &RecordFile,
    end: u64,
    slots: u64,
    what: &'static str,
) -> Result<(u64, Vec<u8>), Error> {
    let size = index_size(slots);
    let at = end.checked_sub(size).filter(|at| *at >= HEADER as u64).ok_or_else(|| {
        let (location, needed) = (file.location(0), HEADER as u64 + size);
        Error::Truncated { location, what: "era file", needed, available: end }
    })?;
    let mut bytes = vec![];
    file.read(at, end, &mut bytes)?;
    let record = Records::new(&bytes, at, &file.path).expect(SLOT_INDEX, what).map_err(not_cut)?;
    let count = word(&bytes, bytes.len() - 8);
    if count != slots || record.data.len() as u64 != size - HEADER as u64 {
        let (expected, found) = (format!("{slots} slots"), count.to_string());
        return Err(file.bad(end - 8, what, expected, found));
    }
    let data = record.data.to_vec();
    Ok((at, data))
}

/// The reason why a file has no index at its end: it was cut short, or the index is corrupt, of
/// which `error` says more.
fn reason(file: &RecordFile, error: Error) -> Error {
    /// Records of an era and some unknown ones.
    const MOST: u64 = ERA_SLOTS + 1024;
    if matches!(error, Error::Io { .. }) {
        return error;
    }
    let (mut at, mut is_whole) = (HEADER as u64, false);
    for _ in 0..MOST {
        if at == file.size && is_whole {
            return error;
        }
        if at == file.size {
            let (location, what) = (file.location(at), "slot index of the state");
            let (expected, found) = ("a slot index record".into(), "the end of the file".into());
            return Error::Missing { location, what, expected, found };
        }
        match file.record_at(at, file.size) {
            Ok((kind, after)) => {
                is_whole = kind == SLOT_INDEX && after - at == index_size(1);
                at = after;
            }
            Err(cut @ Error::Truncated { .. }) => return cut,
            Err(_) => return error,
        }
    }
    error
}
