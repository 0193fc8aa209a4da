//! Writes era1 files, byte for byte as go-ethereum does.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::accumulator::{Accumulator, ERA_BLOCKS};
use super::e2store::{
    ACCUMULATOR, BLOCK_INDEX, COMPRESSED_BODY, COMPRESSED_HEADER, COMPRESSED_RECEIPTS,
    TOTAL_DIFFICULTY, VERSION, put_header,
};
use super::file_name;
use super::framing::FrameEncoder;
use crate::difficulty::ChainTotals;
use crate::output::OutputFile;
use crate::row::WriteBlocks;
use crate::{Chunk, Error, ReceiptEncoding};

/// A writer of a chain into a folder, one file for each era (8,192 blocks from a multiple of
/// 8,192). A file gets its name when its last block is written. Published files end at the merge;
/// later blocks are written in the same way, with a total difficulty that no longer grows.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    network: String,
    replace: bool,
    frames: FrameEncoder,
    totals: ChainTotals,
    current: Option<EraFile>,
    files: u64,
}

impl Writer {
    /// Begins an archive in `folder`, which is created when missing and may hold files of other
    /// eras; of an era that it writes, only with `replace`. `network` begins the names of the
    /// files; it consists of letters, digits and `_`.
    pub fn create(folder: &Path, network: &str, replace: bool) -> Result<Self, Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if network.is_empty() || !network.chars().all(plain) {
            return Err(Error::Unwritable {
                path: folder.to_path_buf(),
                expected: "a network name of letters, digits and _".into(),
                found: format!("{network:?}"),
            });
        }
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

    /// Appends blocks that follow the blocks written before. They need bodies and receipts in
    /// consensus encoding, and total difficulties if the chain did not begin at block 0.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if a part is missing or a block does not follow, and
    /// [`Error::Io`] if a file cannot be written.
    pub fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let blocks = chunk.blocks();
        let needs = [
            ("a body for each header", chunk.bodies.len() == blocks),
            ("receipts for each header", chunk.receipts.len() == blocks),
            (
                "receipts in consensus encoding",
                chunk.receipt_encoding == ReceiptEncoding::Consensus,
            ),
        ];
        if let Some((expected, _)) = needs.iter().find(|(_, holds)| !holds) {
            let path = self.folder.clone();
            let found = format!(
                "{blocks} headers, {} bodies, {} receipts in {:?} encoding",
                chunk.bodies.len(),
                chunk.receipts.len(),
                chunk.receipt_encoding
            );
            return Err(Error::Unwritable { path, expected: (*expected).into(), found });
        }
        (0..blocks).try_for_each(|i| self.append_block(chunk, i))
    }

    fn append_block(&mut self, chunk: &Chunk, i: usize) -> Result<(), Error> {
        let number = self.totals.follow(&self.folder, chunk, i)?;
        let total = self.totals.total(&self.folder)?;
        let mut file = match self.current.take() {
            Some(file) => file,
            None => {
                let era = number / ERA_BLOCKS as u64;
                match files_of(&self.folder, &self.network, era)?.pop() {
                    Some(path) if !self.replace => return Err(already_there(path, number)),
                    _ => EraFile::create(&self.folder, &self.network, number)?,
                }
            }
        };
        file.append(&mut self.frames, chunk, i, total)?;
        if (number + 1).is_multiple_of(ERA_BLOCKS as u64) {
            self.finish_file(file)
        } else {
            self.current = Some(file);
            Ok(())
        }
    }

    fn finish_file(&mut self, file: EraFile) -> Result<(), Error> {
        self.files += 1;
        let era = file.first / ERA_BLOCKS as u64;
        // none, unless they may be replaced
        for path in files_of(&self.folder, &self.network, era)? {
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

impl WriteBlocks for Writer {
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.append(chunk)
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        (*self).finish()
    }
}

/// The files of an era in a folder, whatever root their names have.
fn files_of(folder: &Path, network: &str, era: u64) -> Result<Vec<PathBuf>, Error> {
    let stem = format!("{network}-{era:05}-");
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(Error::io("cannot list", folder))? {
        let entry = entry.map_err(Error::io("cannot list", folder))?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(&stem) && name.ends_with(".era1")) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn already_there(path: PathBuf, number: u64) -> Error {
    let expected = format!("no file of block {number} yet, another --from, or --force");
    Error::Unwritable { path, expected, found: "a file of its era".into() }
}

/// One file under construction.
#[derive(Debug)]
struct EraFile {
    output: OutputFile,
    first: u64,
    offsets: Vec<u64>,
    written: u64,
    accumulator: Accumulator,
    /// The records of one block.
    buffer: Vec<u8>,
}

impl EraFile {
    fn create(folder: &Path, network: &str, first: u64) -> Result<Self, Error> {
        let era = first / ERA_BLOCKS as u64;
        let output = OutputFile::create(&folder.join(format!("{network}-{era:05}")))?;
        let mut file = Self {
            output,
            first,
            offsets: vec![],
            written: 0,
            accumulator: Accumulator::default(),
            buffer: vec![],
        };
        put_header(&mut file.buffer, VERSION, 0);
        file.flush()?;
        Ok(file)
    }

    /// Writes the records of one block; `total` is the total difficulty after it.
    fn append(
        &mut self,
        frames: &mut FrameEncoder,
        chunk: &Chunk,
        i: usize,
        total: [u8; 32],
    ) -> Result<(), Error> {
        self.offsets.push(self.written);
        let header = chunk.headers.get(i);
        for (kind, data) in [
            (COMPRESSED_HEADER, header),
            (COMPRESSED_BODY, chunk.bodies.get(i)),
            (COMPRESSED_RECEIPTS, chunk.receipts.get(i)),
        ] {
            let at = self.buffer.len();
            put_header(&mut self.buffer, kind, 0);
            let start = self.buffer.len();
            frames.pack(data, &mut self.buffer);
            let len = (self.buffer.len() - start) as u32;
            self.buffer[at + 2..at + 6].copy_from_slice(&len.to_le_bytes());
        }
        put_header(&mut self.buffer, TOTAL_DIFFICULTY, 32);
        self.buffer.extend(total.iter().rev());
        // The caller ends a file at each multiple of 8,192, so it never has more blocks.
        self.accumulator.push(&blockmill_hashes::keccak256(header), &total);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Error> {
        let written = self.output.write_all(&self.buffer);
        written.map_err(Error::io("cannot write", self.output.path()))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the accumulator and the block index and renames the file.
    fn finish(mut self, folder: &Path, network: &str) -> Result<(), Error> {
        let root = self.accumulator.root();
        put_header(&mut self.buffer, ACCUMULATOR, 32);
        self.buffer.extend_from_slice(&root);
        self.flush()?;
        let index_at = self.written;
        put_header(&mut self.buffer, BLOCK_INDEX, 16 + 8 * self.offsets.len() as u32);
        self.buffer.extend_from_slice(&self.first.to_le_bytes());
        for offset in &self.offsets {
            let relative = offset.wrapping_sub(index_at);
            self.buffer.extend_from_slice(&relative.to_le_bytes());
        }
        self.buffer.extend_from_slice(&(self.offsets.len() as u64).to_le_bytes());
        self.flush()?;
        let era = self.first / ERA_BLOCKS as u64;
        self.output.finish(&folder.join(file_name(network, era, &root)))
    }
}
