//! What a link keeps of the blocks that pass through it, for a merge with those before and after
//! them: little, and only of the first few blocks more than sums.

use crate::U256;
use crate::batch::Batch;
use crate::body::BodyView;
use crate::body::ommers::GENERATIONS;
use crate::header::{EMPTY_OMMERS, HeaderView};
use crate::link::BlockId;
use crate::shard::summary::{FirstStake, Head, HeadBlock, LastWork, Sides, TailBlock};
use crate::shard::text::{Bytes, HashText, Number};
use blockmill_archive::Part;
use std::ops::Range;

/// The blocks of one run, or of shards that were merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    /// The first blocks.
    pub head: Head,
    /// Where proof of work ends, as long as the total difficulty is not known.
    pub sides: Sides,
    /// The first block that was linked.
    pub first: Option<BlockId>,
    /// How many were.
    pub blocks: u64,
    /// Total difficulty before the first one.
    pub before: Option<U256>,
    /// Sum of the difficulties.
    pub sum: U256,
    /// Blocks before the one at fault.
    pub fault_at: Option<u64>,
    /// Blocks of the batches before.
    pub seen: u64,
    /// The last blocks, when the run is over.
    pub tail: Vec<TailBlock>,
    head_is_whole: bool,
    is_over: bool,
}

impl Passed {
    /// Takes the first blocks of the run from `batch`. Of its blocks `checked` passed the checks
    /// that need none before the batch; `is_tied` says whether the first one follows the tip.
    pub fn take_head(&mut self, batch: &Batch, checked: usize, is_tied: bool) {
        if self.head_is_whole {
            return;
        }
        let is_first = self.head.blocks.is_empty();
        if is_first {
            let chunk = &batch.blocks.chunk;
            let number = || HeaderView::decode(chunk.headers.iter().next()?).ok();
            self.head.starts_at = chunk.first.or_else(|| Some(number()?.number));
            self.head.location = chunk.beginning();
        }
        let count = match (is_first, is_tied) {
            // whether its header follows its parent is told before what its body has
            (true, _) => checked.max(usize::from(batch.headers.good > 0)),
            (false, true) => checked,
            (false, false) => 0,
        };
        let room = GENERATIONS - self.head.blocks.len();
        self.head.blocks.extend((0..count.min(room)).map(|i| head_block(batch, i)));
        let only_header = is_first && checked == 0;
        self.head.good = if only_header { 0 } else { self.head.blocks.len() };
        self.head_is_whole = self.head.blocks.len() == GENERATIONS || batch.verdict.fault.is_some();
    }

    /// Notes on which side of the merge block `i` is; `sum_before` are all difficulties before it.
    pub fn note_side(&mut self, batch: &Batch, i: usize, sum_before: U256) {
        let (at, sum_before) = (self.seen + i as u64, Number(sum_before));
        if !batch.headers.difficulties[i].is_zero() {
            let number = batch.blocks.number(i);
            self.sides.last_work = Some(LastWork { at, number, sum_before });
        } else if self.sides.first_stake.is_none() && batch.blocks.number(i) > 0 {
            self.sides.first_stake = Some(FirstStake {
                at,
                sum_before,
                hash: HashText(batch.blocks.hashes[i]),
                header: Bytes(batch.blocks.chunk.headers.get(i).to_vec()),
                header_at: batch.blocks.chunk.location(Part::Header, i),
            });
        }
    }

    /// Notes which block is at fault.
    pub fn note_fault(&mut self, batch: &Batch) {
        if batch.verdict.fault.is_some() && !self.is_over {
            self.fault_at = Some(self.seen + batch.verdict.good as u64);
        }
    }

    /// Counts the blocks of `batch` that were linked.
    pub fn advance(&mut self, batch: &Batch, range: &Range<usize>) {
        if self.is_over {
            return; // stages may be ahead of the fault
        }
        self.is_over = batch.verdict.fault.is_some();
        if self.first.is_none() && !range.is_empty() {
            let (number, hash) =
                (batch.blocks.number(range.start), batch.blocks.hashes[range.start]);
            self.first = Some(BlockId { number, hash });
        }
        self.seen += range.end as u64;
        self.blocks += range.len() as u64;
        let difficulties = &batch.headers.difficulties[range.clone()];
        self.sum = difficulties.iter().fold(self.sum, |sum, next| sum.saturating_add(*next));
    }
}

/// Block `i` of `batch`.
fn head_block(batch: &Batch, i: usize) -> HeadBlock {
    let chunk = &batch.blocks.chunk;
    let total = chunk.total_difficulties.get(i);
    HeadBlock {
        hash: HashText(batch.blocks.hashes[i]),
        header: Bytes(chunk.headers.get(i).to_vec()),
        ommers: Bytes(ommers(batch, i)),
        total_difficulty: total.map(|total| Number(U256::from_be_bytes(*total))),
        header_at: chunk.location(Part::Header, i),
        body_at: chunk.location(Part::Body, i),
        total_at: chunk.location(Part::TotalDifficulty, i),
    }
}

/// The encoded ommers of block `i`; nothing where it has none, or no body was read.
fn ommers(batch: &Batch, i: usize) -> Vec<u8> {
    let bodies = &batch.blocks.chunk.bodies;
    let has_none = batch.blocks.header(i).is_ok_and(|header| *header.ommers_hash == EMPTY_OMMERS);
    if has_none || i >= bodies.len() {
        return vec![];
    }
    BodyView::decode(bodies.get(i)).map_or(vec![], |body| body.encoded_ommers().to_vec())
}
