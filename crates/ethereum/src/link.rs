//! The ordered part of verification: each batch is tied to the chain before it.
//!
//! Workers have checked a batch by itself. What is left needs what came before: the first header
//! against its parent, total difficulty and the merge, ommers, era1 accumulators, the anchor and
//! the hashes that the user trusts.

pub(crate) mod gaps;
pub(crate) mod merge;
pub(crate) mod passed;
#[cfg(test)]
mod tests;
mod totals;

use crate::batch::{Batch, Checks};
use crate::body::BodyView;
use crate::body::ommers::{Ancestor, AncestorWindow};
use crate::error::{Rule, Violation};
use crate::fault::Cause;
use crate::header::rules;
use crate::header::{EMPTY_OMMERS, HeaderView};
use crate::resume::Beginning;
use crate::{Hash, Level, U256};
use blockmill_archive::Part;
use blockmill_archive::era1::Accumulator;
use blockmill_verdict::Hex;
use passed::Passed;
use std::collections::HashSet;
use std::ops::Range;
use std::time::Instant;

/// A block by number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId {
    /// Height.
    pub number: u64,
    /// Hash of its header.
    pub hash: Hash,
}

/// The last block of the chain so far.
#[derive(Clone, Debug)]
pub struct Tip {
    /// Which block.
    pub id: BlockId,
    /// Its header.
    pub header: Vec<u8>,
    /// Sum of all difficulties up to it; none when the chain began in the middle and the archive
    /// does not state it.
    pub total_difficulty: Option<U256>,
}

/// The chain that batches are added to.
pub(crate) struct Link {
    /// The last block that was linked.
    pub tip: Option<Tip>,
    /// The block that was believed without a parent.
    pub anchor: Option<BlockId>,
    /// Trusted blocks that were met.
    pub met: Vec<BlockId>,
    /// Trusted blocks that were not met so far.
    pub trust: HashSet<Hash>,
    /// era1 accumulators that were recomputed and found equal.
    pub accumulators: u64,
    /// Ommers whose parents stand before the anchor.
    pub unchecked_ommers: u64,
    /// What a merge with the blocks before and after these needs of them.
    pub passed: Passed,
    window: AncestorWindow,
    era: Accumulator,
    totals: Vec<U256>,
    total: Option<U256>,
    /// Was a block linked? Only the first one can be the tip, met again.
    has_begun: bool,
}

/// Blocks of one batch that are verified and tied to the chain; only `Link::extend` makes it.
pub struct Verified<'a> {
    /// The batch.
    pub(crate) batch: &'a Batch,
    /// Which of its blocks are new.
    pub(crate) range: Range<usize>,
    /// Total difficulty after each block of `range`; zero where unknown.
    pub(crate) totals: &'a [U256],
    /// The block that was believed without a parent.
    pub(crate) anchor: Option<BlockId>,
}

/// What the link made of a batch that is written later.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    range: Range<usize>,
    totals: Vec<U256>,
    anchor: Option<BlockId>,
    had_total: bool,
    /// Is the last block under an accumulator that was found as published?
    pub(crate) ends_era: bool,
}

impl Batch {
    /// The new blocks that passed every check since [`Link::extend_later`].
    pub(crate) fn verified(&self) -> Verified<'_> {
        let Linked { range, totals, anchor, .. } = &self.linked;
        let good = self.verdict.good;
        let range = range.start.min(good)..range.end.min(good);
        Verified { batch: self, totals: &totals[..range.len()], anchor: *anchor, range }
    }

    /// The last of these blocks.
    pub(crate) fn tip(&self) -> Option<Tip> {
        let verified = self.verified();
        let last = verified.range.clone().last()?;
        let total = verified.totals.last().copied().filter(|_| self.linked.had_total);
        let blocks = &self.blocks;
        Some(Tip {
            id: BlockId { number: blocks.number(last), hash: blocks.hashes[last] },
            header: blocks.chunk.headers.get(last).to_vec(),
            total_difficulty: total,
        })
    }
}

impl Link {
    /// [`Link::extend`] for a batch that other stages look at before it is written.
    pub fn extend_later(&mut self, checks: &Checks<'_>, batch: &mut Batch) {
        let (clock, eras) = (Instant::now(), self.accumulators);
        let Verified { range, anchor, .. } = self.extend(checks, batch);
        let (totals, had_total) = (self.totals.clone(), self.total.is_some());
        let ends_era = self.accumulators > eras;
        batch.linked = Linked { range, totals, anchor, had_total, ends_era };
        batch.times.validate += clock.elapsed();
    }

    /// A chain that begins as `beginning` says; without a tip, the first block that comes is the
    /// genesis block or the anchor.
    pub fn new(beginning: Beginning, mut trust: HashSet<Hash>) -> Self {
        beginning.met.iter().for_each(|id| {
            trust.remove(&id.hash);
        });
        Self {
            tip: beginning.tip,
            anchor: beginning.anchor,
            met: beginning.met,
            trust,
            accumulators: 0,
            unchecked_ommers: 0,
            passed: Passed::default(),
            window: beginning.window,
            era: Accumulator::default(),
            totals: vec![],
            total: None,
            has_begun: false,
        }
    }

    /// Ties `batch` to the chain, as far as it is right; its verdict has what is wrong.
    pub fn extend<'a>(&'a mut self, checks: &Checks<'_>, batch: &'a mut Batch) -> Verified<'a> {
        let mut start = 0;
        let (checked, mut is_tied) = (batch.verdict.good, true);
        // a header's fault comes before its body's, also where the body was looked at first
        let behind_tip = self.tip.is_some() && batch.headers.good > 0;
        if batch.verdict.good > 0 || behind_tip {
            match self.link_first(checks, batch) {
                Ok(known) => start = usize::from(known),
                Err(violation) => {
                    is_tied = false;
                    batch.verdict.good = batch.verdict.good.max(1);
                    batch.refuse(0, Part::Header, Cause::Rule(violation));
                }
            }
        }
        self.count_on(batch);
        self.passed.take_head(batch, checked, is_tied);
        self.add_difficulties(checks, batch, start);
        if checks.level >= Level::Bodies {
            self.check_ommers(checks, batch, start);
        }
        self.check_clock(checks, batch);
        gaps::tell(self.tip.as_ref(), batch);
        self.passed.note_fault(batch);
        if batch.verdict.good > 0 && batch.verdict.doubts_last_good() {
            // one of the two headers is damaged, perhaps the one before: do not commit it
            batch.verdict.good -= 1;
        }
        let range = start.min(batch.verdict.good)..batch.verdict.good;
        self.totals.truncate(range.len());
        if let Err((i, violation)) = self.check_era(batch, &range) {
            batch.refuse(i, Part::TotalDifficulty, Cause::Rule(violation));
            self.passed.note_fault(batch);
        }
        let range = range.start.min(batch.verdict.good)..batch.verdict.good;
        self.advance(batch, &range);
        let (totals, anchor) = (&self.totals[..range.len()], self.anchor);
        Verified { batch, range, totals, anchor }
    }

    /// The first block of a batch has the number behind the tip, whatever it says itself: a header
    /// that cannot be decoded does not tell its number, and a wrong one is no name for a block.
    fn count_on(&self, batch: &mut Batch) {
        let (0, Some(fault), Some(tip)) = (batch.verdict.good, &mut batch.verdict.fault, &self.tip)
        else {
            return;
        };
        if self.has_begun || fault.cause.is_header_encoding() {
            fault.block = tip.id.number.saturating_add(1);
        }
    }

    /// Checks the first header against the tip. True when it is the tip itself, met again by a
    /// run that goes on.
    fn link_first(&mut self, checks: &Checks<'_>, batch: &Batch) -> Result<bool, Violation> {
        let broken = |e: blockmill_rlp::Error| Violation::new(Rule::HeaderEncoding, "a header", e);
        let header = batch.blocks.header(0).map_err(broken)?;
        let hash = batch.blocks.hashes[0];
        if header.number != batch.blocks.first_number {
            // the container counts its blocks itself
            return Err(Violation::new(Rule::Number, batch.blocks.first_number, header.number));
        }
        let Some(tip) = &self.tip else {
            if header.number == 0 {
                rules::verify_first(checks.spec, &header, &hash)?;
            } else {
                rules::verify_alone(checks.spec, &header)?;
                self.anchor = Some(BlockId { number: header.number, hash });
            }
            return Ok(false);
        };
        if header.number == tip.id.number && !self.has_begun {
            if hash != tip.id.hash {
                return Err(Violation::new(Rule::KnownBlock, Hex(&tip.id.hash), Hex(&hash)));
            }
            return Ok(true);
        }
        let parent = HeaderView::decode(&tip.header).map_err(broken)?;
        rules::verify_header(checks.spec, &parent, &tip.id.hash, &header)?;
        Ok(false)
    }

    /// Checks the ommers of each block against its last ancestors.
    fn check_ommers(&mut self, checks: &Checks<'_>, batch: &mut Batch, start: usize) {
        let mut failure = None;
        for i in start..batch.verdict.good {
            let Ok(header) = batch.blocks.header(i) else { break };
            if header.difficulty.is_zero() {
                // after the merge there are no ommers, and none can refer to these blocks
                continue;
            }
            let hash = &batch.blocks.hashes[i];
            let mut ommers = vec![];
            if *header.ommers_hash != EMPTY_OMMERS && i < batch.blocks.chunk.bodies.len() {
                let Ok(body) = BodyView::decode(batch.blocks.chunk.bodies.get(i)) else { break };
                ommers.extend(body.ommers());
                match self.window.verify_ommers(checks.spec, &header, &ommers) {
                    Ok(unchecked) => self.unchecked_ommers += unchecked as u64,
                    Err(violation) => {
                        failure = Some((i, violation));
                        break;
                    }
                }
            }
            self.window.push(Ancestor::new(*hash, &header, &ommers));
        }
        if let Some((i, violation)) = failure {
            batch.refuse(i, Part::Body, Cause::Rule(violation));
        }
    }

    /// Times rise along a chain, so only a batch whose last header is too late is searched.
    fn check_clock(&self, checks: &Checks<'_>, batch: &mut Batch) {
        let Some(now) = checks.now else { return };
        let verdict = |i: usize| match batch.blocks.header(i) {
            Ok(header) => rules::verify_not_in_future(now, &header),
            Err(_) => Ok(()), // it was decoded before
        };
        // the rule is for proof of work
        let last =
            (0..batch.verdict.good).rev().find(|i| !batch.headers.difficulties[*i].is_zero());
        if last.is_none_or(|last| verdict(last).is_ok()) {
            return;
        }
        let first = (0..batch.verdict.good).find_map(|i| Some((i, verdict(i).err()?)));
        if let Some((i, violation)) = first {
            batch.refuse(i, Part::Header, Cause::Rule(violation));
        }
    }

    /// Collects what an era1 file's accumulator is made of, and compares it at the file's end.
    fn check_era(&mut self, batch: &Batch, range: &Range<usize>) -> Result<(), (usize, Violation)> {
        if batch.blocks.chunk.total_difficulties.is_empty() {
            return Ok(());
        }
        for (i, total) in range.clone().zip(&self.totals) {
            // only eras end: the totals of an old ancient folder run on
            if self.era.is_full() {
                self.era = Accumulator::default();
            }
            self.era.push(&batch.blocks.hashes[i], &total.to_be_bytes());
        }
        let Some(end) = &batch.blocks.chunk.era_end else { return Ok(()) };
        let era = std::mem::take(&mut self.era);
        if range.end != batch.blocks.chunk.blocks() || era.count() as u64 != end.blocks {
            return Ok(()); // the run began inside of the file
        }
        let found = era.root();
        if found != end.accumulator {
            let violation = Violation::new(Rule::Accumulator, Hex(&end.accumulator), Hex(&found));
            return Err((range.end - 1, violation));
        }
        self.accumulators += 1;
        Ok(())
    }

    /// Moves the tip to the end of `range`.
    fn advance(&mut self, batch: &Batch, range: &Range<usize>) {
        if !self.trust.is_empty() {
            for i in 0..range.end {
                if self.trust.remove(&batch.blocks.hashes[i]) {
                    self.met.push(BlockId {
                        number: batch.blocks.number(i),
                        hash: batch.blocks.hashes[i],
                    });
                }
            }
        }
        self.passed.advance(batch, range);
        self.has_begun |= range.end > 0;
        let Some(last) = range.clone().last() else { return };
        self.tip = Some(Tip {
            id: BlockId { number: batch.blocks.number(last), hash: batch.blocks.hashes[last] },
            header: batch.blocks.chunk.headers.get(last).to_vec(),
            total_difficulty: self.total.map(|_| self.totals[range.len() - 1]),
        });
    }
}
