//! Iteration over the keys of a contract with a prefix, merged over all layers.
//!
//! An iteration sees the state at its start, as in neo-go (`storage.MemCachedStore.SeekAsync`):
//! changes of the block are copied at the start, and the layers below do not change while a block
//! is executed. It reads pages of growing size, so an iteration over millions of keys that ends
//! early is cheap.

use super::base::{Base, KeyRange};
use super::journal::Journal;
use super::{StorageKey, Value};
use std::collections::VecDeque;
use std::ops::Bound;

/// Pairs in the first page from the lower layers, and in the largest one.
const PAGE: (usize, usize) = (16, 4096);

/// The order of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The least key first.
    Forwards,
    /// The greatest key first.
    Backwards,
}

impl Direction {
    pub(super) fn is_before(self, key: &StorageKey, other: &StorageKey) -> bool {
        match self {
            Self::Forwards => key < other,
            Self::Backwards => key > other,
        }
    }
}

/// An iteration; [`super::State::next`] continues it.
#[derive(Debug)]
pub struct Find {
    /// The rest of the range in the lower layers.
    range: KeyRange,
    direction: Direction,
    /// Changes of the block, in order.
    above: VecDeque<(StorageKey, Option<Value>)>,
    /// Pairs of the lower layers, in order.
    below: VecDeque<(StorageKey, Value)>,
    /// The lower layers have no more pairs.
    done: bool,
    page: usize,
}

/// The range of keys with `prefix`, from `prefix` + `start` on in this direction.
fn range(id: i32, prefix: &[u8], start: &[u8], direction: Direction) -> KeyRange {
    let prefix = [&id.to_le_bytes(), prefix].concat();
    let from = [&prefix, start].concat();
    let mut end = prefix.clone();
    let after = loop {
        match end.pop() {
            None => break Bound::Unbounded,
            Some(0xff) => {}
            Some(byte) => {
                end.push(byte + 1);
                break Bound::Excluded(end);
            }
        }
    };
    match direction {
        Direction::Forwards => (Bound::Included(from), after),
        Direction::Backwards if start.is_empty() => (Bound::Included(prefix), after),
        Direction::Backwards => (Bound::Included(prefix), Bound::Included(from)),
    }
}

impl Find {
    pub(super) fn new(
        (id, prefix, start): (i32, &[u8], &[u8]),
        direction: Direction,
        block: &Journal,
    ) -> Self {
        let range = range(id, prefix, start, direction);
        let above = block.range(&range, direction).into();
        Self { range, direction, above, below: VecDeque::new(), done: false, page: PAGE.0 }
    }

    /// The next pair.
    pub(super) fn next(
        &mut self,
        base: &Base,
    ) -> blockmill_store::Result<Option<(StorageKey, Value)>> {
        loop {
            if self.below.is_empty() && !self.done {
                self.read_page(base)?;
            }
            let above_first = match (self.above.front(), self.below.front()) {
                (None, None) => return Ok(None),
                (None, Some(_)) => false,
                (Some(_), None) => true,
                (Some((above, _)), Some((below, _))) => !self.direction.is_before(below, above),
            };
            if !above_first {
                return Ok(self.below.pop_front());
            }
            if let Some((key, value)) = self.above.pop_front() {
                // it replaces the pair of the lower layers
                if self.below.front().is_some_and(|(below, _)| *below == key) {
                    self.below.pop_front();
                }
                if let Some(value) = value {
                    return Ok(Some((key, value)));
                }
            }
        }
    }

    fn read_page(&mut self, base: &Base) -> blockmill_store::Result<()> {
        while self.below.is_empty() && !self.done {
            let page = base.page(&self.range, self.direction, self.page)?;
            self.page = (2 * self.page).min(PAGE.1);
            self.done = page.done;
            if let Some(last) = page.last {
                let bound = Bound::Excluded(last.as_slice().to_vec());
                match self.direction {
                    Direction::Forwards => self.range.0 = bound,
                    Direction::Backwards => self.range.1 = bound,
                }
            }
            self.below.extend(page.entries);
        }
        Ok(())
    }
}
