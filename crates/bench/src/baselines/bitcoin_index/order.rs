//! The order in which Bitcoin Core accepts blocks: parents first.

use super::waiting::Waiting;
use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::index::Found;
use std::ops::Range;

/// An order of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Positions of blocks in the scan, parents before their children, and as far as possible in
    /// the order of the files.
    pub accepted: Vec<u32>,
    /// Positions of blocks without a parent in the files, in the order of the files.
    pub orphans: Vec<u32>,
    /// Blocks that precede their parents in the files.
    pub out_of_order: u64,
}

impl Order {
    /// Orders the blocks of a scan; `known` are accepted from the start.
    #[must_use]
    pub fn of(found: &[Found], known: &[BlockHash]) -> Self {
        let (mut order, mut waiting) = (Self::default(), Waiting::new(known, found.len()));
        order.accepted.reserve(found.len());
        for (position, block) in (0..).zip(found) {
            let parent = block.header().previous();
            if waiting.is_accepted(&parent) {
                let released = order.release(position, found, &mut waiting);
                order.out_of_order += released.len() as u64;
            } else {
                waiting.wait(position, &parent);
            }
        }
        order.orphans = waiting.left();
        order
    }

    /// Accepts the block at `position` and all that wait for it, or for one of those: with a list,
    /// not by recursion, as a whole chain may wait. Returns where the latter are in `accepted`.
    pub(super) fn release(
        &mut self,
        position: u32,
        found: &[Found],
        waiting: &mut Waiting,
    ) -> Range<usize> {
        let first = self.accepted.len();
        self.accepted.push(position);
        let mut next = first;
        while let Some(position) = self.accepted.get(next) {
            let mut child = waiting.accept(&found[*position as usize].hash);
            while let Some(position) = child {
                self.accepted.push(position);
                child = waiting.after(position);
            }
            next += 1;
        }
        first + 1..next
    }
}
