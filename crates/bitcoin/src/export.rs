//! The store's chain in the formats of others: a datadir that Bitcoin Core opens and goes on from,
//! or block files in the order of the chain.

use crate::coin::OutPoint;
use crate::coins::PackedCoin;
use crate::commit::Ledger;
use crate::core::{self, BlocksWriter, Written};
use crate::decode::Block;
use crate::fault::Error;
use crate::import::Options;
use crate::index::Tree;
use crate::run::{Run, Spare};
use crate::{Id, pass1, shortfalls};
use archive::blkdat::{BlockFiles, BlockWriter, BodyReader, Location, WriterOptions};
use chain::Shortfall;
use pipeline::Cancel;
use std::path::Path;

/// Files that stay open while bodies are read.
const OPEN_FILES: usize = 64;
/// Magic and size before each record.
const FRAME: u64 = 8;
/// A coin of a chainstate has more bytes: what its key adds to the one before, a height, an amount
/// and a script, of which none is empty.
const LEAST_COIN: u64 = 12;

/// Writes the chain of the store in `data`, whose blocks stand in `files`, as a datadir of Bitcoin
/// Core: blocks and undo data with their index, and the coins. `progress` is told each height.
/// `room` is asked about the bytes that will be written, before any is. None when the user asked to
/// stop.
///
/// # Errors
/// When the store holds no chain, when `files` lack its blocks, or when `out` is not empty.
pub fn to_core(
    files: &BlockFiles,
    options: &Options,
    data: &Path,
    out: &Path,
    progress: impl FnMut(u32),
    room: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<Written>, Error> {
    let tree = pass1::index(files, options, Some(data), &mut Run::default())?.tree;
    let ledger = Ledger::open(data, options)?;
    let ends = ledger.undo_ends()?;
    let (chain, cancel) = (chain_of(&tree, &ledger)?, &options.cancel);
    let undo_bytes = ends.last().copied().unwrap_or(0);
    room(bytes_of(&tree, &chain) + undo_bytes + LEAST_COIN * ledger.coins().len())?;
    let mut writer = BlocksWriter::create(out, &options.params, core::Options::random())?;
    writer.block(&options.params.genesis, None)?;
    let mut undo = vec![];
    let take = |height, block: &[u8]| {
        ledger.read_undo(ends[height as usize], &mut undo)?;
        Ok(writer.block(block, Some(&undo))?)
    };
    if each_block(files, &tree, &chain, 0, cancel, progress, take)?.is_none() {
        return Ok(None);
    }
    let mut writer = writer.coins()?;
    let coins = ledger.coins();
    let (mut points, mut script) = (coins.iter()?, vec![]);
    while let Some((key, value)) = points.next()? {
        let coin = PackedCoin::unpack(value).ok_or_else(|| {
            Error::Damaged(format!("expected a coin, found {} other bytes", value.len()))
        })?;
        writer.coin(&OutPoint::from_key(key), &coin.coin(&mut script))?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
    }
    Ok(Some(writer.finish()?))
}

/// What copying block files came to.
#[derive(Debug)]
pub struct Copied {
    /// Height of the last block.
    pub last: u32,
    /// What the files lack.
    pub shortfalls: Vec<Shortfall>,
    /// What is wrong in them and loses nothing.
    pub damage: Vec<String>,
}

/// Writes the best chain of `files` as block files in the order of the chain; returns what was
/// written, or none when the user asked to stop. Bodies are copied as they are. `room` is asked
/// about the bytes that will be written, before any is.
///
/// # Errors
/// When a block cannot be read, or when `out` is not empty.
pub fn to_block_files(
    files: &BlockFiles,
    options: &Options,
    out: &Path,
    writer: WriterOptions,
    mut progress: impl FnMut(u32),
    room: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<Copied>, Error> {
    let mut run = Run::default();
    let mut index = pass1::index(files, options, None, &mut run)?;
    room(bytes_of(&index.tree, &index.tree.best_chain()))?;
    let mut writer = BlockWriter::create(out, writer)?;
    writer.write(&options.params.genesis)?;
    let mut last = 0;
    loop {
        let tree = &index.tree;
        let mut chain = tree.best_chain();
        let end = options.until.map_or(usize::MAX, |until| until as usize).saturating_add(1);
        chain.truncate(end);
        let take = |_, block: &[u8]| {
            writer.write(block)?;
            Ok(())
        };
        let cancel = &options.cancel;
        let spare = each_block(files, tree, &chain, last, cancel, &mut progress, take)?;
        let Some(spare) = spare else { return Ok(None) };
        last = chain.len() as u32 - 1;
        let tip = chain.last().map(|node| *tree.hash(*node));
        run.spare = spare;
        if !pass1::look_behind_blocks(files, options, None, &mut index, &mut run)? {
            break;
        }
        let tip = tip.and_then(|hash| index.tree.find(&hash));
        if tip.is_none_or(|tip| index.tree.fork(tip, index.tree.best_tip()) != tip) {
            // what was written is not the beginning of what is the best chain now
            break;
        }
    }
    writer.finish()?;
    shortfalls::judge(files, options, &index, &mut run);
    Ok(Some(Copied { last, shortfalls: run.shortfalls, damage: run.damage }))
}

/// The blocks of the store's chain by height.
fn chain_of(tree: &Tree, ledger: &Ledger) -> Result<Vec<u32>, Error> {
    let tip = ledger.tip();
    let mut block = tree.find(&tip.hash).ok_or_else(|| Error::OtherChain {
        expected: format!("block {} at height {}", Id(&tip.hash), tip.height),
        found: "files without it".into(),
    })?;
    let mut chain = vec![0; tip.height as usize + 1];
    for place in chain.iter_mut().rev() {
        *place = block;
        block = tree.parent(block);
    }
    Ok(chain)
}

/// Bytes of the records of these blocks.
fn bytes_of(tree: &Tree, chain: &[u32]) -> u64 {
    let records = chain.iter().filter_map(|node| tree.record(*node));
    records.map(|found| FRAME + u64::from(found.size)).sum()
}

/// Reads the blocks of `chain` above height `after`. Returns the records that have bytes to spare,
/// or none when the user asked to stop.
fn each_block(
    files: &BlockFiles,
    tree: &Tree,
    chain: &[u32],
    after: u32,
    cancel: &Cancel,
    mut progress: impl FnMut(u32),
    mut take: impl FnMut(u32, &[u8]) -> Result<(), Error>,
) -> Result<Option<Vec<Spare>>, Error> {
    let mut reader = BodyReader::new(files, OPEN_FILES);
    let (mut block, mut spare) = (Block::default(), vec![]);
    for (height, node) in chain.iter().enumerate().skip(after as usize + 1) {
        let height = height as u32;
        let Some(found) = tree.record(*node) else {
            return Err(Error::Damaged(format!("no file has the block at height {height}")));
        };
        let (file, offset, size) = (found.file, found.offset, found.size);
        reader.read(Location { file, offset, size }, &mut block.raw)?;
        // one that cannot be taken apart is copied as it is
        if let Ok(bytes @ 1..) = block.parse_record() {
            spare.push(Spare { record: tree.record_number(*node), bytes });
        }
        take(height, &block.raw)?;
        progress(height);
        if cancel.is_cancelled() {
            return Ok(None);
        }
    }
    Ok(Some(spare))
}
