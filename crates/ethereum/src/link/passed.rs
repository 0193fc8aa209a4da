//! The record that a link keeps of its blocks, for a merge with earlier and later shards: the first
//! few blocks, and sums of the others.

use crate::U256;
use crate::body::BodyView;
use crate::body::ommers::GENERATIONS;
use crate::header::{EMPTY_OMMERS, HeaderView};
use crate::link::BlockId;
use crate::shard::summary::{FirstStake, Head, HeadBlock, LastWork, Sides, TailBlock};
use crate::shard::text::{Bytes, HashText, Number};
use crate::verify::{Checked, Verdict};
use blockmill_archive::Part;
use std::ops::Range;

/// The record of the blocks of one run, or of merged shards.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    /// The first blocks.
    pub head: Head,
    /// The end of proof of work, if the total difficulty is unknown.
    pub sides: Sides,
    /// The first block that was linked.
    pub first: Option<BlockId>,
    /// Number of linked blocks.
    pub blocks: u64,
    /// Total difficulty before the first one.
    pub before: Option<U256>,
    /// Sum of the difficulties.
    pub sum: U256,
    /// Number of blocks before the one at fault.
    pub fault_at: Option<u64>,
    /// Number of blocks of earlier batches.
    pub seen: u64,
    /// The last blocks, when the run is over.
    pub tail: Vec<TailBlock>,
    head_is_whole: bool,
    is_over: bool,
}

impl Passed {
    /// Takes the first blocks of the run from a batch. Of its blocks `good` passed the checks that
    /// need none before the batch; `is_tied` says whether the first one follows the tip.
    pub fn take_head(
        &mut self,
        checked: Checked<'_>,
        verdict: &Verdict,
        good: usize,
        is_tied: bool,
    ) {
        if self.head_is_whole {
            return;
        }
        let is_first = self.head.blocks.is_empty();
        if is_first {
            let chunk = &checked.blocks.chunk;
            // the header of a block that is not whole was not decoded
            let undecoded = || Some(HeaderView::decode(chunk.headers.iter().next()?).ok()?.number);
            let number = chunk.first.or(checked.headers.first_number());
            self.head.starts_at = number.or_else(undecoded);
            self.head.location = chunk.beginning();
        }
        let count = match (is_first, is_tied) {
            // a merge checks whether the first header follows its parent before it checks its body
            (true, _) => good.max(usize::from(checked.headers.good > 0)),
            (false, true) => good,
            (false, false) => 0,
        };
        let room = GENERATIONS - self.head.blocks.len();
        self.head.blocks.extend((0..count.min(room)).map(|i| head_block(checked, i)));
        let only_header = is_first && good == 0;
        self.head.good = if only_header { 0 } else { self.head.blocks.len() };
        self.head_is_whole = self.head.blocks.len() == GENERATIONS || verdict.fault.is_some();
    }

    /// Notes on which side of the merge block `i` is; `sum_before` are all difficulties before it.
    pub fn note_side(&mut self, checked: Checked<'_>, i: usize, sum_before: U256) {
        let blocks = checked.blocks;
        let (at, sum_before) = (self.seen + i as u64, Number(sum_before));
        if !checked.difficulty(i).is_zero() {
            self.sides.last_work = Some(LastWork { at, number: blocks.number(i), sum_before });
        } else if self.sides.first_stake.is_none() && blocks.number(i) > 0 {
            self.sides.first_stake = Some(FirstStake {
                at,
                sum_before,
                hash: HashText(blocks.hashes[i]),
                header: Bytes(blocks.chunk.headers.get(i).to_vec()),
                header_at: blocks.chunk.location(Part::Header, i),
            });
        }
    }

    /// Records the block at fault.
    pub fn note_fault(&mut self, verdict: &Verdict) {
        if verdict.fault.is_some() && !self.is_over {
            self.fault_at = Some(self.seen + verdict.good as u64);
        }
    }

    /// Counts the blocks of a batch that were linked.
    pub fn advance(&mut self, checked: Checked<'_>, verdict: &Verdict, range: &Range<usize>) {
        if self.is_over {
            return; // other stages may have processed blocks after the fault
        }
        self.is_over = verdict.fault.is_some();
        let blocks = checked.blocks;
        if self.first.is_none() && !range.is_empty() {
            let (number, hash) = (blocks.number(range.start), blocks.hashes[range.start]);
            self.first = Some(BlockId { number, hash });
        }
        self.seen += range.end as u64;
        self.blocks += range.len() as u64;
        let difficulties = &checked.headers.difficulties()[range.clone()];
        self.sum = difficulties.iter().fold(self.sum, |sum, next| sum.saturating_add(*next));
    }
}

/// Block `i` of a batch.
fn head_block(checked: Checked<'_>, i: usize) -> HeadBlock {
    let chunk = &checked.blocks.chunk;
    let total = chunk.total_difficulties.get(i);
    HeadBlock {
        hash: HashText(checked.blocks.hashes[i]),
        header: Bytes(chunk.headers.get(i).to_vec()),
        ommers: Bytes(ommers(checked, i)),
        total_difficulty: total.map(|total| Number(U256::from_be_bytes(*total))),
        header_at: chunk.location(Part::Header, i),
        body_at: chunk.location(Part::Body, i),
        total_at: chunk.location(Part::TotalDifficulty, i),
    }
}

/// The encoded ommers of block `i`; empty if it has none, or no body was read.
fn ommers(checked: Checked<'_>, i: usize) -> Vec<u8> {
    let bodies = &checked.blocks.chunk.bodies;
    let has_none = checked.decoded(i).is_some_and(|header| *header.ommers_hash == EMPTY_OMMERS);
    if has_none || i >= bodies.len() {
        return vec![];
    }
    BodyView::decode(bodies.get(i)).map_or(vec![], |body| body.encoded_ommers().to_vec())
}
