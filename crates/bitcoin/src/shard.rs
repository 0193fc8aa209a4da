//! Verification of block files in shards, on several machines.
//!
//! Only the headers of all shards together determine the best chain and the height of each block,
//! so there are two steps. [`headers`] reads the headers of a shard. [`Merger`] builds the tree of
//! all headers, chooses the best chain, and returns a table for each shard: the blocks to verify,
//! with their heights. [`bodies`] verifies the blocks of a table, and the merger computes the
//! verdict.
//!
//! At level `execution` ([`execute`]), blocks are verified with undo data, and the unspent coins
//! are a shard, too ([`coin_files`], [`hash_coins`]). Each shard returns its part of the coin
//! multiset hash. `docs/distributed.md` shows that the verdict is that of a single run.

mod bodies;
mod coins;
mod consistent;
mod digest;
pub mod documents;
mod hex;
mod merge;
mod proof;

use crate::coins::SpentCoins;
use crate::datadir::Datadir;
use crate::index::Found;
use crate::index::pass1::announced_height;
use crate::index::scan::{FindBlocks, HeaderScan, files::scan_trailing};
use crate::inspect::datadir_of;
use crate::options::Options;
use crate::{BlockHash, Error, Level};
use blockmill_archive::blkdat::{BlockFiles, Corruption};
pub use bodies::{bodies, execute};
pub use coins::{coin_files, hash_coins};
use documents::{Headers, Hex, Record, SCHEMA, SourceFile};
pub use merge::Merger;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// Reads the headers of the files of a shard, 88 bytes of each record, and hashes the files. At
/// level `execution` it also finds the positions of undo data, and hashes the undo files.
///
/// # Errors
/// Returns [`Error::Archive`] or [`Error::System`] if a file cannot be read, [`Error::Stopped`] on
/// request, and, at level `execution`, [`Error::NoUndo`] if the files are not in a datadir.
pub fn headers(files: &BlockFiles, options: &Options) -> Result<Headers, Error> {
    let Options { threads, cancel, .. } = options;
    let scan = HeaderScan { threads: *threads }
        .find_blocks(files, cancel)
        .map_err(|error| if cancel.is_cancelled() { Error::Stopped } else { error.into() })?;
    let (mut corruption, mut unlisted) = (vec![], 0);
    for (file, report) in (0..).zip(&scan.reports) {
        corruption.extend(report.corruption.iter().map(|range| (file, *range)));
        unlisted += report.corruption_count - report.corruption.len() as u64;
    }
    let hashes: HashSet<BlockHash> = scan.found.iter().map(|found| found.hash).collect();
    let record = |found: &Found| {
        let is_start = !hashes.contains(&found.header().previous());
        let announced = is_start.then(|| announced_height(files, options, found)).flatten();
        record(found, announced)
    };
    let mut records: Vec<Record> = scan.found.iter().map(record).collect();
    let is_execution = options.level == Level::Execution;
    let undo = match is_execution && options.settings.coins == SpentCoins::Multiset {
        true => find_undo(files, &scan.found, &mut records)?,
        false => vec![],
    };
    Ok(Headers {
        schema: SCHEMA,
        chain: options.params.name.into(),
        sources: digest::of_blocks(files)?,
        undo,
        records,
        corruption,
        unlisted,
    })
}

/// Sets the position of the undo data of each record, from the block index of the datadir. Returns
/// the undo files.
fn find_undo(
    files: &BlockFiles,
    found: &[Found],
    records: &mut [Record],
) -> Result<Vec<SourceFile>, Error> {
    let first = || files.files().first().map(|file| file.path().to_path_buf());
    let folder = datadir_of(files)?.ok_or_else(|| Error::NoUndo(first().unwrap_or_default()))?;
    let datadir = Datadir::open(&folder)?;
    let (mut undo_files, mut numbers): (Vec<PathBuf>, _) = (vec![], HashMap::new());
    for (record, found) in records.iter_mut().zip(found) {
        let Some((path, at)) = datadir.undo_of(&found.hash) else { continue };
        let file = *numbers.entry(path).or_insert_with_key(|path| {
            undo_files.push(path.clone());
            undo_files.len() as u32 - 1
        });
        record.undo = Some((file, at));
    }
    digest::of_files(undo_files.iter().map(PathBuf::as_path))
}

fn record(found: &Found, announced: Option<u32>) -> Record {
    let Found { file, offset, size, header, .. } = *found;
    Record { file, offset, size, header: Hex(header), announced, undo: None }
}

impl Record {
    /// Converts the record; `file` is the index of its file.
    fn found(&self, file: u32) -> Found {
        let (header, hash) = (self.header.0, BlockHash(blockmill_hashes::sha256d(&self.header.0)));
        Found { file, offset: self.offset, size: self.size, header, hash }
    }
}

/// Finds blocks and corrupt ranges in the last `bytes` of a record.
fn hidden(
    files: &BlockFiles,
    found: &Found,
    bytes: u32,
) -> Result<(Vec<Record>, Vec<Corruption>), Error> {
    let mut more = vec![];
    let corruption = scan_trailing(files, found, bytes, &mut more)?;
    Ok((more.iter().map(|found| record(found, None)).collect(), corruption))
}
