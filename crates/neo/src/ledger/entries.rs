//! Keys and values of the tables of transactions and conflicts.

use crate::execute::chain_view::VmState;
use crate::types::{UInt160, UInt256};

/// The key of a transaction that a `Conflicts` attribute names, and a signer of the naming
/// transaction.
pub(crate) fn conflict_key(other: UInt256, signer: UInt160) -> [u8; 52] {
    let mut key = [0; 52];
    key[..32].copy_from_slice(&other.0);
    key[32..].copy_from_slice(&signer.0);
    key
}

/// The block and index of a transaction, and its final VM state: 9 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub height: u32,
    pub index: u32,
    pub state: VmState,
}

impl Position {
    pub fn encode(self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[..4].copy_from_slice(&self.height.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.index.to_le_bytes());
        bytes[8] = u8::from(self.state == VmState::Fault);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (height, rest) = bytes.split_first_chunk()?;
        let (index, rest) = rest.split_first_chunk()?;
        let state = match rest {
            [0] => VmState::Halt,
            [1] => VmState::Fault,
            _ => return None,
        };
        let (height, index) = (u32::from_le_bytes(*height), u32::from_le_bytes(*index));
        Some(Self { height, index, state })
    }
}
