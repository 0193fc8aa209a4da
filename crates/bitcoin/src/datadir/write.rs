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

/// Block files stay below this size (`MAX_BLOCKFILE_SIZE`).
const FILE_BYTES: u64 = 128 << 20;
/// Magic and size before each record.
pub(super) const FRAME_BYTES: u64 = 8;
/// Core reads no block above this size (`MAX_SIZE`).
const MAX_BLOCK: u64 = 32 << 20;

/// How a datadir is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Hides block and undo files.
    pub blocks_key: XorKey,
    /// Hides the chainstate.
    pub coins_key: XorKey,
}

impl Options {
    /// Keys of this datadir alone, as Core makes them.
    #[must_use]
    pub fn random() -> Self {
        Options { blocks_key: XorKey::random(), coins_key: XorKey::random() }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Blocks.
    pub blocks: u32,
    /// The last block's hash.
    pub tip: BlockHash,
    /// Bytes of all block files.
    pub block_bytes: u64,
    /// Those block files whose bytes are those of the source.
    pub shared: SharedFiles,
    /// Bytes of all undo files.
    pub undo_bytes: u64,
    /// Unspent coins.
    pub coins: u64,
    /// Bytes of the chainstate.
    pub coin_bytes: u64,
}

/// Block files that were taken over without copying them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedFiles {
    /// Files that share the source's blocks on the disk.
    pub reflinks: u32,
    /// Files that are the source's under another name.
    pub hard_links: u32,
    /// Bytes of them that are blocks of the chain, or stand between those.
    pub bytes: u64,
}

/// The files that grow.
#[derive(Debug)]
pub(super) struct Growing {
    /// The number in their names.
    pub number: u32,
    /// The block file; none when it is shared with the source.
    pub blocks: Option<FlatWriter>,
    pub undo: FlatWriter,
}

/// Takes the blocks of a chain, and writes block files and undo files.
///
/// The datadir gets its name when [`CoinsWriter::finish`] has written everything. Until then it has
/// that of an [`OutputFolder`]. In memory there are 150 bytes a block.
#[derive(Debug)]
pub struct BlocksWriter {
    pub(super) output: OutputFolder,
    pub(super) magic: [u8; 4],
    /// The first height at which Core asks for blocks with witnesses.
    segwit: u32,
    options: Options,
    pub(super) files: Vec<FileEntry>,
    pub(super) shared: SharedFiles,
    /// The block file and the undo file at hand.
    pub(super) open: Option<Growing>,
    entries: Vec<(BlockHash, BlockEntry)>,
}

impl BlocksWriter {
    /// Begins a datadir. `datadir` is the folder that Core will be given; those of test networks
    /// are made below it. There must be nothing, or an empty folder.
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

    /// Appends a block of the chain, the bytes and the undo data, as [`undo::encode`] made it. The
    /// genesis block has none. Each height comes once, in any order.
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

    /// Writes the undo data of a block whose bytes stand at `data_at` of the block file at hand,
    /// and takes note of both.
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

    /// Header and number of transactions of a block that may have this height: of its `length`
    /// bytes `head` are the first.
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
            // the genesis block connects without spending anything
            None if height == 0 => expected,
            None => u64::MAX,
        };
        if expected != found || undo.is_some() && height == 0 {
            let what = "transactions with undo data";
            return Err(given(Malformed::Count { what, expected, found }));
        }
        Ok((*header, transactions as u32))
    }

    /// Ends the files at hand and begins the next.
    fn next_file(&mut self) -> Result<(), Error> {
        self.end_file()?;
        let number = self.files.len() as u32;
        let (blocks, undo) = (Some(self.begin("blk", number)?), self.begin("rev", number)?);
        self.open = Some(Growing { number, blocks, undo });
        self.files.push(FileEntry::default());
        Ok(())
    }

    /// Begins a file.
    pub(super) fn begin(&self, kind: &str, number: u32) -> Result<FlatWriter, Error> {
        FlatWriter::create(&self.path(kind, number), self.options.blocks_key)
    }

    /// Where a file is being written.
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

    /// Ends the blocks, writes their index, and goes on to the coins.
    ///
    /// # Errors
    /// When the blocks that were given are no chain.
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

    /// The last block of the chain; there must be one block of each height up to it.
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
        // numbers in little endian do not sort as numbers
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

/// Does the header name this parent?
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

/// Takes the unspent coins of the chain's last block, and ends the datadir.
#[derive(Debug)]
pub struct CoinsWriter {
    output: OutputFolder,
    coins: CoinWriter,
    written: Written,
}

impl CoinsWriter {
    /// Appends a coin. Transactions come in the order of the bytes of their ids; the outputs of one
    /// may come in any order.
    pub fn coin(&mut self, outpoint: &OutPoint, coin: &Coin) -> Result<(), Error> {
        self.written.coins += 1;
        self.coins.push(outpoint, coin)
    }

    /// Ends the chainstate and gives the datadir its name.
    pub fn finish(mut self) -> Result<Written, Error> {
        self.written.coin_bytes = self.coins.finish()?.bytes;
        self.output.finish().map_err(Error::Output)?;
        Ok(self.written)
    }
}
