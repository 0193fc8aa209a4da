//! Buffers through five phases: read, prepare, connect, check, finish.
//!
//! Reading has a thread of its own, since it waits for disks. All other phases are done by a crew
//! of threads, each of which takes whatever is ready, what is furthest along first: no thread is
//! tied to a phase, so none idles while another phase has work. `prepare` and `check` run on many
//! buffers at once; `connect` and `finish` take one buffer at a time, in the order of reading.
//!
//! `connect` runs ahead of `finish`. A caller that must see both at the same buffer (to save a
//! state that holds nothing unchecked) answers [`Connected::Settle`]: the next buffer is connected
//! only when this one is finished.

mod inline;

use crate::stages::has_threads;
use crate::{StageClock, StageTimes};
use inline::inline;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a crew's phases took.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrewTimes {
    /// Reading, on its own thread.
    pub read: StageTimes,
    /// Preparing, over all threads.
    pub prepare: StageTimes,
    /// Connecting.
    pub connect: StageTimes,
    /// Checking, over all threads.
    pub check: StageTimes,
    /// Finishing.
    pub finish: StageTimes,
    /// Time in which threads of the crew had nothing to do.
    pub idle: Duration,
}

/// What comes after a buffer was connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connected {
    /// The next one.
    Continue,
    /// The next one, after this one is finished.
    Settle,
    /// None: this one and those before it are still checked and finished.
    Stop,
}

/// How a run of a crew ended.
#[derive(Debug)]
pub struct Ended<S, E> {
    /// The times of the phases.
    pub times: CrewTimes,
    /// Buffers that were connected but not finished, in order; there are none without an error.
    pub unfinished: Vec<S>,
    /// The first error of a phase. One of `read` comes after all that was read before.
    pub outcome: Result<(), E>,
}

/// The five phases; see the module's text. `read` says false at the end.
pub struct Phases<Read, Prepare, Connect, Check, Finish> {
    /// Fills a buffer.
    pub read: Read,
    /// Works on a buffer by itself.
    pub prepare: Prepare,
    /// Joins a buffer to what came before.
    pub connect: Connect,
    /// Works on a connected buffer by itself.
    pub check: Check,
    /// Takes the result.
    pub finish: Finish,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Read,
    Prepared,
    Connected,
    Checked,
    /// In the hands of a thread.
    Busy,
}

#[derive(Clone, Copy)]
enum Job {
    Prepare,
    Connect,
    Check,
    Finish,
}

struct State<S, E> {
    /// Buffers under way, in the order of reading; `slots[0]` has the number `first`.
    slots: VecDeque<(Phase, Option<S>)>,
    first: u64,
    free: Vec<S>,
    /// Number of the next buffer to connect, and whether a thread does it now.
    next: u64,
    connecting: bool,
    finishing: bool,
    /// Connect no more before everything connected is finished.
    settling: bool,
    /// Connect no more at all.
    stopped: bool,
    /// No more is read.
    ended: bool,
    /// Everybody goes home.
    over: bool,
    read_error: Option<E>,
    error: Option<E>,
    panic: Option<Box<dyn Any + Send>>,
}

impl<S, E> State<S, E> {
    /// The most advanced job that can be done now, and the position of its buffer.
    fn job(&self) -> Option<(Job, usize)> {
        let find = |phase| self.slots.iter().position(|(p, _)| *p == phase);
        if !self.finishing && self.slots.front().is_some_and(|(p, _)| *p == Phase::Checked) {
            return Some((Job::Finish, 0));
        }
        let position = (self.next - self.first) as usize;
        let held = self.connecting || self.stopped || (self.settling && position > 0);
        if !held && self.slots.get(position).is_some_and(|(p, _)| *p == Phase::Prepared) {
            return Some((Job::Connect, position));
        }
        if let Some(position) = find(Phase::Connected) {
            return Some((Job::Check, position));
        }
        // what will not be connected needs no preparing
        let prepare = if self.stopped { None } else { find(Phase::Read) };
        prepare.map(|position| (Job::Prepare, position))
    }

    /// Is nothing left to do, now or later?
    fn is_done(&self) -> bool {
        self.over
            || (self.ended && self.slots.is_empty())
            || (self.stopped && !self.connecting && self.next == self.first)
    }
}

struct Shared<S, E> {
    state: Mutex<State<S, E>>,
    changed: Condvar,
}

impl<S, E> Shared<S, E> {
    fn lock(&self) -> MutexGuard<'_, State<S, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes buffers through `phases` with a crew of `threads` (none: everything on the caller's
/// thread, one phase after the other) until reading ends, a phase stops it or fails.
pub fn crew<S: Send, E: Send>(
    buffers: Vec<S>,
    threads: usize,
    phases: Phases<
        impl FnMut(&mut S) -> Result<bool, E> + Send,
        impl Fn(&mut S) + Sync,
        impl FnMut(&mut S) -> Connected + Send,
        impl Fn(&mut S) + Sync,
        impl FnMut(&mut S) -> Result<(), E> + Send,
    >,
) -> Ended<S, E> {
    let Phases { read, prepare, connect, check, finish } = phases;
    if threads == 0 || !has_threads() {
        return inline(buffers, Phases { read, prepare, connect, check, finish });
    }
    let state = State {
        slots: VecDeque::with_capacity(buffers.len()),
        first: 0,
        free: buffers,
        next: 0,
        connecting: false,
        finishing: false,
        settling: false,
        stopped: false,
        ended: false,
        over: false,
        read_error: None,
        error: None,
        panic: None,
    };
    let shared = Shared { state: Mutex::new(state), changed: Condvar::new() };
    // one thread at a time asks for these, by the rules of `State::job`
    let (connect, finish) = (Mutex::new(connect), Mutex::new(finish));
    let mut times = thread::scope(|scope| {
        let reader = scope.spawn(|| read_loop(&shared, read));
        let work = || work_loop(&shared, &prepare, &connect, &check, &finish);
        let more = || thread::Builder::new().spawn_scoped(scope, work).ok();
        // the fewer can be had, the longer it takes
        let crew: Vec<_> = (1..threads).map_while(|_| more()).collect();
        let mut times = work();
        for thread in crew {
            add(&mut times, &thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        times.read = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
        times
    });
    times.connect.threads = 1;
    times.finish.threads = 1;
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(panic) = state.panic {
        resume_unwind(panic);
    }
    let connected = (state.next - state.first) as usize;
    let unfinished = state.slots.into_iter().take(connected).filter_map(|(_, slot)| slot).collect();
    let outcome = match state.error.or(state.read_error) {
        Some(error) => Err(error),
        None => Ok(()),
    };
    Ended { times, unfinished, outcome }
}

fn add(sum: &mut CrewTimes, other: &CrewTimes) {
    sum.prepare.add(other.prepare);
    sum.connect.add(other.connect);
    sum.check.add(other.check);
    sum.finish.add(other.finish);
    sum.idle += other.idle;
}

fn read_loop<S, E>(
    shared: &Shared<S, E>,
    mut read: impl FnMut(&mut S) -> Result<bool, E>,
) -> StageTimes {
    let mut clock = StageClock::start();
    let mut waited = Duration::ZERO;
    loop {
        let mut state = shared.lock();
        let mut buffer = loop {
            if state.over || state.stopped {
                state.ended = true;
                drop(state);
                shared.changed.notify_all();
                return clock.stop(waited);
            }
            if let Some(buffer) = state.free.pop() {
                break buffer;
            }
            let start = Instant::now();
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            waited += start.elapsed();
        };
        drop(state);
        let more = catch_unwind(AssertUnwindSafe(|| read(&mut buffer)));
        let mut state = shared.lock();
        match more {
            Ok(Ok(true)) => {
                clock.items += 1;
                state.slots.push_back((Phase::Read, Some(buffer)));
            }
            Ok(Ok(false)) => state.ended = true,
            Ok(Err(error)) => {
                state.ended = true;
                state.read_error = Some(error);
            }
            Err(panic) => {
                state.ended = true;
                state.over = true;
                state.panic = Some(panic);
            }
        }
        let ended = state.ended;
        drop(state);
        shared.changed.notify_all();
        if ended {
            return clock.stop(waited);
        }
    }
}

/// What a thread brings back from a job.
enum Done<E> {
    Prepared,
    Connected(Connected),
    Checked,
    Finished(Result<(), E>),
}

fn work_loop<S, E>(
    shared: &Shared<S, E>,
    prepare: &impl Fn(&mut S),
    connect: &Mutex<impl FnMut(&mut S) -> Connected>,
    check: &impl Fn(&mut S),
    finish: &Mutex<impl FnMut(&mut S) -> Result<(), E>>,
) -> CrewTimes {
    let one = StageTimes { threads: 1, ..StageTimes::default() };
    let mut times = CrewTimes { prepare: one, check: one, ..CrewTimes::default() };
    let mut state = shared.lock();
    loop {
        if state.is_done() {
            state.over = true;
            drop(state);
            shared.changed.notify_all();
            return times;
        }
        let taken =
            state.job().and_then(|(job, at)| state.slots[at].1.take().map(|s| (job, at, s)));
        let Some((job, position, mut slot)) = taken else {
            let start = Instant::now();
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            times.idle += start.elapsed();
            continue;
        };
        let number = state.first + position as u64;
        state.slots[position].0 = Phase::Busy;
        match job {
            Job::Connect => state.connecting = true,
            Job::Finish => state.finishing = true,
            Job::Prepare | Job::Check => {}
        }
        drop(state);
        let start = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| match job {
            Job::Prepare => {
                prepare(&mut slot);
                Done::Prepared
            }
            Job::Connect => {
                let mut connect = connect.lock().unwrap_or_else(PoisonError::into_inner);
                Done::Connected(connect(&mut slot))
            }
            Job::Check => {
                check(&mut slot);
                Done::Checked
            }
            Job::Finish => {
                let mut finish = finish.lock().unwrap_or_else(PoisonError::into_inner);
                Done::Finished(finish(&mut slot))
            }
        }));
        count(&mut times, job, start.elapsed());
        state = shared.lock();
        put_back(&mut state, number, slot, done);
        shared.changed.notify_all();
    }
}

fn count(times: &mut CrewTimes, job: Job, took: Duration) {
    let stage = match job {
        Job::Prepare => &mut times.prepare,
        Job::Connect => &mut times.connect,
        Job::Check => &mut times.check,
        Job::Finish => &mut times.finish,
    };
    stage.busy += took;
    stage.items += 1;
}

/// Takes the buffer `number` back from the thread that worked on it.
fn put_back<S, E>(state: &mut State<S, E>, number: u64, slot: S, done: thread::Result<Done<E>>) {
    // only `finish` removes a buffer, and only the first one: this one is still here
    let position = (number - state.first) as usize;
    let phase = match done {
        Ok(Done::Prepared) => Phase::Prepared,
        Ok(Done::Connected(how)) => {
            state.connecting = false;
            state.next += 1;
            state.settling = how == Connected::Settle;
            state.stopped |= how == Connected::Stop;
            Phase::Connected
        }
        Ok(Done::Checked) => Phase::Checked,
        Ok(Done::Finished(Ok(()))) => {
            state.finishing = false;
            state.slots.pop_front();
            state.first += 1;
            state.free.push(slot);
            return;
        }
        Ok(Done::Finished(Err(error))) => {
            state.error = Some(error);
            state.over = true;
            Phase::Checked
        }
        Err(panic) => {
            state.panic.get_or_insert(panic);
            state.over = true;
            Phase::Checked
        }
    };
    state.slots[position] = (phase, Some(slot));
}

#[cfg(test)]
mod tests;
