//! Links shards that were verified alone. The first blocks of a shard pass through [`Link::extend`]
//! again, this time after the earlier shards, so every rule across a cut is the rule of a single
//! run. Of the other blocks, only sums are added.

use super::era::OpenEra;
use super::passed::Passed;
use super::totals::check_merge;
use super::{BlockId, Link, Linked};
use crate::U256;
use crate::fault::{Cause, Fault, archive_fault};
use crate::header::HeaderView;
use crate::rule::{Rule, Violation};
use crate::shard::summary::{FirstStake, HeadBlock, LastWork, ShardSummary, TailBlock};
use crate::shard::text::Number;
use crate::verify::{Blocks, Checked, Checks, Headers, Verdict};
use blockmill_archive::{Part, expect_next};
use blockmill_rlp::{Encode, Write};
use blockmill_verdict::Location;
use std::path::Path;

/// Why no shards can be merged after a block.
#[derive(Debug)]
pub(crate) enum Broken {
    /// This block is not accepted.
    Fault(Box<Fault>),
    /// This block or an earlier one of the shard is not accepted: verify the shard again.
    Within(Box<Fault>),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

/// Returns the location of a part of a block.
type LocationOf = fn(&HeadBlock) -> &Option<Location>;

/// A body with ommers only.
struct OmmersOnly<'a>(&'a [u8]);

impl Encode for OmmersOnly<'_> {
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|body| {
            body.list(|_| {});
            body.raw(self.0);
        });
    }
}

impl Link {
    /// The record for a merge, when the run is over.
    pub fn into_passed(mut self) -> Passed {
        self.passed.tail = self.window.blocks().map(TailBlock::from).collect();
        self.passed
    }

    /// Links a shard that was verified alone. `before` is the last file of the earlier shards.
    pub fn merge(
        &mut self,
        checks: &Checks<'_>,
        before: Option<&Path>,
        shard: &ShardSummary,
    ) -> Result<(), Broken> {
        self.expect_first(before, shard)?;
        let Head { blocks, headers, mut verdict } = Head::of(shard);
        let (checked, mut linked) =
            (Checked { blocks: &blocks, headers: &headers }, Linked::default());
        let seen = self.passed.seen;
        self.extend(checks, checked, &mut verdict, &mut linked);
        self.era = OpenEra::default();
        let linked = linked.range(&verdict);
        let sum = headers.difficulties()[linked.clone()]
            .iter()
            .fold(U256::ZERO, |sum, next| sum.saturating_add(*next));
        let own = shard.fault.as_ref();
        if let Some(fault) = verdict.fault.take() {
            // an earlier fault of the shard counts; a merge never accepts what a shard refused
            let own = own.filter(|own| own.at < verdict.good as u64);
            return Err(own.map_or(fault, |own| own.fault()).into());
        }
        self.check_sides(checks, shard, linked.len() as u64, sum)?;
        self.pass_over(shard, seen, linked.len() as u64, sum)?;
        match own {
            Some(own) => {
                self.passed.fault_at = Some(seen + own.at);
                Err(own.fault().into())
            }
            None => Ok(()),
        }
    }

    /// Checks that the first block of `shard` has the number after the tip, as between files.
    fn expect_first(&self, before: Option<&Path>, shard: &ShardSummary) -> Result<(), Broken> {
        let (Some(before), Some(tip)) = (before, &self.tip) else { return Ok(()) };
        let Some(found) = shard.starts_at() else { return Ok(()) };
        let Some(source) = shard.sources.first() else { return Ok(()) };
        // blocks of a store have no location
        let of_store = || Location::new(&*source.path, 0);
        let location = shard.head.location.clone().unwrap_or_else(of_store);
        let expected = tip.id.number.saturating_add(1);
        expect_next(expected, before, found, location)
            .map_err(|gap| archive_fault(expected, gap).into())
    }

    /// Checks that the blocks after the first seven are on their side of the transition to proof of
    /// stake, if the shard could not check it. `linked` blocks with difficulties of `sum` were
    /// linked already.
    fn check_sides(
        &self,
        checks: &Checks<'_>,
        shard: &ShardSummary,
        linked: u64,
        sum: U256,
    ) -> Result<(), Broken> {
        let total = self.tip.as_ref().and_then(|tip| tip.total_difficulty);
        let (None, Some(total)) = (shard.total_before, total) else { return Ok(()) };
        let Some(merge) = checks.spec.merge else { return Ok(()) };
        let before = |at: u64, sum_before: Number| {
            let is_before_fault = shard.fault.as_ref().is_none_or(|fault| at <= fault.at);
            let total = total.wrapping_sub(sum).saturating_add(sum_before.0);
            (at >= linked && is_before_fault).then_some(total)
        };
        if let Some(LastWork { at, number, sum_before }) = shard.sides.last_work
            && let Some(total) = before(at, sum_before)
            && total >= merge.terminal_total_difficulty
        {
            let terminal = merge.terminal_total_difficulty;
            let expected = format!("proof of stake, as {terminal} is reached");
            let violation = Violation::new(Rule::TerminalTotalDifficulty, expected, total);
            let cause = Cause::Rule(violation);
            let fault = Fault { block: number, hash: None, location: None, cause };
            return Err(Broken::Within(Box::new(fault)));
        }
        if let Some(FirstStake { at, sum_before, hash, header, header_at }) =
            &shard.sides.first_stake
            && let Some(total) = before(*at, *sum_before)
            && let Ok(view) = HeaderView::decode(&header.0)
        {
            check_merge(checks.spec, (view.number, U256::ZERO), total, || view).map_err(
                |violation| Fault {
                    block: view.number,
                    hash: Some(hash.0),
                    location: header_at.clone(),
                    cause: Cause::Rule(violation),
                },
            )?;
        }
        Ok(())
    }

    /// Advances to the end of `shard`. `linked` of its blocks with difficulties of `sum` were
    /// linked already.
    fn pass_over(
        &mut self,
        shard: &ShardSummary,
        seen: u64,
        linked: u64,
        sum: U256,
    ) -> Result<(), Broken> {
        let known = self.tip.as_ref().and_then(|tip| tip.total_difficulty);
        let Some(last) = shard.last.as_ref().filter(|_| shard.blocks > linked) else {
            return Ok(());
        };
        let rest = shard.difficulty_sum.0.wrapping_sub(sum);
        if known.is_none() {
            self.pass_sides(shard, seen, sum);
        }
        let total = known.map(|total| total.saturating_add(rest));
        self.tip = Some(last.tip(total).map_err(|fault| *fault)?);
        for block in &shard.tail {
            // the first blocks were linked, and a chain after genesis begins with it
            let is_known = self.window.blocks().any(|own| own.parts().0 == &block.hash.0);
            if !is_known {
                self.window.push(block.into());
            }
        }
        self.passed.blocks += shard.blocks - linked;
        self.passed.seen += shard.blocks - linked;
        self.passed.sum = self.passed.sum.saturating_add(rest);
        for id in shard.trusted.iter().map(BlockId::from) {
            if self.trust.remove(&id.hash) {
                self.met.push(id);
            }
        }
        Ok(())
    }

    /// Adds the end of proof of work in `shard`, which begins after `seen` blocks. `sum` is the sum
    /// of the difficulties of its linked blocks.
    fn pass_sides(&mut self, shard: &ShardSummary, seen: u64, sum: U256) {
        let before = self.passed.sum.wrapping_sub(sum);
        let moved = |sum_before: Number| Number(before.saturating_add(sum_before.0));
        let sides = &mut self.passed.sides;
        if let Some(work) = shard.sides.last_work {
            let (at, sum_before) = (seen + work.at, moved(work.sum_before));
            sides.last_work = Some(LastWork { at, sum_before, ..work });
        }
        if let (None, Some(stake)) = (&sides.first_stake, &shard.sides.first_stake) {
            let (at, sum_before) = (seen + stake.at, moved(stake.sum_before));
            sides.first_stake = Some(FirstStake { at, sum_before, ..stake.clone() });
        }
    }
}

/// The first blocks of a shard as the check phase leaves a batch.
struct Head {
    blocks: Blocks,
    headers: Headers,
    verdict: Verdict,
}

impl Head {
    /// The first blocks of `shard`, with its fault if that is of the block after them.
    fn of(shard: &ShardSummary) -> Self {
        let head = &shard.head;
        let (mut blocks, mut headers) = (Blocks::default(), Headers::default());
        let chunk = &mut blocks.chunk;
        chunk.first = head.starts_at;
        blocks.first_number = head.starts_at.unwrap_or(0);
        let is_located = |at: LocationOf| head.blocks.iter().all(|block| at(block).is_some());
        let with_total = head.blocks.iter().all(|block| block.total_difficulty.is_some());
        let parts: [(Part, LocationOf); 3] = [
            (Part::Header, |block| &block.header_at),
            (Part::Body, |block| &block.body_at),
            (Part::TotalDifficulty, |block| &block.total_at),
        ];
        for (part, at) in parts.into_iter().filter(|(_, at)| is_located(*at)) {
            for location in head.blocks.iter().filter_map(|block| at(block).as_ref()) {
                chunk.locate(part, location);
            }
        }
        for block in &head.blocks {
            // a shard summary that agrees with itself has headers that can be decoded
            let Ok(header) = HeaderView::decode(&block.header.0) else { break };
            headers.extend(&[header]);
            chunk.headers.push(&block.header.0);
            blocks.hashes.push(blockmill_rlp::ethereum::block_hash(&block.header.0));
            if let Some(total) = block.total_difficulty.filter(|_| with_total) {
                chunk.total_difficulties.push(total.0.to_be_bytes());
            }
            match &block.ommers.0[..] {
                [] => chunk.bodies.push(&OmmersOnly(&[0xc0]).encode()),
                ommers => chunk.bodies.push(&OmmersOnly(ommers).encode()),
            }
        }
        headers.good = headers.difficulties().len();
        let good = head.good.min(headers.good);
        let fault = shard.fault.as_ref().filter(|fault| fault.at == good as u64);
        let verdict = Verdict { good, fault: fault.map(|fault| fault.fault()) };
        Self { blocks, headers, verdict }
    }
}
