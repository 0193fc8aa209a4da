//! Chains as data: which rules hold from which block or time on.
//!
//! A [`ChainSpec`] is built once, from a built-in network or from a genesis.json. It gives the
//! rules that apply to a header ([`ChainSpec::rules_of`]).

mod code_size;
mod config;
mod consensus;
mod error;
pub mod genesis;
mod kept;
mod networks;
mod schedule;

pub use code_size::{CodeLimits, CodeSize};
pub use config::Config;
pub(crate) use config::SWITCHES;
pub use consensus::{Bft, Clique, Consensus};
pub use error::SpecError;
pub use kept::{
    KEPT_FILES, KeptError, Reached, expect_same_rules, keep_in, kept_in, kept_without_sum,
};
pub use schedule::ForkRules;

use crate::header::{Header, HeaderView};
use crate::{Address, Hash, U256};
use genesis::{Alloc, Genesis, GenesisAccount};
use schedule::Schedule;
use std::path::Path;

/// The forks that change a header rule or the execution, oldest first.
///
/// Blob-parameter forks (EIP-7892) are not among them: they change numbers only, see [`ForkRules`].
/// The fork of the DAO is a property of a chain: see [`DaoFork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fork {
    /// The first rules (Yellow Paper, 2015).
    Frontier,
    /// EIP-606: new difficulty formula.
    Homestead,
    /// EIP-608: gas prices.
    TangerineWhistle,
    /// EIP-607: replay protection, state clearing.
    SpuriousDragon,
    /// EIP-609: difficulty counts ommers.
    Byzantium,
    /// EIP-1013: bomb delay.
    Constantinople,
    /// EIP-1716: Constantinople without EIP-1283.
    Petersburg,
    /// EIP-1679.
    Istanbul,
    /// EIP-2387: bomb delay.
    MuirGlacier,
    /// EIP-2070.
    Berlin,
    /// Base fee (EIP-1559) and bomb delay (EIP-3554).
    London,
    /// EIP-4345: bomb delay.
    ArrowGlacier,
    /// EIP-5133: bomb delay.
    GrayGlacier,
    /// EIP-3675: proof of stake.
    Paris,
    /// Withdrawals (EIP-4895).
    Shanghai,
    /// Blobs (EIP-4844) and beacon roots (EIP-4788).
    Cancun,
    /// Execution requests (EIP-7685), more blobs (EIP-7691).
    Prague,
    /// Blob reserve price (EIP-7918) and blob-parameter forks (EIP-7892).
    Osaka,
    /// Block access lists (EIP-7928) and slot numbers (EIP-7843).
    Amsterdam,
}

impl Fork {
    /// Every fork, in order.
    pub const ALL: [Self; Self::Amsterdam as usize + 1] = [
        Self::Frontier,
        Self::Homestead,
        Self::TangerineWhistle,
        Self::SpuriousDragon,
        Self::Byzantium,
        Self::Constantinople,
        Self::Petersburg,
        Self::Istanbul,
        Self::MuirGlacier,
        Self::Berlin,
        Self::London,
        Self::ArrowGlacier,
        Self::GrayGlacier,
        Self::Paris,
        Self::Shanghai,
        Self::Cancun,
        Self::Prague,
        Self::Osaka,
        Self::Amsterdam,
    ];
}

/// How many blobs a block may carry, and how fast their price moves (EIP-7840).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobParams {
    /// Blobs per block at which the price stays the same.
    pub target: u64,
    /// Most blobs in a block; at least 1 and at least the target.
    pub max: u64,
    /// Slowness of the price: an excess of this many units of gas multiplies it by e. Not 0.
    pub base_fee_update_fraction: u64,
}

impl BlobParams {
    /// EIP-4844, from Cancun on.
    pub const CANCUN: Self = Self { target: 3, max: 6, base_fee_update_fraction: 3_338_477 };
    /// EIP-7691, from Prague on.
    pub const PRAGUE: Self = Self { target: 6, max: 9, base_fee_update_fraction: 5_007_716 };
}

/// The fork of 2016 over the DAO's ether (EIP-779), marked in the extra data of ten blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaoFork {
    /// The first block of the fork.
    pub block: u64,
    /// Whether this chain took the fork's side.
    pub support: bool,
}

/// The change from proof of work to proof of stake (EIP-3675).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// Proof of work ends with the first block whose total difficulty reaches this.
    pub terminal_total_difficulty: U256,
    /// The first block under proof of stake is not before this one.
    pub earliest: u64,
    /// The first block under proof of stake is this one or an earlier one; `u64::MAX` when only
    /// the total difficulty decides.
    pub latest: u64,
}

/// A chain: its name, its first block, and its rules.
#[derive(Clone, Debug)]
pub struct ChainSpec {
    /// What people call it, e.g. "mainnet".
    pub name: String,
    /// The number that transactions sign (EIP-155).
    pub chain_id: U256,
    /// The DAO fork, where the chain has a side in it.
    pub dao: Option<DaoFork>,
    /// The merge, where there is one.
    pub merge: Option<Merge>,
    /// Where deposits to the beacon chain are made (EIP-6110).
    pub deposit_contract: Address,
    /// Most bytes of code.
    pub code_size: CodeSize,
    /// How the blocks before the merge are made.
    pub consensus: Consensus,
    /// Block 0 and the state that it begins with.
    pub genesis: Genesis,
    schedule: Schedule,
}

impl ChainSpec {
    /// The names that [`ChainSpec::by_name`] knows.
    pub const NETWORKS: [&'static str; 4] = ["mainnet", "sepolia", "holesky", "hoodi"];

    /// A built-in network by its name.
    pub fn by_name(name: &str) -> Option<Self> {
        networks::ALL.iter().find(|network| network.name == name).map(networks::Network::spec)
    }

    /// The built-in network that begins with this block.
    pub fn by_genesis_hash(hash: &Hash) -> Option<Self> {
        Self::NETWORKS
            .iter()
            .filter_map(|name| Self::by_name(name))
            .find(|s| s.genesis.hash == *hash)
    }

    /// A chain from the text of a genesis.json as geth reads it.
    ///
    /// The state root is computed from `alloc`. Two things differ from geth: a missing
    /// `blobSchedule` entry for Cancun or Prague takes the numbers of EIP-4844 and EIP-7691, and
    /// an entry for another fork is obeyed (EIP-7840) where geth passes over it.
    ///
    /// Errors: no valid JSON, a missing or malformed field, forks out of order, blob numbers that
    /// make no sense, a feature that is not supported (Aura, forks after Amsterdam).
    pub fn from_genesis_json(text: &str) -> Result<Self, SpecError> {
        let (config, fields, alloc) = genesis::from_json(text)?;
        Self::new("custom", &config, &fields, alloc)
    }

    /// The chain of a genesis.json, with these accounts, ordered by address, for its `alloc`, and
    /// this state root, which is not compared with them here.
    ///
    /// # Errors
    /// As [`ChainSpec::from_genesis_json`].
    pub(crate) fn with_accounts(
        text: &str,
        accounts: Vec<GenesisAccount>,
        state_root: Hash,
    ) -> Result<Self, SpecError> {
        let (config, fields, _) = genesis::from_json(text)?;
        Self::new("custom", &config, &fields, Alloc::Stated { accounts, state_root })
    }

    /// The chain of a genesis.json that begins with the block of this header, which was verified
    /// before. Its accounts stay in the file until they are asked for, and are compared with the
    /// header's state root then. `None` if the file begins with another block, or cannot be read
    /// without its accounts.
    pub fn behind_genesis(path: &Path, header: &[u8]) -> Option<Self> {
        genesis::known::behind(path, header)
    }

    /// A chain from its parts; the genesis header is made as geth makes it. Errors: forks out of
    /// order, blob numbers that make no sense.
    pub fn new(
        name: &str,
        config: &Config,
        genesis: &Header,
        alloc: Alloc,
    ) -> Result<Self, SpecError> {
        config.check()?;
        Ok(Self::unchecked(name, config, genesis, alloc))
    }

    /// [`ChainSpec::new`] for a configuration that has passed its check.
    fn unchecked(name: &str, config: &Config, genesis: &Header, alloc: Alloc) -> Self {
        let schedule = Schedule::new(config);
        let ForkRules { london, fork, .. } = schedule.at(genesis.number, genesis.timestamp);
        Self {
            name: name.into(),
            chain_id: config.chain_id,
            dao: config.dao(),
            merge: config.merge(),
            deposit_contract: config.deposit_contract,
            code_size: config.code_size,
            consensus: config.consensus,
            genesis: Genesis::new(genesis, alloc, london, fork),
            schedule,
        }
    }

    /// Whether this is a built-in network for which no date of a fork is known.
    #[must_use]
    pub fn has_no_date(&self, fork: Fork) -> bool {
        Self::NETWORKS.contains(&&*self.name) && self.schedule.newest() < fork
    }

    /// The rules for a block of this number and time (seconds), as scheduled.
    ///
    /// Where only the total difficulty decides about the merge, blocks between the merge and the
    /// next fork count as before it: see [`ChainSpec::rules_of`].
    #[inline]
    pub fn rules_at(&self, number: u64, time: u64) -> ForkRules<'_> {
        self.schedule.at(number, time)
    }

    /// The rules for a header: as scheduled, and at least Paris where it claims proof of stake and
    /// may.
    #[inline]
    pub fn rules_of(&self, header: &HeaderView<'_>) -> ForkRules<'_> {
        let scheduled = self.rules_at(header.number, header.timestamp);
        let proof_of_stake = header.difficulty.is_zero()
            && scheduled.london
            && self.merge.is_some_and(|merge| header.number >= merge.earliest);
        let fork = if proof_of_stake { scheduled.fork.max(Fork::Paris) } else { scheduled.fork };
        ForkRules { fork, proof_of_stake, ..scheduled }
    }
}
