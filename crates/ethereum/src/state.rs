//! The state: accounts and their storage, what a block changes in them, and their tries.
//!
//! Execution works on the *flat* state: accounts in a list, found by address, each with its slots
//! behind it, so that a slot is one look-up away. What a block changes is a list with old and new
//! values ([`Changes`]): it goes into the tries to give the state root, into the log to make the
//! block durable, and backwards into the state to undo the block.

mod arena;
mod changes;
mod disk;
mod entry;
mod flat;
mod flat_trie;
mod generations;
pub mod nodes;
mod proof;
mod slots;
mod sparse;
mod tries;
mod whole;

pub use changes::{AccountChange, Changes, SlotChange};
pub use disk::{
    CommitThreads, DiskError, DiskOptions, DiskState, HashedChanges, PageCache, PageReads,
    References, SharedState, StateKind, StateLoader, TriePreload,
};
pub use flat::{Found, State};
pub use flat_trie::{
    BlockCache, Bloom, FlatOptions, FlatStore, FlatTrie, FlatTrieError, HAS_ROCKSDB, Healed,
    LostNode, ROCKSDB_PART, ReadChecksum, RocksDbOptions,
};
pub use nodes::{NodeBytes, NodeSet};
pub use proof::{AccountProof, SlotProof};
pub use sparse::SparseTrie;
pub use tries::{ClearedStorage, NodeHashes, TrieHashers, TrieLayout, Tries};

use crate::{Address, Hash, U256};
use blockmill_verdict::Hex;

/// An account's index in the flat state: it stays the same while the state is in memory.
pub type AccountId = u32;

/// Keccak-256 of no code.
pub const EMPTY_CODE: Hash = [
    0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0,
    0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
];

/// What an account owns besides its storage (Yellow Paper 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Transactions that it sent, or contracts that it made.
    pub nonce: u64,
    /// Wei that it owns.
    pub balance: U256,
    /// Keccak-256 of its code.
    pub code_hash: Hash,
}

impl Default for Account {
    /// An account that was touched and owns nothing.
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, code_hash: EMPTY_CODE }
    }
}

impl Account {
    /// Without nonce, balance and code: what EIP-161 removes from the state.
    pub fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash == EMPTY_CODE
    }
}

/// What the state does not have although a block needs it: only where not all of it is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A node of a trie that a look-up or an update comes to.
    #[error("the state lacks the trie node {}, {depth} half-bytes below its root", Hex(hash))]
    MissingNode {
        /// Its hash.
        hash: Hash,
        /// How far below the root it stands.
        depth: usize,
    },
    /// Bytes that stand for a node of a trie and are none.
    #[error("the trie node {} is malformed: {error}", Hex(hash))]
    BadNode {
        /// Their hash.
        hash: Hash,
        /// What is wrong with them.
        error: String,
    },
    /// The code of a contract.
    #[error("the state lacks the code {}", Hex(hash))]
    MissingCode {
        /// Its hash.
        hash: Hash,
    },
    /// The hash of an earlier block that a contract asks for.
    #[error("the hash of block {number} is not known here")]
    MissingBlockHash {
        /// The block's number.
        number: u64,
    },
    /// The state on disk is damaged, or cannot be read or changed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The tries in memory cannot be changed.
    #[error(transparent)]
    Trie(#[from] blockmill_trie::update::Error),
    /// More accounts than an index can name.
    #[error("more than {} accounts", u32::MAX)]
    TooManyAccounts,
    /// A balance that takes more than 256 bits.
    #[error("the balance of {} exceeds 256 bits", Hex(address))]
    BalanceOverflow {
        /// Whose.
        address: Address,
    },
}
