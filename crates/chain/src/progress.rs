//! What a run tells while it does its work.

use std::time::Duration;

/// How far a run has come; reported after each batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Number or height of the last block that was verified.
    pub number: u64,
    /// Blocks so far in this run.
    pub blocks: u64,
    /// Bytes of the archive so far; of a chain in any order those of its blocks up to this one,
    /// those of earlier runs included.
    pub bytes: u64,
    /// Bytes that there are, where that is known better than by the size of the files.
    pub total_bytes: Option<u64>,
    /// The last block that the store has committed; none where nothing is stored, or not known.
    pub committed: Option<u64>,
    /// What the blocks did so far, where they are executed and that is counted.
    pub execution: Option<Execution>,
}

/// What executed blocks did and took, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Execution {
    /// Their transactions.
    pub transactions: u64,
    /// The gas that these used.
    pub gas: u64,
    /// Accounts that were looked up in the state.
    pub account_reads: u64,
    /// Slots that were looked up in it.
    pub slot_reads: u64,
    /// Instructions whose slot the machine had read before.
    pub slot_hits: u64,
    /// Accounts and slots that they changed.
    pub changed: u64,
    /// What they took, summed over blocks and threads.
    pub busy: Duration,
    /// How many of them took at most the time in the same place of [`BLOCK_BOUNDS`], and more than
    /// the one before it; the last ones took longer than all.
    pub by_time: [u64; BLOCK_BOUNDS.len() + 1],
    /// The one that took longest, and how long.
    pub slowest: (u64, Duration),
}

/// Bounds of the times of blocks in seconds, two to a factor of ten.
pub const BLOCK_BOUNDS: [f64; 11] =
    [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

impl Execution {
    /// Adds a block that took so long.
    pub fn took(&mut self, number: u64, time: Duration) {
        self.busy += time;
        self.by_time[BLOCK_BOUNDS.partition_point(|bound| *bound < time.as_secs_f64())] += 1;
        if time > self.slowest.1 {
            self.slowest = (number, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_by_the_bound_that_they_keep() {
        let mut execution = Execution::default();
        let us = Duration::from_micros;
        for (number, time) in
            [us(0), us(100), us(101), us(3_000_000), us(10_000_001), us(5)].into_iter().enumerate()
        {
            execution.took(number as u64, time);
        }
        let mut expected = [0; BLOCK_BOUNDS.len() + 1];
        (expected[0], expected[1], expected[9], expected[11]) = (3, 1, 1, 1);
        assert_eq!(execution.by_time, expected);
        assert_eq!(execution.slowest, (4, us(10_000_001)));
        assert_eq!(execution.busy, us(13_000_207));
        assert!(BLOCK_BOUNDS.is_sorted());
    }
}
