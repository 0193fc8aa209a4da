//! Keys and values of the tables of transactions and of conflicts.

use crate::execute::past::Ended;
use crate::types::{UInt160, UInt256};

/// The key of a transaction that is named as conflicting, for a signer of who names it.
pub(crate) fn conflict_key(other: UInt256, signer: UInt160) -> [u8; 52] {
    let mut key = [0; 52];
    key[..32].copy_from_slice(&other.0);
    key[32..].copy_from_slice(&signer.0);
    key
}

/// Where a transaction is, and how it ended: 9 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub height: u32,
    pub index: u32,
    pub ended: Ended,
}

impl Position {
    pub fn encode(self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[..4].copy_from_slice(&self.height.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.index.to_le_bytes());
        bytes[8] = u8::from(self.ended == Ended::Fault);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (height, rest) = bytes.split_first_chunk()?;
        let (index, rest) = rest.split_first_chunk()?;
        let ended = match rest {
            [0] => Ended::Halt,
            [1] => Ended::Fault,
            _ => return None,
        };
        let (height, index) = (u32::from_le_bytes(*height), u32::from_le_bytes(*index));
        Some(Self { height, index, ended })
    }
}
