//! Limits the cost of lanes that decide nothing.
//!
//! Anyone can create signatures that no lane decides: the lanes then work for nothing, and the
//! library repeats the work. So the lanes have an account. It counts in hundredths of the library's
//! time for a signature: a vector of lanes costs its price, each signature that it decides earns
//! 100, and every signature earns [`ALLOWED`]. While the account is empty, the library does the
//! work. So the total time is at most `ALLOWED` percent above that of the library alone, plus one
//! batch of each thread, for any signatures; ordinary signatures keep the account full.

use core::sync::atomic::{AtomicI64, Ordering};

use crate::lanes::limb::LANES;

/// The time that the lanes may waste, in percent of the library's time.
const ALLOWED: i64 = 10;
/// The library's time for a signature.
const SIGNATURE: i64 = 100;
/// Number of vectors that a full account pays for, and that run before the account is checked
/// again.
const MOST_VECTORS: usize = 16;

/// An account of one operation, shared by all threads.
#[derive(Debug)]
pub(super) struct Account(AtomicI64);

/// The speed of the lanes of one width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Price {
    /// The largest cost of a vector, in hundredths of the library's time for one signature.
    pub(super) vector: i64,
    /// For fewer remaining signatures the library is faster than mostly idle lanes.
    pub(super) fewest: usize,
}

impl Price {
    /// The number of signatures, of `count`, that fill vectors well enough.
    fn filled(self, count: usize) -> usize {
        let last = count % LANES;
        if last < self.fewest { count - last } else { count }
    }
}

impl Account {
    pub(super) const fn new() -> Self {
        // enough for a first vector of any price, which then fills the account
        Account(AtomicI64::new(1))
    }

    /// Answers all signatures: by `in_lanes` as far as the account allows, which returns how many
    /// of its signatures it left to the library, and the others by `library`.
    pub(super) fn answer<T, U>(
        &self,
        price: Price,
        items: &[T],
        answers: &mut [U],
        in_lanes: impl Fn(&[T], &mut [U]) -> usize,
        by_library: impl Fn(&T) -> U,
    ) {
        let mut done = 0;
        while done < items.len() {
            let (items, answers) = (&items[done..], &mut answers[done..]);
            let count = price.filled(items.len().min(LANES * self.vectors(price)));
            let undecided = match count {
                0 => 0,
                _ => in_lanes(&items[..count], &mut answers[..count]),
            };
            let earned = (count - undecided) as i64 * SIGNATURE;
            let cost = count.div_ceil(LANES) as i64 * price.vector;
            // at least one signature, even when no lane may run
            let end = if count == 0 { items.len().min(LANES) } else { count };
            for (item, answer) in items[count..end].iter().zip(&mut answers[count..end]) {
                *answer = by_library(item);
            }
            self.add(end as i64 * ALLOWED + earned - cost, price);
            done += end;
        }
    }

    /// The number of vectors that may run now.
    fn vectors(&self, price: Price) -> usize {
        match self.0.load(Ordering::Relaxed) {
            ..=0 => 0,
            credit => ((credit / price.vector) as usize).clamp(1, MOST_VECTORS),
        }
    }

    fn add(&self, amount: i64, price: Price) {
        let full = price.vector * MOST_VECTORS as i64;
        let add = |credit: i64| Some(credit.saturating_add(amount).min(full));
        // the closure never refuses
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::vec;

    const PRICE: Price = Price { vector: 320, fewest: 3 };

    /// Takes `batches` of `length` signatures, of which the lanes decide `decided` in a hundred;
    /// what was spent, in hundredths of the library's time.
    fn spend(account: &Account, batches: usize, length: usize, decided: usize) -> i64 {
        let (spent, taken) = (Cell::new(0), Cell::new(0));
        let library = |_: &()| {
            spent.set(spent.get() + SIGNATURE);
            true
        };
        let lanes = |items: &[()], answers: &mut [bool]| {
            spent.set(spent.get() + items.len().div_ceil(LANES) as i64 * PRICE.vector);
            let mut undecided = 0;
            for (item, answer) in items.iter().zip(answers) {
                // spread over the lanes
                taken.set((taken.get() + 37) % 100);
                *answer = taken.get() < decided || {
                    undecided += 1;
                    library(item)
                };
            }
            undecided
        };
        for _ in 0..batches {
            let mut answers = vec![false; length];
            account.answer(PRICE, &vec![(); length], &mut answers, lanes, library);
            assert!(answers.into_iter().all(|answer| answer), "each has its answer");
        }
        spent.get()
    }

    #[test]
    fn what_no_lane_decides_costs_little_more_than_the_library() {
        let full = MOST_VECTORS as i64 * PRICE.vector;
        for length in [1, 2, 3, 4, 7, 15, 16, 17, 18, 100, 256, 1_000] {
            for decided in [0, 1, 5, 10, 20, 30, 50] {
                let account = Account::new();
                // a full account is the worst start
                spend(&account, 100, 256, 100);
                let spent = spend(&account, 3_000, length, decided);
                let alone = 3_000 * length as i64 * SIGNATURE;
                let allowed = alone * (SIGNATURE + ALLOWED) / SIGNATURE + 2 * full;
                assert!(spent <= allowed, "{length} at once, {decided} %: {spent} for {alone}");
            }
        }
    }

    #[test]
    fn ordinary_signatures_always_go_through_the_lanes() {
        for length in [3, 16, 51, 256, 1_000] {
            let account = Account::new();
            spend(&account, 10, length, 100);
            let vectors = length.div_ceil(LANES) as i64;
            assert_eq!(spend(&account, 50, length, 100), 50 * vectors * PRICE.vector);
        }
    }

    #[test]
    fn the_lanes_are_back_soon_after_an_attack() {
        let account = Account::new();
        spend(&account, 1_000, 256, 0);
        let spent = spend(&account, 10, 256, 100);
        assert!(spent < 10 * 256 * SIGNATURE / 3, "{spent}");
        assert_eq!(account.vectors(PRICE), MOST_VECTORS);
    }
}
