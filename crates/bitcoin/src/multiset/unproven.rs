//! Why undo data and unspent coins are not believed.

use crate::BlockHash;
use crate::types::{OutPoint, Txid};
use blockmill_verdict::FaultReport;
use std::path::PathBuf;

/// What speaks against undo data or unspent coins, or cannot be proven of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The system has no random bytes to give.
    #[error("expected random bytes of the system, found none")]
    NoSecret,
    /// The unspent coins are not those of the chain's last block.
    #[error("unspent coins: expected those of block {expected}, found those of {found}")]
    Tip {
        /// The chain's last block.
        expected: BlockHash,
        /// Their block.
        found: BlockHash,
    },
    /// Records have bytes behind their block, where others may stand.
    #[error("expected records of the length of their blocks, found {records} with more bytes")]
    Spare {
        /// How many have.
        records: usize,
    },
    /// Undo data of a block is not what the block spends.
    #[error(
        "undo data of block {height} ({hash}), {} at byte {offset}{part}: expected {expected}, \
         found {found}",
        file.display()
    )]
    Undo {
        /// The block's height.
        height: u32,
        /// Its hash.
        hash: BlockHash,
        /// The file of its undo data, or the folder of a store.
        file: PathBuf,
        /// Where it begins in the file, where it has a place of its own.
        offset: u64,
        /// Which part of it, as in ", transaction 3, input 1".
        part: String,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// Not all parts are there, or others.
    #[error("the sum: expected the parts of {expected}, found {found}")]
    Parts {
        /// What all parts are of.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A transaction stands twice in the chain.
    #[error("block {height} ({hash}): expected new transaction ids, found {txid} again")]
    Repeated {
        /// The height of the second one.
        height: u32,
        /// Its block.
        hash: BlockHash,
        /// The id.
        txid: Txid,
    },
    /// The coins created are not those spent and unspent.
    #[error(
        "the sum of {created} coins created, {spent} spent and {unspent} unspent: expected 0, \
         found another number"
    )]
    Multiset {
        /// Coins that the blocks created.
        created: u64,
        /// Coins that undo data says they spent.
        spent: u64,
        /// Coins that are said to be unspent.
        unspent: u64,
    },
    /// An unspent coin is not what the blocks leave.
    #[error("unspent coin {}:{}: expected {expected}, found {found}", coin.txid, coin.vout)]
    Coin {
        /// Which one.
        coin: OutPoint,
        /// What the blocks leave.
        expected: String,
        /// What is there.
        found: String,
    },
}

impl Unproven {
    /// Its parts.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        let mut report = FaultReport::new(self.to_string());
        match self {
            Self::Undo { height, hash, file, offset, expected, found, .. } => {
                (report.block, report.hash) = (Some((*height).into()), Some(hash.to_string()));
                (report.file, report.offset) = (Some(file.clone()), Some(*offset));
                (report.expected, report.found) = (Some(expected.clone()), Some(found.clone()));
            }
            Self::Repeated { height, hash, .. } => {
                (report.block, report.hash) = (Some((*height).into()), Some(hash.to_string()));
            }
            Self::Coin { expected, found, .. } => {
                (report.expected, report.found) = (Some(expected.clone()), Some(found.clone()));
            }
            Self::NoSecret
            | Self::Tip { .. }
            | Self::Spare { .. }
            | Self::Parts { .. }
            | Self::Multiset { .. } => {}
        }
        report
    }
}
