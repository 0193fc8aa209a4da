//! What a run tells while it does its work.

use serde::{Serialize, Serializer};
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
    /// The last block that the store has committed; `None` if nothing is stored, or not known.
    pub committed: Option<u64>,
    /// What the blocks did so far, where they are executed and that is counted.
    pub execution: Option<Execution>,
}

/// Declares [`Counts`]: a row for each count, with its name in Prometheus. Run records, the live
/// page and the metrics iterate over the rows, so a new count is a row and the code that adds to
/// it.
macro_rules! counts {
    ($( #[doc = $help:literal] $field:ident: $metric:literal, )+) => {
        /// Counts over executed blocks.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Counts {
            $( #[doc = $help] pub $field: u64, )+
        }

        impl Counts {
            /// All counts, in the order of the rows.
            pub fn iter(&self) -> impl Iterator<Item = Count> {
                [$( Count {
                    name: stringify!($field),
                    metric: $metric,
                    help: $help,
                    value: self.$field,
                } ),+]
                .into_iter()
            }

            /// The counts with these values by name.
            pub fn from_values(value: impl Fn(&str) -> u64) -> Self {
                Self { $( $field: value(stringify!($field)) ),+ }
            }
        }
    };
}

counts! {
    /// Transactions that were executed.
    transactions: "blockmill_transactions",
    /// Gas of executed blocks.
    gas: "blockmill_gas",
    /// Accounts that were looked up in the state.
    account_reads: "blockmill_account_reads",
    /// Slots that were looked up in the state.
    slot_reads: "blockmill_slot_reads",
    /// Instructions whose slot the machine had read before.
    slot_hits: "blockmill_slot_hits",
    /// Accounts and slots that blocks changed.
    changed: "blockmill_state_changes",
    /// Speculative transactions that were validated and committed.
    speculations_committed: "blockmill_speculations_committed",
    /// Speculative transactions that were aborted and executed again.
    speculations_aborted: "blockmill_speculations_aborted",
}

/// One of [`Counts`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Name in run records and on the live page.
    pub name: &'static str,
    /// Name in Prometheus, without the suffix `_total`.
    pub metric: &'static str,
    /// Description.
    pub help: &'static str,
    /// Value.
    pub value: u64,
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|count| (count.name, count.value)))
    }
}

/// Counts and times of executed blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Execution {
    /// Their counts.
    pub counts: Counts,
    /// What a block took in all phases.
    pub all: BlockTimes,
    /// What a block took in each of [`BLOCK_PHASES`].
    pub phases: [BlockTimes; BLOCK_PHASES.len()],
    /// The one that took longest, and how long.
    pub slowest: (u64, Duration),
    /// The last ones.
    pub recent: Recent,
}

/// What is done with an executed block: executing it; putting its changes into the tries and
/// hashing them; checking its receipts; making its record in the log of the state.
pub const BLOCK_PHASES: [&str; 4] = ["execute", "root", "receipts", "log"];

/// Bounds of the times of blocks in seconds, two to a factor of ten.
pub const BLOCK_BOUNDS: [f64; 11] =
    [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

impl Execution {
    /// Adds a block that took so long in each of [`BLOCK_PHASES`].
    pub fn took(&mut self, number: u64, phases: [Duration; BLOCK_PHASES.len()]) {
        let time = phases.iter().sum();
        self.all.took(time);
        for (times, phase) in self.phases.iter_mut().zip(phases) {
            times.took(phase);
        }
        if time > self.slowest.1 {
            self.slowest = (number, time);
        }
        self.recent.took(time);
    }
}

/// How long blocks took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockTimes {
    /// Summed over blocks and threads.
    pub busy: Duration,
    /// How many of them took at most the time in the same place of [`BLOCK_BOUNDS`], and more than
    /// the one before it; the last ones took longer than all.
    pub counts: [u64; BLOCK_BOUNDS.len() + 1],
}

impl BlockTimes {
    fn took(&mut self, time: Duration) {
        self.busy += time;
        self.counts[BLOCK_BOUNDS.partition_point(|bound| *bound < time.as_secs_f64())] += 1;
    }
}

/// The blocks that [`Recent`] keeps.
const RECENT: usize = 256;

/// What the last blocks took, a few hundred of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recent {
    seconds: [f32; RECENT],
    blocks: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self { seconds: [0.0; RECENT], blocks: 0 }
    }
}

impl Recent {
    fn took(&mut self, time: Duration) {
        self.seconds[self.blocks % RECENT] = time.as_secs_f32();
        self.blocks += 1;
    }

    /// Their times in seconds, in no order.
    pub fn seconds(&self) -> &[f32] {
        &self.seconds[..self.blocks.min(RECENT)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_their_names() {
        let counts = Counts { gas: 7, changed: 9, ..Counts::default() };
        let value = |name: &str| counts.iter().find(|it| it.name == name).map_or(0, |it| it.value);
        assert_eq!((value("gas"), value("changed"), value("slot_hits")), (7, 9, 0));
        assert_eq!(Counts::from_values(value), counts);
        let json = serde_json::to_value(counts).unwrap();
        assert_eq!((&json["gas"], json.as_object().unwrap().len()), (&7.into(), 8));
    }

    #[test]
    fn blocks_are_counted_by_the_bound_that_they_keep() {
        let mut execution = Execution::default();
        let us = Duration::from_micros;
        let all = [us(0), us(100), us(101), us(3_000_000), us(10_000_001), us(5)];
        for (number, time) in all.into_iter().enumerate() {
            execution.took(number as u64, [us(0), time, us(0), us(0)]);
        }
        let mut expected = [0; BLOCK_BOUNDS.len() + 1];
        (expected[0], expected[1], expected[9], expected[11]) = (3, 1, 1, 1);
        let sum = BlockTimes { busy: us(13_000_207), counts: expected };
        assert_eq!((execution.all, execution.phases[1]), (sum, sum));
        let idle = BlockTimes { busy: us(0), counts: [6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] };
        assert_eq!(execution.phases[0], idle);
        assert_eq!(execution.slowest, (4, us(10_000_001)));
        assert!(BLOCK_BOUNDS.is_sorted());
    }

    #[test]
    fn the_last_blocks_push_out_those_before_them() {
        let mut execution = Execution::default();
        assert!(execution.recent.seconds().is_empty());
        let ms = Duration::from_millis;
        for number in 0..RECENT as u64 + 3 {
            execution.took(number, [ms(number), ms(1), ms(0), ms(0)]);
            assert_eq!(execution.recent.seconds().len(), RECENT.min(number as usize + 1));
        }
        let mut seconds = execution.recent.seconds().to_vec();
        seconds.sort_by(f32::total_cmp);
        let most = (RECENT + 3) as f32 / 1e3;
        assert_eq!((seconds[0], seconds[RECENT - 1]), (0.004, most));
    }
}
