//! The result of a run.

use crate::BlockHash;
use crate::error::Error;
use crate::execute::Batch;
use crate::index::{Anchor, Tree, WrongLength};
use crate::multiset::Proof;
use blockmill_pipeline::Times;
use blockmill_pipeline::record::ChunkTimes;
use blockmill_pipeline::usage::CpuTimes;
use blockmill_verdict::{BlockRef, FaultReport, RunOutcome, Shortfall, Status};
use std::time::{Duration, Instant};

/// A block of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: BlockHash,
}

impl Tip {
    /// The block as messages and documents show it.
    fn shown(self) -> BlockRef {
        BlockRef { number: self.height.into(), hash: self.hash.to_string() }
    }
}

/// A record whose block is shorter than the record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrailingBytes {
    /// The record, as an index of [`Tree::found`](crate::index::Tree::found).
    pub record: u32,
    /// Number of bytes after the block.
    pub bytes: u32,
}

/// Numbers of pass 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of files.
    pub files: u64,
    /// Size of the files, in bytes.
    pub file_bytes: u64,
    /// Bytes read to find headers.
    pub bytes_read: u64,
    /// Blocks found, with repetitions.
    pub blocks: u64,
    /// Blocks that are before their parents in the files.
    pub out_of_order: u64,
    /// Blocks without a parent in the files.
    pub orphans: u64,
}

/// The result of a run, complete or not.
#[derive(Debug, Default)]
pub struct Run {
    /// Numbers of pass 1.
    pub counts: Counts,
    /// Errors by which no block is lost, each with its location: headers that break a rule in other
    /// branches than the best chain, corrupt records whose blocks are in other records, too, and
    /// wrong lengths.
    pub notes: Vec<String>,
    /// What is missing in the files.
    pub shortfalls: Vec<Shortfall>,
    /// Records with corrupt length fields, by which Bitcoin Core loses blocks.
    pub wrong_lengths: Vec<WrongLength>,
    /// Records with trailing bytes.
    pub(crate) trailing: Vec<TrailingBytes>,
    /// Seconds of pass 1, from the first byte to the best chain.
    pub index_s: f64,
    /// The part of it that read and hashed headers.
    pub scan_s: f64,
    /// The tip of the chain with the most work.
    pub best: Option<Tip>,
    /// The first block, if it is not the network's genesis block. The verdict assumes it.
    pub anchor: Option<Anchor>,
    /// Blocks in other branches than the best chain.
    pub stale: u64,
    /// The last connected block.
    pub tip: Option<Tip>,
    /// Its time, in seconds since 1970-01-01T00:00:00Z.
    pub tip_time: Option<u32>,
    /// Expected number of hashes to mine the chain up to it; `None` where the files begin in the
    /// middle of the chain.
    pub tip_work: Option<u128>,
    /// The last committed block. `None` without a store.
    pub committed: Option<Tip>,
    /// Blocks of the store whose bodies were read again, because the files have no new blocks.
    pub rechecked: Option<u64>,
    /// Memory of the tree of headers, in bytes.
    pub tree_memory: u64,
    /// The last block of the store of an earlier run, which this run continued.
    pub resumed: Option<Tip>,
    /// First and last connected height.
    pub range: Option<(u32, u32)>,
    /// Number of connected blocks.
    pub blocks: u64,
    /// Number of disconnected blocks of the store, which are not in a better chain.
    pub disconnected: u64,
    /// Size of the connected blocks, in bytes.
    pub bytes: u64,
    /// Number of their transactions.
    pub transactions: u64,
    /// Number of their inputs, without those of coinbases.
    pub inputs: u64,
    /// Number of inputs whose scripts were verified.
    pub scripts: u64,
    /// Number of these that the script library verified. The others were verified in batches of
    /// signatures.
    pub by_library: u64,
    /// The proof of the coin multiset hash, if it replaced a set of coins.
    pub proof: Option<Proof>,
    /// Why the coin multiset hash proved nothing, so that a set of coins was used.
    pub unproven: Option<String>,
    /// Number of coins in the set at the end.
    pub coins: u64,
    /// Number of commits.
    pub commits: u64,
    /// Maximum memory of the coins, in bytes.
    pub coins_memory: u64,
    /// Whether the run was asked to stop.
    pub stopped: bool,
    /// Times of each batch.
    pub chunks: Vec<ChunkTimes>,
    /// Times of the stages of pass 2.
    pub times: Times,
    /// Start time, in seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
    /// Time from the first byte to the last commit, in seconds.
    pub wall_s: f64,
    /// CPU time of the process in the same interval.
    pub cpu: CpuTimes,
    /// The part of it that commits took.
    pub commit_s: f64,
}

/// The phases of a batch.
pub(crate) const PHASES: [&str; 5] = ["read", "prepare", "connect", "check", "finish"];

impl Run {
    /// The part that runs of all chains share. `ended` is the result of the run. The program reads
    /// the committed block itself, because `verify` has a store for the time of the run only.
    #[must_use]
    pub fn outcome(&self, ended: &Result<(), Error>, partial: bool) -> RunOutcome {
        let (status, fault) = match ended {
            Err(error) => (error.status(), Some(error.report())),
            Ok(()) if self.stopped => (Status::Interrupted, None),
            Ok(()) => (self.status_of_files(partial), self.corruption_of_files()),
        };
        RunOutcome {
            range: self.range.map(|(first, last)| (first.into(), last.into())),
            blocks: self.blocks,
            bytes: self.bytes,
            tip: self.tip.map(Tip::shown),
            tip_time: self.tip_time.map(u64::from),
            anchor: self.anchor.map(|anchor| BlockRef {
                number: anchor.height.unwrap_or(0).into(),
                hash: anchor.hash.to_string(),
            }),
            resumed: self.resumed.map(|tip| tip.height.into()),
            committed: None,
            status,
            fault,
            shortfalls: self.shortfalls.clone(),
            started_unix: self.started_unix,
            wall_s: self.wall_s,
            cpu: self.cpu,
        }
    }

    /// What the files are, where every block was verified.
    #[must_use]
    pub fn status_of_files(&self, partial: bool) -> Status {
        match (self.wrong_lengths.is_empty(), self.shortfalls.is_empty()) {
            (false, _) => Status::Corrupt,
            (true, true) => Status::Verified,
            (true, false) if partial => Status::Partial,
            (true, false) => Status::Incomplete,
        }
    }

    /// The first corrupt length field, in parts.
    #[must_use]
    pub fn corruption_of_files(&self) -> Option<FaultReport> {
        self.wrong_lengths.first().map(WrongLength::report)
    }

    /// Notes time and work of the last connected block.
    pub(crate) fn describe_tip(&mut self, tree: &Tree) {
        let Some(tip) = self.tip.and_then(|tip| tree.find(&tip.hash)) else { return };
        self.tip_time = Some(tree.time(tip));
        self.tip_work = self.anchor.is_none().then(|| tree.chain_work(tip));
    }

    /// Whether the run read headers only, because the store has all blocks.
    pub(crate) fn is_nothing_new(&self) -> bool {
        let looked_again = self.rechecked.is_some() || self.stopped;
        self.resumed.is_some() && self.blocks == 0 && !looked_again
    }

    /// Stores the results of the pass over bodies.
    pub(crate) fn take_pass(&mut self, pass: Run) {
        let Run { tip, range, blocks, bytes, transactions, inputs, .. } = pass;
        let Run { scripts, by_library, coins, proof, chunks, times, .. } = pass;
        (self.tip, self.range, self.blocks, self.bytes) = (tip, range, blocks, bytes);
        (self.transactions, self.inputs) = (transactions, inputs);
        (self.scripts, self.by_library, self.coins) = (scripts, by_library, coins);
        (self.proof, self.chunks, self.times) = (proof, chunks, times);
    }

    /// Adds a batch, whose last stage took the time `finished`.
    pub(crate) fn add(&mut self, batch: &Batch, base: u32, finished: Duration, start: Instant) {
        let (scripts, by_library) = batch.scripts_run();
        self.scripts += scripts;
        self.by_library += by_library;
        let good = batch.good();
        let Some(last) = good.len().checked_sub(1) else { return };
        let first = self.range.map_or(base + batch.height(0), |(first, _)| first);
        self.range = Some((first, base + batch.height(last)));
        self.blocks += good.len() as u64;
        self.bytes += good.iter().map(|block| block.raw.len() as u64).sum::<u64>();
        self.transactions += good.iter().map(|block| block.transactions.len() as u64).sum::<u64>();
        self.inputs += good.iter().map(|block| block.inputs.len() as u64 - 1).sum::<u64>();
        let times = batch.times();
        self.chunks.push(ChunkTimes {
            first: (base + batch.height(0)).into(),
            blocks: good.len() as u64,
            busy_s: [times.read, times.prepare, times.connect, times.check, finished]
                .map(|time| time.as_secs_f64())
                .to_vec(),
            end_s: start.elapsed().as_secs_f64(),
        });
    }
}
