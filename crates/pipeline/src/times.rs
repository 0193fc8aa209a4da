//! Where the time of a run of stages went.

use crate::timeline::Timeline;
use std::time::Duration;

/// Times of the stages and the threads of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// Each stage, in the order in which items pass them; tasks of one name are one entry.
    pub stages: Vec<StageTimes>,
    /// Each thread, the caller's first.
    pub threads: Vec<ThreadTimes>,
    /// The stages over time; of several runs, of the last that had any time.
    pub timeline: Timeline,
}

/// Times of one stage. Busy and waiting time together are the time of the run, once for each thread
/// that can be in the stage at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Its name.
    pub name: &'static str,
    /// Threads that can be in it at the same time.
    pub threads: u32,
    /// Time in it, summed over the threads.
    pub busy: Duration,
    /// Time in which those threads were not in it: it had no item, or they had other work.
    pub wait: Duration,
    /// Items that passed it.
    pub items: u64,
}

/// One thread; both together are the time that it was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// In stages.
    pub busy: Duration,
    /// In none.
    pub idle: Duration,
}

impl Times {
    /// Adds a stage after the others.
    pub(crate) fn push(&mut self, stage: StageTimes) {
        match self.stages.last_mut().filter(|last| last.name == stage.name) {
            Some(last) => {
                last.threads += stage.threads;
                last.busy += stage.busy;
                last.wait += stage.wait;
                // each item passes each of the tasks
                last.items = last.items.max(stage.items);
            }
            None => self.stages.push(stage),
        }
    }

    /// Adds the times of another run of the same stages.
    pub fn add(&mut self, other: &Self) {
        let count = self.stages.len().max(other.stages.len());
        self.stages.resize_with(count, StageTimes::default);
        for (sum, stage) in self.stages.iter_mut().zip(&other.stages) {
            sum.name = stage.name;
            sum.threads = sum.threads.max(stage.threads);
            sum.busy += stage.busy;
            sum.wait += stage.wait;
            sum.items += stage.items;
        }
        let count = self.threads.len().max(other.threads.len());
        self.threads.resize_with(count, ThreadTimes::default);
        for (sum, thread) in self.threads.iter_mut().zip(&other.threads) {
            sum.busy += thread.busy;
            sum.idle += thread.idle;
        }
        if !other.timeline.is_empty() {
            self.timeline = other.timeline.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(name: &'static str, threads: u32, busy: u64, wait: u64, items: u64) -> StageTimes {
        let (busy, wait) = (Duration::from_secs(busy), Duration::from_secs(wait));
        StageTimes { name, threads, busy, wait, items }
    }

    #[test]
    fn tasks_of_one_name_are_one_stage() {
        let mut times = Times::default();
        for stage in [seconds("read", 1, 1, 9, 7), seconds("root", 1, 4, 6, 7)] {
            times.push(stage);
        }
        times.push(seconds("root", 1, 2, 8, 6));
        assert_eq!(times.stages, [seconds("read", 1, 1, 9, 7), seconds("root", 2, 6, 14, 7)]);
    }

    #[test]
    fn runs_add_up_and_threads_do_not_multiply() {
        let mut sum = Times::default();
        let thread = ThreadTimes { busy: Duration::from_secs(3), idle: Duration::from_secs(1) };
        let one = Times {
            stages: vec![seconds("read", 2, 3, 5, 10)],
            threads: vec![thread],
            ..Times::default()
        };
        sum.add(&one);
        sum.add(&one);
        assert_eq!(sum.stages, [seconds("read", 2, 6, 10, 20)]);
        assert_eq!(sum.threads[0].busy + sum.threads[0].idle, Duration::from_secs(8));
    }
}
