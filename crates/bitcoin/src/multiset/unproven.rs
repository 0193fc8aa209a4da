//! Reasons why undo data and unspent coins are not proven.

use crate::BlockHash;
use crate::types::{OutPoint, Txid};
use blockmill_verdict::FaultReport;
use std::path::PathBuf;

/// A reason why undo data or unspent coins are wrong, or cannot be proven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The operating system's random generator failed.
    #[error("the operating system's random generator failed")]
    NoSecret,
    /// The unspent coins are not those after the chain's last block.
    #[error("unspent coins: expected those of block {expected}, found those of {found}")]
    Tip {
        /// The chain's last block.
        expected: BlockHash,
        /// The block of the coins.
        found: BlockHash,
    },
    /// Records are longer than their blocks, so they may hide other blocks.
    #[error("expected records of the length of their blocks, found {records} with more bytes")]
    TrailingBytes {
        /// Number of such records.
        records: usize,
    },
    /// The undo data of a block differs from the coins that the block spends.
    #[error(
        "undo data of block {height} ({hash}), {} at byte {offset}{part}: expected {expected}, \
         found {found}",
        file.display()
    )]
    Undo {
        /// The block's height.
        height: u32,
        /// The block's hash.
        hash: BlockHash,
        /// The file of the undo data, or the folder of a store.
        file: PathBuf,
        /// Offset of the block's undo data in the file; 0 in a store.
        offset: u64,
        /// Position in the undo data, such as ", transaction 3, input 1".
        part: String,
        /// The correct value.
        expected: String,
        /// The value in the undo data.
        found: String,
    },
    /// Parts of the hash are missing, or are those of other blocks.
    #[error("the coin multiset hash: expected the parts of {expected}, found {found}")]
    Parts {
        /// The blocks and coins that need a part.
        expected: String,
        /// The parts found.
        found: String,
    },
    /// A transaction id occurs twice in the chain.
    #[error("block {height} ({hash}): expected new transaction ids, found {txid} again")]
    RepeatedId {
        /// The height of the second occurrence.
        height: u32,
        /// Its block.
        hash: BlockHash,
        /// The id.
        txid: Txid,
    },
    /// The created coins are not the spent and the unspent ones.
    #[error(
        "the multiset hash of {created} coins created, {spent} spent and {unspent} unspent: \
         expected 0, found another number"
    )]
    NotZero {
        /// Coins that the blocks created.
        created: u64,
        /// Coins that the blocks spent, according to undo data.
        spent: u64,
        /// Coins in the set of unspent coins.
        unspent: u64,
    },
    /// An unspent coin differs from what the blocks leave.
    #[error("unspent coin {}:{}: expected {expected}, found {found}", coin.txid, coin.vout)]
    Coin {
        /// The coin's outpoint.
        coin: OutPoint,
        /// What the blocks leave.
        expected: String,
        /// What the set of unspent coins has.
        found: String,
    },
}

impl Unproven {
    /// The fields of the error report.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        let mut report = FaultReport::new(self.to_string());
        match self {
            Self::Undo { height, hash, file, offset, expected, found, .. } => {
                (report.block, report.hash) = (Some((*height).into()), Some(hash.to_string()));
                (report.file, report.offset) = (Some(file.clone()), Some(*offset));
                (report.expected, report.found) = (Some(expected.clone()), Some(found.clone()));
            }
            Self::RepeatedId { height, hash, .. } => {
                (report.block, report.hash) = (Some((*height).into()), Some(hash.to_string()));
            }
            Self::Coin { expected, found, .. } => {
                (report.expected, report.found) = (Some(expected.clone()), Some(found.clone()));
            }
            Self::NoSecret
            | Self::Tip { .. }
            | Self::TrailingBytes { .. }
            | Self::Parts { .. }
            | Self::NotZero { .. } => {}
        }
        report
    }
}
