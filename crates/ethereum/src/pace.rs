//! The size of chunks at level execution: as many blocks as keep all stages busy.
//!
//! The cost of a block varies by four orders of magnitude, and is not known before it is executed.
//! A chunk of few cheap blocks is mostly overhead; a chunk of expensive ones keeps later stages
//! waiting, and nothing overlaps with the state roots of the last chunk. So the execution stage
//! reports how long a chunk took, and the reading stage sizes the next chunk by that.

use crate::execute::speculation::LANES;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Target time of the execution of a chunk.
const TARGET: Duration = Duration::from_millis(10);
/// Blocks of the first chunk: nothing is known yet, and a few small chunks cost nothing.
const FIRST: usize = 1;

/// Blocks of the next chunk, shared between stages.
#[derive(Debug)]
pub(crate) struct Pace {
    blocks: AtomicUsize,
    least: usize,
    most: usize,
}

impl Pace {
    /// Between `least` and `most` blocks.
    pub fn new(least: usize, most: usize) -> Self {
        let most = most.max(1);
        let least = least.clamp(1, most);
        Self { blocks: AtomicUsize::new(FIRST.clamp(least, most)), least, most }
    }

    /// Blocks of the next chunk.
    pub fn blocks(&self) -> usize {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Reports that the execution of `blocks` blocks took `busy`, and that `hashing` of their
    /// speculative executions hash much: chunks grow until these fill all lanes. Otherwise the next
    /// chunk has at most twice as many blocks, since one cheap chunk says little of the next.
    pub fn took(&self, blocks: usize, busy: Duration, hashing: usize) {
        if blocks == 0 {
            return;
        }
        let fit = TARGET.as_nanos() * blocks as u128 / busy.as_nanos().max(1);
        let fit = usize::try_from(fit).unwrap_or(usize::MAX).min(blocks.saturating_mul(2));
        let fill = (blocks * LANES).checked_div(hashing).unwrap_or(0).min(2 * LANES);
        self.blocks.store(fit.max(fill).clamp(self.least, self.most), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_what_blocks_cost() {
        let pace = Pace::new(1, 64);
        let mut seen = vec![];
        for each in [1, 1, 1, 1, 1, 20_000, 20_000, 1_000, 1_000, 1_000, 1_000, 1_000] {
            let blocks = pace.blocks();
            seen.push(blocks);
            pace.took(blocks, Duration::from_micros(each) * blocks as u32, 0);
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 1, 1, 2, 4, 8, 10]);
        let together = Pace::new(100, 64);
        together.took(64, Duration::from_secs(9), 0);
        assert_eq!(together.blocks(), 64);
        together.took(0, Duration::ZERO, 0);
        assert_eq!(together.blocks(), 64);
    }

    #[test]
    fn chunks_grow_until_those_that_hash_fill_the_lanes() {
        let pace = Pace::new(1, 64);
        let mut seen = vec![];
        for _ in 0..6 {
            let blocks = pace.blocks();
            seen.push(blocks);
            pace.took(blocks, Duration::from_secs(1), blocks);
        }
        assert_eq!(seen, [1, 8, 8, 8, 8, 8]);
        pace.took(8, Duration::from_secs(1), 16);
        assert_eq!(pace.blocks(), 4);
        pace.took(4, Duration::from_secs(1), 100);
        assert_eq!(pace.blocks(), 1);
    }
}
