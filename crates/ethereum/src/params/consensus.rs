//! How the blocks before the merge are made, where a chain does it otherwise than mainnet.

use crate::U256;

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

impl Consensus {
    /// The engine, where it seals by signatures, which this program does not check.
    #[must_use]
    pub fn signed_by(self) -> Option<&'static str> {
        match self {
            Self::Work | Self::FixedDifficulty(_) => None,
            Self::Clique(_) => Some("clique"),
        }
    }
}
