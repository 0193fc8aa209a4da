//! What a run did.

use crate::BlockHash;
use crate::execute::Batch;
use crate::index::{Anchor, WrongLength};
use crate::multiset::Proof;
use blockmill_pipeline::Times;
use blockmill_pipeline::record::ChunkTimes;
use blockmill_verdict::{FaultReport, Shortfall, Status};
use std::time::{Duration, Instant};

/// A block of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: BlockHash,
}

/// A record whose block is shorter than the record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spare {
    /// The record, as an index of [`Tree::found`](crate::index::Tree::found).
    pub record: u32,
    /// Bytes behind the block.
    pub bytes: u32,
}

/// How much pass 1 read and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Bytes read from them to find headers.
    pub bytes_read: u64,
    /// Blocks found, each as often as it is there.
    pub blocks: u64,
    /// Blocks that precede their parents in the files.
    pub out_of_order: u64,
    /// Blocks without a parent in the files.
    pub orphans: u64,
}

/// What a run did, whether it reached the end or not.
#[derive(Debug, Default)]
pub struct Run {
    /// What pass 1 found.
    pub counts: Counts,
    /// What is wrong and loses nothing: headers beside the best chain that break a rule, records
    /// that are damaged and stand elsewhere too, wrong sizes. Place and reason.
    pub damage: Vec<String>,
    /// What the files lack.
    pub shortfalls: Vec<Shortfall>,
    /// Records with damaged length fields, by which Bitcoin Core loses blocks.
    pub wrong_lengths: Vec<WrongLength>,
    /// Records with bytes behind their block.
    pub(crate) spare: Vec<Spare>,
    /// Seconds of pass 1, from the first byte to the best chain.
    pub index_s: f64,
    /// Of which reading headers and hashing them.
    pub scan_s: f64,
    /// Best chain of the files by work.
    pub best: Option<Tip>,
    /// The first block, where it is not the network's: all rests on it.
    pub anchor: Option<Anchor>,
    /// Blocks in branches that are not in the best chain.
    pub stale: u64,
    /// The last connected block now.
    pub tip: Option<Tip>,
    /// The last block that was committed; none without a store.
    pub committed: Option<Tip>,
    /// Blocks of the store whose bodies were read again, as the files hold nothing new.
    pub rechecked: Option<u64>,
    /// Bytes of memory that the tree of headers takes.
    pub tree_memory: u64,
    /// The block from which an earlier run's store went on.
    pub resumed: Option<Tip>,
    /// First and last height that was connected.
    pub range: Option<(u32, u32)>,
    /// Blocks connected.
    pub blocks: u64,
    /// Blocks of the store that were disconnected, as a better chain leaves them.
    pub disconnected: u64,
    /// Bytes of the blocks connected.
    pub bytes: u64,
    /// Their transactions.
    pub transactions: u64,
    /// Their inputs, coinbases not counted.
    pub inputs: u64,
    /// Inputs whose scripts ran.
    pub scripts: u64,
    /// Of which the script library decided; batches of signatures decided the others.
    pub by_library: u64,
    /// What the sum of all coins proved, where it took the place of a set of coins.
    pub proof: Option<Proof>,
    /// Why the sum proved nothing, so that a set of coins had to.
    pub unproven: Option<String>,
    /// Coins in the set at the end.
    pub coins: u64,
    /// Times the coins were written to disk.
    pub commits: u64,
    /// The most memory that the coins took at once, in bytes.
    pub coins_memory: u64,
    /// True when the run was asked to stop.
    pub stopped: bool,
    /// Times of each batch.
    pub chunks: Vec<ChunkTimes>,
    /// Times of the stages of pass 2.
    pub times: Times,
    /// When it began, in seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
    /// From the first byte to the last commit, in seconds.
    pub wall_s: f64,
    /// Of which commits.
    pub commit_s: f64,
}

impl Run {
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

    /// The first damaged length field, in parts.
    #[must_use]
    pub fn damage_of_files(&self) -> Option<FaultReport> {
        self.wrong_lengths.first().map(WrongLength::report)
    }

    /// Did the run end at its beginning, with nothing read but headers, because the store has all?
    pub(crate) fn is_nothing_new(&self) -> bool {
        let looked_again = self.rechecked.is_some() || self.stopped;
        self.resumed.is_some() && self.blocks == 0 && !looked_again
    }

    /// Takes over what the one pass over bodies came to.
    pub(crate) fn take_pass(&mut self, pass: Run) {
        let Run { tip, range, blocks, bytes, transactions, inputs, .. } = pass;
        let Run { scripts, by_library, coins, proof, chunks, times, .. } = pass;
        (self.tip, self.range, self.blocks, self.bytes) = (tip, range, blocks, bytes);
        (self.transactions, self.inputs) = (transactions, inputs);
        (self.scripts, self.by_library, self.coins) = (scripts, by_library, coins);
        (self.proof, self.chunks, self.times) = (proof, chunks, times);
    }

    /// Adds a batch that took `finished` to finish.
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
