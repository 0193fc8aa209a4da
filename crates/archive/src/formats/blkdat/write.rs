//! Writes block files as Bitcoin Core does.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{BlockLocation, FRAME, Network, XOR_FILE, XorKey};
use crate::Error;
use crate::output::{OutputFolder, is_numbered};
use blockmill_leveldb as leveldb;

/// Records are collected up to this size before they are written.
const BUFFER: usize = 1 << 20;

/// Options of the writer of block files.
#[derive(Clone, Copy, Debug)]
pub struct WriterOptions {
    /// The network, whose magic begins each record.
    pub network: Network,
    /// The key that obfuscates the files. It is written to `xor.dat`, even if it is zero.
    pub key: XorKey,
    /// A file ends before the record that would fill it: 128 MiB in Bitcoin Core.
    pub max_file: u64,
    /// Bytes by which an unfinished file is longer than its records, in zeros: 16 MiB in Bitcoin
    /// Core, 0 for none. `trim` decides whether they remain.
    pub allocate: u64,
    /// Whether the last file is truncated after its last record at the end. Full files always are.
    pub trim: bool,
}

impl WriterOptions {
    /// As Bitcoin Core writes them, without obfuscation.
    pub fn core(network: Network) -> Self {
        let (max_file, allocate) = (128 << 20, 16 << 20);
        Self { network, key: XorKey::default(), max_file, allocate, trim: true }
    }
}

/// Whether a file, by its path in the folder, is a block file or the key.
pub fn is_own_file(path: &Path) -> bool {
    path == Path::new(XOR_FILE) || is_numbered(path.as_os_str(), "blk", ".dat")
}

/// Whether a file, by its path in the folder, is one that a conversion to a datadir writes. After
/// Bitcoin Core has run there, the folder has other files, so that datadir is never replaced.
pub(crate) fn is_of_datadir(path: &Path) -> bool {
    let networks = ["testnet3", "testnet4", "signet", "regtest"];
    let path = networks.iter().find_map(|name| path.strip_prefix(name).ok()).unwrap_or(path);
    if let Ok(blocks) = path.strip_prefix("blocks") {
        return is_own_file(blocks)
            || is_numbered(blocks.as_os_str(), "rev", ".dat")
            || blocks.strip_prefix("index").is_ok_and(leveldb::is_own_file);
    }
    path.strip_prefix("chainstate").is_ok_and(leveldb::is_own_file)
}

/// Writes `blk00000.dat` and so on into a new folder, which appears under its name when it is
/// complete.
pub struct BlockWriter {
    folder: OutputFolder,
    options: WriterOptions,
    index: u32,
    file: File,
    path: PathBuf,
    /// Bytes of the file, those in the buffer included.
    length: u64,
    allocated: u64,
    buffer: Vec<u8>,
}

impl BlockWriter {
    /// Begins a folder; fails when there is one with files in it.
    pub fn create(folder: &Path, options: WriterOptions) -> Result<Self, Error> {
        let folder = OutputFolder::create(folder)?;
        let (path, file) = create(folder.path(), 0)?;
        let key = folder.path().join(XOR_FILE);
        fs::write(&key, options.key.0).map_err(Error::io("cannot write", &key))?;
        let (index, length, allocated, buffer) = (0, 0, 0, Vec::with_capacity(BUFFER));
        Ok(Self { folder, options, index, file, path, length, allocated, buffer })
    }

    /// Appends a block; returns its location, with the number of its file.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] for a block of an impossible size, and [`Error::Io`] if a file
    /// cannot be written.
    pub fn write(&mut self, block: &[u8]) -> Result<BlockLocation, Error> {
        let size = u32::try_from(block.len()).map_err(|_| Error::Unwritable {
            path: self.path.clone(),
            expected: "a block of less than 4 GiB".into(),
            found: format!("{} bytes", block.len()),
        })?;
        let record = FRAME + u64::from(size);
        if self.length > 0 && self.length + record >= self.options.max_file {
            self.close(true)?;
            self.index += 1;
            (self.path, self.file) = create(self.folder.path(), self.index)?;
            (self.length, self.allocated) = (0, 0);
        }
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&self.options.network.magic());
        self.buffer.extend_from_slice(&size.to_le_bytes());
        self.buffer.extend_from_slice(block);
        self.options.key.apply(&mut self.buffer[start..], self.length);
        let offset = self.length + FRAME;
        self.length += record;
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(BlockLocation { file: self.index, offset, size })
    }

    /// The path of the unfinished folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the buffered bytes and renames the folder to its destination; returns the number of
    /// files.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if a file cannot be written or renamed.
    pub fn finish(mut self) -> Result<u32, Error> {
        self.close(self.options.trim)?;
        self.folder.finish()?;
        Ok(self.index + 1)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let step = self.options.allocate;
        if step > 0 && self.length > self.allocated {
            self.allocated = self.length.next_multiple_of(step);
            self.set_length(self.allocated)?;
        }
        let written = self.file.write_all(&self.buffer);
        written.map_err(Error::io("cannot write", &self.path))?;
        self.buffer.clear();
        Ok(())
    }

    fn close(&mut self, trim: bool) -> Result<(), Error> {
        self.flush()?;
        if trim && self.allocated > self.length {
            self.set_length(self.length)?;
        }
        self.file.sync_all().map_err(Error::io("cannot sync", &self.path))
    }

    fn set_length(&self, length: u64) -> Result<(), Error> {
        self.file.set_len(length).map_err(Error::io("cannot resize", &self.path))
    }
}

fn create(folder: &Path, index: u32) -> Result<(PathBuf, File), Error> {
    let path = folder.join(format!("blk{index:05}.dat"));
    let file: io::Result<File> = File::create_new(&path);
    let file = file.map_err(Error::io("cannot create", &path))?;
    Ok((path, file))
}
