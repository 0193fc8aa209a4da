//! Writes a chain into a folder, one file for each era. What such a file is, its format defines.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::accumulator::ERA_BLOCKS;
use super::framing::FrameEncoder;
use super::name::{expect_network, files_of};
use super::put_header;
use crate::difficulty::ChainTotals;
use crate::output::OutputFile;
use crate::row::WriteBlocks;
use crate::{Chunk, Error, ReceiptEncoding};

/// A file of an era under construction.
pub(crate) trait EraFile: fmt::Debug + Send + Sized {
    /// The ending of its name.
    const ENDING: &'static str;
    /// The encoding of its receipts.
    const RECEIPTS: ReceiptEncoding;
    /// Whether receipts can be left out.
    const RECEIPTS_OPTIONAL: bool;

    /// Begins a file in `folder` under the temporary name of `path`.
    fn create(path: &Path, first: u64) -> Result<Self, Error>;
    /// Writes block `i` of `chunk`, the last one of `totals`.
    fn append(
        &mut self,
        frames: &mut FrameEncoder,
        chunk: &Chunk,
        i: usize,
        totals: &ChainTotals,
    ) -> Result<(), Error>;
    /// Number of the first block.
    fn first(&self) -> u64;
    /// Completes the file and gives it its name in `folder`.
    fn finish(self, folder: &Path, network: &str) -> Result<(), Error>;
}

/// A writer of a chain into a folder, one file for each era (8,192 blocks from a multiple of
/// 8,192). A file gets its name when its last block is written.
#[derive(Debug)]
pub(crate) struct EraWriter<F> {
    folder: PathBuf,
    network: String,
    replace: bool,
    frames: FrameEncoder,
    totals: ChainTotals,
    current: Option<F>,
    files: u64,
}

impl<F: EraFile> EraWriter<F> {
    /// Begins an archive in `folder`, which is created when missing and may hold files of other
    /// eras; of an era that it writes, only with `replace`. `network` begins the names of the
    /// files; it consists of letters, digits and `_`.
    pub fn create(folder: &Path, network: &str, replace: bool) -> Result<Self, Error> {
        expect_network(folder, network)?;
        fs::create_dir_all(folder).map_err(Error::io("cannot create", folder))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            network: network.to_string(),
            replace,
            frames: FrameEncoder::new(),
            totals: ChainTotals::default(),
            current: None,
            files: 0,
        })
    }

    /// Appends blocks that follow the blocks written before. They need bodies, receipts in the
    /// encoding of the format unless it can leave them out, and total difficulties if the chain did
    /// not begin at block 0.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if a part is missing or a block does not follow, and
    /// [`Error::Io`] if a file cannot be written.
    pub fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.expect_parts(chunk)?;
        (0..chunk.blocks()).try_for_each(|i| self.append_block(chunk, i))
    }

    fn expect_parts(&self, chunk: &Chunk) -> Result<(), Error> {
        let blocks = chunk.blocks();
        let left_out = F::RECEIPTS_OPTIONAL && chunk.receipts.is_empty();
        let is_encoded = chunk.receipt_encoding == F::RECEIPTS;
        let needs = [
            ("a body for each header", chunk.bodies.len() == blocks),
            ("receipts for each header", chunk.receipts.len() == blocks || left_out),
            (F::RECEIPTS.described(), is_encoded || left_out),
        ];
        let Some((expected, _)) = needs.iter().find(|(_, holds)| !holds) else { return Ok(()) };
        let path = self.folder.clone();
        let found = format!(
            "{blocks} headers, {} bodies, {} receipts in {:?} encoding",
            chunk.bodies.len(),
            chunk.receipts.len(),
            chunk.receipt_encoding
        );
        Err(Error::Unwritable { path, expected: (*expected).into(), found })
    }

    fn append_block(&mut self, chunk: &Chunk, i: usize) -> Result<(), Error> {
        let number = self.totals.follow(&self.folder, chunk, i)?;
        let mut file = match self.current.take() {
            Some(file) => file,
            None => self.begin_file(number)?,
        };
        file.append(&mut self.frames, chunk, i, &self.totals)?;
        if (number + 1).is_multiple_of(ERA_BLOCKS as u64) {
            self.finish_file(file)
        } else {
            self.current = Some(file);
            Ok(())
        }
    }

    fn begin_file(&self, number: u64) -> Result<F, Error> {
        let era = number / ERA_BLOCKS as u64;
        match files_of(&self.folder, &self.network, era, F::ENDING)?.pop() {
            Some(path) if !self.replace => Err(already_there(path, number)),
            _ => F::create(&self.folder.join(format!("{}-{era:05}", self.network)), number),
        }
    }

    fn finish_file(&mut self, file: F) -> Result<(), Error> {
        self.files += 1;
        let era = file.first() / ERA_BLOCKS as u64;
        // none, unless they may be replaced
        for path in files_of(&self.folder, &self.network, era, F::ENDING)? {
            fs::remove_file(&path).map_err(Error::io("cannot replace", &path))?;
        }
        file.finish(&self.folder, &self.network)
    }

    /// Completes the last file.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if there was no block, and [`Error::Io`] if the file cannot be
    /// written.
    pub fn finish(mut self) -> Result<(), Error> {
        match self.current.take() {
            Some(file) => self.finish_file(file),
            None if self.files > 0 => Ok(()),
            None => Err(Error::Unwritable {
                path: self.folder,
                expected: "at least one block".into(),
                found: "none".into(),
            }),
        }
    }
}

impl<F: EraFile> WriteBlocks for EraWriter<F> {
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.append(chunk)
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        (*self).finish()
    }
}

fn already_there(path: PathBuf, number: u64) -> Error {
    let expected = format!("no file of block {number} yet, another --from, or --force");
    Error::Unwritable { path, expected, found: "a file of its era".into() }
}

/// An unfinished file of records.
#[derive(Debug)]
pub(crate) struct RecordWriter {
    output: OutputFile,
    written: u64,
    /// Records that are not written yet.
    buffer: Vec<u8>,
}

impl RecordWriter {
    /// Begins a file under the temporary name of `path`.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Ok(Self { output: OutputFile::create(path)?, written: 0, buffer: vec![] })
    }

    /// Offset of the next record.
    pub fn offset(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Appends a record.
    pub fn push(&mut self, kind: u16, data: &[u8]) {
        put_header(&mut self.buffer, kind, data.len() as u32);
        self.buffer.extend_from_slice(data);
    }

    /// Appends a record with `data` as a framed Snappy stream.
    pub fn push_framed(&mut self, frames: &mut FrameEncoder, kind: u16, data: &[u8]) {
        put_framed(&mut self.buffer, frames, kind, data);
    }

    /// Appends whole records.
    pub fn write(&mut self, records: &[u8]) -> Result<(), Error> {
        self.flush()?;
        let written = self.output.write_all(records);
        written.map_err(Error::io("cannot write", self.output.path()))?;
        self.written += records.len() as u64;
        Ok(())
    }

    /// Writes the records so far.
    pub fn flush(&mut self) -> Result<(), Error> {
        let written = self.output.write_all(&self.buffer);
        written.map_err(Error::io("cannot write", self.output.path()))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// The temporary name.
    pub fn path(&self) -> &Path {
        self.output.path()
    }

    /// Makes the file durable and renames it to `path`.
    pub fn finish(mut self, path: &Path) -> Result<(), Error> {
        self.flush()?;
        self.output.finish(path)
    }
}

/// Appends a record with `data` as a framed Snappy stream to `out`.
pub(crate) fn put_framed(out: &mut Vec<u8>, frames: &mut FrameEncoder, kind: u16, data: &[u8]) {
    let at = out.len();
    put_header(out, kind, 0);
    let start = out.len();
    frames.pack(data, out);
    let len = (out.len() - start) as u32;
    out[at + 2..at + 6].copy_from_slice(&len.to_le_bytes());
}
