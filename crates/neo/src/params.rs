//! Networks as data: committee, hardforks and settings.
//!
//! A [`Protocol`] is read from a configuration file of neo-go ([`Protocol::from_yaml`]) or is built
//! in ([`Protocol::by_name`]).

mod configuration;
mod csharp;
mod genesis;
mod hardfork;
mod kept;
mod unique;
mod values;
mod yaml;

pub use configuration::{Configuration, Difference};
pub use hardfork::{Hardfork, Hardforks};
pub use yaml::ConfigError;

use crate::types::{PublicKey, UInt160};
use crate::witness::{multisig_script, quorum};

/// A network: its constants and the heights of its rules (`config.ProtocolConfiguration` of neo-go,
/// with the defaults of `core.NewBlockchain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Its name: `mainnet`, `testnet`, or `custom`.
    pub name: &'static str,
    /// The number that every signature covers.
    pub magic: u32,
    /// The standby committee, in the order of the configuration. The first members are the
    /// consensus nodes.
    pub standby_committee: Vec<PublicKey>,
    /// Size of the committee from a height on; begins with height 0.
    pub committee_sizes: Vec<(u32, u32)>,
    /// Number of consensus nodes from a height on; begins with height 0.
    pub validator_counts: Vec<(u32, u32)>,
    /// Heights of the hardforks.
    pub hardforks: Hardforks,
    /// GAS of the first block, in units of 10^-8.
    pub initial_gas: i64,
    /// Size limit of blocks that consensus nodes propose, in bytes. Not a rule of the chain.
    pub max_block_size: u32,
    /// Limit of the system fees of a block, in units of 10^-8 GAS.
    pub max_block_system_fee: i64,
    /// Number of latest blocks that contracts can read.
    pub max_traceable_blocks: u32,
    /// Limit of transactions that consensus nodes put into a block. Not a rule of the chain.
    pub max_transactions_per_block: u16,
    /// Limit of the distance to a transaction's last valid height.
    pub max_valid_until_block_increment: u32,
    /// Target time between blocks in milliseconds.
    pub milliseconds_per_block: u32,
    /// Whether headers have state roots.
    pub state_root_in_header: bool,
    /// Whether a block with an invalid transaction is rejected. Otherwise neo-go stores it.
    pub verify_transactions: bool,
    /// Whether the attribute of notary-assisted transactions has a fee for each key.
    pub p2p_sig_extensions: bool,
    /// Whether transactions may have attributes of the reserved types.
    pub reserved_attributes: bool,
    /// Initial values of the genesis block and the native contracts.
    pub genesis: GenesisSettings,
}

/// Initial values of the genesis block and the native contracts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisSettings {
    /// Initial [`Protocol::max_traceable_blocks`] of the Policy contract, at Echidna.
    pub max_traceable_blocks: u32,
    /// Initial [`Protocol::max_valid_until_block_increment`] of the Policy contract, at Echidna.
    pub max_valid_until_block_increment: u32,
    /// Initial [`Protocol::milliseconds_per_block`] of the Policy contract, at Echidna.
    pub milliseconds_per_block: u32,
    /// Initial nodes of each role (`noderoles.Role`), by the number of the role.
    pub roles: Vec<(u8, Vec<PublicKey>)>,
    /// The transaction of the genesis block, if there is one.
    pub transaction: Option<GenesisTransaction>,
}

/// The transaction of the genesis block: sent by the consensus nodes, without signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisTransaction {
    /// Its script.
    pub script: Vec<u8>,
    /// Its system fee, in units of 10^-8 GAS.
    pub system_fee: i64,
}

const MAINNET: &str = include_str!("../networks/mainnet.yml");
const TESTNET: &str = include_str!("../networks/testnet.yml");

impl Protocol {
    /// The names that [`Protocol::by_name`] knows.
    pub const NETWORKS: [&'static str; 2] = ["mainnet", "testnet"];
    /// neo-go's default of [`Protocol::max_block_size`].
    pub(crate) const MAX_BLOCK_SIZE: u32 = 262_144;
    /// neo-go's default of [`Protocol::max_transactions_per_block`].
    pub(crate) const MAX_TRANSACTIONS_PER_BLOCK: u16 = 512;

    /// A built-in network by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let (name, text) = match name {
            "mainnet" => ("mainnet", MAINNET),
            "testnet" => ("testnet", TESTNET),
            _ => return None,
        };
        // a test reads both
        Self::from_yaml(text).ok().map(|protocol| Self { name, ..protocol })
    }

    /// The size of the committee at this height.
    #[must_use]
    pub fn committee_size(&self, height: u32) -> usize {
        at_height(&self.committee_sizes, height)
    }

    /// The number of consensus nodes at this height.
    #[must_use]
    pub fn validator_count(&self, height: u32) -> usize {
        at_height(&self.validator_counts, height)
    }

    /// Reports whether the committee is elected at this height (`ShouldUpdateCommitteeAt`).
    #[must_use]
    pub fn updates_committee_at(&self, height: u32) -> bool {
        height.is_multiple_of(self.committee_size(height).max(1) as u32)
    }

    /// The consensus nodes of the first block.
    #[must_use]
    pub fn standby_validators(&self) -> &[PublicKey] {
        let count = self.validator_count(0).min(self.standby_committee.len());
        &self.standby_committee[..count]
    }

    /// The account that signs the block after the genesis block.
    #[must_use]
    pub fn first_consensus(&self) -> UInt160 {
        let keys = self.standby_validators();
        UInt160::of_script(&multisig_script(quorum(keys.len()), keys))
    }

    /// The account of the standby committee: more than half of it must sign.
    #[must_use]
    pub fn standby_committee_account(&self) -> UInt160 {
        let keys = &self.standby_committee;
        UInt160::of_script(&multisig_script(keys.len() - keys.len().saturating_sub(1) / 2, keys))
    }
}

/// The number in effect at this height.
fn at_height(numbers: &[(u32, u32)], height: u32) -> usize {
    let (_, number) = *numbers.iter().rev().find(|(from, _)| *from <= height).unwrap_or(&(0, 0));
    number as usize
}
