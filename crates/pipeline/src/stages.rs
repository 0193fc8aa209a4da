//! Three stages over circulating buffers: read, work, finish.
//!
//! ```text
//!            +---------- empty buffers ----------+
//!            v                                   |
//!   read (1 thread) --> work (n threads) --> finish (the caller's thread, in order)
//! ```
//!
//! The number of buffers is fixed, so memory is bounded whatever the length of the input; every
//! queue can hold all of them, so a stage waits only for work to arrive or for an empty buffer.

use crate::{Reorder, StageClock, StageTimes, queue};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// What a run of the stages took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// The reading stage.
    pub read: StageTimes,
    /// The working stage, over all its threads.
    pub work: StageTimes,
    /// The finishing stage.
    pub finish: StageTimes,
}

/// Whether the finishing stage wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on with the next buffer.
    Continue,
    /// Stop reading; everything finished so far stays.
    Stop,
}

type Numbered<S> = (u64, thread::Result<S>);

/// Passes buffers through `read`, `work` and `finish` until `read` says `false`, `finish` says
/// [`Flow::Stop`] or one of them fails. Buffers reach `finish` in the order in which they were
/// read. An error of `read` is returned after everything read before it has been finished.
///
/// With `workers == 0` all three run on the caller's thread, one after the other.
pub fn run<S: Send, E: Send>(
    mut buffers: Vec<S>,
    workers: usize,
    mut read: impl FnMut(&mut S) -> Result<bool, E> + Send,
    work: impl Fn(&mut S) + Sync,
    mut finish: impl FnMut(&mut S) -> Result<Flow, E>,
) -> (Times, Result<(), E>) {
    if workers == 0 || !has_threads() {
        return match buffers.pop() {
            Some(mut buffer) => run_inline(&mut buffer, &mut read, &work, &mut finish),
            None => (Times::default(), Ok(())),
        };
    }
    let count = buffers.len();
    let (mut give_back, empty) = queue::bounded::<S>(count);
    let (full, to_work) = queue::bounded::<(u64, S)>(count);
    let (worked, mut to_finish) = queue::bounded::<Numbered<S>>(count);
    for buffer in buffers {
        // cannot fail: the queue has room for all buffers and both ends are here
        let _ = give_back.send(buffer);
    }
    thread::scope(|scope| {
        let reader = scope.spawn(move || read_loop(empty, full, read));
        let threads: Vec<_> = (0..workers)
            .map_while(|i| {
                let (receiver, sender) = (to_work.clone(), worked.clone());
                let (work, thread) = (&work, thread::Builder::new());
                let work = move || work_loop(receiver, sender, work);
                // one there must be; the fewer can be had, the longer it takes
                if i == 0 { Some(scope.spawn(work)) } else { thread.spawn_scoped(scope, work).ok() }
            })
            .collect();
        drop((to_work, worked));

        let mut clock = StageClock::start();
        let mut order = Reorder::default();
        let mut outcome = Ok(());
        'finish: while let Some((sequence, result)) = to_finish.recv() {
            order.push(sequence, result.unwrap_or_else(|panic| resume_unwind(panic)));
            while let Some(mut buffer) = order.pop() {
                match finish(&mut buffer) {
                    Ok(Flow::Continue) => clock.items += 1,
                    Ok(Flow::Stop) => break 'finish,
                    Err(error) => {
                        outcome = Err(error);
                        break 'finish;
                    }
                }
                // the reader may have ended already
                let _ = give_back.send(buffer);
            }
        }
        let finish = clock.stop(to_finish.waited() + give_back.waited());
        drop((to_finish, give_back, order));
        let mut work = StageTimes::default();
        for thread in threads {
            work.add(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        let (read, read_outcome) = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
        (Times { read, work, finish }, outcome.and(read_outcome))
    })
}

/// Can the system give two threads more? They are asked for and let go: their stacks are kept for
/// those that follow.
pub(crate) fn has_threads() -> bool {
    let is_over = Arc::new(Barrier::new(2));
    let other = Arc::clone(&is_over);
    let waiting = thread::Builder::new().spawn(move || other.wait());
    let Ok(waiting) = waiting else { return false };
    let second = thread::Builder::new().spawn(|| ());
    is_over.wait();
    let _ = waiting.join();
    second.is_ok_and(|second| second.join().is_ok())
}

fn read_loop<S, E>(
    mut empty: queue::Receiver<S>,
    mut full: queue::Sender<(u64, S)>,
    mut read: impl FnMut(&mut S) -> Result<bool, E>,
) -> (StageTimes, Result<(), E>) {
    let mut clock = StageClock::start();
    let mut outcome = Ok(());
    while let Some(mut buffer) = empty.recv() {
        match read(&mut buffer) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
        if full.send((clock.items, buffer)).is_err() {
            break;
        }
        clock.items += 1;
    }
    (clock.stop(empty.waited() + full.waited()), outcome)
}

fn work_loop<S: Send>(
    mut receiver: queue::Receiver<(u64, S)>,
    mut sender: queue::Sender<Numbered<S>>,
    work: &(impl Fn(&mut S) + Sync),
) -> StageTimes {
    let mut clock = StageClock::start();
    while let Some((sequence, mut buffer)) = receiver.recv() {
        // a panic travels to the finishing stage, which would otherwise wait for this buffer
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut buffer))).map(|()| buffer);
        clock.items += 1;
        if sender.send((sequence, result)).is_err() {
            break;
        }
    }
    clock.stop(receiver.waited() + sender.waited())
}

fn run_inline<S, E>(
    buffer: &mut S,
    read: &mut impl FnMut(&mut S) -> Result<bool, E>,
    work: &impl Fn(&mut S),
    finish: &mut impl FnMut(&mut S) -> Result<Flow, E>,
) -> (Times, Result<(), E>) {
    let mut spent = [Duration::ZERO; 3];
    let mut items = 0;
    let outcome = loop {
        let start = Instant::now();
        let more = read(buffer);
        let read_end = Instant::now();
        spent[0] += read_end - start;
        match more {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        work(buffer);
        let work_end = Instant::now();
        spent[1] += work_end - read_end;
        let flow = finish(buffer);
        spent[2] += work_end.elapsed();
        items += 1;
        match flow {
            Ok(Flow::Continue) => {}
            Ok(Flow::Stop) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let [read, work, finish] =
        spent.map(|busy| StageTimes { threads: 1, busy, items, ..StageTimes::default() });
    (Times { read, work, finish }, outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(workers: usize, limit: u64, stop_at: u64) -> (Vec<u64>, Result<(), String>) {
        let mut next = 0;
        let mut out = vec![];
        let (_, outcome) = run(
            vec![0u64; 4],
            workers,
            |slot| {
                *slot = next;
                next += 1;
                if next > limit { Err(format!("end at {limit}")) } else { Ok(true) }
            },
            |slot| {
                if *slot % 3 == 0 {
                    thread::yield_now();
                }
                *slot *= *slot;
            },
            |slot| {
                out.push(*slot);
                Ok(if *slot >= stop_at { Flow::Stop } else { Flow::Continue })
            },
        );
        (out, outcome)
    }

    #[test]
    fn order_is_kept_with_any_number_of_workers() {
        for workers in [0, 1, 2, 3, 8] {
            let (out, outcome) = squares(workers, 1000, u64::MAX);
            assert_eq!(out, (0..1000).map(|n| n * n).collect::<Vec<_>>(), "{workers} workers");
            assert_eq!(outcome, Err("end at 1000".to_string()));
        }
    }

    #[test]
    fn stopping_early_ends_every_stage() {
        for workers in [0, 1, 4] {
            let (out, outcome) = squares(workers, u64::MAX, 100);
            assert_eq!(out.last(), Some(&100));
            assert_eq!(outcome, Ok(()));
        }
    }

    #[test]
    #[should_panic(expected = "broken worker")]
    fn a_panic_of_a_worker_reaches_the_caller() {
        let mut left = 100;
        let (_, outcome) = run(
            vec![0; 3],
            2,
            |slot| {
                *slot = left;
                left -= 1;
                Ok::<_, ()>(left > 0)
            },
            |slot| assert!(*slot != 50, "broken worker"),
            |_| Ok(Flow::Continue),
        );
        outcome.unwrap();
    }
}
