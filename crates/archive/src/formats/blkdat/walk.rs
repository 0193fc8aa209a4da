//! Reads block files of every shape in the same way.

use std::io;

use super::corruption::{CorruptionKind, FileReport};
use super::files::{BlockFile, BlockFiles};
use super::headers::Headers;
use super::hex::HexLines;
use super::probe::Shape;
use super::scan::{Record, Scanner, Stop};
use super::source::{Positioned, Source};
use super::{HEADER, MAX_BLOCK, MIN_BLOCK};
use crate::Error;

/// A reader of the blocks of one file.
pub struct Walk<'a, S>(ByShape<'a, S>);

enum ByShape<'a, S> {
    Records(Scanner<'a, S>),
    Raw { source: S, length: u64, done: bool, report: FileReport },
    Hex(HexLines<S>),
    Headers(Headers<S>),
}

impl<'a, S: Source> Walk<'a, S> {
    /// Creates a reader of `file`; its bytes come from `source`.
    pub fn new(file: &BlockFile, source: S) -> Self {
        let length = file.length();
        Self(match file.shape() {
            Shape::Records { magic } => {
                ByShape::Records(Scanner::new(source, length, file.key(), magic))
            }
            Shape::Raw => {
                let report = FileReport { bytes: length, ..FileReport::default() };
                ByShape::Raw { source, length, done: false, report }
            }
            Shape::Hex => ByShape::Hex(HexLines::new(source, length)),
            Shape::Headers => ByShape::Headers(Headers::new(source, length)),
        })
    }

    /// Creates a reader of the bytes from `start` to `end` only, as if the file ended there.
    pub fn stretch(file: &BlockFile, source: S, start: u64, end: u64) -> Self {
        Self(match file.shape() {
            Shape::Records { magic } => {
                ByShape::Records(Scanner::new(source, end, file.key(), magic).from(start))
            }
            Shape::Hex => ByShape::Hex(HexLines::new(source, end).from(start)),
            // a raw block is the whole file, and headers hide nothing
            Shape::Raw | Shape::Headers => {
                ByShape::Raw { source, length: 0, done: true, report: FileReport::default() }
            }
        })
    }

    /// Makes the reader end with [`io::ErrorKind::Interrupted`] soon after `stop` returns true.
    #[must_use]
    pub fn stopping(self, stop: Stop<'a>) -> Self {
        match self.0 {
            ByShape::Records(scanner) => Self(ByShape::Records(scanner.stopping(stop))),
            // a raw block is short, and each line of digits is
            kind => Self(kind),
        }
    }

    /// Returns the next block in file order; `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the file cannot be read, and
    /// [`io::ErrorKind::Interrupted`] after a requested stop.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        match &mut self.0 {
            ByShape::Records(scanner) => scanner.next_record(),
            ByShape::Hex(lines) => lines.next_record(),
            ByShape::Headers(headers) => headers.next_record(),
            ByShape::Raw { done: true, .. } => Ok(None),
            ByShape::Raw { source, length, done, report } => {
                *done = true;
                let size = u32::try_from(*length).unwrap_or(u32::MAX);
                let bytes = source.look(0, HEADER)?.first_chunk::<HEADER>();
                match bytes.filter(|_| (MIN_BLOCK..=MAX_BLOCK).contains(&size)) {
                    Some(header) => {
                        (report.records, report.block_bytes) = (1, *length);
                        Ok(Some(Record { offset: 0, size, header: *header }))
                    }
                    None => {
                        report.add(0, *length, CorruptionKind::Truncated { stated: None });
                        Ok(None)
                    }
                }
            }
        }
    }

    /// Replaces `into` by the bytes of the block that was returned last.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the file cannot be read.
    pub fn body(&mut self, record: &Record, into: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.0 {
            ByShape::Records(scanner) => scanner.body(record, into),
            ByShape::Hex(lines) => lines.body(record, into),
            ByShape::Headers(headers) => {
                headers.body(record, into);
                Ok(())
            }
            ByShape::Raw { source, .. } => {
                let size = record.size as usize;
                let bytes = source.look(0, size)?.get(..size);
                into.clear();
                into.extend_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// Bytes read from the file.
    pub fn bytes_read(&self) -> u64 {
        match &self.0 {
            ByShape::Records(scanner) => scanner.bytes_read(),
            ByShape::Hex(lines) => lines.bytes_read(),
            ByShape::Headers(headers) => headers.bytes_read(),
            ByShape::Raw { source, .. } => source.bytes_read(),
        }
    }

    /// The report; complete after the last block.
    pub fn into_report(self) -> FileReport {
        match self.0 {
            ByShape::Records(scanner) => scanner.into_report(),
            ByShape::Hex(lines) => lines.into_report(),
            ByShape::Headers(headers) => headers.into_report(),
            ByShape::Raw { report, .. } => report,
        }
    }
}

/// Inspects each file, in order: blocks, corruption, zeros at the end. Reads frames and headers
/// only.
///
/// # Errors
///
/// Returns [`Error::Io`] if a file cannot be read.
pub fn inspect(files: &BlockFiles) -> Result<Vec<FileReport>, Error> {
    files.files().iter().map(inspect_one).collect()
}

fn inspect_one(block_file: &BlockFile) -> Result<FileReport, Error> {
    let path = block_file.path();
    let file = block_file.open().map_err(Error::io("cannot open", path))?;
    let mut walk = Walk::new(block_file, Positioned::new(&file));
    while walk.next_record().map_err(Error::io("cannot read", path))?.is_some() {}
    Ok(walk.into_report())
}

/// The header of the first block of a file without magics; `None` for a file of records.
///
/// # Errors
///
/// Returns the error of the operating system if the file cannot be read.
pub fn first_header(file: &BlockFile) -> io::Result<Option<[u8; HEADER]>> {
    if matches!(file.shape(), Shape::Records { .. }) {
        return Ok(None);
    }
    let opened = file.open()?;
    let mut walk = Walk::new(file, Positioned::new(&opened));
    Ok(walk.next_record()?.map(|record| record.header))
}
