//! A temporary file with the time of each block and the containers of its executions: transfers are
//! written account by account, so each needs another block. It takes 8 bytes of memory per block.

use crate::error::Error;
use crate::types::{Block, UInt256};
use blockmill_leveldb as leveldb;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of a hash.
const HASH: u64 = 32;

/// Writes the file.
pub(crate) struct ContainersWriter {
    path: PathBuf,
    file: BufWriter<File>,
    begins: Vec<u64>,
    end: u64,
}

impl ContainersWriter {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// Returns an I/O error if it cannot be created.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = File::options().read(true).write(true).create_new(true).open(path);
        let file = BufWriter::new(file.map_err(failed(path, "cannot create"))?);
        Ok(Self { path: path.into(), file, begins: vec![], end: 0 })
    }

    /// Adds the next block.
    ///
    /// # Errors
    /// Returns an I/O error if it cannot be written.
    pub fn push(&mut self, block: &Block) -> Result<(), Error> {
        let own = [block.hash];
        let hashes = own.iter().chain(block.transactions.hashes()).chain(&own);
        let mut bytes = block.header.timestamp.to_le_bytes().to_vec();
        hashes.for_each(|hash| bytes.extend_from_slice(&hash.0));
        self.begins.push(self.end);
        self.end += bytes.len() as u64;
        self.file.write_all(&bytes).map_err(failed(&self.path, "cannot write"))
    }

    /// Finishes the file for reading.
    ///
    /// # Errors
    /// Returns an I/O error if it cannot be written.
    pub fn finish(self) -> Result<Containers, Error> {
        let Self { path, file, mut begins, end } = self;
        begins.push(end);
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        let file = file.map_err(failed(&path, "cannot write"))?;
        Ok(Containers { path, file, begins })
    }
}

/// Reads the file.
pub(crate) struct Containers {
    path: PathBuf,
    file: File,
    begins: Vec<u64>,
}

impl Containers {
    /// The time of a block, and the block or transaction of its execution with this index; `None`
    /// if there is no such execution.
    ///
    /// # Errors
    /// Returns an I/O error if the file cannot be read.
    pub fn get(&mut self, height: u32, execution: u32) -> Result<Option<(u64, UInt256)>, Error> {
        let height = height as usize;
        let ends = self.begins.get(height).zip(self.begins.get(height + 1));
        let Some((begin, end)) = ends else { return Ok(None) };
        let at = begin + 8 + HASH * u64::from(execution);
        if at + HASH > *end {
            return Ok(None);
        }
        let (mut time, mut hash) = ([0; 8], [0; HASH as usize]);
        self.read(*begin, &mut time)?;
        self.read(at, &mut hash)?;
        Ok(Some((u64::from_le_bytes(time), UInt256(hash))))
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        let read = self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(into));
        read.map_err(failed(&self.path, "cannot read"))
    }

    /// Removes the file.
    ///
    /// # Errors
    /// Returns an I/O error if it cannot be removed.
    pub fn remove(self) -> Result<(), Error> {
        drop(self.file);
        fs::remove_file(&self.path).map_err(failed(&self.path, "cannot remove"))
    }
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::from(leveldb::Error::Io { path: path.into(), action, source })
}
