//! Which stage may take which item next: the state of a run, without items, threads or clocks.
//!
//! Threads ask for work one at a time, under one lock, so everything here takes a step for each
//! stage and none for each item. What can be done is looked for in this order:
//!
//! 1. serial stages, the last one first: others wait for them, and the thread that has just left
//!    such a stage is the first to ask, so the stage stays on its core while it has work;
//! 2. parallel stages and tasks of a fork, the last ones first, so that items leave before new ones
//!    come, and of these the oldest item;
//! 3. reading.
//!
//! As many threads may compute as there are permits. Stages that wait for disks need none.
//!
//! A thread that takes work wakes one sleeper if more is left to do, and that one the next: nobody
//! is woken for nothing, and no work waits while a thread sleeps.

#[cfg(test)]
pub(crate) mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// The stage that fills buffers.
pub(crate) const READ: usize = 0;

/// The kind of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// One item at a time, in order.
    Serial,
    /// A serial stage that waits for disks.
    Disk,
    /// Many items at once.
    Parallel,
}

/// The effect of an item of a serial stage on later items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next one may come.
    Continue,
    /// The next one may come into this stage when this one has left the last stage.
    Barrier,
    /// It is the last item; it and earlier ones pass all stages.
    Stop,
}

/// How a stage left an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// It moves to the next stage.
    Passed(Flow),
    /// Reading found no more items.
    End,
    /// The run ends before this item.
    Failed,
}

/// One item in one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub stage: usize,
    /// Number of the item, in the order of reading.
    pub number: u64,
    /// Where it is kept.
    pub buffer: usize,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Work(Job),
    /// Until somebody wakes it.
    Sleep,
    /// The run is over.
    Leave,
}

struct Stage {
    step: usize,
    kind: StageKind,
    /// Serial stages: is a thread in it?
    is_busy: bool,
    /// Serial stages: the number of the next item.
    next: u64,
    /// Serial stages: no item is taken until this one has left the last stage.
    barrier: Option<u64>,
    /// Parallel stages: items that wait.
    waiting: BinaryHeap<Reverse<u64>>,
}

struct Item {
    buffer: usize,
    step: usize,
    /// Stages of the step that it has yet to pass.
    left: usize,
}

pub(crate) struct Schedule {
    stages: Vec<Stage>,
    /// The stages of each step; the stages of one step process an item at the same time.
    steps: Vec<Range<usize>>,
    /// The steps in the order of their priority.
    order: Vec<usize>,
    /// Items under way, the oldest first; it has the number `first`.
    items: VecDeque<Item>,
    first: u64,
    free: Vec<usize>,
    /// How many more threads may compute.
    permits: usize,
    /// Items from this one on are not worked on any more.
    end: u64,
    /// The item whose failure ends the run.
    failed: Option<u64>,
    is_aborted: bool,
    sleepers: Vec<usize>,
}

impl Schedule {
    /// `steps` are the kinds of the stages of each step; the first step is reading. `computing`
    /// threads may be at once in stages that do not wait for disks.
    pub fn new(steps: &[Vec<StageKind>], buffers: usize, computing: usize) -> Self {
        let mut stages: Vec<Stage> = vec![];
        let mut ranges = vec![];
        for (step, kinds) in steps.iter().enumerate() {
            let start = stages.len();
            stages.extend(kinds.iter().map(|kind| Stage {
                step,
                kind: *kind,
                is_busy: false,
                next: 0,
                barrier: None,
                waiting: BinaryHeap::with_capacity(match kind {
                    StageKind::Parallel => buffers,
                    StageKind::Serial | StageKind::Disk => 0,
                }),
            }));
            ranges.push(start..stages.len());
        }
        let is_serial =
            |step: &usize| matches!(steps[*step][..], [StageKind::Serial | StageKind::Disk]);
        let later = (1..steps.len()).rev();
        let order = later.clone().filter(is_serial).chain(later.filter(|step| !is_serial(step)));
        Self {
            stages,
            steps: ranges,
            order: order.chain([READ]).collect(),
            items: VecDeque::with_capacity(buffers),
            first: 0,
            free: (0..buffers).rev().collect(),
            permits: computing.max(1),
            end: if buffers == 0 { 0 } else { u64::MAX },
            failed: None,
            is_aborted: false,
            sleepers: vec![],
        }
    }

    /// Returns what `thread` does next, and which sleeping thread it has to wake.
    pub fn next(&mut self, thread: usize) -> (Next, Option<usize>) {
        if self.is_aborted || self.first >= self.end {
            return (Next::Leave, self.sleepers.pop());
        }
        let Some((stage, number)) = self.find() else {
            self.sleepers.push(thread);
            return (Next::Sleep, None);
        };
        let job = self.start(stage, number);
        let wakes = self.find().and_then(|_| self.sleepers.pop());
        (Next::Work(job), wakes)
    }

    /// Returns whether nobody has woken `thread` since it fell asleep.
    pub fn is_asleep(&self, thread: usize) -> bool {
        self.sleepers.contains(&thread)
    }

    /// Returns an item from the thread that processed it.
    pub fn done(&mut self, job: &Job, done: Done) {
        let Job { number, .. } = *job;
        let stage = &mut self.stages[job.stage];
        stage.is_busy = false;
        if stage.kind != StageKind::Disk {
            self.permits += 1;
        }
        let flow = match done {
            Done::Passed(flow) => flow,
            Done::End | Done::Failed => {
                if number < self.end {
                    self.end = number;
                    self.failed = (done == Done::Failed).then_some(number);
                }
                return;
            }
        };
        stage.next = number + 1;
        match flow {
            Flow::Continue => {}
            Flow::Barrier => stage.barrier = Some(number),
            Flow::Stop if number < self.end => (self.end, self.failed) = (number + 1, None),
            Flow::Stop => {}
        }
        if job.stage == READ {
            self.items.push_back(Item { buffer: job.buffer, step: READ, left: 1 });
        }
        let at = self.position(number);
        self.items[at].left -= 1;
        if self.items[at].left == 0 {
            self.advance(at);
        }
    }

    /// Everybody leaves as soon as possible.
    pub fn abort(&mut self) {
        self.is_aborted = true;
    }

    /// The item whose failure ended the run.
    pub fn failed(&self) -> Option<u64> {
        self.failed
    }

    /// The buffers of items that were read and have not passed all stages, the oldest first.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.steps.len();
        self.items.iter().filter(move |item| item.step < all).map(|item| item.buffer)
    }

    /// The place of an item that is under way.
    fn position(&self, number: u64) -> usize {
        (number - self.first) as usize
    }

    /// The stage and the item that are furthest up in the order.
    fn find(&self) -> Option<(usize, u64)> {
        self.order.iter().find_map(|step| {
            let ready = |at| Some((at, self.ready(at).filter(|number| *number < self.end)?));
            self.steps[*step].clone().filter_map(ready).min_by_key(|(_, number)| *number)
        })
    }

    /// The item that `stage` may take now.
    fn ready(&self, stage: usize) -> Option<u64> {
        let it = &self.stages[stage];
        if it.kind != StageKind::Disk && self.permits == 0 {
            return None;
        }
        if it.kind == StageKind::Parallel {
            return it.waiting.peek().map(|number| number.0);
        }
        let has_come = match stage {
            READ => !self.free.is_empty(),
            _ => self.items.get(self.position(it.next)).is_some_and(|item| item.step == it.step),
        };
        let is_held = it.is_busy || it.barrier.is_some_and(|number| self.first <= number);
        (has_come && !is_held).then_some(it.next)
    }

    fn start(&mut self, stage: usize, number: u64) -> Job {
        let at = self.position(number);
        let it = &mut self.stages[stage];
        match it.kind {
            StageKind::Parallel => drop(it.waiting.pop()),
            StageKind::Serial | StageKind::Disk => it.is_busy = true,
        }
        if it.kind != StageKind::Disk {
            self.permits -= 1;
        }
        // `ready` returned true, so there is one
        let buffer = match stage {
            READ => self.free.pop().unwrap_or_default(),
            _ => self.items[at].buffer,
        };
        Job { stage, number, buffer }
    }

    /// Moves an item on to its next step, or out of the run when all before it have left.
    fn advance(&mut self, at: usize) {
        let number = self.first + at as u64;
        let item = &mut self.items[at];
        item.step += 1;
        if let Some(stages) = self.steps.get(item.step) {
            item.left = stages.len();
            for stage in &mut self.stages[stages.clone()] {
                if stage.kind == StageKind::Parallel {
                    stage.waiting.push(Reverse(number));
                }
            }
        }
        let all = self.steps.len();
        while let Some(item) = self.items.pop_front_if(|item| item.step == all) {
            self.free.push(item.buffer);
            self.first += 1;
        }
    }
}
