//! The link phase: each batch is tied to the chain before it, in order.
//!
//! The check phase has verified a batch by itself. What is left needs what came before: the first
//! header against its parent, total difficulty and the merge, ommers, accumulators of eras, the
//! anchor and the hashes that the user trusts. It reads [`Checked`] and fills [`Linked`].

mod era;
pub(crate) mod gaps;
mod linked;
pub(crate) mod merge;
pub(crate) mod passed;
#[cfg(test)]
mod tests;
mod totals;

pub(crate) use linked::Linked;

use crate::body::BodyView;
use crate::body::ommers::{Ancestor, AncestorWindow};
use crate::fault::Cause;
use crate::header::{EMPTY_OMMERS, EncodedHeader, rules};
use crate::resume::Beginning;
use crate::rule::{Rule, Violation};
use crate::verify::{Checked, Checks, Verdict};
use crate::{Hash, Level, U256};
use blockmill_archive::Part;
use blockmill_verdict::{BlockRef, Hex};
use era::{EraVerdict, OpenEra};
use passed::Passed;
use std::collections::HashSet;
use std::ops::Range;

/// A block by number and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockId {
    /// Height.
    pub number: u64,
    /// Hash of its header.
    pub hash: Hash,
}

impl BlockId {
    /// The block as messages and documents show it.
    pub(crate) fn shown(&self) -> BlockRef {
        BlockRef { number: self.number, hash: Hex(&self.hash).to_string() }
    }
}

/// The last block of the chain so far.
#[derive(Clone, Debug)]
pub struct Tip {
    /// Which block.
    pub id: BlockId,
    /// Its header.
    pub header: EncodedHeader,
    /// Sum of all difficulties up to it; `None` if the chain began in the middle and the archive
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
    /// Accumulators of era1 and ere files that were recomputed and found equal.
    pub accumulators: u64,
    /// Accumulators that could not be recomputed: total difficulties are unknown.
    pub unchecked_accumulators: u64,
    /// Accumulators of files of which the first blocks were not read.
    parts_of_eras: u64,
    /// Proofs of ere files that blocks are canonical and that cannot be verified.
    pub unchecked_proofs: u64,
    /// Proofs of ere files that lead to roots of the beacon chain that the user trusts.
    pub beacon_proofs: u64,
    /// Ommers with parents before the anchor.
    pub unchecked_ommers: u64,
    /// What a merge with the blocks before and after these needs of them.
    pub passed: Passed,
    window: AncestorWindow,
    era: OpenEra,
    /// Total difficulty after the last block, if it is known.
    total: Option<U256>,
    /// Was a block linked? Only the first one can be the tip, met again.
    has_begun: bool,
}

impl Link {
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
            unchecked_accumulators: 0,
            parts_of_eras: 0,
            unchecked_proofs: 0,
            beacon_proofs: 0,
            unchecked_ommers: 0,
            passed: Passed::default(),
            window: beginning.window,
            era: OpenEra::default(),
            total: None,
            has_begun: false,
        }
    }

    /// Ties the good blocks of a batch to the chain; `verdict` gets the first fault, `linked` the
    /// new blocks.
    pub fn extend(
        &mut self,
        checks: &Checks<'_>,
        checked: Checked<'_>,
        verdict: &mut Verdict,
        linked: &mut Linked,
    ) {
        let mut start = 0;
        let (good, eras, mut is_tied) = (verdict.good, self.accumulators, true);
        // the fault of a header comes before the fault of its body, which was found first
        let after_tip = self.tip.is_some() && checked.headers.good > 0;
        if verdict.good > 0 || after_tip {
            match self.link_first(checks, checked) {
                Ok(known) => start = usize::from(known),
                Err(violation) => {
                    is_tied = false;
                    verdict.good = verdict.good.max(1);
                    verdict.refuse(checked.blocks, 0, Part::Header, Cause::Rule(violation));
                }
            }
        }
        self.number_first(verdict);
        self.passed.take_head(checked, verdict, good, is_tied);
        self.add_difficulties(checks, checked, verdict, start, &mut linked.totals);
        if checks.level >= Level::Bodies {
            self.check_ommers(checks, checked, verdict, start);
        }
        check_clock(checks, checked, verdict);
        gaps::recognise((self.tip.as_ref(), self.has_begun), checked, verdict);
        self.passed.note_fault(verdict);
        if verdict.good > 0 && verdict.doubts_last_good() {
            // one of the two headers is damaged, perhaps the one before: do not commit it
            verdict.good -= 1;
        }
        let range = start.min(verdict.good)..verdict.good;
        linked.totals.truncate(range.len());
        if let Err((i, violation)) = self.check_era(checked, &range, &linked.totals) {
            let part = match checked.blocks.chunk.total_difficulties.is_empty() {
                true => Part::Header,
                false => Part::TotalDifficulty,
            };
            verdict.refuse(checked.blocks, i, part, Cause::Rule(violation));
            self.passed.note_fault(verdict);
        }
        linked.range = range.start.min(verdict.good)..verdict.good;
        linked.totals.truncate(linked.range.len());
        linked.anchor = self.anchor;
        linked.has_total = self.total.is_some();
        linked.ends_era = self.accumulators > eras;
        self.advance(checked, verdict, linked);
    }

    /// Names the first block of a batch, if it is the one at fault, by the number after the tip: a
    /// header that cannot be decoded has no number, and a wrong number names another block.
    fn number_first(&self, verdict: &mut Verdict) {
        let (0, Some(fault), Some(tip)) = (verdict.good, &mut verdict.fault, &self.tip) else {
            return;
        };
        if self.has_begun || fault.cause.is_header_encoding() {
            fault.block = tip.id.number.saturating_add(1);
        }
    }

    /// Checks the first header against the tip. Returns whether it is the tip itself, which a run
    /// that resumes reads again.
    fn link_first(&mut self, checks: &Checks<'_>, checked: Checked<'_>) -> Result<bool, Violation> {
        let (header, hash) = (checked.header(0), checked.blocks.hashes[0]);
        if header.number != checked.blocks.first_number {
            // the container counts its blocks itself
            let expected = checked.blocks.first_number;
            return Err(Violation::new(Rule::Number, expected, header.number));
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
        rules::verify_header(checks.spec, &tip.header.view(), &tip.id.hash, &header)?;
        Ok(false)
    }

    /// Checks the ommers of each block against its last ancestors.
    fn check_ommers(
        &mut self,
        checks: &Checks<'_>,
        checked: Checked<'_>,
        verdict: &mut Verdict,
        start: usize,
    ) {
        let blocks = checked.blocks;
        let mut failure = None;
        for i in start..verdict.good {
            if checked.difficulty(i).is_zero() {
                // after the merge there are no ommers, and none can refer to these blocks
                continue;
            }
            let header = checked.header(i);
            let mut ommers = vec![];
            if *header.ommers_hash != EMPTY_OMMERS && i < blocks.chunk.bodies.len() {
                // every good body was decoded before
                let Ok(body) = BodyView::decode(blocks.chunk.bodies.get(i)) else { break };
                ommers.extend(body.ommers());
                match self.window.verify_ommers(checks.spec, &header, &ommers) {
                    Ok(unchecked) => self.unchecked_ommers += unchecked as u64,
                    Err(violation) => {
                        failure = Some((i, violation));
                        break;
                    }
                }
            }
            self.window.push(Ancestor::new(blocks.hashes[i], &header, &ommers));
        }
        if let Some((i, violation)) = failure {
            verdict.refuse(blocks, i, Part::Body, Cause::Rule(violation));
        }
    }

    /// Adds the new blocks to the accumulator of their era1 or ere file, and compares it at the
    /// file's end.
    fn check_era(
        &mut self,
        checked: Checked<'_>,
        range: &Range<usize>,
        totals: &[U256],
    ) -> Result<(), (usize, Violation)> {
        self.unchecked_proofs += checked.blocks.chunk.unchecked_proofs;
        self.beacon_proofs += checked.blocks.chunk.beacon_proofs;
        let totals = self.total.is_some().then_some(totals);
        let verdict = self.era.add(checked, range, totals);
        match verdict.map_err(|violation| (range.end.saturating_sub(1), violation))? {
            EraVerdict::Open => {}
            EraVerdict::Equal => self.accumulators += 1,
            EraVerdict::Unknown => self.unchecked_accumulators += 1,
            EraVerdict::Part => self.parts_of_eras += 1,
        }
        Ok(())
    }

    /// Files of which some blocks were read, so that their accumulators cannot be compared.
    pub fn partly_read_eras(&self) -> u64 {
        self.parts_of_eras + u64::from(self.era.has_blocks())
    }

    /// Moves the tip to the end of the new blocks.
    fn advance(&mut self, checked: Checked<'_>, verdict: &Verdict, linked: &Linked) {
        let blocks = checked.blocks;
        if !self.trust.is_empty() {
            for (i, hash) in blocks.hashes[..linked.range.end].iter().enumerate() {
                if self.trust.remove(hash) {
                    self.met.push(BlockId { number: blocks.number(i), hash: *hash });
                }
            }
        }
        self.passed.advance(checked, verdict, &linked.range);
        self.has_begun |= linked.range.end > 0;
        if let Some(tip) = linked.tip(checked, verdict) {
            self.tip = Some(tip);
        }
    }
}

/// Refuses blocks from the future. Times rise along a chain, so the other blocks of a batch are
/// inspected only if its last one is too late.
fn check_clock(checks: &Checks<'_>, checked: Checked<'_>, verdict: &mut Verdict) {
    let Some(now) = checks.now else { return };
    let answer = |i: usize| rules::verify_not_in_future(now, &checked.header(i));
    // the rule is for proof of work
    let last = (0..verdict.good).rev().find(|i| !checked.difficulty(*i).is_zero());
    if last.is_none_or(|last| answer(last).is_ok()) {
        return;
    }
    let first = (0..verdict.good).find_map(|i| Some((i, answer(i).err()?)));
    if let Some((i, violation)) = first {
        verdict.refuse(checked.blocks, i, Part::Header, Cause::Rule(violation));
    }
}
