//! The log format: records cut into pieces that never cross a block of 32 KiB. Manifests and
//! write-ahead logs use it.

use super::{Malformed, masked_crc};

const BLOCK_BYTES: usize = 32 << 10;
/// CRC, length, kind.
const HEADER_BYTES: usize = 7;

const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// Appends a record to a log that has only such records.
pub(crate) fn append(log: &mut Vec<u8>, mut record: &[u8]) {
    let mut first = true;
    loop {
        let mut space = BLOCK_BYTES - log.len() % BLOCK_BYTES;
        if space < HEADER_BYTES {
            log.resize(log.len() + space, 0);
            space = BLOCK_BYTES;
        }
        let (piece, rest) = record.split_at(record.len().min(space - HEADER_BYTES));
        let kind = match (first, rest.is_empty()) {
            (true, true) => FULL,
            (true, false) => FIRST,
            (false, false) => MIDDLE,
            (false, true) => LAST,
        };
        log.extend_from_slice(&masked_crc(crc(kind, piece)).to_le_bytes());
        log.extend_from_slice(&(piece.len() as u16).to_le_bytes());
        log.push(kind);
        log.extend_from_slice(piece);
        (record, first) = (rest, false);
        if record.is_empty() {
            return;
        }
    }
}

fn crc(kind: u8, piece: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&[kind]), piece)
}

/// Reads the records of a log. A record that is cut short at the end of the file was never
/// acknowledged, and ends the log.
#[derive(Debug)]
pub(crate) struct LogReader<'a> {
    log: &'a [u8],
    at: usize,
    record: Vec<u8>,
}

impl<'a> LogReader<'a> {
    pub(crate) fn new(log: &'a [u8]) -> Self {
        LogReader { log, at: 0, record: Vec::new() }
    }

    /// End of the last record.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Bytes of a record that is cut short at the end; 0 if the log ends with a whole record.
    pub(crate) fn left_over(&self) -> usize {
        let rest = self.log.get(self.at..).unwrap_or_default();
        let used = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.record.len() + used
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Malformed> {
        self.record.clear();
        let mut begun = false;
        while let Some((kind, piece)) = self.piece()? {
            if begun == matches!(kind, FULL | FIRST) {
                let (expected, found) = (if begun { LAST } else { FULL }.into(), kind.into());
                return Err(Malformed::Unexpected { what: "a piece of a log", expected, found });
            }
            begun = true;
            self.record.extend_from_slice(piece);
            if matches!(kind, FULL | LAST) {
                return Ok(Some(&self.record));
            }
        }
        Ok(None)
    }

    /// The next piece of a record and its kind.
    fn piece(&mut self) -> Result<Option<(u8, &'a [u8])>, Malformed> {
        loop {
            let space = BLOCK_BYTES - self.at % BLOCK_BYTES;
            if space < HEADER_BYTES {
                self.at += space;
            }
            let Some(rest) = self.log.get(self.at..) else { return Ok(None) };
            let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let &[a, b, c, d, low, high, kind] = header;
            let length = usize::from(u16::from_le_bytes([low, high]));
            if kind == 0 && length == 0 {
                // space that was reserved and not used
                self.at += BLOCK_BYTES - self.at % BLOCK_BYTES;
                continue;
            }
            let Some(piece) = rest.get(..length) else { return Ok(None) };
            let (expected, found) =
                (masked_crc(crc(kind, piece)), u32::from_le_bytes([a, b, c, d]));
            if expected != found {
                let (expected, found) = (expected.into(), found.into());
                let what = "the checksum of a record";
                return Err(Malformed::Unexpected { what, expected, found });
            }
            if !(FULL..=LAST).contains(&kind) {
                let (expected, found) = (FULL.into(), kind.into());
                return Err(Malformed::Unexpected { what: "a piece of a log", expected, found });
            }
            self.at += HEADER_BYTES + length;
            return Ok(Some((kind, piece)));
        }
    }
}
