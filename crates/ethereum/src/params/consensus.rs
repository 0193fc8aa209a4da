//! How the blocks before the merge are made, where a chain does it otherwise than mainnet.

use crate::{Address, U256};
use blockmill_rlp::ethereum::BftEngine;

/// Who may make a block before the merge. Under proof of stake nothing of this matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consensus {
    /// Proof of work (ethash), whose difficulty follows from the parent's.
    #[default]
    Work,
    /// Proof of work of a difficulty that never changes (Besu's and Nethermind's
    /// `fixedDifficulty`).
    FixedDifficulty(U256),
    /// Proof of authority by signers who take turns (EIP-225).
    Clique(Clique),
    /// Agreement of validators on each block (IBFT 2.0 and QBFT of Hyperledger Besu).
    Bft(Bft),
}

/// The settings of clique (EIP-225).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clique {
    /// Fewest seconds between a block and its parent.
    pub period: u64,
    /// Each block whose number is a multiple of this lists the signers. Not 0.
    pub epoch: u64,
}

impl Clique {
    /// What clients take where a setting is left out.
    pub const DEFAULT: Self = Self { period: 15, epoch: 30_000 };
}

/// The settings of IBFT 2.0 or QBFT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bft {
    /// Which of them.
    pub engine: BftEngine,
    /// Fewest seconds between a block and its parent. Not 0.
    pub period: u64,
    /// Who gets fees and rewards, where it is not the proposer.
    pub beneficiary: Option<Address>,
    /// The reward of a block, in wei.
    pub reward: U256,
}

impl Bft {
    /// Seconds between blocks where the setting is left out.
    pub const DEFAULT_PERIOD: u64 = 1;

    /// What people call the engine.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.engine {
            BftEngine::Ibft2 => "IBFT 2.0",
            BftEngine::Qbft => "QBFT",
        }
    }
}

impl Consensus {
    /// The engine, where blocks have no seals but a signature, which says who made them.
    #[must_use]
    pub fn signed_by(&self) -> Option<&'static str> {
        match self {
            Self::Work | Self::FixedDifficulty(_) | Self::Bft(_) => None,
            Self::Clique(_) => Some("clique"),
        }
    }
}
