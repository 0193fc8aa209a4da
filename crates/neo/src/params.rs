//! Networks as data: who may sign the first block, what holds from which height on, and settings.
//!
//! A [`Protocol`] is made of a configuration file of neo-go ([`Protocol::from_yaml`]) or is built
//! in ([`Protocol::by_name`]).

mod configuration;
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

/// A network: its constants and from when its rules hold (`config.ProtocolConfiguration` of neo-go,
/// with the defaults of `core.NewBlockchain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// What people call it: `mainnet`, `testnet`, or `custom`.
    pub name: &'static str,
    /// The number that every signature covers.
    pub magic: u32,
    /// The committee until it is voted for, in the order of the configuration; the first of them
    /// are the consensus nodes.
    pub standby_committee: Vec<PublicKey>,
    /// How many of them there are from a height on; begins with height 0.
    pub committee_sizes: Vec<(u32, u32)>,
    /// How many consensus nodes there are from a height on; begins with height 0.
    pub validator_counts: Vec<(u32, u32)>,
    /// When hardforks begin.
    pub hardforks: Hardforks,
    /// GAS of the first block, in units of 10^-8.
    pub initial_gas: i64,
    /// The longest block that consensus nodes propose, in bytes. No rule of the chain.
    pub max_block_size: u32,
    /// The most system fees of a block, in units of 10^-8 GAS.
    pub max_block_system_fee: i64,
    /// Blocks that contracts can see.
    pub max_traceable_blocks: u32,
    /// The most transactions that consensus nodes put into a block. No rule of the chain.
    pub max_transactions_per_block: u16,
    /// How far ahead a transaction's last height may be.
    pub max_valid_until_block_increment: u32,
    /// Milliseconds that a block should take.
    pub milliseconds_per_block: u32,
    /// Are state roots in headers?
    pub state_root_in_header: bool,
    /// Is a block with an invalid transaction refused? neo-go stores it if not.
    pub verify_transactions: bool,
    /// The attribute of notary-assisted transactions has a fee for each key.
    pub p2p_sig_extensions: bool,
    /// May transactions have attributes of the reserved types?
    pub reserved_attributes: bool,
    /// What the first block and the native contracts begin with.
    pub genesis: GenesisSettings,
}

/// What the first block and the native contracts begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisSettings {
    /// As [`Protocol::max_traceable_blocks`]; the Policy contract begins with it at Echidna.
    pub max_traceable_blocks: u32,
    /// As [`Protocol::max_valid_until_block_increment`]; likewise.
    pub max_valid_until_block_increment: u32,
    /// As [`Protocol::milliseconds_per_block`]; likewise.
    pub milliseconds_per_block: u32,
    /// Roles (`noderoles.Role`, a number) and their nodes from the beginning, by number.
    pub roles: Vec<(u8, Vec<PublicKey>)>,
    /// A transaction of the first block.
    pub transaction: Option<GenesisTransaction>,
}

/// A transaction of the first block, which the consensus nodes send and nobody signs.
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

    /// How many members the committee has at this height.
    #[must_use]
    pub fn committee_size(&self, height: u32) -> usize {
        at_height(&self.committee_sizes, height)
    }

    /// How many consensus nodes there are at this height.
    #[must_use]
    pub fn validator_count(&self, height: u32) -> usize {
        at_height(&self.validator_counts, height)
    }

    /// Is the committee chosen anew at this height (`ShouldUpdateCommitteeAt`)?
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

    /// The account of those who sign the block after the first.
    #[must_use]
    pub fn first_consensus(&self) -> UInt160 {
        let keys = self.standby_validators();
        UInt160::of_script(&multisig_script(quorum(keys.len()), keys))
    }

    /// The account of the committee before any vote: more than a half must sign.
    #[must_use]
    pub fn standby_committee_account(&self) -> UInt160 {
        let keys = &self.standby_committee;
        UInt160::of_script(&multisig_script(keys.len() - keys.len().saturating_sub(1) / 2, keys))
    }
}

/// The number that holds at this height, of those from heights on.
fn at_height(numbers: &[(u32, u32)], height: u32) -> usize {
    let (_, number) = *numbers.iter().rev().find(|(from, _)| *from <= height).unwrap_or(&(0, 0));
    number as usize
}
