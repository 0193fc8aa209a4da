//! Reads a datadir, without changing it.

use super::block_index::{BLOCK, BlockEntry, FILE, FileEntry, LAST_FILE, Status};
use super::chainstate::Coins;
use super::flat::file_name;
use super::{Error, XorKey, read_file};
use crate::coins::compress::Malformed;
use crate::{BlockHash, undo};
use blockmill_leveldb::Scan;
use blockmill_platform::files;
use blockmill_verdict::split_array;
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Size of magic and length before each record.
const FRAME_BYTES: u64 = 8;
/// Size of the checksum after undo data.
const CHECKSUM_BYTES: u64 = 32;

/// A datadir: its block index, its files, its coins. Core must not be running.
#[derive(Debug)]
pub struct Datadir {
    folder: PathBuf,
    key: XorKey,
    blocks: HashMap<BlockHash, BlockEntry>,
    files: Vec<FileEntry>,
}

/// A record of a block file or an undo file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The magic of the network.
    pub magic: [u8; 4],
    /// The block, or the undo data.
    pub data: Vec<u8>,
}

impl Datadir {
    /// Opens a datadir: the folder that has `blocks` and `chainstate` in it.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let blocks = folder.join("blocks");
        let path = blocks.join("xor.dat");
        let mut key = XorKey::default();
        // datadirs of Core before 28 have none
        if files::is_there(&path).map_err(Error::io(&path, "cannot open"))? {
            let bytes = read_file(&path)?;
            key =
                XorKey(*split_array(&mut &bytes[..], "the XOR key").map_err(Error::at(&path, 0))?);
        }
        let folder = folder.to_path_buf();
        let mut datadir = Datadir { folder, key, blocks: HashMap::new(), files: Vec::new() };
        datadir.read_index(&blocks.join("index"))?;
        Ok(datadir)
    }

    fn read_index(&mut self, folder: &Path) -> Result<(), Error> {
        let mut index = Scan::open(folder)?;
        let (mut files, mut last, mut entries) = (HashMap::new(), 0, 0);
        while index.advance()? {
            entries += 1;
            let (value, at) = (index.value(), Error::at(folder, entries));
            match *index.key() {
                [BLOCK, ref hash @ ..] => {
                    let hash =
                        split_array(&mut { hash }, "the hash of a block").copied().map(BlockHash);
                    let entry = hash.and_then(|hash| Ok((hash, BlockEntry::read(value)?)));
                    let (hash, entry) = entry.map_err(at)?;
                    self.blocks.insert(hash, entry);
                }
                [FILE, a, b, c, d] => {
                    let number = u32::from_le_bytes([a, b, c, d]);
                    files.insert(number, FileEntry::read(value).map_err(at)?);
                }
                [LAST_FILE] => {
                    let number = split_array(&mut { value }, "the number of the last file");
                    last = u32::from_le_bytes(*number.map_err(at)?);
                }
                _ => {}
            }
        }
        for number in 0..=last {
            let Some(file) = files.remove(&number) else {
                let what = format!("the entry of file {number}");
                return Err(Error::Missing { path: folder.into(), what });
            };
            self.files.push(file);
        }
        Ok(())
    }

    /// The blocks in the index, including those with a header only.
    pub fn blocks(&self) -> impl Iterator<Item = (&BlockHash, &BlockEntry)> {
        self.blocks.iter()
    }

    /// The entry of a block.
    #[must_use]
    pub fn block(&self, hash: &BlockHash) -> Option<&BlockEntry> {
        self.blocks.get(hash)
    }

    /// The block files, by number.
    #[must_use]
    pub fn files(&self) -> &[FileEntry] {
        &self.files
    }

    /// The chain up to a block, from the genesis block on.
    pub fn chain(&self, tip: &BlockHash) -> Result<Vec<&BlockEntry>, Error> {
        let mut chain: Vec<&BlockEntry> = Vec::new();
        let mut hash = *tip;
        loop {
            let Some(entry) = self.block(&hash) else {
                let what = format!("block {hash}");
                return Err(Error::Missing { path: self.folder.join("blocks/index"), what });
            };
            // heights must decrease, so that a cycle ends
            if chain.last().is_some_and(|next| next.height != entry.height + 1) {
                let (expected, found) = (chain.len() as u64, entry.height.into());
                let source = Malformed::Unexpected { what: "a height", expected, found };
                return Err(Error::Given { height: Some(entry.height), source });
            }
            chain.push(entry);
            if entry.height == 0 {
                chain.reverse();
                return Ok(chain);
            }
            hash = entry.parent();
        }
    }

    /// Opens the coins.
    pub fn coins(&self) -> Result<Coins, Error> {
        Coins::open(&self.folder.join("chainstate"))
    }

    /// Reads a block. `None` if the files do not have it.
    pub fn read_block(&self, entry: &BlockEntry) -> Result<Option<Found>, Error> {
        if !entry.status.has(Status::HAVE_DATA) {
            return Ok(None);
        }
        record(&self.path("blk", entry.file), self.key, entry.data_at, 0).map(Some)
    }

    /// Reads the undo data of a block, and checks its checksum. `None` if the files do not have it.
    pub fn read_undo(&self, entry: &BlockEntry) -> Result<Option<Found>, Error> {
        if !entry.status.has(Status::HAVE_UNDO) {
            return Ok(None);
        }
        let path = self.path("rev", entry.file);
        undo_at(&path, self.key, entry.undo_at, &entry.parent()).map(Some)
    }

    /// The undo file of a block, and the offset of its undo data; the folder of the undo files if
    /// the index does not have the block.
    #[must_use]
    pub fn undo_place(&self, hash: &BlockHash) -> (PathBuf, u64) {
        match self.undo_of(hash) {
            Some((path, at)) => (path, at.into()),
            None => (self.folder.join("blocks"), 0),
        }
    }

    /// The undo file of a block, and the offset of its undo data. `None` if the index does not have
    /// it.
    pub(crate) fn undo_of(&self, hash: &BlockHash) -> Option<(PathBuf, u32)> {
        let entry = self.block(hash).filter(|entry| entry.status.has(Status::HAVE_UNDO))?;
        Some((self.path("rev", entry.file), entry.undo_at))
    }

    fn path(&self, kind: &str, number: u32) -> PathBuf {
        self.folder.join("blocks").join(file_name(kind, number))
    }
}

/// Reads the undo data at offset `at` of an undo file, of a block with the parent `parent`, and
/// checks its checksum.
pub(crate) fn undo_at(
    path: &Path,
    key: XorKey,
    at: u32,
    parent: &BlockHash,
) -> Result<Found, Error> {
    let mut found = record(path, key, at, CHECKSUM_BYTES)?;
    let length = found.data.len() - CHECKSUM_BYTES as usize;
    let mut expected = [0; 32];
    expected.copy_from_slice(&found.data[length..]);
    found.data.truncate(length);
    let checksum = undo::checksum(parent, &found.data);
    match checksum == expected {
        true => Ok(found),
        false => {
            let (path, offset) = (path.into(), at.into());
            Err(Error::Checksum { path, offset, expected, found: checksum })
        }
    }
}

/// Reads a record and `trailing` bytes after it.
fn record(path: &Path, key: XorKey, at: u32, trailing: u64) -> Result<Found, Error> {
    let mut file = File::open(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => {
            Error::Missing { path: path.into(), what: "a file of the block index".into() }
        }
        _ => Error::io(path, "cannot open")(source),
    })?;
    let bytes = file.metadata().map_err(Error::io(path, "cannot ask for the size of"))?.len();
    let offset = u64::from(at);
    let what = "a record";
    let truncated = |needed, available| {
        Error::at(path, offset)(Malformed::Truncated { what, needed, available })
    };
    let available = bytes.saturating_sub(offset);
    let start = offset.checked_sub(FRAME_BYTES).ok_or_else(|| truncated(8, offset))?;
    if available == 0 {
        return Err(truncated(1, 0));
    }
    let mut read = |position: u64, into: &mut [u8]| {
        file.seek(SeekFrom::Start(position))?;
        file.read_exact(into)?;
        key.apply(into, position);
        Ok(())
    };
    let mut frame = [0; FRAME_BYTES as usize];
    read(start, &mut frame).map_err(Error::io(path, "cannot read"))?;
    let [m0, m1, m2, m3, size @ ..] = frame;
    let needed = u64::from(u32::from_le_bytes(size)) + trailing;
    if needed > available {
        return Err(truncated(needed, available));
    }
    let mut data = vec![0; needed as usize];
    read(offset, &mut data).map_err(Error::io(path, "cannot read"))?;
    Ok(Found { magic: [m0, m1, m2, m3], data })
}
