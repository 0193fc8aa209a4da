//! The state: accounts and their storage, the changes of blocks, and the tries.
//!
//! Execution works on the *flat* state: a list of accounts, indexed by address, each with its
//! slots, so that a slot is one look-up away. The [`Changes`] of a block have old and new values:
//! the tries turn them into the state root, the log makes them durable, and undo applies them
//! backwards.

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

pub use arena::PlantedTries;
pub use changes::{AccountChange, Changes, SlotChange};
pub use disk::{
    CommitThreads, DiskError, DiskOptions, DiskState, DumpBatch, HashedChanges, PageCache,
    PageReads, References, SharedState, StateKind, StateLoader, TriePreload,
};
pub use flat::{Found, State};
pub use flat_trie::{
    BlockCache, Bloom, FlatOptions, FlatStore, FlatTrie, FlatTrieError, HAS_ROCKSDB, Healed,
    LostNode, ROCKSDB_PART, ReadChecksum, RocksDbOptions,
};
pub use nodes::{NodeBytes, NodeRef, NodeSet};
pub use proof::{AccountProof, SlotProof};
pub use sparse::SparseTrie;
pub use tries::{ClearedStorage, NodeHashes, TrieHashers, TrieLayout, Tries};

use crate::{Address, Hash, U256};
use blockmill_verdict::Hex;
use std::fmt;

/// An account's index in the flat state: it stays the same while the state is in memory.
pub type AccountId = u32;

/// Keccak-256 of no code.
pub const EMPTY_CODE: Hash = [
    0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0,
    0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
];

/// An account without its storage (Yellow Paper 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Number of transactions that it sent, or of contracts that it created.
    pub nonce: u64,
    /// Balance in wei.
    pub balance: U256,
    /// Keccak-256 of its code.
    pub code_hash: Hash,
}

impl Default for Account {
    /// An empty account.
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, code_hash: EMPTY_CODE }
    }
}

impl Account {
    /// Whether it has neither nonce, balance nor code: EIP-161 removes such accounts.
    pub fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash == EMPTY_CODE
    }
}

/// An error of reading or changing a state. A state in memory as a whole lacks nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// A trie node that is not known.
    #[error("the state lacks the trie node {}, {depth} half-bytes below its root", Hex(hash))]
    MissingNode {
        /// Its hash.
        hash: Hash,
        /// Its depth in half-bytes.
        depth: usize,
    },
    /// A malformed trie node.
    #[error("the trie node {} is malformed: {error}", Hex(hash))]
    BadNode {
        /// Their hash.
        hash: Hash,
        /// What is wrong with them.
        error: String,
    },
    /// A code that is not known.
    #[error("the state lacks the code {}", Hex(hash))]
    MissingCode {
        /// Its hash.
        hash: Hash,
    },
    /// An account or slot that the block access list of a block does not name (EIP-7928).
    #[error("{} is not in the block access list", Named(address, slot.as_ref()))]
    NotListed {
        /// The account.
        address: Address,
        /// The slot, if the account is listed.
        slot: Option<U256>,
    },
    /// The hash of an earlier block that is not known.
    #[error("the hash of block {number} is not known here")]
    MissingBlockHash {
        /// The block's number.
        number: u64,
    },
    /// The state on disk is corrupt, or cannot be read or changed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The tries in memory cannot be changed.
    #[error(transparent)]
    Trie(#[from] blockmill_trie::update::Error),
    /// More accounts than [`AccountId`] can index.
    #[error("more than {} accounts", u32::MAX)]
    TooManyAccounts,
    /// A balance beyond 256 bits.
    #[error("the balance of {} exceeds 256 bits", Hex(address))]
    BalanceOverflow {
        /// The account.
        address: Address,
    },
}

/// An account, or a slot of one, in messages.
struct Named<'a>(&'a Address, Option<&'a U256>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(slot) => write!(f, "slot {slot:#x} of {}", Hex(self.0)),
            None => write!(f, "account {}", Hex(self.0)),
        }
    }
}
