//! Busy and waiting time of a stage.

use std::time::{Duration, Instant};

/// Runs from the start of a stage's thread to its end. What it did not wait, it was busy.
#[derive(Clone, Copy, Debug)]
pub struct StageClock {
    start: Instant,
    /// Items that passed.
    pub items: u64,
    /// Bytes that passed.
    pub bytes: u64,
}

/// Sums over the threads of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Threads that worked in the stage.
    pub threads: u32,
    /// Time not spent waiting.
    pub busy: Duration,
    /// Time spent waiting for the stages before and after.
    pub wait: Duration,
    /// Items that passed.
    pub items: u64,
    /// Bytes that passed.
    pub bytes: u64,
}

impl StageClock {
    /// Starts now.
    pub fn start() -> Self {
        Self { start: Instant::now(), items: 0, bytes: 0 }
    }

    /// Stops now; `waited` comes from the queues that the thread used.
    pub fn stop(self, waited: Duration) -> StageTimes {
        StageTimes {
            threads: 1,
            busy: self.start.elapsed().saturating_sub(waited),
            wait: waited,
            items: self.items,
            bytes: self.bytes,
        }
    }
}

impl StageTimes {
    /// Adds the times of another thread of the same stage.
    pub fn add(&mut self, other: Self) {
        self.threads += other.threads;
        self.busy += other.busy;
        self.wait += other.wait;
        self.items += other.items;
        self.bytes += other.bytes;
    }
}
