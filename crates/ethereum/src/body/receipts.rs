//! Receipts: the encoding of the receipts trie, those of archives, and from each to each.
//!
//! era1 files hold [`blockmill_rlp::ethereum::Receipt`], ancient folders
//! [`blockmill_rlp::ethereum::StoredReceipt`], which leaves out type and bloom: the body and the
//! logs have them. ere files hold [`blockmill_rlp::ethereum::SlimReceipt`], which leaves out the
//! bloom.

mod lists;
mod recode;

pub use lists::{receipts_root, verify_no_receipts, verify_receipts};
pub use recode::{consensus_to_storage, recode, storage_to_consensus};

use crate::body::bloom::Bloom;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Error;
use blockmill_rlp::ethereum::Log;
use std::iter;

/// Why receipts are malformed. Offsets count from the start of the block's list of receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// Not the RLP of a receipt.
    #[error(transparent)]
    Rlp(#[from] Error),
    /// Not one receipt for each transaction.
    #[error("{receipts} receipts for {transactions} transactions")]
    Count {
        /// Transactions of the body.
        transactions: usize,
        /// Receipts found; counting ends after one too many.
        receipts: usize,
    },
}

/// The filter over the logs of a receipt.
pub fn bloom_of<'a>(logs: impl Iterator<Item = Log<'a>>, hasher: &ManyKeccak) -> Bloom {
    let mut bloom = Bloom::default();
    let entries = logs.flat_map(|log| {
        iter::once(&log.address[..]).chain(log.topics.iter().map(|topic| &topic[..]))
    });
    bloom.extend(entries, hasher);
    bloom
}
