//! Block files verified apart.
//!
//! Which chain is the best, and at which height a block stands, only all headers together tell. So
//! it takes two steps: [`headers`] of each shard, which one place merges ([`Merger`]): it builds the
//! tree, chooses the chain, and has for each shard a small table of what its blocks are to be held
//! to; then [`bodies`] of each shard by its table. At level `execution` the unspent coins are a
//! shard, too ([`coins`], [`add_coins`]), and blocks come with undo data ([`execute`]): each leaves
//! its part of a sum. `docs/distributed.md` says why the verdict is that of a single run.

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
use crate::index::scan::{FindBlocks, HeaderScan, files::stretch};
use crate::inspect::datadir_of;
use crate::options::Options;
use crate::{BlockHash, Error, Level};
use blockmill_archive::blkdat::{BlockFiles, Corruption};
pub use bodies::{bodies, execute};
pub use coins::{add_coins, coins};
use documents::{Headers, Hex, Record, SCHEMA, Source};
pub use merge::Merger;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// What the files of a shard hold: 88 bytes of each record, and the bytes of all as a hash. At level
/// `execution`, too, where undo data stands, and its bytes as a hash.
///
/// # Errors
/// A file cannot be read, or the run was asked to stop; at level `execution`, the files stand in no
/// datadir.
pub fn headers(files: &BlockFiles, options: &Options) -> Result<Headers, Error> {
    let Options { threads, cancel, .. } = options;
    let scan = HeaderScan { threads: *threads }
        .find_blocks(files, cancel)
        .map_err(|error| if cancel.is_cancelled() { Error::Stopped } else { error.into() })?;
    let (mut damage, mut unlisted) = (vec![], 0);
    for (file, report) in (0..).zip(&scan.reports) {
        damage.extend(report.damage.iter().map(|damage| (file, *damage)));
        unlisted += report.damage_count - report.damage.len() as u64;
    }
    let hashes: HashSet<BlockHash> = scan.found.iter().map(|found| found.hash).collect();
    let record = |found: &Found| {
        let is_start = !hashes.contains(&found.header().previous());
        let announced = is_start.then(|| announced_height(files, options, found)).flatten();
        record(found, announced)
    };
    let mut records: Vec<Record> = scan.found.iter().map(record).collect();
    let undo =
        match options.level == Level::Execution && options.settings.coins == SpentCoins::Multiset {
            true => find_undo(files, &scan.found, &mut records)?,
            false => vec![],
        };
    Ok(Headers {
        schema: SCHEMA,
        chain: options.params.name.into(),
        sources: digest::of_blocks(files)?,
        undo,
        records,
        damage,
        unlisted,
    })
}

/// Says of each record where its undo data stands, by the index of the datadir; the undo files.
fn find_undo(
    files: &BlockFiles,
    found: &[Found],
    records: &mut [Record],
) -> Result<Vec<Source>, Error> {
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
    /// The record, of a file with this index.
    fn found(&self, file: u32) -> Found {
        let (header, hash) = (self.header.0, BlockHash(blockmill_hashes::sha256d(&self.header.0)));
        Found { file, offset: self.offset, size: self.size, header, hash }
    }
}

/// The blocks in the bytes at the end of a record, and what is damaged there.
fn hidden(
    files: &BlockFiles,
    found: &Found,
    bytes: u32,
) -> Result<(Vec<Record>, Vec<Corruption>), Error> {
    let mut more = vec![];
    let damage = stretch(files, found, bytes, &mut more)?;
    Ok((more.iter().map(|found| record(found, None)).collect(), damage))
}
