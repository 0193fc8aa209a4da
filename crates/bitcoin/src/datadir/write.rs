//! Writes a datadir for Core.

use super::block_index::{BLOCK, BlockEntry, FILE, FileEntry, LAST_FILE, Status};
use super::chainstate::CoinWriter;
use super::flat::{FlatWriter, file_name};
use super::{Error, XorKey, network_folder, sync_folder, write_file};
use crate::coins::compress::Malformed;
use crate::header::{HEADER_BYTES, Header};
use crate::params::Params;
use crate::types::{Coin, OutPoint};
use crate::{BlockHash, undo};
use blockmill_archive::output::OutputFolder;
use blockmill_leveldb::{BulkWriter, Library};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of a block file (`MAX_BLOCKFILE_SIZE`).
const FILE_BYTES: u64 = 128 << 20;
/// Size of magic and length before each record.
pub(super) const FRAME_BYTES: u64 = 8;
/// Maximum size of a block that Core reads (`MAX_SIZE`).
const MAX_BLOCK: u64 = 32 << 20;

/// Options for writing a datadir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Obfuscation key of block and undo files.
    pub blocks_key: XorKey,
    /// Obfuscation key of the chainstate.
    pub coins_key: XorKey,
}

impl Options {
    /// New random keys, as Core generates them.
    #[must_use]
    pub fn random() -> Self {
        Options { blocks_key: XorKey::random(), coins_key: XorKey::random() }
    }
}

/// The result of writing a datadir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of blocks.
    pub blocks: u32,
    /// Hash of the last block.
    pub tip: BlockHash,
    /// Size of all block files in bytes.
    pub block_bytes: u64,
    /// Block files shared with the source.
    pub shared: SharedFiles,
    /// Size of all undo files in bytes.
    pub undo_bytes: u64,
    /// Number of unspent coins.
    pub coins: u64,
    /// Size of the chainstate in bytes.
    pub coin_bytes: u64,
}

/// Block files that were shared instead of copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedFiles {
    /// Number of files cloned by the file system.
    pub reflinks: u32,
    /// Number of files that are hard links.
    pub hard_links: u32,
    /// Size of their blocks of the chain, and of the bytes between these.
    pub bytes: u64,
}

/// The block file and the undo file that are being written.
#[derive(Debug)]
pub(super) struct Growing {
    /// Their number.
    pub number: u32,
    /// The block file. `None` if it is shared with the source.
    pub blocks: Option<FlatWriter>,
    pub undo: FlatWriter,
}

/// Writes the block files and undo files of a chain.
///
/// The datadir is written under the temporary name of an [`OutputFolder`], and renamed by
/// [`CoinsWriter::finish`]. Takes 150 bytes of memory for each block.
#[derive(Debug)]
pub struct BlocksWriter {
    pub(super) output: OutputFolder,
    pub(super) magic: [u8; 4],
    /// The first height at which Core requires witnesses.
    segwit: u32,
    options: Options,
    pub(super) files: Vec<FileEntry>,
    pub(super) shared: SharedFiles,
    /// The current block file and undo file.
    pub(super) open: Option<Growing>,
    entries: Vec<(BlockHash, BlockEntry)>,
}

impl BlocksWriter {
    /// Starts a datadir. `datadir` is the folder for Core's option; test networks use a subfolder.
    /// It must not exist, or be empty.
    pub fn create(datadir: &Path, network: &Params, options: Options) -> Result<Self, Error> {
        let target =
            network_folder(network).map_or(datadir.into(), |network| datadir.join(network));
        let output = OutputFolder::create(&target).map_err(Error::Output)?;
        let blocks = output.path().join("blocks");
        fs::create_dir(&blocks).map_err(Error::io(&blocks, "cannot create"))?;
        write_file(&blocks.join("xor.dat"), &options.blocks_key.0)?;
        let (files, entries) = (Vec::new(), Vec::new());
        let (magic, segwit) = (network.magic, network.segwit_height);
        let (open, shared) = (None, SharedFiles::default());
        Ok(BlocksWriter { output, magic, segwit, options, files, shared, open, entries })
    }

    /// Appends a block of the chain, and its undo data, as from [`undo::encode`]. The genesis block
    /// has none. Each height must be given once, in any order.
    pub fn block(&mut self, height: u32, raw: &[u8], undo: Option<&[u8]>) -> Result<(), Error> {
        let (header, transactions) = self.check(height, raw.len() as u64, raw, undo)?;
        let bytes = raw.len() as u64 + FRAME_BYTES;
        let (last, number) = (self.files.last(), self.files.len().wrapping_sub(1) as u32);
        let is_open = |open: &Growing| open.number == number && open.blocks.is_some();
        if !self.open.as_ref().is_some_and(is_open)
            || last.is_none_or(|file| u64::from(file.data_bytes) + bytes >= FILE_BYTES)
        {
            self.next_file()?;
        }
        let magic = self.magic;
        let (Some(Growing { blocks: Some(blocks), .. }), Some(file)) =
            (&mut self.open, self.files.last_mut())
        else {
            return Ok(());
        };
        let data_at = file.data_bytes + FRAME_BYTES as u32;
        append(blocks, magic, raw)?;
        file.data_bytes = blocks.bytes() as u32;
        self.enter(height, &header, transactions, data_at, undo)
    }

    /// Writes the undo data of the block at offset `data_at` of the current block file, and adds an
    /// index entry.
    pub(super) fn enter(
        &mut self,
        height: u32,
        header: &[u8; HEADER_BYTES],
        transactions: u32,
        data_at: u32,
        undo: Option<&[u8]>,
    ) -> Result<(), Error> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let Some(file) = self.files.get_mut(open.number as usize) else { return Ok(()) };
        let mut status = Status::VALID_TRANSACTIONS | Status::HAVE_DATA;
        let mut undo_at = 0;
        if let Some(undo) = undo {
            undo_at = open.undo.bytes() as u32 + FRAME_BYTES as u32;
            append(&mut open.undo, self.magic, undo)?;
            open.undo.append(&undo::checksum(&Header(header).previous(), undo))?;
            status = Status::VALID_SCRIPTS | Status::HAVE_DATA | Status::HAVE_UNDO;
        }
        if height >= self.segwit {
            status |= Status::WITNESS;
        }
        file.add(height, Header(header).time());
        file.undo_bytes = open.undo.bytes() as u32;
        let (status, file, header) = (Status(status), open.number, *header);
        let entry = BlockEntry { height, status, transactions, file, data_at, undo_at, header };
        self.entries.push((entry.hash(), entry));
        Ok(())
    }

    /// Checks a block of `length` bytes, which begins with `head`, for this height. Returns its
    /// header and the number of its transactions.
    pub(super) fn check(
        &self,
        height: u32,
        length: u64,
        head: &[u8],
        undo: Option<&[u8]>,
    ) -> Result<([u8; HEADER_BYTES], u32), Error> {
        let given = |source| Error::Given { height: Some(height), source };
        if length > MAX_BLOCK {
            let what = "the bytes of a block";
            return Err(given(Malformed::TooLarge { what, limit: MAX_BLOCK, found: length }));
        }
        let (needed, available) = (HEADER_BYTES as u64 + 1, head.len() as u64);
        let truncated = Malformed::Truncated { what: "a block", needed, available };
        let (header, body) = head.split_first_chunk().ok_or_else(|| given(truncated))?;
        if let Some((tip, last)) = self.entries.last()
            && last.height + 1 == height
        {
            connected(height, *tip, header)?;
        }
        let transactions = undo::read_any_count(&mut { body }, "transactions").map_err(given)?;
        let expected = transactions.saturating_sub(1);
        let found = match undo {
            Some(undo) => undo::read_count(&mut { undo }, "transactions").map_err(given)?,
            // the genesis block spends no coins
            None if height == 0 => expected,
            None => u64::MAX,
        };
        if expected != found || undo.is_some() && height == 0 {
            let what = "transactions with undo data";
            return Err(given(Malformed::Count { what, expected, found }));
        }
        Ok((*header, transactions as u32))
    }

    /// Finishes the current files, and starts the next ones.
    fn next_file(&mut self) -> Result<(), Error> {
        self.end_file()?;
        let number = self.files.len() as u32;
        let (blocks, undo) = (Some(self.begin("blk", number)?), self.begin("rev", number)?);
        self.open = Some(Growing { number, blocks, undo });
        self.files.push(FileEntry::default());
        Ok(())
    }

    /// Starts a file.
    pub(super) fn begin(&self, kind: &str, number: u32) -> Result<FlatWriter, Error> {
        FlatWriter::create(&self.path(kind, number), self.options.blocks_key)
    }

    /// The path of a file.
    pub(super) fn path(&self, kind: &str, number: u32) -> PathBuf {
        self.output.path().join("blocks").join(file_name(kind, number))
    }

    pub(super) fn end_file(&mut self) -> Result<(), Error> {
        if let Some(Growing { blocks, undo, .. }) = self.open.take() {
            blocks.map_or(Ok(()), FlatWriter::finish)?;
            undo.finish()?;
        }
        Ok(())
    }

    /// Finishes the blocks, writes their index, and starts the coins.
    ///
    /// # Errors
    /// Returns [`Error`] if the blocks are not a chain, or cannot be written.
    pub fn coins(mut self) -> Result<CoinsWriter, Error> {
        self.end_file()?;
        let tip = self.tip()?;
        let folder = self.output.path().join("blocks");
        self.write_index(&folder.join("index"))?;
        sync_folder(&folder)?;
        let folder = self.output.path().join("chainstate");
        let coins = CoinWriter::create(&folder, self.options.coins_key, &tip)?;
        let sum = |bytes: fn(&FileEntry) -> u32| {
            self.files.iter().map(|file| u64::from(bytes(file))).sum()
        };
        let written = Written {
            blocks: self.entries.len() as u32,
            tip,
            block_bytes: sum(|file| file.data_bytes),
            shared: self.shared,
            undo_bytes: sum(|file| file.undo_bytes),
            coins: 0,
            coin_bytes: 0,
        };
        Ok(CoinsWriter { output: self.output, coins, written })
    }

    /// The last block of the chain. There must be one block of each height up to it.
    fn tip(&mut self) -> Result<BlockHash, Error> {
        self.entries.sort_unstable_by_key(|(_, entry)| entry.height);
        let mut tip = BlockHash::default();
        for (height, (hash, entry)) in (0..).zip(&self.entries) {
            if entry.height != height {
                let (what, expected, found) = ("a height", height.into(), entry.height.into());
                let source = Malformed::Unexpected { what, expected, found };
                return Err(Error::Given { height: Some(height), source });
            }
            connected(height, tip, &entry.header)?;
            tip = *hash;
        }
        Ok(tip)
    }

    fn write_index(&mut self, folder: &Path) -> Result<(), Error> {
        let mut index = BulkWriter::create(folder, Library::LevelDb)?;
        let (mut key, mut value) = (vec![BLOCK], Vec::new());
        self.entries.sort_unstable_by_key(|(hash, _)| *hash);
        for (hash, entry) in &self.entries {
            key.truncate(1);
            key.extend_from_slice(&hash.0);
            value.clear();
            entry.write(&mut value);
            index.put(&key, &value)?;
        }
        // little-endian numbers do not sort as numbers
        let mut files: Vec<_> = self.files.iter().zip(0u32..).collect();
        files.sort_unstable_by_key(|(_, number)| number.to_le_bytes());
        for (file, number) in &files {
            value.clear();
            file.write(&mut value);
            let [a, b, c, d] = number.to_le_bytes();
            index.put(&[FILE, a, b, c, d], &value)?;
        }
        if let Some(last) = files.len().checked_sub(1) {
            index.put(&[LAST_FILE], &(last as u32).to_le_bytes())?;
        }
        index.finish()?;
        Ok(())
    }
}

/// Checks that the header names this parent.
fn connected(height: u32, expected: BlockHash, header: &[u8; HEADER_BYTES]) -> Result<(), Error> {
    let found = Header(header).previous();
    if found != expected {
        return Err(Error::NotConnected { height, expected, found });
    }
    Ok(())
}

/// Appends a record.
fn append(to: &mut FlatWriter, magic: [u8; 4], data: &[u8]) -> Result<(), Error> {
    to.append(&magic)?;
    to.append(&(data.len() as u32).to_le_bytes())?;
    to.append(data)
}

/// Writes the unspent coins after the last block, and finishes the datadir.
#[derive(Debug)]
pub struct CoinsWriter {
    output: OutputFolder,
    coins: CoinWriter,
    written: Written,
}

impl CoinsWriter {
    /// Appends a coin. Transactions must be in the order of the bytes of their ids; the outputs of
    /// each may be in any order.
    pub fn coin(&mut self, outpoint: &OutPoint, coin: &Coin) -> Result<(), Error> {
        self.written.coins += 1;
        self.coins.push(outpoint, coin)
    }

    /// Finishes the chainstate, and renames the datadir.
    pub fn finish(mut self) -> Result<Written, Error> {
        self.written.coin_bytes = self.coins.finish()?.bytes;
        self.output.finish().map_err(Error::Output)?;
        Ok(self.written)
    }
}
