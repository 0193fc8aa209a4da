//! The result of a run: counts, times, the end of the chain.

use crate::Hash;
use crate::block_times::BlockTimes;
use crate::error::Error;
use crate::execute::evm::{PrefetchStats, Tally};
use crate::fault::archive_fault;
use crate::header::EMPTY_OMMERS;
use crate::import::batch::Batch;
use crate::link::passed::Passed;
use crate::link::{BlockId, Link, Tip};
use crate::options::Options;
use blockmill_archive::Survey;
use blockmill_pipeline::Times;
use blockmill_pipeline::record::{
    CHECK_DECODE, CHECK_SENDERS, CHECK_VERIFY, ChunkTimes, LINK, READ, WRITE,
};
use blockmill_pipeline::usage::CpuTimes;
use blockmill_verdict::{RunOutcome, Shortfall, ShortfallKind, Status, counted};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The phases of a chunk: stages, and parts of the stage `check`.
pub(crate) const PHASES: [&str; 6] = [READ, CHECK_DECODE, CHECK_VERIFY, CHECK_SENDERS, LINK, WRITE];

/// The time until the state was ready.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Wall time in seconds.
    pub wall_s: f64,
    /// CPU time of the process in the same interval.
    pub cpu: CpuTimes,
}

/// The result of a run, whether it reached the end or not.
#[derive(Debug, Default)]
pub struct Run {
    /// First and last new block.
    pub range: Option<(u64, u64)>,
    /// New blocks.
    pub blocks: u64,
    /// Bytes of the archive that were read.
    pub bytes: u64,
    /// The last block of the chain now.
    pub tip: Option<Tip>,
    /// The last block of an earlier run, after which this run resumed.
    pub resumed: Option<BlockId>,
    /// The block that was believed without a parent.
    pub anchor: Option<BlockId>,
    /// Is the last block under an accumulator that was found as published?
    pub(crate) ends_era: bool,
    /// Trusted blocks that were met.
    pub trusted: Vec<BlockId>,
    /// At level execution, what came before the first block.
    pub setup: Option<Setup>,
    /// Committed and aborted speculations.
    pub speculation: Tally,
    /// How many prefetched slots were read.
    pub prefetch: PrefetchStats,
    /// Seals that were checked.
    pub seals_checked: u64,
    /// Headers under proof of work whose seals were not checked.
    pub seals_left: u64,
    /// Transactions in the bodies that were checked.
    pub transactions: u64,
    /// Senders that were recovered.
    pub senders: u64,
    /// Accumulators of era1 and ere files that were recomputed and found equal.
    pub accumulators: u64,
    /// Proofs of ere files that lead to roots of the beacon chain that the user trusts.
    pub beacon_proofs: u64,
    /// New blocks with a block access list (EIP-7928), which was checked.
    pub access_lists: u64,
    /// Blocks that were executed concurrently, by their access lists.
    pub by_access_list: u64,
    /// New blocks with the hash of a block access list, and without the list.
    pub access_lists_absent: u64,
    /// Ommers that could not be checked: their parents are before the anchor.
    pub unchecked_ommers: u64,
    /// Blocks that were compared with the store, if the archive has no new block.
    pub compared: Option<u64>,
    /// What the archive lacks.
    pub shortfalls: Vec<Shortfall>,
    /// How many of these were known before a block was read.
    pub(crate) surveyed: usize,
    /// Notes of the archive's files.
    pub notes: Vec<String>,
    /// Parts of the archive that were not checked, each in a sentence.
    pub unchecked: Vec<String>,
    /// What a merge with other shards needs.
    pub(crate) passed: Passed,
    /// The last block that the store holds, as it was read back after the run.
    pub committed: Option<u64>,
    /// Was the run asked to stop?
    pub stopped: bool,
    /// Times of each chunk.
    pub chunks: Vec<ChunkTimes>,
    /// Times of each block that was executed.
    pub(crate) blocks_executed: BlockTimes,
    /// Busy and waiting times of the stages.
    pub times: Times,
    /// When it began, in seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
    /// From the first read to the last write, in seconds.
    pub wall_s: f64,
    /// CPU time of the process in the same interval.
    pub cpu: CpuTimes,
    /// The part of `wall_s` that the last sync to disk took, in seconds.
    pub sync_s: f64,
}

impl Run {
    /// A run over an archive with this survey.
    pub(crate) fn of(survey: Survey) -> Self {
        let Survey { shortfalls, notes, unchecked } = survey;
        Self { surveyed: shortfalls.len(), shortfalls, notes, unchecked, ..Self::default() }
    }

    /// The part that runs of all chains share. `ended` is the result of the run.
    #[must_use]
    pub fn outcome(&self, ended: &Result<(), Error>) -> RunOutcome {
        RunOutcome {
            range: self.range,
            blocks: self.blocks,
            bytes: self.bytes,
            tip: self.tip.as_ref().map(|tip| tip.id.shown()),
            tip_time: self.tip.as_ref().map(|tip| tip.header.view().timestamp),
            anchor: self.anchor.as_ref().map(BlockId::shown),
            resumed: self.resumed.map(|id| id.number),
            committed: self.committed,
            shortfalls: self.shortfalls.clone(),
            started_unix: self.started_unix,
            wall_s: self.wall_s,
            cpu: self.cpu,
            ..RunOutcome::default()
        }
        .ended(ended.as_ref().err().map(|error| (error.status(), error.report())), self.stopped)
    }

    /// Did the run find no block that the store does not have?
    pub(crate) fn found_nothing_new(&self) -> bool {
        self.blocks == 0 && self.resumed.is_some() && !self.stopped
    }

    /// Adds the blocks of the requested range that the archive does not have to the shortfalls.
    pub(crate) fn expect_range(&mut self, options: &Options) {
        if self.stopped {
            return;
        }
        let first = self.range.filter(|_| self.resumed.is_none()).map(|(first, _)| first);
        let last = self.tip.as_ref().map(|tip| tip.id.number);
        let before = first.and_then(|first| Shortfall::before_first(options.from, first));
        let after = last.and_then(|last| Shortfall::after_last(options.until, last));
        self.shortfalls.extend(before.into_iter().chain(after));
    }

    /// Adds the gap that stopped the run to the shortfalls. They decide how the run ended, unless
    /// the user allowed a partial archive. `blocks_from` counts the blocks from one on.
    pub(crate) fn judge(
        &mut self,
        blocks_from: impl Fn(u64) -> Option<u64>,
        options: &Options,
        outcome: Result<(), Error>,
    ) -> Result<(), Error> {
        if let Err(error) = &outcome {
            self.shortfalls.extend(error.shortfall());
            let after_gap = error.block_after_gap();
            if let Some((from, blocks)) = after_gap.and_then(|n| Some((n, blocks_from(n)?))) {
                let text = format!(
                    "blocks from {from} on do not follow the blocks before them: not verified"
                );
                let unconnected = Shortfall::new(ShortfallKind::Unconnected, text);
                self.shortfalls.push(unconnected.of_blocks(blocks));
            }
        }
        match outcome {
            Err(error) if options.partial && error.status() == Status::Incomplete => Ok(()),
            Ok(()) if self.shortfalls.is_empty() || options.partial || self.stopped => Ok(()),
            Ok(()) => Err(Error::Incomplete(self.shortfalls.clone())),
            Err(error) => Err(error),
        }
    }

    /// Adds one batch, which took `written` to write.
    pub(crate) fn add(&mut self, batch: &Batch, written: Duration, start: Instant) {
        let Batch { content, executed, times, .. } = batch;
        let new = batch.new_blocks();
        for done in executed.blocks.iter().take(new.len()) {
            self.speculation.add(done.tally());
            self.by_access_list += u64::from(done.by_access_list);
        }
        self.prefetch.add(&batch.speculated.prefetch_stats);
        self.transactions += content.transactions;
        self.senders += content.senders;
        let (Some(first), Some(last)) = (new.clone().next(), new.clone().last()) else { return };
        self.ends_era = batch.linked.ends_era();
        // of the blocks before one that does not pass, not of all that were looked at
        let in_new = |blocks: &[usize]| blocks.iter().filter(|i| new.contains(i)).count() as u64;
        self.seals_checked += in_new(&content.sealed);
        self.seals_left += in_new(&content.unsealed);
        let lists = batch.blocks.chunk.access_lists.iter().skip(first).take(new.len());
        self.access_lists += lists.filter(|list| !list.is_empty()).count() as u64;
        self.access_lists_absent += absent_lists(batch, new.clone());
        let (first, last) = (batch.blocks.number(first), batch.blocks.number(last));
        self.range = Some((self.range.map_or(first, |(begin, _)| begin), last));
        self.blocks += new.len() as u64;
        for (i, done) in new.clone().zip(&executed.blocks) {
            self.blocks_executed.add(done.time(&content.prepared[i]));
        }
        self.chunks.push(ChunkTimes {
            first,
            blocks: new.len() as u64,
            busy_s: times.phases(written).map(|time| time.as_secs_f64()).to_vec(),
            end_s: start.elapsed().as_secs_f64(),
        });
    }

    /// Moves the end of the chain into the run, and says whether the run did all it was asked to.
    pub(crate) fn close(
        &mut self,
        mut link: Link,
        outcome: Result<(), Error>,
        options: &Options,
    ) -> Result<(), Error> {
        let next = link.tip.as_ref().map_or(0, |tip| tip.id.number + 1);
        let trust = std::mem::take(&mut link.trust);
        self.tip = link.tip.take();
        self.anchor = link.anchor;
        self.trusted = std::mem::take(&mut link.met);
        self.accumulators = link.accumulators;
        self.beacon_proofs = link.beacon_proofs;
        if link.unchecked_accumulators > 0 {
            let accumulators = counted(link.unchecked_accumulators, "accumulator");
            let reason = "the total difficulties of their blocks are not known";
            self.unchecked.push(format!("{accumulators}: {reason}"));
        }
        let parts = link.partly_read_eras();
        if parts > 0 && outcome.is_ok() && !self.stopped {
            let accumulators = counted(parts, "accumulator");
            let reason = "only some of the blocks of the file were read";
            self.unchecked.push(format!("{accumulators}: {reason}"));
        }
        if link.unchecked_proofs > 0 {
            let proofs = counted(link.unchecked_proofs, "proof");
            let reason = "the root that they lead to is neither an accumulator of their file \
                          nor known from the beacon chain (--beacon-roots)";
            self.unchecked.push(format!("{proofs} that blocks are canonical: {reason}"));
        }
        self.unchecked_ommers = link.unchecked_ommers;
        self.passed = link.into_passed();
        match outcome {
            // the reading stage knows the location, this one the number of the missing block
            Err(Error::Archive(error)) => Err(archive_fault(next, error).into()),
            Err(error) => Err(error),
            Ok(()) if self.stopped => Ok(()),
            Ok(()) if self.blocks == 0 && self.resumed.is_none() => Err(Error::Empty),
            Ok(()) if !trust.is_empty() => {
                let mut missing: Vec<Hash> = trust.into_iter().collect();
                missing.sort_unstable();
                debug_assert!(missing.len() <= options.trust.len());
                Err(Error::TrustedMissing(missing))
            }
            Ok(()) => Ok(()),
        }
    }
}

/// How many of these blocks have the hash of a list that the archive does not have. An export
/// leaves out the list of the genesis block: like its ommers, it is empty.
fn absent_lists(batch: &Batch, blocks: Range<usize>) -> u64 {
    let chunk = &batch.blocks.chunk;
    let with_bodies = blocks.filter(|i| *i < chunk.bodies.len());
    let absent = with_bodies.filter(|i| {
        let hash = || batch.checked().header(*i).block_access_list_hash.copied();
        chunk.access_list(*i).is_empty() && hash().is_some_and(|hash| hash != EMPTY_OMMERS)
    });
    absent.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Linked;

    #[test]
    fn access_lists_of_new_blocks_are_counted() {
        let mut batch = Batch::default();
        for list in [&b"\xc0"[..], b"\xc0", b"", b"\xc1\xc0"] {
            batch.blocks.chunk.access_lists.push(list);
        }
        let mut count = |range: Range<usize>| {
            batch.verdict.begin(range.end);
            batch.linked = Linked::new_blocks(range);
            let mut run = Run::default();
            run.add(&batch, Duration::ZERO, Instant::now());
            run.access_lists
        };
        let counts = [0..0, 0..1, 0..4, 1..4, 2..3, 3..6].map(&mut count);
        assert_eq!(counts, [0, 1, 3, 2, 0, 1]);
    }
}
