//! A chain's fork switches, as geth's `config` object names them, and the checks on them.

use super::{BlobParams, CodeSize, Consensus, DaoFork, Fork, Merge};
use crate::params::SpecError;
use crate::{Address, U256};

/// One fork switch of a chain.
#[derive(Debug)]
pub(crate) struct Switch {
    /// geth's name; those that end in `Time` are times in seconds, the others block numbers.
    pub key: &'static str,
    /// The fork that begins here, if it is one of [`Fork`].
    pub fork: Option<Fork>,
    /// Whether a later fork may be set without this one.
    optional: bool,
}

const fn switch(key: &'static str, fork: Fork) -> Switch {
    Switch { key, fork: Some(fork), optional: false }
}

const fn optional(key: &'static str, fork: Option<Fork>) -> Switch {
    Switch { key, fork, optional: true }
}

/// The order in which forks must come, as geth checks it.
pub(crate) const SWITCHES: [Switch; 25] = [
    switch("homesteadBlock", Fork::Homestead),
    optional("daoForkBlock", None),
    switch("eip150Block", Fork::TangerineWhistle),
    Switch { key: "eip155Block", fork: None, optional: false },
    switch("eip158Block", Fork::SpuriousDragon),
    switch("byzantiumBlock", Fork::Byzantium),
    switch("constantinopleBlock", Fork::Constantinople),
    switch("petersburgBlock", Fork::Petersburg),
    switch("istanbulBlock", Fork::Istanbul),
    optional("muirGlacierBlock", Some(Fork::MuirGlacier)),
    switch("berlinBlock", Fork::Berlin),
    switch("londonBlock", Fork::London),
    optional("arrowGlacierBlock", Some(Fork::ArrowGlacier)),
    optional("grayGlacierBlock", Some(Fork::GrayGlacier)),
    optional("mergeNetsplitBlock", Some(Fork::Paris)),
    switch("shanghaiTime", Fork::Shanghai),
    optional("cancunTime", Some(Fork::Cancun)),
    optional("pragueTime", Some(Fork::Prague)),
    optional("osakaTime", Some(Fork::Osaka)),
    optional("bpo1Time", None),
    optional("bpo2Time", None),
    optional("amsterdamTime", Some(Fork::Amsterdam)),
    optional("bpo3Time", None),
    optional("bpo4Time", None),
    optional("bpo5Time", None),
];

impl Switch {
    /// Whether this switch is a time and not a block number.
    pub fn by_time(&self) -> bool {
        self.key.ends_with("Time")
    }

    /// The name of this fork's entry in geth's `blobSchedule`.
    pub fn blob_key(&self) -> Option<&'static str> {
        self.key.strip_suffix("Time").filter(|name| *name != "shanghai")
    }
}

/// What sets a chain's rules apart from another's: the input of [`super::ChainSpec::new`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The number that transactions sign (EIP-155).
    pub chain_id: U256,
    /// Whether the chain took the DAO fork's side; counts only when the fork is set.
    pub dao_fork_support: bool,
    /// Total difficulty that ends proof of work.
    pub terminal_total_difficulty: Option<U256>,
    /// The first block under proof of stake, where it is a matter of record.
    pub merge_block: Option<u64>,
    /// By how many blocks the difficulty bomb is delayed from a block on, in order, where the chain
    /// has its own delays instead of the delays of its forks.
    pub bomb_delays: Option<Vec<(u64, u64)>>,
    /// Where deposits to the beacon chain are made (EIP-6110).
    pub deposit_contract: Address,
    /// Most bytes of code.
    pub code_size: CodeSize,
    /// How the blocks before the merge are made.
    pub consensus: Consensus,
    /// Where each switch is set, in the order of [`SWITCHES`].
    pub(super) at: [Option<u64>; SWITCHES.len()],
    /// Blob numbers that begin with a switch, in the order of [`SWITCHES`].
    pub(super) blobs: [Option<BlobParams>; SWITCHES.len()],
}

impl Config {
    /// A chain that stays at Frontier.
    pub fn frontier(chain_id: U256) -> Self {
        Self {
            chain_id,
            dao_fork_support: false,
            terminal_total_difficulty: None,
            merge_block: None,
            bomb_delays: None,
            deposit_contract: [0; 20],
            code_size: CodeSize::default(),
            consensus: Consensus::default(),
            at: [None; SWITCHES.len()],
            blobs: [None; SWITCHES.len()],
        }
    }

    /// Sets the fork that geth calls `key` (e.g. "londonBlock", "cancunTime") to a block number
    /// or a time in seconds. False when there is no such fork.
    pub fn set(&mut self, key: &str, at: u64) -> bool {
        let index = SWITCHES.iter().position(|switch| switch.key == key);
        index.map(|index| self.at[index] = Some(at)).is_some()
    }

    /// Sets the blob numbers that begin with a fork, by its name in geth's `blobSchedule`
    /// (e.g. "cancun", "bpo1"). False when there is no such fork.
    pub fn set_blobs(&mut self, fork: &str, blobs: BlobParams) -> bool {
        let index = SWITCHES.iter().position(|switch| switch.blob_key() == Some(fork));
        index.map(|index| self.blobs[index] = Some(blobs)).is_some()
    }

    /// The block or time of a switch.
    pub(crate) fn get(&self, key: &str) -> Option<u64> {
        self.switches().find(|(switch, _)| switch.key == key).map(|(_, at)| at)
    }

    /// Sets the terminal total difficulty to 0 where it is left out and forks by time say that the
    /// chain is under proof of stake from its first block on: that block, of this difficulty and
    /// time (seconds), is under one of them, or has no difficulty (go-ethereum, `isPostMerge`).
    pub(crate) fn merge_from_genesis(&mut self, difficulty: U256, time: u64) {
        let first = self.switches().find(|(switch, _)| switch.by_time()).map(|(_, at)| at);
        let begins = first.is_some_and(|first| difficulty.is_zero() || first <= time);
        if self.terminal_total_difficulty.is_none() && begins {
            self.terminal_total_difficulty = Some(U256::ZERO);
        }
    }

    /// Sets the forks that are left out and that a later one implies, as each fork has all rules
    /// of those before it: to where the later one begins. Forks by time imply those by number
    /// where the chain is under proof of stake from its first block on.
    pub(crate) fn imply(&mut self) {
        // as in geth, Petersburg comes with Constantinople
        if self.get("petersburgBlock").is_none()
            && let Some(at) = self.get("constantinopleBlock")
        {
            self.set("petersburgBlock", at);
        }
        let from_genesis = self.terminal_total_difficulty.is_some_and(|total| total.is_zero());
        let (mut by_time, mut by_number) = (None, None);
        for (switch, at) in SWITCHES.iter().zip(&mut self.at).rev() {
            // neither says anything of the forks before it
            if ["daoForkBlock", "mergeNetsplitBlock"].contains(&switch.key) {
                continue;
            }
            let later = if switch.by_time() { &mut by_time } else { &mut by_number };
            if !switch.optional {
                *at = at.or(*later);
            }
            *later = at.or(*later);
            if by_time.is_some() && from_genesis && by_number.is_none() {
                by_number = Some(0);
            }
        }
    }

    /// The switches that are set, in order.
    fn switches(&self) -> impl Iterator<Item = (&'static Switch, u64)> + '_ {
        SWITCHES.iter().zip(&self.at).filter_map(|(switch, at)| at.map(|at| (switch, at)))
    }

    /// The forks that begin at a block number.
    pub(super) fn forks_by_number(&self) -> impl Iterator<Item = (u64, Fork)> + '_ {
        // without a block of its own, Petersburg comes with Constantinople (as in geth)
        let petersburg = self.get("petersburgBlock").is_some();
        let named = move |switch: &Switch| match switch.fork {
            Some(Fork::Constantinople) if !petersburg => Some(Fork::Petersburg),
            fork => fork,
        };
        // proof of stake needs London
        let london = self.get("londonBlock");
        let paris = self.merge().zip(london).map(|(merge, london)| merge.latest.max(london));
        self.switches()
            .filter(|(switch, _)| !switch.by_time() && switch.fork != Some(Fork::Paris))
            .filter_map(move |(switch, at)| Some((at, named(switch)?)))
            .chain(paris.filter(|&at| at < u64::MAX).map(|at| (at, Fork::Paris)))
    }

    /// The forks that begin at a time, in order, each with the blob numbers that it brings.
    pub(super) fn forks_by_time(
        &self,
    ) -> impl Iterator<Item = (u64, Option<Fork>, Option<BlobParams>)> + '_ {
        let set = SWITCHES.iter().zip(&self.at).zip(&self.blobs);
        set.filter(|((switch, _), _)| switch.by_time()).filter_map(|((switch, at), blobs)| {
            let standard = match switch.fork {
                Some(Fork::Cancun) => Some(BlobParams::CANCUN),
                Some(Fork::Prague) => Some(BlobParams::PRAGUE),
                _ => None,
            };
            Some(((*at)?, switch.fork, blobs.or(standard)))
        })
    }

    /// The chain's side in the DAO fork.
    pub(super) fn dao(&self) -> Option<DaoFork> {
        let block = self.get("daoForkBlock")?;
        Some(DaoFork { block, support: self.dao_fork_support })
    }

    /// What is known about the merge: the block itself, or a total difficulty of 0, which means
    /// from the beginning, or a netsplit block, which means by then.
    pub(super) fn merge(&self) -> Option<Merge> {
        let terminal_total_difficulty = self.terminal_total_difficulty?;
        let earliest = self.merge_block.unwrap_or(0);
        let latest = match self.merge_block.or(self.get("mergeNetsplitBlock")) {
            _ if terminal_total_difficulty.is_zero() => 0,
            block => block.unwrap_or(u64::MAX),
        };
        Some(Merge { terminal_total_difficulty, earliest, latest })
    }

    /// Checks what geth checks when it opens a chain: forks in order, none left out, blob
    /// numbers that make sense; and that a merge is set when forks after it are.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        let mut last: Option<(&Switch, Option<u64>)> = None;
        for (switch, &at) in SWITCHES.iter().zip(&self.at) {
            match (last, at) {
                (Some((before, None)), Some(_)) => {
                    return Err(SpecError::ForkLeftOut { missing: before.key, set: switch.key });
                }
                (Some((before, Some(first))), Some(at))
                    if first > at && before.by_time() == switch.by_time() =>
                {
                    return Err(SpecError::ForkOrder {
                        earlier: before.key,
                        earlier_at: first,
                        later: switch.key,
                        later_at: at,
                    });
                }
                _ => {}
            }
            if !switch.optional || at.is_some() {
                last = Some((switch, at));
            }
        }
        if self.get("shanghaiTime").is_some() && self.terminal_total_difficulty.is_none() {
            return Err(SpecError::ForkLeftOut {
                missing: "terminalTotalDifficulty",
                set: "shanghaiTime",
            });
        }
        self.check_blobs()
    }

    fn check_blobs(&self) -> Result<(), SpecError> {
        for ((switch, at), blobs) in SWITCHES.iter().zip(&self.at).zip(&self.blobs) {
            let fork = switch.key;
            match blobs {
                Some(blobs) if blobs.base_fee_update_fraction == 0 => {
                    return Err(SpecError::Blobs { fork, problem: "update fraction is 0" });
                }
                Some(blobs) if blobs.max == 0 || blobs.max < blobs.target => {
                    return Err(SpecError::Blobs { fork, problem: "max is 0 or below target" });
                }
                // a bound that no block can reach keeps the arithmetic within 64 bits
                Some(blobs) if blobs.max > u64::from(u32::MAX) => {
                    return Err(SpecError::Blobs { fork, problem: "max is above 2^32 - 1" });
                }
                None if at.is_some() && fork.starts_with("bpo") => {
                    return Err(SpecError::Blobs { fork, problem: "no entry in blobSchedule" });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(switches: &[(&str, u64)]) -> Config {
        let mut config = Config::frontier(U256::ONE);
        for (key, at) in switches {
            assert!(config.set(key, *at), "{key}");
        }
        config
    }

    #[test]
    fn rejects_forks_out_of_order() {
        let found = config(&[("homesteadBlock", 5), ("eip150Block", 4)]).check();
        assert!(matches!(
            found,
            Err(SpecError::ForkOrder { earlier: "homesteadBlock", later: "eip150Block", .. })
        ));
    }

    #[test]
    fn rejects_a_fork_without_the_one_before() {
        let found = config(&[("homesteadBlock", 0), ("eip155Block", 0)]).check();
        assert!(matches!(found, Err(SpecError::ForkLeftOut { missing: "eip150Block", .. })));
    }

    #[test]
    fn optional_forks_may_be_left_out() {
        config(&[("homesteadBlock", 0), ("eip150Block", 7)]).check().unwrap();
    }

    #[test]
    fn rejects_blob_numbers_that_divide_by_zero() {
        let mut config = config(&[]);
        let blobs = BlobParams { base_fee_update_fraction: 0, ..BlobParams::CANCUN };
        assert!(config.set_blobs("cancun", blobs));
        assert!(matches!(config.check(), Err(SpecError::Blobs { fork: "cancunTime", .. })));
    }

    #[test]
    fn petersburg_comes_with_constantinople_when_it_is_not_set() {
        let forks: Vec<_> = config(&[("byzantiumBlock", 1), ("constantinopleBlock", 2)])
            .forks_by_number()
            .collect();
        assert_eq!(forks, [(1, Fork::Byzantium), (2, Fork::Petersburg)]);
    }
}
