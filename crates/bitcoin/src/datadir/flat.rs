//! Writes block files and undo files: records, XORed with a key.

use super::{Error, XorKey};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Size of a write, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// The name of a block file (`blk`) or undo file (`rev`).
pub(super) fn file_name(kind: &str, number: u32) -> String {
    format!("{kind}{number:05}.dat")
}

/// Appends to a file.
#[derive(Debug)]
pub(super) struct FlatWriter {
    path: PathBuf,
    file: File,
    key: XorKey,
    /// Appended bytes, including the buffer.
    bytes: u64,
    buffer: Vec<u8>,
}

impl FlatWriter {
    pub(super) fn create(path: &Path, key: XorKey) -> Result<Self, Error> {
        let file = File::create_new(path).map_err(Error::io(path, "cannot create"))?;
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Ok(FlatWriter { path: path.to_path_buf(), file, key, bytes: 0, buffer })
    }

    /// Size of the file so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            if self.buffer.len() == BUFFER_BYTES {
                self.write()?;
            }
            let start = self.buffer.len();
            let (head, rest) = bytes.split_at(bytes.len().min(BUFFER_BYTES - start));
            self.buffer.extend_from_slice(head);
            self.key.apply(&mut self.buffer[start..], self.bytes);
            self.bytes += head.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Error> {
        self.file.write_all(&self.buffer).map_err(Error::io(&self.path, "cannot write"))?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the buffer, and syncs the file.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.write()?;
        self.file.sync_all().map_err(Error::io(&self.path, "cannot sync"))
    }
}
