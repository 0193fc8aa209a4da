//! Writes a datadir for Core.

use super::block_index::{self, BLOCK, BlockEntry, FILE, FileEntry, LAST_FILE, Status};
use super::chainstate::CoinWriter;
use super::flat::{FlatWriter, file_name};
use super::leveldb::BulkWriter;
use super::{Error, XorKey, network_folder, sync_folder, write_file};
use crate::coin::{Coin, OutPoint};
use crate::compress::Malformed;
use crate::params::Params;
use crate::{Hash, undo};
use archive::output::OutputFolder;
use std::fs;
use std::path::Path;

/// Block files stay below this size (`MAX_BLOCKFILE_SIZE`).
const FILE_BYTES: u64 = 128 << 20;
/// Magic and size before each record.
const FRAME_BYTES: u64 = 8;
/// Core reads no block above this size (`MAX_SIZE`).
const MAX_BLOCK: u64 = 32 << 20;
const HEADER_BYTES: usize = 80;

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
    pub tip: Hash,
    /// Bytes of all block files.
    pub block_bytes: u64,
    /// Bytes of all undo files.
    pub undo_bytes: u64,
    /// Unspent coins.
    pub coins: u64,
    /// Bytes of the chainstate.
    pub coin_bytes: u64,
}

/// Takes the blocks of a chain, and writes block files and undo files.
///
/// The datadir gets its name when [`CoinsWriter::finish`] has written everything. Until then it has
/// that of an [`OutputFolder`]. In memory there are 150 bytes a block.
#[derive(Debug)]
pub struct BlocksWriter {
    place: OutputFolder,
    magic: [u8; 4],
    /// The first height at which Core asks for blocks with witnesses.
    segwit: u32,
    options: Options,
    files: Vec<FileEntry>,
    /// The block file and the undo file at hand.
    open: Option<(FlatWriter, FlatWriter)>,
    entries: Vec<(Hash, BlockEntry)>,
    tip: Hash,
}

impl BlocksWriter {
    /// Begins a datadir. `datadir` is the folder that Core will be given; those of test networks
    /// are made below it. There must be nothing, or an empty folder.
    pub fn create(datadir: &Path, network: &Params, options: Options) -> Result<Self, Error> {
        let target =
            network_folder(network).map_or(datadir.into(), |network| datadir.join(network));
        let place = OutputFolder::create(&target).map_err(Error::Output)?;
        let blocks = place.path().join("blocks");
        fs::create_dir(&blocks).map_err(Error::io(&blocks, "cannot create"))?;
        write_file(&blocks.join("xor.dat"), &options.blocks_key.0)?;
        let (files, entries) = (Vec::new(), Vec::new());
        let (magic, segwit) = (network.magic, network.segwit_height);
        let (open, tip) = (None, [0; 32]);
        Ok(BlocksWriter { place, magic, segwit, options, files, open, entries, tip })
    }

    /// Appends the next block of the chain: its bytes and its undo data, as [`undo::encode`] made
    /// it. The first one is the genesis block, which has none.
    pub fn block(&mut self, raw: &[u8], undo: Option<&[u8]>) -> Result<(), Error> {
        let height = self.entries.len() as u32;
        let (header, transactions) = self.check(height, raw, undo)?;
        let frame = |length: usize| (length as u64 + FRAME_BYTES) as u32;
        if self.files.last().is_none_or(|file| {
            u64::from(file.data_bytes) + u64::from(frame(raw.len())) >= FILE_BYTES
        }) {
            self.next_file()?;
        }
        let magic = self.magic;
        let number = self.files.len() as u32 - 1;
        let (Some((blocks, undos)), Some(file)) = (&mut self.open, self.files.last_mut()) else {
            return Ok(());
        };
        let append = |to: &mut FlatWriter, data: &[u8]| {
            to.append(&magic)?;
            to.append(&(data.len() as u32).to_le_bytes())?;
            to.append(data)
        };
        append(blocks, raw)?;
        let mut status = Status::VALID_TRANSACTIONS | Status::HAVE_DATA;
        let mut undo_at = 0;
        if let Some(undo) = undo {
            undo_at = undos.bytes() as u32 + FRAME_BYTES as u32;
            append(undos, undo)?;
            undos.append(&undo::checksum(&self.tip, undo))?;
            status = Status::VALID_SCRIPTS | Status::HAVE_DATA | Status::HAVE_UNDO;
        }
        if height >= self.segwit {
            status |= Status::WITNESS;
        }
        let data_at = file.data_bytes + FRAME_BYTES as u32;
        file.add(height, block_index::time(&header));
        (file.data_bytes, file.undo_bytes) = (blocks.bytes() as u32, undos.bytes() as u32);
        let status = Status(status);
        let file = number;
        let entry = BlockEntry { height, status, transactions, file, data_at, undo_at, header };
        self.tip = entry.hash();
        self.entries.push((self.tip, entry));
        Ok(())
    }

    /// Header and number of transactions of a block that may follow.
    fn check(
        &self,
        height: u32,
        raw: &[u8],
        undo: Option<&[u8]>,
    ) -> Result<([u8; HEADER_BYTES], u32), Error> {
        let given = |source| Error::Given { height: Some(height), source };
        let found = raw.len() as u64;
        if found > MAX_BLOCK {
            let what = "the bytes of a block";
            return Err(given(Malformed::TooLarge { what, limit: MAX_BLOCK, found }));
        }
        let needed = HEADER_BYTES as u64 + 1;
        let truncated = Malformed::Truncated { what: "a block", needed, available: found };
        let (header, body) = raw.split_first_chunk().ok_or_else(|| given(truncated))?;
        let found = block_index::parent(header);
        if found != self.tip {
            return Err(Error::NotConnected { height, expected: self.tip, found });
        }
        let count = |bytes| undo::read_count(&mut { bytes }, "transactions").map_err(given);
        let transactions = count(body)?;
        let expected = transactions.saturating_sub(1);
        let found = match undo {
            Some(undo) => count(undo)?,
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
        let create = |kind| {
            let path = self.place.path().join("blocks").join(file_name(kind, number));
            FlatWriter::create(&path, self.options.blocks_key)
        };
        self.open = Some((create("blk")?, create("rev")?));
        self.files.push(FileEntry::default());
        Ok(())
    }

    fn end_file(&mut self) -> Result<(), Error> {
        if let Some((blocks, undo)) = self.open.take() {
            blocks.finish()?;
            undo.finish()?;
        }
        Ok(())
    }

    /// Ends the blocks, writes their index, and goes on to the coins.
    pub fn coins(mut self) -> Result<CoinsWriter, Error> {
        self.end_file()?;
        let folder = self.place.path().join("blocks");
        self.write_index(&folder.join("index"))?;
        sync_folder(&folder)?;
        let folder = self.place.path().join("chainstate");
        let coins = CoinWriter::create(&folder, self.options.coins_key, &self.tip)?;
        let sum = |bytes: fn(&FileEntry) -> u32| {
            self.files.iter().map(|file| u64::from(bytes(file))).sum()
        };
        let written = Written {
            blocks: self.entries.len() as u32,
            tip: self.tip,
            block_bytes: sum(|file| file.data_bytes),
            undo_bytes: sum(|file| file.undo_bytes),
            coins: 0,
            coin_bytes: 0,
        };
        Ok(CoinsWriter { place: self.place, coins, written })
    }

    fn write_index(&mut self, folder: &Path) -> Result<(), Error> {
        let mut index = BulkWriter::create(folder)?;
        let (mut key, mut value) = (vec![BLOCK], Vec::new());
        self.entries.sort_unstable_by_key(|(hash, _)| *hash);
        for (hash, entry) in &self.entries {
            key.truncate(1);
            key.extend_from_slice(hash);
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

/// Takes the unspent coins of the chain's last block, and ends the datadir.
#[derive(Debug)]
pub struct CoinsWriter {
    place: OutputFolder,
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
        self.place.finish().map_err(Error::Output)?;
        Ok(self.written)
    }
}
