//! The crew keeps order, settles, stops, and hands back what it could not finish.

use super::*;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
struct Slot {
    number: u64,
    prepared: bool,
    before: u64,
    checked: bool,
}

/// Numbers pass through; `connect` sums what came before, which only works in order.
fn numbers(
    threads: usize,
    count: u64,
    how: impl Fn(u64) -> Connected + Sync,
    fails: impl Fn(u64) -> bool + Sync,
) -> (Vec<u64>, Ended<Slot, String>) {
    let (mut next, mut sum) = (0, 0);
    let mut finished = vec![];
    let connected = AtomicU64::new(0);
    let ended = crew(
        (0..threads * 2 + 2).map(|_| Slot::default()).collect(),
        threads,
        Phases {
            read: |slot: &mut Slot| {
                *slot = Slot { number: next, ..Slot::default() };
                next += 1;
                if next > count { Err(format!("end at {count}")) } else { Ok(true) }
            },
            prepare: |slot: &mut Slot| {
                if slot.number.is_multiple_of(3) {
                    thread::yield_now();
                }
                slot.prepared = true;
            },
            connect: |slot: &mut Slot| {
                assert!(slot.prepared);
                slot.before = sum;
                sum += slot.number;
                connected.fetch_add(1, Ordering::SeqCst);
                how(slot.number)
            },
            check: |slot: &mut Slot| {
                if slot.number.is_multiple_of(5) {
                    thread::yield_now();
                }
                slot.checked = true;
            },
            finish: |slot: &mut Slot| {
                assert!(slot.checked);
                assert_eq!(slot.before, slot.number * slot.number.saturating_sub(1) / 2);
                if how(slot.number) == Connected::Settle {
                    assert_eq!(connected.load(Ordering::SeqCst), slot.number + 1, "ran ahead");
                }
                if fails(slot.number) {
                    return Err(format!("bad {}", slot.number));
                }
                finished.push(slot.number);
                Ok(())
            },
        },
    );
    (finished, ended)
}

#[test]
fn order_is_kept_and_an_error_of_reading_comes_last() {
    for threads in [0, 1, 2, 3, 8] {
        let (finished, ended) = numbers(threads, 1000, |_| Connected::Continue, |_| false);
        assert_eq!(finished, (0..1000).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(ended.outcome, Err("end at 1000".into()));
        assert!(ended.unfinished.is_empty());
        assert_eq!(ended.times.finish.items, 1000);
    }
}

#[test]
fn nothing_is_connected_ahead_of_a_buffer_that_settles() {
    let how = |n: u64| if n.is_multiple_of(7) { Connected::Settle } else { Connected::Continue };
    for threads in [0, 1, 2, 5] {
        let (finished, _) = numbers(threads, 500, how, |_| false);
        assert_eq!(finished.len(), 500, "{threads} threads");
    }
}

#[test]
fn what_was_connected_before_a_stop_is_finished() {
    let how = |n: u64| if n == 123 { Connected::Stop } else { Connected::Continue };
    for threads in [0, 1, 2, 5] {
        let (finished, ended) = numbers(threads, u64::MAX, how, |_| false);
        assert_eq!(finished, (0..=123).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(ended.outcome, Ok(()));
        assert!(ended.unfinished.is_empty());
    }
}

#[test]
fn connected_buffers_come_back_when_finishing_fails() {
    for threads in [0, 1, 2, 5] {
        let (finished, ended) = numbers(threads, u64::MAX, |_| Connected::Continue, |n| n == 50);
        assert_eq!(finished, (0..50).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(ended.outcome, Err("bad 50".into()));
        let back: Vec<u64> = ended.unfinished.iter().map(|slot| slot.number).collect();
        let end = 50 + back.len() as u64;
        assert!(end > 50, "the failed one is among them");
        assert_eq!(back, (50..end).collect::<Vec<_>>(), "{threads} threads");
    }
}

#[test]
#[should_panic(expected = "broken")]
fn a_panic_reaches_the_caller() {
    numbers(
        3,
        u64::MAX,
        |n| if n == 40 { panic!("broken") } else { Connected::Continue },
        |_| false,
    );
}
