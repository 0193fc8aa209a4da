//! Files with a block in hex digits on each line.

use std::io;

use super::corruption::{CorruptionKind, FileReport};
use super::scan::Record;
use super::source::{CHUNK, Source};
use super::{HEADER, MAX_BLOCK, MIN_BLOCK};

/// A reader of the lines of one file.
pub struct HexLines<S> {
    source: S,
    length: u64,
    at: u64,
    report: FileReport,
}

impl<S: Source> HexLines<S> {
    /// Creates a reader of a file of `length` bytes.
    pub fn new(source: S, length: u64) -> Self {
        let report = FileReport { bytes: length, ..FileReport::default() };
        Self { source, length, at: 0, report }
    }

    /// Starts at `start`.
    pub fn from(self, start: u64) -> Self {
        Self { at: start, ..self }
    }

    /// Returns the next block. Its offset is the position of its first digit, its size counts
    /// bytes, not digits.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        while self.at < self.length {
            let start = self.at;
            let (digits, next) = self.line(start)?;
            self.at = next;
            if digits == 0 {
                continue;
            }
            let size = u32::try_from(digits / 2).unwrap_or(u32::MAX);
            let sound = digits % 2 == 0 && (MIN_BLOCK..=MAX_BLOCK).contains(&size);
            if let Some(header) = self.header(start)?.filter(|_| sound) {
                self.report.records += 1;
                self.report.block_bytes += u64::from(size);
                return Ok(Some(Record { offset: start, size, header }));
            }
            self.report.add(start, digits, CorruptionKind::BadLine);
        }
        Ok(None)
    }

    /// Bytes read from the file.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// The report; complete after the last block.
    pub fn into_report(self) -> FileReport {
        self.report
    }

    /// Decodes the bytes of a block. `into` is empty if the line has anything else than digits:
    /// only that line is corrupt.
    pub fn body(&mut self, record: &Record, into: &mut Vec<u8>) -> io::Result<()> {
        let digits = record.size as usize * 2;
        let line = self.source.look(record.offset, digits)?;
        let line = line.get(..digits).ok_or(io::ErrorKind::UnexpectedEof)?;
        if decode(line, into).is_none() {
            into.clear();
        }
        Ok(())
    }

    /// Length of the line at `start` without its end, and the offset of the next line.
    fn line(&mut self, start: u64) -> io::Result<(u64, u64)> {
        let mut at = start;
        loop {
            let bytes = self.source.look_ahead(at, 1, CHUNK)?;
            let piece = &bytes[..bytes.len().min(CHUNK)];
            if piece.is_empty() {
                return Ok((at - start, self.length));
            }
            if let Some(end) = memchr::memchr(b'\n', piece) {
                let before = if end > 0 { piece[end - 1] } else { b'\n' };
                let end = at + end as u64;
                let digits = end - start - u64::from(before == b'\r');
                return Ok((digits, end + 1));
            }
            at += piece.len() as u64;
        }
    }

    fn header(&mut self, start: u64) -> io::Result<Option<[u8; HEADER]>> {
        let bytes = self.source.look(start, 2 * HEADER)?;
        let mut header = Vec::with_capacity(HEADER);
        let digits = bytes.get(..2 * HEADER);
        Ok(digits.and_then(|digits| decode(digits, &mut header)).and(header.try_into().ok()))
    }
}

/// Replaces `into` by the decoded digits; `None` if a character is no digit.
pub(super) fn decode(digits: &[u8], into: &mut Vec<u8>) -> Option<()> {
    into.clear();
    let digit = |c: u8| (c as char).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    for [high, low] in pairs {
        into.push(digit(*high)? << 4 | digit(*low)?);
    }
    rest.is_empty().then_some(())
}
