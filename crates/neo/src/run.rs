//! The result of a run.

use crate::error::Error;
use crate::fault::{Cause, Fault};
use crate::header::rules::Parent;
use crate::import::Batch;
use crate::rule::Violation;
use crate::types::UInt256;
use blockmill_pipeline::Times;
use blockmill_pipeline::record::{
    CHECK_DECODE, CHECK_VERIFY, ChunkTimes, EXECUTE, LINK, READ, WRITE,
};
use blockmill_pipeline::usage::CpuTimes;
use blockmill_verdict::{BlockRef, RunOutcome, Shortfall, Status};
use std::time::{Duration, Instant};

/// The phases of a batch, as stages and parts of stages: with execution, or without.
pub(crate) fn phases(executes: bool) -> [&'static str; 5] {
    [READ, CHECK_DECODE, CHECK_VERIFY, connect_stage(executes), WRITE]
}

/// The name of the stage that links blocks and, at level `execution`, executes them.
pub(crate) fn connect_stage(executes: bool) -> &'static str {
    if executes { EXECUTE } else { LINK }
}

/// Limit of tolerated violations that are listed.
const LISTED_VIOLATIONS: usize = 10;

/// The result of a run, complete or not.
#[derive(Debug, Default)]
pub struct Run {
    /// First and last new block.
    pub range: Option<(u32, u32)>,
    /// New blocks.
    pub blocks: u64,
    /// Bytes of the dumps that were read.
    pub bytes: u64,
    /// The last block of the chain.
    pub tip: Option<(u32, UInt256)>,
    /// Its time, in seconds since 1970-01-01T00:00:00Z.
    pub tip_time: Option<u64>,
    /// The state root after it, if blocks are executed.
    pub root: Option<UInt256>,
    /// The last block of an earlier run that this run continued.
    pub resumed: Option<u32>,
    /// Repeated blocks, which equal the earlier ones and were skipped.
    pub repeated: u64,
    /// Transactions in the bodies that were checked.
    pub transactions: u64,
    /// Witnesses of transactions that were verified.
    pub witnesses: u64,
    /// Witnesses of transactions that need the virtual machine and were not verified.
    pub unverified: u64,
    /// Blocks that break a transaction rule, in a network that stores them anyway.
    pub tolerated: u64,
    /// The first tolerated blocks.
    pub first_tolerated: Vec<(u32, Violation)>,
    /// What the dumps lack.
    pub shortfalls: Vec<Shortfall>,
    /// Notes about files that were not read.
    pub left_out: Vec<String>,
    /// The last committed block, read back after the run.
    pub committed: Option<u64>,
    /// Whether the run was stopped on request.
    pub stopped: bool,
    /// Times of each batch.
    pub chunks: Vec<ChunkTimes>,
    /// Busy and waiting times of the stages.
    pub times: Times,
    /// Start time in seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
    /// Wall time from the first read to the last write, in seconds.
    pub wall_s: f64,
    /// CPU time of the process in the same interval.
    pub cpu: CpuTimes,
    /// Time of the last sync to disk, in seconds.
    pub sync_s: f64,
}

impl Run {
    /// The part that runs of all chains share. `ended` is the result of the run.
    #[must_use]
    pub fn outcome(&self, ended: &Result<(), Error>) -> RunOutcome {
        let block = |(height, hash): (u32, UInt256)| BlockRef {
            number: height.into(),
            hash: hash.to_string(),
        };
        RunOutcome {
            range: self.range.map(|(first, last)| (first.into(), last.into())),
            blocks: self.blocks,
            bytes: self.bytes,
            tip: self.tip.map(block),
            tip_time: self.tip_time,
            anchor: None,
            resumed: self.resumed.map(u64::from),
            committed: self.committed,
            shortfalls: self.shortfalls.clone(),
            started_unix: self.started_unix,
            wall_s: self.wall_s,
            cpu: self.cpu,
            ..RunOutcome::default()
        }
        .ended(ended.as_ref().err().map(|error| (error.status(), error.report())), self.stopped)
    }

    /// Adds a batch. `written` is the time that writing it took.
    pub(crate) fn add(&mut self, batch: &Batch, written: Duration, start: Instant) {
        self.tolerated += batch.tolerated.len() as u64;
        let room = LISTED_VIOLATIONS.saturating_sub(self.first_tolerated.len());
        self.first_tolerated.extend(batch.tolerated.iter().take(room).cloned());
        let (Some(first), Some(last)) = (batch.blocks().first(), batch.blocks().last()) else {
            return;
        };
        let (first, last) = (first.header.index, last.header.index);
        let count = batch.blocks().len() as u64;
        self.range = Some((self.range.map_or(first, |(first, _)| first), last));
        self.blocks += count;
        let transactions = batch.blocks().iter().map(|block| block.transactions.len() as u64);
        self.transactions += transactions.sum::<u64>();
        let [verified, unverified] = batch.witnesses;
        self.witnesses += verified;
        self.unverified += unverified;
        let times = &batch.times;
        self.chunks.push(ChunkTimes {
            first: first.into(),
            blocks: count,
            busy_s: [times.read, times.decode, times.verify, times.link, written]
                .map(|time| time.as_secs_f64())
                .to_vec(),
            end_s: start.elapsed().as_secs_f64(),
        });
    }

    /// Records the end of the chain. `next` is the height of the next block in the dumps.
    pub(crate) fn close(
        &mut self,
        tip: Option<&Parent>,
        next: u32,
        outcome: Result<(), Error>,
    ) -> Result<(), Error> {
        self.tip = tip.map(|tip| (tip.index, tip.hash));
        self.tip_time = tip.map(|tip| tip.timestamp / 1000);
        match outcome {
            // the read stage knows the location, this stage the expected block
            Err(Error::Archive(error)) => {
                let (block, location) = (next.into(), error.location().cloned());
                Err(Fault { block, hash: None, location, cause: Cause::Archive(error) }.into())
            }
            Ok(()) if self.blocks == 0 && self.resumed.is_none() && !self.stopped => {
                Err(Error::Empty)
            }
            outcome => outcome,
        }
    }

    /// Adds the blocks up to the last requested one that the dumps do not have to the shortfalls.
    pub(crate) fn expect_until(&mut self, until: Option<u32>) {
        let last = self.tip.filter(|_| !self.stopped).map(|(height, _)| height);
        let until = until.map(u64::from);
        self.shortfalls.extend(last.and_then(|last| Shortfall::after_last(until, last.into())));
    }

    /// Adds the cause of an early end to the shortfalls. They decide how the run ended, unless the
    /// user accepts a partial input.
    pub(crate) fn judge(&mut self, partial: bool, outcome: Result<(), Error>) -> Result<(), Error> {
        if let Err(error) = &outcome {
            self.shortfalls.extend(error.shortfall());
        }
        match outcome {
            Err(error) if partial && error.status() == Status::Incomplete => Ok(()),
            Ok(()) if self.shortfalls.is_empty() || partial || self.stopped => Ok(()),
            Ok(()) => Err(Error::Incomplete(self.shortfalls.clone())),
            Err(error) => Err(error),
        }
    }
}
