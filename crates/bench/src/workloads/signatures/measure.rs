//! One measurement: threads that begin together and do the same work, each on its own signatures.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use blockmill_signatures::Signatures;

use super::operations::{Input, Operation};

/// Least number of distinct signatures of a thread: more than a CPU could learn by heart.
const DISTINCT: usize = 1024;
/// Signatures that a thread verifies before the clock starts.
const WARM_UP: usize = 32;

/// What is done in a measurement.
pub(super) struct Work {
    pub input: Input,
    /// Signatures of a batch.
    pub batch: usize,
    pub threads: usize,
    /// Batches of each thread.
    pub batches: u64,
}

/// Verifies batches; the clock starts after the barrier.
type Verify = dyn Fn(&Signatures, &Work, &Barrier) -> Turn + Send + Sync;

/// Signatures with their expected verdicts.
pub(super) struct Pool {
    count: usize,
    verify: Box<Verify>,
}

/// When a thread was at work, and whether all its verdicts were right.
struct Turn {
    began: Instant,
    ended: Instant,
    right: bool,
}

impl Pool {
    /// A pool of `checks` and their answers, verified by `verify`.
    pub fn new<T, U>(
        checks: Vec<(T, U)>,
        verify: impl Fn(&Signatures, &[T], &mut [U]) + Send + Sync + 'static,
    ) -> Self
    where
        T: Send + Sync + 'static,
        U: Clone + Default + PartialEq + Send + Sync + 'static,
    {
        let (checks, answers): (Vec<T>, Vec<U>) = checks.into_iter().unzip();
        let count = checks.len();
        let turn = move |with: &Signatures, work: &Work, start: &Barrier| {
            let size = work.batch;
            let mut found = vec![U::default(); size];
            let warm_up = size.min(WARM_UP);
            verify(with, &checks[..warm_up], &mut found[..warm_up]);
            let batches = checks.chunks_exact(size).zip(answers.chunks_exact(size)).cycle();
            let mut right = true;
            start.wait();
            let began = Instant::now();
            for (checks, answers) in batches.take(work.batches as usize) {
                found.fill(U::default());
                verify(with, black_box(checks), &mut found);
                right &= found == answers;
            }
            Turn { began, ended: Instant::now(), right }
        };
        Self { count, verify: Box::new(turn) }
    }
}

/// The signatures of one operation.
pub(super) struct Pools {
    /// For each thread.
    good: Vec<Pool>,
    undecided: [Pool; 1],
    half_undecided: [Pool; 1],
}

impl Pools {
    /// Makes signatures for so many threads and for batches of up to `largest`.
    pub fn make(operation: &Operation, threads: usize, largest: usize) -> Result<Self> {
        let count = DISTINCT.max(largest) as u64;
        let make = |thread: usize, input| {
            let first = thread as u64 * count;
            operation.make(first..first + count, input)
        };
        let good = in_threads(0..threads, |thread| make(thread, Input::Good));
        Ok(Self {
            good: good.into_iter().collect::<Result<Result<_>>>()??,
            undecided: [make(0, Input::Undecided)?],
            half_undecided: [make(0, Input::HalfUndecided)?],
        })
    }

    fn pools(&self, input: Input) -> &[Pool] {
        match input {
            Input::Good => &self.good,
            Input::Undecided => &self.undecided,
            Input::HalfUndecided => &self.half_undecided,
        }
    }

    /// The time from the first thread's begin to the last one's end.
    pub fn measure(&self, work: &Work, with: &Signatures) -> Result<Duration> {
        let pools = self.pools(work.input).iter().take(work.threads);
        // a thread that panicked before the barrier would let the others wait for ever
        let fits = |pool: &Pool| (1..=pool.count).contains(&work.batch);
        ensure!(pools.clone().all(fits), "batches of {}", work.batch);
        let start = Barrier::new(pools.len());
        let turns = in_threads(pools, |pool| (pool.verify)(with, work, &start));
        let turns = turns.into_iter().collect::<Result<Vec<Turn>>>()?;
        ensure!(turns.iter().all(|turn| turn.right), "a verdict is wrong");
        let began = turns.iter().map(|turn| turn.began).min();
        let ended = turns.iter().map(|turn| turn.ended).max();
        Ok(ended.zip(began).map_or(Duration::ZERO, |(ended, began)| ended - began))
    }

    /// Verifies all signatures of a thread once, without a clock. A variant sends signatures to the
    /// library at once after it has met many that its lanes could not decide, and the other way
    /// round: afterwards its behaviour is steady.
    pub fn warm_up(&self, work: &Work, with: &Signatures) -> Result<()> {
        let batches = (DISTINCT / work.batch).max(1) as u64;
        self.measure(&Work { threads: 1, batches, ..*work }, with).map(drop)
    }

    /// How many batches take each thread `least` or a little more, twice in a row: one measurement
    /// may be long because something else ran meanwhile.
    pub fn batches(&self, work: &Work, with: &Signatures, least: Duration) -> Result<u64> {
        let mut batches = 1;
        loop {
            let work = Work { batches, ..*work };
            let wall = self.measure(&work, with)?.min(self.measure(&work, with)?);
            if wall >= least {
                return Ok(batches);
            }
            let missing = least.as_secs_f64() / wall.as_secs_f64().max(1e-9);
            batches = ((batches as f64 * missing * 1.1) as u64).clamp(batches + 1, 1000 * batches);
        }
    }
}

/// Calls `f` for each of `of`, each on its own thread, all at once.
fn in_threads<A: Send, T: Send>(
    of: impl Iterator<Item = A>,
    f: impl Fn(A) -> T + Sync,
) -> Vec<Result<T>> {
    thread::scope(|scope| {
        let f = &f;
        let running: Vec<_> = of.map(|a| scope.spawn(move || f(a))).collect();
        let ended = running.into_iter().map(|thread| thread.join());
        ended.map(|result| result.map_err(|_| anyhow!("a thread panicked"))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Two threads' pools of numbers, of which the even ones are valid.
    fn pools(verify: impl Fn(&[u32], &mut [bool]) + Clone + Send + Sync + 'static) -> Pools {
        let pool = || {
            let verify = verify.clone();
            let checks = (0..100).map(|number| (number, number % 2 == 0)).collect();
            Pool::new(checks, move |_: &Signatures, checks: &[u32], out: &mut [bool]| {
                verify(checks, out);
            })
        };
        Pools { good: vec![pool(), pool()], undecided: [pool()], half_undecided: [pool()] }
    }

    fn work(batch: usize, threads: usize, batches: u64) -> Work {
        Work { input: Input::Good, batch, threads, batches }
    }

    #[test]
    fn every_thread_verifies_all_batches() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let pools = pools(move |checks, out| {
            if checks.len() == 40 {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            checks.iter().zip(out).for_each(|(check, valid)| *valid = check % 2 == 0);
        });
        // the warm-up is shorter than a batch
        pools.measure(&work(40, 2, 5), &Signatures::scalar()).unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 10);
    }

    type Verifier = fn(&[u32], &mut [bool]);

    #[test]
    fn a_wrong_verdict_is_an_error() {
        let all_right: Verifier = |_, out| out.fill(true);
        for verify in [all_right, |_, _| ()] {
            let error = pools(verify).measure(&work(8, 1, 1), &Signatures::scalar()).unwrap_err();
            assert_eq!(error.to_string(), "a verdict is wrong");
        }
    }

    #[test]
    fn batches_that_nobody_can_make_are_refused() {
        for batch in [0, 101] {
            let pools = pools(|_, _| ());
            assert!(pools.measure(&work(batch, 2, 1), &Signatures::scalar()).is_err());
        }
    }

    #[test]
    fn a_measurement_is_long_enough() {
        let pools = pools(|checks, out| {
            thread::sleep(Duration::from_micros(100));
            checks.iter().zip(out).for_each(|(check, valid)| *valid = check % 2 == 0);
        });
        let least = Duration::from_millis(2);
        let (work, with) = (work(10, 1, 1), Signatures::scalar());
        let batches = pools.batches(&work, &with, least).unwrap();
        assert!((2..=23).contains(&batches), "{batches}");
        assert!(pools.measure(&Work { batches: 20, ..work }, &with).unwrap() >= least);
    }
}
