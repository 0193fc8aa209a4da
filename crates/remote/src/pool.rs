//! Ranges of files in memory: those on their way, and those that were read last.
//!
//! Ranges of a file never overlap. Their bytes together are bounded: on their way [`ON_THE_WAY`],
//! there [`KEPT`]; whoever waits for a range may go beyond the first limit, reading ahead may not.

use crate::Error;
use bytes::Bytes;
use std::collections::BTreeMap;

/// Bytes that are fetched ahead at the same time.
pub const ON_THE_WAY: u64 = 48 << 20;
/// Bytes that are kept after they were fetched.
pub const KEPT: u64 = 64 << 20;

/// A file of the pool.
pub type Id = u64;

/// Ranges of all files of a mount.
#[derive(Debug, Default)]
pub struct Pool {
    ranges: BTreeMap<(Id, u64), Range>,
    clock: u64,
    kept: u64,
    on_the_way: u64,
}

#[derive(Debug)]
struct Range {
    end: u64,
    content: Content,
    /// When it was used last.
    used: u64,
    /// How far the reader had read in order for whom it was fetched ahead.
    run: u64,
}

/// What there is of a range.
#[derive(Clone, Debug)]
pub enum Content {
    /// It is on its way.
    Awaited,
    /// Its bytes.
    There(Bytes),
    /// Why it did not come.
    Failed(Error),
}

/// A range that was found.
#[derive(Debug)]
pub struct Found {
    /// Where it begins.
    pub start: u64,
    /// What there is of it.
    pub content: Content,
    /// How far its reader had read in order.
    pub run: u64,
}

impl Pool {
    /// The range with byte `at` of a file. A failed one is forgotten: the next reader tries again.
    pub fn find(&mut self, id: Id, at: u64) -> Option<Found> {
        self.clock += 1;
        let (&(_, start), range) = self.ranges.range_mut((id, 0)..=(id, at)).next_back()?;
        if range.end <= at {
            return None;
        }
        range.used = self.clock;
        let found = Found { start, content: range.content.clone(), run: range.run };
        if matches!(found.content, Content::Failed(_)) {
            self.ranges.remove(&(id, start));
        }
        Some(found)
    }

    /// Notes that a range from `start` on is fetched, which ends before the next one that there is,
    /// and at `end` at last. Returns its end; `None` if `start` is in a range.
    pub fn await_range(&mut self, id: Id, start: u64, end: u64, run: u64) -> Option<u64> {
        let before = self.ranges.range((id, 0)..=(id, start)).next_back();
        if start >= end || before.is_some_and(|(_, range)| range.end > start) {
            return None;
        }
        let after = self.ranges.range((id, start)..(id, end)).next();
        let end = after.map_or(end, |((_, next), _)| *next);
        let range = Range { end, content: Content::Awaited, used: self.clock, run };
        self.ranges.insert((id, start), range);
        self.on_the_way += end - start;
        Some(end)
    }

    /// The first byte from `at` on that is in no range, and before `end`.
    pub fn first_gap(&self, id: Id, at: u64, end: u64) -> Option<u64> {
        let mut gap = at;
        let before = self.ranges.range((id, 0)..=(id, at)).next_back();
        let after = self.ranges.range((id, at.saturating_add(1))..(id, end));
        for ((_, start), range) in before.into_iter().chain(after) {
            if *start > gap {
                break;
            }
            gap = gap.max(range.end);
        }
        (gap < end).then_some(gap)
    }

    /// Whether more may be fetched ahead.
    pub fn has_room(&self) -> bool {
        self.on_the_way < ON_THE_WAY
    }

    /// Puts what came of a range in its place, and forgets what was not used for long.
    pub fn arrive(&mut self, id: Id, start: u64, came: Result<Bytes, Error>) {
        self.clock += 1;
        let Some(range) = self.ranges.get_mut(&(id, start)) else { return };
        self.on_the_way -= range.end - start;
        range.used = self.clock;
        range.content = match came {
            Ok(bytes) => {
                self.kept += bytes.len() as u64;
                Content::There(bytes)
            }
            Err(error) => Content::Failed(error),
        };
        while self.kept > KEPT && self.forget_oldest((id, start)) {}
    }

    fn forget_oldest(&mut self, except: (Id, u64)) -> bool {
        let there = self
            .ranges
            .iter()
            .filter(|(key, range)| **key != except && matches!(range.content, Content::There(_)));
        let Some(key) = there.min_by_key(|(_, range)| range.used).map(|(key, _)| *key) else {
            return false;
        };
        if let Some(Range { content: Content::There(bytes), .. }) = self.ranges.remove(&key) {
            self.kept -= bytes.len() as u64;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: u64) -> Result<Bytes, Error> {
        Ok(Bytes::from(vec![0; length as usize]))
    }

    #[test]
    fn ranges_end_where_the_next_one_begins() {
        let mut pool = Pool::default();
        assert_eq!(pool.await_range(1, 100, 200, 0), Some(200));
        assert_eq!(pool.await_range(1, 50, 300, 0), Some(100));
        assert_eq!(pool.await_range(1, 120, 300, 0), None);
        assert_eq!(pool.first_gap(1, 60, 300), Some(200));
        assert_eq!(pool.first_gap(1, 60, 200), None);
        assert_eq!(pool.first_gap(1, 10, 300), Some(10));
        assert_eq!(pool.first_gap(2, 60, 300), Some(60));
        assert!(pool.find(1, 49).is_none() && pool.find(1, 200).is_none());
        pool.arrive(1, 50, bytes(50));
        assert!(matches!(pool.find(1, 99).unwrap().content, Content::There(_)));
        assert!(matches!(pool.find(1, 100).unwrap().content, Content::Awaited));
    }

    #[test]
    fn memory_is_bounded_and_what_was_used_last_is_kept() {
        let mut pool = Pool::default();
        let step = 8 << 20;
        for at in 0..20 {
            assert!(pool.has_room());
            pool.await_range(1, at * step, (at + 1) * step, 0).unwrap();
            pool.arrive(1, at * step, bytes(step));
            assert!(pool.find(1, 0).is_some(), "used each time");
            assert!(pool.kept <= KEPT);
        }
        assert!(pool.find(1, step).is_none());
        for at in 0..6 {
            assert!(pool.has_room());
            pool.await_range(2, at * step, (at + 1) * step, 0).unwrap();
        }
        assert!(!pool.has_room());
    }

    #[test]
    fn an_error_is_reported_once_and_then_tried_again() {
        let mut pool = Pool::default();
        pool.await_range(1, 0, 10, 0).unwrap();
        pool.arrive(1, 0, Err(Error::Stopped));
        assert!(matches!(pool.find(1, 5).unwrap().content, Content::Failed(_)));
        assert_eq!(pool.await_range(1, 0, 10, 0), Some(10));
    }
}
