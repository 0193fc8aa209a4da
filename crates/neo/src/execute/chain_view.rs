//! Lookups of earlier blocks, for contracts and transaction rules.

use std::sync::Arc;

use crate::types::{Block, SingleTransaction, UInt160, UInt256};

/// The final VM state of a transaction (`vmstate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmState {
    /// It succeeded.
    Halt,
    /// It failed: only its fees were charged.
    Fault,
}

/// A transaction of an earlier block.
#[derive(Clone, Debug)]
pub struct StoredTransaction {
    /// The transaction.
    pub transaction: Arc<SingleTransaction>,
    /// The height of its block.
    pub height: u32,
    /// Its final VM state.
    pub state: VmState,
}

type Lookup<K, V> = Box<dyn Fn(K) -> Option<V> + Send + Sync>;

/// Lookups of blocks before the executed one, provided by the store.
pub struct ChainView {
    /// The hash of a block by its height.
    pub hash: Lookup<u32, UInt256>,
    /// A block by its hash.
    pub block: Lookup<UInt256, Arc<Block>>,
    /// A transaction by its hash; untraceable ones may be missing.
    pub transaction: Lookup<UInt256, StoredTransaction>,
    /// The height of a transaction's block, however old.
    pub height: Lookup<UInt256, u32>,
    /// The last block with a transaction that has this signer and names this hash as conflicting.
    pub conflict: Lookup<(UInt256, UInt160), u32>,
}

impl ChainView {
    /// A view without blocks, for the genesis block.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            hash: Box::new(|_| None),
            block: Box::new(|_| None),
            transaction: Box::new(|_| None),
            height: Box::new(|_| None),
            conflict: Box::new(|_| None),
        }
    }
}
