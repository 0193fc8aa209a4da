//! Files of headers without blocks: 80 bytes each, back to back, from the genesis block on, as
//! Electrum's `blockchain_headers` has them. Bytes: `docs/formats/bitcoin-headers.md`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use blockmill_hashes::sha256d;

use super::corruption::{CorruptionKind, FileReport};
use super::scan::Record;
use super::source::{CHUNK, Source};
use super::{HEADER, Network};
use crate::Error;
use crate::output::OutputFile;

/// The network whose genesis header a file begins with: `given`, or a named one.
pub(super) fn network_of(bytes: &[u8], given: Option<Network>) -> Option<Network> {
    let hash = sha256d(bytes.first_chunk::<HEADER>()?);
    let mut networks = Network::NAMED.into_iter();
    let is_own = |network: &Network| network.genesis_hash() == hash;
    match given {
        Some(network) => Some(network).filter(is_own),
        None => networks.find(is_own),
    }
}

/// A reader of the headers of one file.
pub(super) struct Headers<S> {
    source: S,
    length: u64,
    at: u64,
    report: FileReport,
}

impl<S: Source> Headers<S> {
    /// Creates a reader of a file of `length` bytes.
    pub fn new(source: S, length: u64) -> Self {
        let report = FileReport { bytes: length, ..FileReport::default() };
        Self { source, length, at: 0, report }
    }

    /// Returns the next header. A rest that is shorter than a header is reported.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        let (offset, left) = (self.at, self.length.saturating_sub(self.at));
        let bytes = self.source.look_ahead(offset, HEADER, CHUNK)?;
        let header = bytes.first_chunk::<HEADER>().filter(|_| left >= HEADER as u64).copied();
        let Some(header) = header else {
            if left > 0 {
                self.report.add(offset, left, CorruptionKind::Truncated { stated: None });
            }
            self.at = self.length;
            return Ok(None);
        };
        self.at += HEADER as u64;
        self.report.records += 1;
        self.report.block_bytes += HEADER as u64;
        Ok(Some(Record { offset, size: HEADER as u32, header }))
    }

    /// Replaces `into` by the header.
    pub fn body(&mut self, record: &Record, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(&record.header);
    }

    /// Bytes read from the file.
    pub fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// The report; complete after the last header.
    pub fn into_report(self) -> FileReport {
        self.report
    }
}

/// Writes a file of headers.
#[derive(Debug)]
pub struct HeaderWriter {
    file: OutputFile,
    path: PathBuf,
}

impl HeaderWriter {
    /// Creates a file that appears at `path` when it is finished.
    ///
    /// # Errors
    /// Returns [`Error::Unwritable`] if `path` exists, and [`Error::Io`] if the file cannot be
    /// created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Ok(Self { file: OutputFile::create(path)?, path: path.to_path_buf() })
    }

    /// Appends the next header of the chain.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if the file cannot be written.
    pub fn write(&mut self, header: &[u8; HEADER]) -> Result<(), Error> {
        self.file.write_all(header).map_err(Error::io("cannot write", &self.path))
    }

    /// Completes the file, makes it durable and gives it its name.
    ///
    /// # Errors
    /// As [`OutputFile::finish`].
    pub fn finish(self) -> Result<(), Error> {
        self.file.finish(&self.path)
    }
}
