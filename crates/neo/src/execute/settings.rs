//! What of a network's configuration decides results of execution.

use crate::types::PublicKey;

/// Changes of the protocol, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Hardfork {
    Aspidochelone = 1,
    Basilisk,
    Cockatrice,
    Domovoi,
    Echidna,
    Faun,
    Gorgon,
    Huyao,
}

impl Hardfork {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Aspidochelone,
        Self::Basilisk,
        Self::Cockatrice,
        Self::Domovoi,
        Self::Echidna,
        Self::Faun,
        Self::Gorgon,
        Self::Huyao,
    ];
}

/// The settings of a network.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The network's number, part of all that is signed.
    pub magic: u32,
    /// The first block of each hardfork, in the order of [`Hardfork::ALL`].
    pub hardforks: [Option<u32>; 8],
    /// The committee as long as too few vote.
    pub standby_committee: Vec<PublicKey>,
    /// Size of the committee from heights on, in order; empty: all of the standby committee.
    pub committee_history: Vec<(u32, u32)>,
    /// How many of the committee make blocks.
    pub validators: u32,
    /// The same from heights on, in order; empty: `validators`.
    pub validators_history: Vec<(u32, u32)>,
    /// GAS of the genesis block, in units of 10^-8.
    pub initial_gas: i64,
    /// How far ahead a transaction may be valid, before Policy decides.
    pub max_valid_until_block_increment: u32,
    /// The same as it is given to Policy.
    pub genesis_valid_until_block_increment: u32,
    /// Milliseconds between blocks, as they are given to Policy.
    pub genesis_milliseconds_per_block: u32,
    /// How far back contracts see blocks, before Policy decides.
    pub max_traceable_blocks: u32,
    /// The same as it is given to Policy.
    pub genesis_traceable_blocks: u32,
    /// Keys of roles that the genesis block designates.
    pub genesis_roles: Vec<(u8, Vec<PublicKey>)>,
    /// Whether attributes of reserved numbers are valid.
    pub reserved_attributes: bool,
    /// Whether headers carry the state root.
    pub state_root_in_header: bool,
}

impl Settings {
    /// Whether a hardfork is active in block `height`.
    #[must_use]
    pub fn is_active(&self, hardfork: Hardfork, height: u32) -> bool {
        self.height_of(hardfork).is_some_and(|first| height >= first)
    }

    /// The first block of a hardfork.
    #[must_use]
    pub fn height_of(&self, hardfork: Hardfork) -> Option<u32> {
        self.hardforks[hardfork as usize - 1]
    }

    /// The last hardfork that is active in block `height`, all before it being active too.
    #[must_use]
    pub fn latest(&self, height: u32) -> Option<Hardfork> {
        let active = Hardfork::ALL.into_iter().take_while(|each| self.is_active(*each, height));
        active.last()
    }

    /// The size of the committee at a height.
    #[must_use]
    pub fn committee_size(&self, height: u32) -> usize {
        at(&self.committee_history, height).map_or(self.standby_committee.len(), |size| {
            (size as usize).min(self.standby_committee.len())
        })
    }

    /// How many of the committee make the block at a height.
    #[must_use]
    pub fn validators(&self, height: u32) -> usize {
        at(&self.validators_history, height).unwrap_or(self.validators) as usize
    }

    /// Whether the committee changes in block `height`.
    #[must_use]
    pub fn is_epoch(&self, height: u32) -> bool {
        (height as usize).is_multiple_of(self.committee_size(height).max(1))
    }
}

/// The value of the last height that is not above.
fn at(history: &[(u32, u32)], height: u32) -> Option<u32> {
    history.iter().rev().find(|(from, _)| *from <= height).map(|(_, value)| *value)
}
