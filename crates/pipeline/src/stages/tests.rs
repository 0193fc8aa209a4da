//! Real threads: order, barriers, ends, panics, times, and the pipelines of the chains with toys
//! for stages.

use super::*;
use crate::schedule::READ;
use crate::schedule::tests::Plan;
use blockmill_testkit::Random;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs with real threads of random stages.
const RUNS: u64 = 600;

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
    how: impl Fn(u64) -> Flow + Sync,
    fails: impl Fn(u64) -> bool + Sync,
) -> (Vec<u64>, Ended<Slot, String>) {
    let (mut next, mut sum) = (0, 0);
    let mut finished = vec![];
    let connected = AtomicU64::new(0);
    let stages = Stages::read("read", |slot: &mut Slot| {
        *slot = Slot { number: next, ..Slot::default() };
        next += 1;
        if next > count { Err(format!("end at {count}")) } else { Ok(true) }
    })
    .parallel("prepare", |slot| {
        if slot.number.is_multiple_of(3) {
            thread::yield_now();
        }
        slot.prepared = true;
    })
    .serial("connect", |slot| {
        assert!(slot.prepared);
        slot.before = sum;
        sum += slot.number;
        connected.fetch_add(1, Ordering::SeqCst);
        Ok(how(slot.number))
    })
    .parallel("check", |slot| {
        if slot.number.is_multiple_of(5) {
            thread::yield_now();
        }
        slot.checked = true;
    })
    .serial("finish", |slot| {
        assert!(slot.checked);
        assert_eq!(slot.before, slot.number * slot.number.saturating_sub(1) / 2);
        if how(slot.number) == Flow::Barrier {
            assert_eq!(connected.load(Ordering::SeqCst), slot.number + 1, "ran ahead");
        }
        if fails(slot.number) {
            return Err(format!("bad {}", slot.number));
        }
        finished.push(slot.number);
        Ok(Flow::Continue)
    });
    let slots = (0..buffers(threads)).map(|_| Slot::default()).collect();
    let ended = stages.run(slots, threads);
    (finished, ended)
}

#[test]
fn order_is_kept_and_an_error_of_reading_comes_last() {
    for threads in [0, 1, 2, 3, 8] {
        let (finished, ended) = numbers(threads, 1000, |_| Flow::Continue, |_| false);
        assert_eq!(finished, (0..1000).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(ended.outcome, Err("end at 1000".into()));
        assert!(ended.unfinished.is_empty());
        let names: Vec<_> = ended.times.stages.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["read", "prepare", "connect", "check", "finish"]);
        assert!(ended.times.stages.iter().all(|stage| stage.items == 1000));
    }
}

#[test]
fn nothing_is_connected_ahead_of_a_barrier() {
    let how = |n: u64| if n.is_multiple_of(7) { Flow::Barrier } else { Flow::Continue };
    for threads in [0, 1, 2, 5] {
        let (finished, _) = numbers(threads, 500, how, |_| false);
        assert_eq!(finished.len(), 500, "{threads} threads");
    }
}

#[test]
fn what_was_connected_before_a_stop_is_finished() {
    let how = |n: u64| if n == 123 { Flow::Stop } else { Flow::Continue };
    for threads in [0, 1, 2, 5] {
        let (finished, ended) = numbers(threads, u64::MAX, how, |_| false);
        assert_eq!(finished, (0..=123).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(ended.outcome, Ok(()));
        // what was read beyond it was not connected
        assert!(ended.unfinished.iter().all(|slot| slot.number > 123 && slot.before == 0));
    }
}

#[test]
fn connected_buffers_come_back_when_finishing_fails() {
    for threads in [0, 1, 2, 5] {
        let (finished, ended) = numbers(threads, u64::MAX, |_| Flow::Continue, |n| n == 50);
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
    numbers(3, u64::MAX, |n| if n == 40 { panic!("broken") } else { Flow::Continue }, |_| false);
}

fn squares(threads: usize, limit: u64, stop_at: u64) -> (Vec<u64>, Result<(), String>) {
    let mut next = 0;
    let mut out = vec![];
    let stages = Stages::read("read", |slot| {
        *slot = next;
        next += 1;
        if next > limit { Err(format!("end at {limit}")) } else { Ok(true) }
    })
    .parallel("square", |slot: &mut u64| {
        if slot.is_multiple_of(3) {
            thread::yield_now();
        }
        *slot *= *slot;
    })
    .serial("collect", |slot| {
        out.push(*slot);
        Ok(if *slot >= stop_at { Flow::Stop } else { Flow::Continue })
    });
    let outcome = stages.run(vec![0; 4], threads).outcome;
    (out, outcome)
}

#[test]
fn order_is_kept_with_any_number_of_threads() {
    for threads in [0, 1, 2, 3, 8] {
        let (out, outcome) = squares(threads, 1000, u64::MAX);
        assert_eq!(out, (0..1000).map(|n| n * n).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(outcome, Err("end at 1000".to_string()));
    }
}

#[test]
fn stopping_early_ends_every_stage() {
    for threads in [0, 1, 4] {
        let (out, outcome) = squares(threads, u64::MAX, 100);
        assert_eq!(out.last(), Some(&100));
        assert_eq!(outcome, Ok(()));
    }
}

#[test]
#[should_panic(expected = "broken worker")]
fn a_panic_of_a_parallel_stage_reaches_the_caller() {
    let mut left = 100;
    let stages = Stages::read("read", |slot| {
        *slot = left;
        left -= 1;
        Ok::<_, ()>(left > 0)
    })
    .parallel("work", |slot| assert!(*slot != 50, "broken worker"));
    stages.run(vec![0; 3], 2).outcome.unwrap();
}

#[test]
fn a_run_without_buffers_ends_at_once() {
    let stages = Stages::read("read", |_: &mut u64| Ok::<_, ()>(true));
    let ended = stages.run(vec![], 3);
    assert_eq!((ended.outcome, ended.times.stages[0].items), (Ok(()), 0));
}

#[test]
fn times_add_up() {
    /// Whether the thread that ran longest covers half of the run. On a busy machine the end of the
    /// others may take longer than their work.
    fn covers_half(threads: usize) -> bool {
        let (_, ended) = numbers(threads, 2000, |_| Flow::Continue, |_| false);
        let Times { stages, threads: each, .. } = ended.times;
        assert_eq!(each.len(), threads + 1, "the caller's thread, and one reads");
        let wall = stages[0].busy + stages[0].wait;
        for stage in &stages {
            assert_eq!(stage.busy + stage.wait, wall * stage.threads, "{stage:?}");
        }
        let of_stages: Duration = stages.iter().map(|stage| stage.busy).sum();
        let of_threads: Duration = each.iter().map(|thread| thread.busy).sum();
        assert_eq!(of_stages, of_threads);
        assert!(each.iter().all(|thread| thread.busy + thread.idle <= wall), "{threads} threads");
        let longest = each.iter().map(|thread| thread.busy + thread.idle).max().unwrap();
        longest * 2 > wall
    }
    for threads in [0, 1, 3] {
        assert!((0..20).any(|_| covers_half(threads)), "{threads} threads");
    }
}

/// What a random run recorded of each item.
type Passed = Mutex<Vec<Vec<usize>>>;

/// The stages of `plan`, which note what passes them. A panic may come in any of them.
fn planned<'a>(plan: &'a Plan, passed: &'a Passed, panics: Option<u64>) -> Stages<'a, u64, u64> {
    let pass = move |stage: usize, number: u64| {
        let mut random = Random::new(number ^ (stage as u64) << 32);
        for _ in 0..random.below(4_u32) {
            thread::yield_now();
        }
        assert!(panics != Some(number) || stage + 1 < plan.stages(), "planned");
        let done = plan.done(stage, number);
        let mut passed = passed.lock().unwrap();
        let count = passed.len().max(number as usize + 1);
        passed.resize(count, vec![]);
        match done {
            Done::Failed => return Err(number),
            Done::Passed(_) => passed[number as usize].push(stage),
            Done::End => {}
        }
        if done != Done::End && !plan.is_parallel(stage) {
            let in_stage = passed.iter().filter(|stages| stages.contains(&stage)).count();
            assert_eq!(in_stage as u64, number + 1, "out of order");
        }
        Ok(done)
    };
    let flow = |done| match done {
        Done::Passed(flow) => flow,
        Done::End | Done::Failed => unreachable!("{done:?}"),
    };
    let mut next = 0;
    let mut stages = Stages::read("read", move |item: &mut u64| {
        *item = next;
        next += 1;
        Ok(pass(READ, *item)? != Done::End)
    });
    let mut first = 1;
    for step in &plan.steps[1..] {
        let stage = first;
        first += step.len();
        stages = match step[..] {
            [StageKind::Parallel] => stages.parallel("parallel", move |item| {
                pass(stage, *item).unwrap();
            }),
            [StageKind::Serial] => {
                stages.serial("serial", move |item| pass(stage, *item).map(flow))
            }
            [StageKind::Disk] => stages.write("write", move |item| pass(stage, *item).map(flow)),
            _ => stages.fork(
                (stage..first)
                    .map(|stage| Task::new("task", move |item| pass(stage, *item).map(flow)))
                    .collect(),
            ),
        };
    }
    stages
}

#[test]
fn random_stages_end_as_one_item_after_the_other_would() {
    let mut panicked = 0;
    for seed in 0..RUNS {
        let plan = Plan::new(seed);
        let (end, has_failed) = plan.end();
        let panics = (seed % 5 == 0).then(|| Random::new(seed).below(40));
        let passed = Passed::default();
        let run = || planned(&plan, &passed, panics).run(vec![0; plan.buffers], plan.threads);
        let ended = catch_unwind(AssertUnwindSafe(run));
        // an item of the run that panics always ends it, one beyond may be reached or not
        match (&ended, panics) {
            (Err(_), Some(_)) => panicked += 1,
            (Err(_), None) => panic!("seed {seed}"),
            (Ok(_), Some(number)) => assert!(number >= end, "seed {seed}: it did not panic"),
            (Ok(_), None) => {}
        }
        let Ok(ended) = ended else { continue };
        assert_eq!(ended.outcome, if has_failed { Err(end) } else { Ok(()) }, "seed {seed}");
        let passed = passed.into_inner().unwrap();
        let whole = passed.iter().take_while(|stages| stages.len() == plan.stages()).count();
        assert_eq!(whole as u64, end, "seed {seed}");
        assert!(ended.unfinished.is_sorted(), "seed {seed}");
        assert!(ended.unfinished.iter().all(|number| *number >= end), "seed {seed}");
    }
    assert!(panicked > RUNS / 20, "{panicked}");
}

/// A block of a toy chain: what each stage adds.
#[derive(Debug, Default)]
struct Block {
    number: u64,
    senders: u64,
    changes: u64,
    roots: Mutex<[u64; 4]>,
}

#[test]
fn execution_runs_ahead_of_roots_that_are_parallel_inside() {
    const BLOCKS: u64 = 300;
    for threads in [0, 1, 2, 4] {
        let (mut next, mut state, mut committed) = (0, 0, vec![]);
        let executed = AtomicU64::new(0);
        // each task has a part of the trie for itself
        let part = |at: usize| {
            let (mut root, executed) = (0, &executed);
            Task::new("root", move |block: &Block| {
                // where there are two threads, the other one executes the next block meanwhile
                let next = if at == 0 && threads > 1 { block.number + 2 } else { 0 };
                while executed.load(Ordering::SeqCst) < next.min(BLOCKS) {
                    thread::yield_now();
                }
                root += block.changes % (at as u64 + 2);
                block.roots.lock().unwrap()[at] = root;
                Ok(Flow::Continue)
            })
        };
        let stages = Stages::read("read", |block: &mut Block| {
            *block = Block { number: next, ..Block::default() };
            next += 1;
            Ok::<_, ()>(block.number < BLOCKS)
        })
        .parallel("senders", |block| block.senders = block.number * 3)
        .serial("execute", |block| {
            state += block.senders;
            block.changes = state;
            executed.store(block.number + 1, Ordering::SeqCst);
            Ok(Flow::Continue)
        })
        .fork((0..4).map(part).collect())
        .write("commit", |block| {
            committed.push(*block.roots.lock().unwrap());
            Ok(Flow::Continue)
        });
        let blocks = (0..buffers(threads)).map(|_| Block::default()).collect();
        let ended = stages.run(blocks, threads);
        let names: Vec<_> = ended.times.stages.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["read", "senders", "execute", "root", "commit"]);
        assert_eq!(ended.times.stages[3].threads, 4);
        let (mut state, mut roots) = (0, [0; 4]);
        for (number, found) in committed.iter().enumerate() {
            state += number as u64 * 3;
            (0..4).for_each(|at| roots[at] += state % (at as u64 + 2));
            assert_eq!(*found, roots, "{threads} threads");
        }
        assert_eq!(committed.len() as u64, BLOCKS);
    }
}

#[test]
fn tasks_with_caches_of_their_own_are_joined_by_one_commit() {
    const BLOCKS: u64 = 200;
    for threads in [0, 1, 2, 4] {
        let mut next = 0;
        let caches = ["store", "logs", "trie"].map(|name| (name, Mutex::new(BTreeMap::new())));
        let mut disk: BTreeMap<(&str, u64), u64> = BTreeMap::new();
        let task = |(name, cache): &'static (&'static str, Mutex<BTreeMap<u64, u64>>)| {
            Task::new(name, |block: &Block| {
                if block.number.is_multiple_of(7) {
                    thread::yield_now();
                }
                cache.lock().unwrap().insert(block.number, block.senders);
                // so that what the caches hold is of one block when it is committed
                Ok(if block.number % 10 == 9 { Flow::Barrier } else { Flow::Continue })
            })
        };
        let caches: &'static _ = Box::leak(Box::new(caches));
        let stages = Stages::read("read", |block: &mut Block| {
            *block = Block { number: next, ..Block::default() };
            next += 1;
            Ok::<_, ()>(block.number < BLOCKS)
        })
        .parallel("witnesses", |block| block.senders = block.number + 1)
        .fork(caches.iter().map(task).collect())
        .write("commit", |block| {
            if block.number % 10 == 9 {
                for (name, cache) in caches {
                    let mut cache = cache.lock().unwrap();
                    assert_eq!(cache.last_key_value().map(|last| *last.0), Some(block.number));
                    assert_eq!(cache.len(), 10);
                    let all = std::mem::take(&mut *cache).into_iter();
                    disk.extend(all.map(|(key, value)| ((*name, key), value)));
                }
            }
            Ok(Flow::Continue)
        });
        let blocks = (0..buffers(threads)).map(|_| Block::default()).collect();
        let ended = stages.run(blocks, threads);
        let names: Vec<_> = ended.times.stages.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["read", "witnesses", "store", "logs", "trie", "commit"]);
        assert_eq!(disk.len() as u64, 3 * BLOCKS, "{threads} threads");
        assert!(disk.iter().all(|((_, key), value)| *value == key + 1));
    }
}

#[test]
fn reading_does_not_take_a_thread_from_computing() {
    // one thread computes, and while it does another reads all that there is room for
    let read = AtomicU64::new(0);
    let mut next = 0;
    let stages = Stages::read("read", |item: &mut u64| {
        *item = next;
        next += 1;
        read.store(next, Ordering::SeqCst);
        Ok::<_, ()>(next <= 4)
    })
    .serial("wait", |item| {
        while *item == 0 && read.load(Ordering::SeqCst) < 3 {
            thread::yield_now();
        }
        Ok(Flow::Continue)
    });
    assert_eq!(stages.run(vec![0; 4], 1).outcome, Ok(()));
    assert_eq!(next, 5);
}

#[test]
fn a_request_to_stop_ends_a_run_without_an_end() {
    for threads in [0, 1, 4] {
        let cancel = crate::Cancel::new();
        let mut count = 0;
        let stages = Stages::read("read", |_: &mut u64| Ok::<_, ()>(!cancel.is_cancelled()))
            .parallel("work", |_| {})
            .serial("finish", |_| {
                count += 1;
                if count == 30 {
                    cancel.cancel();
                }
                Ok(if cancel.is_cancelled() { Flow::Stop } else { Flow::Continue })
            });
        assert_eq!(stages.run(vec![0; 6], threads).outcome, Ok(()));
        assert_eq!(count, 30, "{threads} threads");
    }
}
