//! Exports the chain of a store as a datadir that Bitcoin Core opens and continues, or as block
//! files in the order of the chain.

use crate::chainstate::Chainstate;
use crate::coins::{self, PackedCoin};
use crate::datadir::{self, BlockPosition, BlocksWriter, SharedFile, Written};
use crate::error::Error;
use crate::fault::Fault;
use crate::import::Options;
use crate::index::Tree;
use crate::index::scan::HeaderScan;
use crate::index::{pass1, shortfalls};
use crate::run::{Run, TrailingBytes};
use crate::types::Block;
use blockmill_archive::blkdat::{
    BlockFile, BlockFiles, BlockLocation, BlockWriter, BodyReader, HEADER, HeaderWriter, Shape,
    WriterOptions, XorKey,
};
use blockmill_pipeline::Cancel;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Maximum number of open files while bodies are read.
const OPEN_FILES: usize = 64;
/// Size of magic and length before each block, in bytes.
const FRAME: u64 = 8;
/// Lower bound of the size of a coin in a chainstate, in bytes: the part of its key that differs
/// from the key before, height, amount and script, none of which is empty.
const LEAST_COIN: u64 = 12;

/// Writes the chain of the store in `data`, whose blocks are in `files`, as a datadir of Bitcoin
/// Core: blocks and undo data with their index, and the coins. With `link`, block files are shared
/// with the source if possible, not copied. Calls `room` with the number of bytes before anything
/// is written. Returns `None` if the user asked to stop.
///
/// # Errors
/// Returns [`Error`] if the store has no chain, `files` lack its blocks, or `out` is not empty.
pub fn to_core(
    files: &BlockFiles,
    options: &Options,
    data: &Path,
    out: &Path,
    link: bool,
    room: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<Written>, Error> {
    let mut finder = HeaderScan { threads: options.threads };
    let index = pass1::index(files, &mut finder, options, Some(data), &mut Run::default())?;
    let corrupt: HashSet<u32> = index.all_corruption().map(|(file, _)| *file).collect();
    let tree = index.tree;
    let chainstate = Chainstate::open(data, options)?;
    let ends = chainstate.undo_ends()?;
    let (chain, cancel) = (chain_of(&tree, &chainstate)?, &options.cancel);
    let keys = datadir::Options::random();
    let key = files.files().first().map(BlockFile::key).filter(|_| link);
    let keys = datadir::Options { blocks_key: key.unwrap_or(keys.blocks_key), ..keys };
    let mut writer = BlocksWriter::create(out, &options.params, keys)?;
    let mut linked = Linked::default();
    if let Some(key) = key {
        linked = Linked::share((files, &corrupt), &tree, &chain, key, &mut writer)?;
    }
    let undo_bytes = ends.last().copied().unwrap_or(0);
    let to_copy = bytes_of(&tree, &chain) - linked.bytes();
    room(to_copy + undo_bytes + LEAST_COIN * chainstate.coins().len())?;
    let (mut undo, live) = (vec![], cancel.live());
    live.count("copy blocks", "blocks", chain.len() as u64);
    for (shared, blocks) in &linked.files {
        writer.begin_shared(shared)?;
        for block in blocks {
            let spent = undo_of(&chainstate, &ends, block.height, &mut undo)?;
            if writer.shared_block(shared, *block, spent)? {
                linked.is_there[block.height as usize] = true;
            }
            live.advance(1);
            if cancel.is_cancelled() {
                return Ok(None);
            }
        }
    }
    let is_there = |height: u32| linked.is_there.get(height as usize) == Some(&true);
    if !is_there(0) {
        writer.block(0, &options.params.genesis, None)?;
    }
    let wanted = (1..).zip(chain.iter().skip(1)).filter(|(height, _)| !is_there(*height));
    let take = |height, block: &[u8]| {
        let spent = undo_of(&chainstate, &ends, height, &mut undo)?;
        Ok(writer.block(height, block, spent)?)
    };
    if each_block(files, &tree, wanted, cancel, take)?.is_none() {
        return Ok(None);
    }
    let mut writer = writer.coins()?;
    let coins = chainstate.coins();
    let (mut unspent, mut script) = (coins.iter()?, vec![]);
    live.count("write coins", "coins", coins.len());
    while let Some((key, value)) = unspent.next()? {
        let (outpoint, coin) =
            coins::outpoint(key).zip(PackedCoin::unpack(value)).ok_or_else(|| {
                Error::Corrupt(format!("expected a coin, found {} other bytes", value.len()))
            })?;
        writer.coin(&outpoint, &coin.coin(&mut script))?;
        live.advance(1);
        if cancel.is_cancelled() {
            return Ok(None);
        }
    }
    Ok(Some(writer.finish()?))
}

/// The undo data of the block at `height`; the genesis block has none.
fn undo_of<'a>(
    chainstate: &Chainstate,
    ends: &[u64],
    height: u32,
    undo: &'a mut Vec<u8>,
) -> Result<Option<&'a [u8]>, Error> {
    if height == 0 {
        return Ok(None);
    }
    chainstate.read_undo(ends[height as usize], undo)?;
    Ok(Some(undo))
}

/// Block files that the datadir has without copying them.
#[derive(Default)]
struct Linked {
    /// The files, each with its blocks of the chain, in the order of the file.
    files: Vec<(SharedFile, Vec<BlockPosition>)>,
    /// Whether the block of each height is one of them.
    is_there: Vec<bool>,
}

impl Linked {
    /// Shares all files of records obfuscated with `key`, except corrupt files and the last one of
    /// a folder, to which its owner may still append.
    fn share(
        (files, corrupt): (&BlockFiles, &HashSet<u32>),
        tree: &Tree,
        chain: &[u32],
        key: XorKey,
        writer: &mut BlocksWriter,
    ) -> Result<Self, Error> {
        let mut blocks = vec![vec![]; files.files().len()];
        for (height, node) in (0..).zip(chain) {
            let Some(found) = tree.record(*node) else { continue };
            let (Ok(offset), size) = (u32::try_from(found.offset), found.size) else { continue };
            blocks[found.file as usize].push(BlockPosition { height, offset, size });
        }
        let folder = |file: &BlockFile| file.path().parent().map(Path::to_path_buf);
        let mut last_of: HashMap<_, usize> = HashMap::new();
        for (index, file) in files.files().iter().enumerate() {
            last_of.insert(folder(file), index);
        }
        let mut linked = Self { files: vec![], is_there: vec![false; chain.len()] };
        for (index, (file, mut blocks)) in files.files().iter().zip(blocks).enumerate() {
            let is_whole = !file.is_copy()
                && !corrupt.contains(&(index as u32))
                && matches!(file.shape(), Shape::Records { .. });
            let is_last = last_of.get(&folder(file)) == Some(&index);
            if blocks.is_empty() || !is_whole || is_last || file.key() != key {
                continue;
            }
            if let Some(shared) = writer.share(file.path(), key)? {
                blocks.sort_unstable_by_key(|block| block.offset);
                linked.files.push((shared, blocks));
            }
        }
        Ok(linked)
    }

    /// Size of the records that are not copied, in bytes.
    fn bytes(&self) -> u64 {
        let blocks = self.files.iter().flat_map(|(_, blocks)| blocks);
        // without the genesis block, which `bytes_of` does not count
        blocks.filter(|block| block.height > 0).map(|block| FRAME + u64::from(block.size)).sum()
    }
}

/// The result of copying block files.
#[derive(Debug)]
pub struct Copied {
    /// Height of the last block.
    pub last: u32,
    /// What is missing and what is wrong in the files.
    pub run: Run,
    /// The header that breaks a rule and ends the chain before the files end.
    pub refused: Option<Fault>,
}

/// Writes the best chain of `files` as block files in the order of the chain. Bodies are copied
/// unchanged. Calls `room` with the number of bytes before anything is written. Returns `None` if
/// the user asked to stop.
///
/// # Errors
/// Returns [`Error`] if a block cannot be read, or `out` is not empty.
pub fn to_block_files(
    files: &BlockFiles,
    options: &Options,
    out: &Path,
    writer: WriterOptions,
    room: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<Copied>, Error> {
    let mut run = Run::default();
    let mut finder = HeaderScan { threads: options.threads };
    let mut index = pass1::index(files, &mut finder, options, None, &mut run)?;
    room(bytes_of(&index.tree, &index.tree.best_chain()))?;
    let mut writer = BlockWriter::create(out, writer)?;
    writer.write(&options.params.genesis)?;
    let mut last = 0;
    loop {
        let tree = &index.tree;
        let mut chain = tree.best_chain();
        chain.truncate(options.asked(tree.base()));
        let take = |_, block: &[u8]| {
            writer.write(block)?;
            Ok(())
        };
        let cancel = &options.cancel;
        let wanted = (0..).zip(&chain).skip(last as usize + 1);
        let (all, done) = (chain.len() as u64, u64::from(last) + 1);
        cancel.live().count("copy blocks", "blocks", all.saturating_sub(done));
        let trailing = each_block(files, tree, wanted, cancel, take)?;
        let Some(trailing) = trailing else { return Ok(None) };
        last = chain.len() as u32 - 1;
        let tip = chain.last().map(|node| *tree.hash(*node));
        run.trailing = trailing;
        if !pass1::link_hidden_blocks(files, options, None, &mut index, &mut run)? {
            break;
        }
        let tip = tip.and_then(|hash| index.tree.find(&hash));
        if tip.is_none_or(|tip| index.tree.fork(tip, index.tree.best_tip()) != tip) {
            // the written blocks are not the beginning of the new best chain
            break;
        }
    }
    writer.finish()?;
    shortfalls::judge(files, options, &index, &mut run);
    let refused = pass1::refused_above(&index.tree, files);
    Ok(Some(Copied { last, run, refused }))
}

/// Writes the headers of the best chain of `files`, from the genesis block on. Calls `room` with
/// the number of bytes before anything is written. Returns `None` if the user asked to stop.
///
/// # Errors
/// Returns [`Error::NoBeginning`] if the files begin in the middle of the chain, and the error of
/// reading or writing a file.
pub fn to_headers(
    files: &BlockFiles,
    options: &Options,
    out: &Path,
    room: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<Copied>, Error> {
    let mut run = Run::default();
    let mut finder = HeaderScan { threads: options.threads };
    let index = pass1::index(files, &mut finder, options, None, &mut run)?;
    let mut chain = index.tree.best_chain();
    chain.truncate(options.asked(index.tree.base()));
    room(chain.len() as u64 * HEADER as u64)?;
    let mut writer = HeaderWriter::create(out)?;
    let genesis = options.params.genesis.first_chunk();
    let genesis = genesis.ok_or_else(|| Error::Corrupt("no genesis block".into()))?;
    writer.write(genesis)?;
    for (height, node) in chain.iter().enumerate().skip(1) {
        let none = || Error::Corrupt(format!("no file has the block at height {height}"));
        writer.write(&index.tree.record(*node).ok_or_else(none)?.header)?;
        if options.cancel.is_cancelled() {
            return Ok(None);
        }
    }
    writer.finish()?;
    shortfalls::judge(files, options, &index, &mut run);
    let refused = pass1::refused_above(&index.tree, files);
    Ok(Some(Copied { last: (chain.len() as u32).saturating_sub(1), run, refused }))
}

/// Returns the blocks of the chain of the store, by height.
fn chain_of(tree: &Tree, chainstate: &Chainstate) -> Result<Vec<u32>, Error> {
    let tip = chainstate.tip();
    let mut block = tree.find(&tip.hash).ok_or_else(|| Error::OtherChain {
        expected: format!("block {} at height {}", tip.hash, tip.height),
        found: "files without it".into(),
    })?;
    let mut chain = vec![0; tip.height as usize + 1];
    for at in chain.iter_mut().rev() {
        *at = block;
        block = tree.parent(block);
    }
    Ok(chain)
}

/// Returns the size of the records of these blocks, without the first, in bytes.
fn bytes_of(tree: &Tree, chain: &[u32]) -> u64 {
    let records = chain.iter().skip(1).filter_map(|node| tree.record(*node));
    records.map(|found| FRAME + u64::from(found.size)).sum()
}

/// Reads the blocks of `chain`, each with its height. Returns the records with trailing bytes,
/// or `None` if the user asked to stop.
fn each_block<'a>(
    files: &BlockFiles,
    tree: &Tree,
    chain: impl Iterator<Item = (u32, &'a u32)>,
    cancel: &Cancel,
    mut take: impl FnMut(u32, &[u8]) -> Result<(), Error>,
) -> Result<Option<Vec<TrailingBytes>>, Error> {
    let mut reader = BodyReader::new(files, OPEN_FILES);
    let (mut block, mut trailing) = (Block::default(), vec![]);
    for (height, node) in chain {
        let Some(found) = tree.record(*node) else {
            return Err(Error::Corrupt(format!("no file has the block at height {height}")));
        };
        let (file, offset, size) = (found.file, found.offset, found.size);
        reader.read(BlockLocation { file, offset, size }, &mut block.raw)?;
        // a block that cannot be decoded is copied unchanged
        if let Ok(bytes @ 1..) = block.parse_record() {
            trailing.push(TrailingBytes { record: tree.record_number(*node), bytes });
        }
        take(height, &block.raw)?;
        cancel.live().advance(1);
        if cancel.is_cancelled() {
            return Ok(None);
        }
    }
    Ok(Some(trailing))
}
