//! An in-order pipeline over a fixed pool of reusable buffers.
//!
//! ```text
//!            +----------------- empty buffers ------------------+
//!            v                                                  |
//!   read ──> prepare ──> connect ──> check ──> (roots, logs) ──> commit
//!   serial   parallel    serial      parallel   tasks of a fork   serial
//! ```
//!
//! - A **serial** stage processes items one at a time, in input order. A **parallel** stage
//!   processes many items concurrently. A **fork** runs several tasks on the same item; each task
//!   gets items in order and owns its state. The next stage starts when all tasks have finished the
//!   item.
//! - Stages do not own threads. A worker picks the next ready job (see [`schedule`]), sleeps when
//!   there is none, and wakes another worker when it produces more work than it can take.
//! - **Backpressure**: the number of buffers is fixed and each is reused, so memory is bounded for
//!   any input length.
//! - A stage that returns [`Flow::Barrier`] is a barrier: it takes its next item when this one has
//!   left the last stage. [`Flow::Stop`] ends the run after an item, an error ends it before the
//!   item. All earlier items pass all stages. Of several ends, the first in input order counts,
//!   regardless of thread timing; items beyond it are returned to the pool. A caller that wants to
//!   stop the run lets one of its stages return `Stop`. A panic ends the run at once and resumes in
//!   the caller.
//! - Reading and writing wait for disks, so such a thread does not count as computing.
//!
//! [`schedule`]: crate::schedule

mod consume;
mod order;
#[cfg(test)]
mod tests;

pub use consume::{CarriesRows, Derived};
pub use order::StageOrder;

use crate::live::Live;
use crate::schedule::{Done, Flow, Job, Next, Schedule, StageKind};
use crate::times::{StageTimes, ThreadTimes, Times};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, LockResult, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

type ReadFn<'a, S, E> = dyn FnMut(&mut S) -> Result<bool, E> + Send + 'a;
type SerialFn<'a, S, E> = dyn FnMut(&mut S) -> Result<Flow, E> + Send + 'a;
type ParallelFn<'a, S> = dyn Fn(&mut S) + Sync + 'a;
type TaskFn<'a, S, E> = dyn FnMut(&S) -> Result<Flow, E> + Send + 'a;

/// The work of a stage. By the rules of the schedule, one thread at a time takes each lock.
enum Work<'a, S, E> {
    Read(Mutex<Box<ReadFn<'a, S, E>>>),
    Write(Mutex<Box<SerialFn<'a, S, E>>>),
    Serial(Mutex<Box<SerialFn<'a, S, E>>>),
    Parallel(Box<ParallelFn<'a, S>>),
    Task(Mutex<Box<TaskFn<'a, S, E>>>),
}

struct Stage<'a, S, E> {
    name: &'static str,
    work: Work<'a, S, E>,
}

impl<S, E> Stage<'_, S, E> {
    fn kind(&self) -> StageKind {
        match self.work {
            Work::Read(_) | Work::Write(_) => StageKind::Disk,
            Work::Serial(_) | Work::Task(_) => StageKind::Serial,
            Work::Parallel(_) => StageKind::Parallel,
        }
    }
}

/// A list of stages; see the module's text.
pub struct Stages<'a, S, E> {
    steps: Vec<Vec<Stage<'a, S, E>>>,
    live: Live,
}

/// One of the tasks of a fork; see [`Stages::fork`].
pub struct Task<'a, S, E>(Stage<'a, S, E>);

impl<'a, S, E> Task<'a, S, E> {
    /// A task: `work` changes its own state for each item, in order.
    pub fn new(name: &'static str, work: impl FnMut(&S) -> Result<Flow, E> + Send + 'a) -> Self {
        Self(Stage { name, work: Work::Task(Mutex::new(Box::new(work))) })
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended<S, E> {
    /// The times of stages and threads.
    pub times: Times,
    /// Items that were read and have not passed all stages, in order: those from the end of the run
    /// on.
    pub unfinished: Vec<S>,
    /// The error of the first item that has one, unless the run was stopped before it.
    pub outcome: Result<(), E>,
}

/// How many buffers keep `threads` busy: one in hand and one ready for each, and two to read into.
pub fn buffers(threads: usize) -> usize {
    threads * 2 + 2
}

impl<'a, S: Send + Sync, E: Send> Stages<'a, S, E> {
    /// Adds the first stage. `work` fills a buffer and returns true; it returns false at the end of
    /// input.
    pub fn read(
        name: &'static str,
        work: impl FnMut(&mut S) -> Result<bool, E> + Send + 'a,
    ) -> Self {
        let work = Work::Read(Mutex::new(Box::new(work)));
        Self { steps: vec![vec![Stage { name, work }]], live: Live::default() }
    }

    /// A stage for one item at a time, in the order of reading.
    #[must_use]
    pub fn serial(
        mut self,
        name: &'static str,
        work: impl FnMut(&mut S) -> Result<Flow, E> + Send + 'a,
    ) -> Self {
        self.steps.push(vec![Stage { name, work: Work::Serial(Mutex::new(Box::new(work))) }]);
        self
    }

    /// A serial stage that waits for disks.
    #[must_use]
    pub fn write(
        mut self,
        name: &'static str,
        work: impl FnMut(&mut S) -> Result<Flow, E> + Send + 'a,
    ) -> Self {
        self.steps.push(vec![Stage { name, work: Work::Write(Mutex::new(Box::new(work))) }]);
        self
    }

    /// A stage for many items at once. What it finds wrong it leaves in the item, for a serial
    /// stage to answer with an error when all items before have passed that.
    #[must_use]
    pub fn parallel(mut self, name: &'static str, work: impl Fn(&mut S) + Sync + 'a) -> Self {
        self.steps.push(vec![Stage { name, work: Work::Parallel(Box::new(work)) }]);
        self
    }

    /// Adds a fork: tasks that process an item at the same time; the next stage joins them.
    #[must_use]
    pub fn fork(mut self, tasks: Vec<Task<'a, S, E>>) -> Self {
        if !tasks.is_empty() {
            self.steps.push(tasks.into_iter().map(|task| task.0).collect());
        }
        self
    }

    /// Tells `live` what the stages do.
    #[must_use]
    pub fn watched(mut self, live: &Live) -> Self {
        self.live = live.clone();
        self
    }

    /// Passes items through the stages until the input ends or a stage ends the run. `threads` may
    /// compute at the same time, and others may wait for disks; with 0 the caller's thread does
    /// everything, one item at a time. If the system gives fewer threads, the run takes longer.
    pub fn run(self, buffers: Vec<S>, threads: usize) -> Ended<S, E> {
        let steps = self.steps.iter();
        let kinds: Vec<Vec<StageKind>> =
            steps.map(|step| step.iter().map(Stage::kind).collect()).collect();
        let schedule = Schedule::new(&kinds, buffers.len(), threads);
        let disks = kinds.iter().flatten().filter(|kind| **kind == StageKind::Disk).count();
        // the caller's is one of them
        let others = if threads == 0 { 0 } else { threads + disks - 1 };
        let names: Vec<_> = self.steps.iter().flatten().map(|stage| stage.name).collect();
        tracing::debug!(?names, threads, buffers = buffers.len(), "stages start");
        self.live.begin(&names, threads);
        let run = PipelineRun {
            live: self.live,
            began: Instant::now(),
            stages: self.steps.into_iter().flatten().collect(),
            buffers: buffers.into_iter().map(RwLock::new).collect(),
            state: Mutex::new(State { schedule, errors: vec![], panic: None }),
            wakers: (0..=others).map(|_| Condvar::new()).collect(),
        };
        let laps = thread::scope(|scope| {
            let run = &run;
            let more = |at| thread::Builder::new().spawn_scoped(scope, move || run.work(at)).ok();
            let others: Vec<_> = (1..=others).map_while(more).collect();
            let mut laps = vec![run.work(0)];
            let joined = others.into_iter().map(thread::ScopedJoinHandle::join);
            laps.extend(joined.map(|lap| lap.unwrap_or_else(|panic| resume_unwind(panic))));
            laps
        });
        let wall = run.began.elapsed();
        tracing::debug!(?wall, "stages ended");
        let times = run.times(wall, threads, &laps);
        run.end(times)
    }
}

/// State that the threads of a run share.
struct PipelineRun<'a, S, E> {
    live: Live,
    began: Instant,
    stages: Vec<Stage<'a, S, E>>,
    buffers: Vec<RwLock<S>>,
    state: Mutex<State<E>>,
    /// One for each thread.
    wakers: Vec<Condvar>,
}

struct State<E> {
    schedule: Schedule,
    /// Errors, and the items that have them.
    errors: Vec<(u64, E)>,
    panic: Option<Box<dyn Any + Send>>,
}

/// Times of a thread: busy time and items for each stage, and its lifetime.
struct Lap {
    stages: Vec<(Duration, u64)>,
    all: Duration,
}

/// A panic in a stage ends the run, and its state is not used afterwards.
fn anyway<T>(lock: LockResult<T>) -> T {
    lock.unwrap_or_else(PoisonError::into_inner)
}

impl<S: Send + Sync, E: Send> PipelineRun<'_, S, E> {
    fn lock(&self) -> MutexGuard<'_, State<E>> {
        anyway(self.state.lock())
    }

    fn wake(&self, thread: Option<usize>) {
        if let Some(thread) = thread {
            self.wakers[thread].notify_one();
        }
    }

    /// The main loop of thread `me`.
    fn work(&self, me: usize) -> Lap {
        let start = Instant::now();
        let mut stages = vec![(Duration::ZERO, 0); self.stages.len()];
        let mut state = self.lock();
        loop {
            let (next, wakes) = state.schedule.next(me);
            let job = match next {
                Next::Work(job) => job,
                Next::Sleep => {
                    while state.schedule.is_asleep(me) {
                        state = anyway(self.wakers[me].wait(state));
                    }
                    continue;
                }
                Next::Leave => {
                    drop(state);
                    self.wake(wakes);
                    return Lap { stages, all: start.elapsed() };
                }
            };
            drop(state);
            self.wake(wakes);
            let from = self.began.elapsed();
            let done = catch_unwind(AssertUnwindSafe(|| self.call(&job)));
            let (to, passed) = (self.began.elapsed(), matches!(done, Ok(Ok(Done::Passed(_)))));
            stages[job.stage].0 += to.saturating_sub(from);
            stages[job.stage].1 += u64::from(passed);
            self.live.add(job.stage, from, to);
            state = self.lock();
            self.take_back(&mut state, &job, done);
        }
    }

    /// One item through one stage.
    fn call(&self, job: &Job) -> Result<Done, E> {
        let buffer = &self.buffers[job.buffer];
        match &self.stages[job.stage].work {
            Work::Read(work) => {
                let more = anyway(work.lock())(&mut *anyway(buffer.write()))?;
                Ok(if more { Done::Passed(Flow::Continue) } else { Done::End })
            }
            Work::Serial(work) | Work::Write(work) => {
                anyway(work.lock())(&mut *anyway(buffer.write())).map(Done::Passed)
            }
            Work::Parallel(work) => {
                work(&mut *anyway(buffer.write()));
                Ok(Done::Passed(Flow::Continue))
            }
            Work::Task(work) => anyway(work.lock())(&*anyway(buffer.read())).map(Done::Passed),
        }
    }

    fn take_back(&self, state: &mut State<E>, job: &Job, done: thread::Result<Result<Done, E>>) {
        match done {
            Ok(Ok(done)) => state.schedule.done(job, done),
            Ok(Err(error)) => {
                state.errors.push((job.number, error));
                state.schedule.done(job, Done::Failed);
            }
            Err(panic) => {
                state.panic.get_or_insert(panic);
                state.schedule.abort();
            }
        }
    }

    /// The times of a run that took `all`.
    fn times(&self, all: Duration, threads: usize, laps: &[Lap]) -> Times {
        let timeline = self.live.look().timeline;
        let mut times = Times { timeline, ..Times::default() };
        for (at, stage) in self.stages.iter().enumerate() {
            let threads = if stage.kind() == StageKind::Parallel { threads.max(1) } else { 1 };
            let busy = laps.iter().map(|lap| lap.stages[at].0).sum();
            times.push(StageTimes {
                name: stage.name,
                threads: threads as u32,
                busy,
                wait: (all * threads as u32).saturating_sub(busy),
                items: laps.iter().map(|lap| lap.stages[at].1).sum(),
            });
        }
        times.threads.extend(laps.iter().map(|lap| {
            let busy = lap.stages.iter().map(|(busy, _)| *busy).sum();
            ThreadTimes { busy, idle: lap.all.saturating_sub(busy) }
        }));
        times
    }

    fn end(self, times: Times) -> Ended<S, E> {
        let State { schedule, errors, panic } = anyway(self.state.into_inner());
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        let failed = schedule.failed();
        let error = errors.into_iter().find(|(number, _)| Some(*number) == failed);
        let mut buffers: Vec<_> = self.buffers.into_iter().map(Some).collect();
        let unfinished = schedule.unfinished().filter_map(|at| buffers[at].take());
        Ended {
            times,
            unfinished: unfinished.map(|buffer| anyway(buffer.into_inner())).collect(),
            outcome: error.map_or(Ok(()), |(_, error)| Err(error)),
        }
    }
}
