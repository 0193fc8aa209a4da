//! The fork table of a chain, precomputed: a search over few entries finds a block's rules.

use super::{BlobParams, Config, Fork};
use crate::header::difficulty::Formula;

/// What the rules need to know about the fork that a block is under: one value for each header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkRules<'a> {
    /// The newest fork that is active.
    pub fork: Fork,
    /// Is the block under proof of stake (EIP-3675)? A header claims it with a difficulty of 0, and
    /// may where the merge can have happened; never before London.
    pub proof_of_stake: bool,
    /// Is it under London's rules or later ones?
    pub london: bool,
    /// Is it the first block of London?
    pub first_london: bool,
    /// How the difficulty follows from the parent, under proof of work.
    pub difficulty: Formula,
    /// Blob numbers, from Cancun on.
    pub blobs: Option<&'a BlobParams>,
}

/// What an entry of the schedule sets.
#[derive(Clone, Copy, Debug)]
struct Rules {
    fork: Fork,
    difficulty: Formula,
    blobs: Option<BlobParams>,
}

/// Rules that hold from a block number or a time (seconds) on, until the next entry's.
#[derive(Clone, Copy, Debug)]
struct Stage {
    since: u64,
    rules: Rules,
}

/// All rules of a chain, ordered by block number and then by time.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// At least one entry, the first at 0.
    by_number: Vec<Stage>,
    /// Forks after the merge; they need London (as in geth).
    by_time: Vec<Stage>,
    /// The first block under London, `u64::MAX` if there is none.
    london: u64,
    first_time: u64,
}

impl Schedule {
    /// Orders the forks of `config`, which must have passed its check.
    pub(super) fn new(config: &Config) -> Self {
        let frontier = Rules { fork: Fork::Frontier, difficulty: Formula::Frontier, blobs: None };
        let mut by_number = vec![Stage { since: 0, rules: frontier }];
        let mut forks: Vec<_> = config.forks_by_number().collect();
        // a merge from the beginning comes before forks that are earlier in the list
        forks.sort_by_key(|(since, _)| *since);
        let mut rules = frontier;
        for (since, fork) in forks {
            rules.fork = rules.fork.max(fork);
            rules.difficulty = formula(fork).unwrap_or(rules.difficulty);
            push(&mut by_number, Stage { since, rules });
        }
        if let Some(delays) = &config.bomb_delays {
            by_number = with_bombs(&by_number, delays);
        }
        let mut by_time = Vec::new();
        for (since, fork, blobs) in config.forks_by_time() {
            rules.fork = fork.map_or(rules.fork, |fork| rules.fork.max(fork));
            rules.blobs = blobs.or(rules.blobs);
            push(&mut by_time, Stage { since, rules });
        }
        Self {
            london: config.get("londonBlock").unwrap_or(u64::MAX),
            first_time: by_time.first().map_or(u64::MAX, |stage| stage.since),
            by_number,
            by_time,
        }
    }

    /// The newest fork that is scheduled.
    pub(super) fn newest(&self) -> Fork {
        let stages = self.by_number.iter().chain(&self.by_time);
        stages.map(|stage| stage.rules.fork).max().unwrap_or(Fork::Frontier)
    }

    /// The rules of the forks that are set by number.
    #[inline]
    fn by_number(&self, number: u64) -> &Rules {
        // the first entry begins at 0, so at least one is counted
        &self.by_number[self.by_number.partition_point(|stage| stage.since <= number) - 1].rules
    }

    /// The rules for a block of this number and time.
    #[inline]
    pub(super) fn at(&self, number: u64, time: u64) -> ForkRules<'_> {
        let rules = self.scheduled(number, time);
        ForkRules {
            fork: rules.fork,
            proof_of_stake: rules.fork >= Fork::Paris,
            london: number >= self.london,
            first_london: number == self.london,
            difficulty: rules.difficulty,
            blobs: rules.blobs.as_ref(),
        }
    }

    #[inline]
    fn scheduled(&self, number: u64, time: u64) -> &Rules {
        if time < self.first_time || number < self.london {
            return self.by_number(number);
        }
        match self.by_time.partition_point(|stage| stage.since <= time) {
            0 => self.by_number(number),
            count => &self.by_time[count - 1].rules,
        }
    }
}

/// `stages` with other delays of the difficulty bomb, each from a block on.
fn with_bombs(stages: &[Stage], delays: &[(u64, u64)]) -> Vec<Stage> {
    let borders = stages.iter().map(|stage| stage.since);
    let mut borders: Vec<u64> = borders.chain(delays.iter().map(|(since, _)| *since)).collect();
    borders.sort_unstable();
    borders.dedup();
    let at = |since: u64| {
        let stage = stages.iter().rev().find(|stage| stage.since <= since)?;
        let delay = delays.iter().rev().find(|(from, _)| *from <= since);
        let mut rules = stage.rules;
        if let Formula::Byzantium { bomb_delay } = &mut rules.difficulty {
            *bomb_delay = delay.map_or(0, |(_, blocks)| *blocks);
        }
        Some(Stage { since, rules })
    };
    borders.into_iter().filter_map(at).collect()
}

/// Appends a stage; of several at the same number or time only the newest counts.
fn push(stages: &mut Vec<Stage>, stage: Stage) {
    match stages.last_mut() {
        Some(last) if last.since == stage.since => *last = stage,
        _ => stages.push(stage),
    }
}

/// The difficulty formula that a fork brings, with the blocks by which it delays the bomb.
fn formula(fork: Fork) -> Option<Formula> {
    let bomb_delay = match fork {
        Fork::Frontier => return Some(Formula::Frontier),
        Fork::Homestead => return Some(Formula::Homestead),
        Fork::Byzantium => 3_000_000,      // EIP-649
        Fork::Constantinople => 5_000_000, // EIP-1234
        Fork::MuirGlacier => 9_000_000,    // EIP-2384
        Fork::London => 9_700_000,         // EIP-3554
        Fork::ArrowGlacier => 10_700_000,  // EIP-4345
        Fork::GrayGlacier => 11_400_000,   // EIP-5133
        _ => return None,
    };
    Some(Formula::Byzantium { bomb_delay })
}

#[cfg(test)]
mod tests {
    use crate::params::{ChainSpec, Fork};

    #[test]
    fn mainnet_forks_begin_at_their_blocks_and_times() {
        let spec = ChainSpec::by_name("mainnet").unwrap();
        let at = |number, time| spec.rules_at(number, time).fork;
        assert_eq!(at(0, 0), Fork::Frontier);
        assert_eq!(at(1_149_999, 0), Fork::Frontier);
        assert_eq!(at(1_150_000, 0), Fork::Homestead);
        assert_eq!(at(7_280_000, 0), Fork::Petersburg);
        assert_eq!(at(15_537_393, 0), Fork::GrayGlacier);
        assert_eq!(at(15_537_394, 0), Fork::Paris);
        assert_eq!(at(17_034_869, 1_681_338_454), Fork::Paris);
        assert_eq!(at(17_034_870, 1_681_338_455), Fork::Shanghai);
        assert_eq!(at(24_000_000, 1_767_747_671), Fork::Osaka);
    }

    #[test]
    fn blob_numbers_follow_the_blob_parameter_forks() {
        let spec = ChainSpec::by_name("mainnet").unwrap();
        let max = |time| spec.rules_at(23_000_000, time).blobs.map(|blobs| blobs.max);
        assert_eq!(max(1_710_338_134), None);
        assert_eq!(max(1_710_338_135), Some(6));
        assert_eq!(max(1_746_612_311), Some(9));
        assert_eq!(max(1_764_798_551), Some(9));
        assert_eq!(max(1_765_290_071), Some(15));
        assert_eq!(max(1_767_747_671), Some(21));
    }

    #[test]
    fn a_late_time_without_london_changes_nothing() {
        let spec = ChainSpec::by_name("mainnet").unwrap();
        assert_eq!(spec.rules_at(1, u64::MAX).fork, Fork::Frontier);
    }
}
