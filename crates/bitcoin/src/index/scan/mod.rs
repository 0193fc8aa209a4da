//! Every block of the files by its header, hashed; and the order in which Bitcoin Core accepts
//! blocks, parents first, where its way of reading them is asked for (`accept=block`).
//!
//! The order of files is that of [`BlockFiles`], and within a file that of its bytes; which
//! options are set and how many threads there are makes no difference to the result.

pub(crate) mod files;
mod reorder;

use crate::BlockHash;
use crate::index::Found;
use crate::option_table::Setting;
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFiles, FileReport};
use blockmill_pipeline::Cancel;
use std::time::Instant;

/// What pass 1 found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// All blocks in the order of the files; the same block twice when it is there twice.
    pub found: Vec<Found>,
    /// Positions in `found` in an order in which parents come before their children, and which
    /// is that of the files as far as possible: the order in which Bitcoin Core accepts blocks.
    pub accepted: Vec<u32>,
    /// Positions in `found` of blocks whose parents are in none of the files, in their order.
    pub orphans: Vec<u32>,
    /// What is wrong with each file, and its zeros at the end.
    pub reports: Vec<FileReport>,
    /// How much was done.
    pub counts: Counts,
    /// How long it took.
    pub times: Times,
}

/// How much pass 1 did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Bytes read from them by calls; those of a memory map are not counted.
    pub bytes_read: u64,
    /// Blocks found, each as often as it is there.
    pub blocks: u64,
    /// Their bytes.
    pub block_bytes: u64,
    /// Blocks that stand before their parents.
    pub out_of_order: u64,
    /// Of which were decoded from memory when their parents turned up.
    pub from_memory: u64,
    /// Of which were read again from disk.
    pub from_disk: u64,
    /// Blocks without a parent in the files.
    pub orphans: u64,
    /// Blocks that were decoded, each time counted; and those that could not be.
    pub decoded: u64,
    /// Blocks that could not be decoded, of those that were to be.
    pub undecodable: u64,
    /// Places in files that are damaged.
    pub damage: u64,
}

/// Seconds of pass 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Finding and hashing headers; with `accept=block` and `scan=serial` everything.
    pub scan_s: f64,
    /// Putting blocks in order, with decoding if blocks are accepted whole.
    pub order_s: f64,
    /// All of it.
    pub wall_s: f64,
}

/// [`find`], and puts the blocks in order whatever the setting.
pub fn pass1(
    files: &BlockFiles,
    known: &[BlockHash],
    setting: &Setting,
    threads: usize,
) -> Result<Scan, Error> {
    let mut scan = find(files, known, setting, threads, &Cancel::new())?;
    if !setting.plan().accept_blocks {
        let start = Instant::now();
        reorder::order(&mut scan, known);
        scan.counts.orphans = scan.orphans.len() as u64;
        scan.times.order_s = start.elapsed().as_secs_f64();
        scan.times.wall_s += scan.times.order_s;
    }
    Ok(scan)
}

/// Finds all blocks of `files` on up to `threads` threads. `accepted`, `orphans` and what is
/// counted of them stay empty unless blocks are decoded in that order (`accept=block`):
/// [`Tree::build`](crate::index::Tree::build) links them. `known` are blocks whose children need no
/// parent in the files: the genesis block of the network, the tip of a store. A block without a
/// parent (of hash zero) needs none either.
///
/// Fails when a file cannot be read, and with [`std::io::ErrorKind::Interrupted`] soon after
/// `cancel` was set. Damage is no failure: see [`Scan::reports`].
pub fn find(
    files: &BlockFiles,
    known: &[BlockHash],
    setting: &Setting,
    threads: usize,
    cancel: &Cancel,
) -> Result<Scan, Error> {
    let plan = setting.plan();
    let start = Instant::now();
    let mut scan = if plan.accept_blocks && !plan.parallel {
        reorder::load(files, known, &plan, cancel)?
    } else {
        let threads = if plan.parallel { threads.max(1) } else { 1 };
        let mut scan = files::scan(files, &plan, threads, cancel)?;
        scan.times.scan_s = start.elapsed().as_secs_f64();
        if plan.accept_blocks {
            let start = Instant::now();
            reorder::order(&mut scan, known);
            reorder::decode_accepted(files, &mut scan, cancel)?;
            scan.times.order_s = start.elapsed().as_secs_f64();
        }
        scan
    };
    scan.times.wall_s = start.elapsed().as_secs_f64();
    let counts = &mut scan.counts;
    counts.files = files.files().len() as u64;
    counts.file_bytes = files.bytes();
    counts.blocks = scan.found.len() as u64;
    counts.block_bytes = scan.found.iter().map(|found| u64::from(found.size)).sum();
    counts.orphans = scan.orphans.len() as u64;
    counts.damage = scan.reports.iter().map(|report| report.damage_count).sum();
    Ok(scan)
}
