//! What contracts can ask about blocks before.

use std::sync::Arc;

use crate::types::{Block, SingleTransaction, UInt160, UInt256};

/// How a transaction of a block before ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmState {
    /// Its changes stayed.
    Halt,
    /// Only its fees stayed.
    Fault,
}

/// A transaction of a block before.
#[derive(Clone, Debug)]
pub struct StoredTransaction {
    /// The transaction.
    pub transaction: Arc<SingleTransaction>,
    /// Its block.
    pub height: u32,
    /// How it ended.
    pub state: VmState,
}

type Lookup<K, V> = Box<dyn Fn(K) -> Option<V> + Send + Sync>;

/// Blocks before the one that is executed: who keeps them answers.
pub struct ChainView {
    /// The hash of a block by its height.
    pub hash: Lookup<u32, UInt256>,
    /// A block by its hash.
    pub block: Lookup<UInt256, Arc<Block>>,
    /// A transaction by its hash; only those that can still be asked for need be there.
    pub transaction: Lookup<UInt256, StoredTransaction>,
    /// The height of the block that has a transaction, however old that is.
    pub height: Lookup<UInt256, u32>,
    /// The last block with a transaction that names this one as one that conflicts, and has this
    /// signer.
    pub conflict: Lookup<(UInt256, UInt160), u32>,
}

impl ChainView {
    /// No blocks: before the genesis block.
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
