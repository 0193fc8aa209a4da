//! The objects of Ethereum that are stored and sent as RLP, of every fork.
//!
//! Each is a plain struct of numbers and references. It can be put together from parts, and it can
//! be decoded in place, when it borrows from the encoding; nothing is copied or allocated either
//! way. Decoding checks the structure (canonical RLP, sizes of fields, known types) and leaves
//! rules about values to those who validate blocks.
//!
//! ```
//! use blockmill_rlp::ethereum::{Body, Transaction, TransactionType};
//! use blockmill_rlp::{Decode, Encode, List};
//!
//! let blank = Transaction::new(TransactionType::Legacy);
//! let transfer = Transaction { nonce: 7, gas_limit: 21_000, to: Some(&[1; 20]), ..blank };
//! let body = Body { transactions: List::Values(&[transfer]), ..Body::default() };
//! let bytes = body.encode();
//! let decoded = Body::decode(&bytes)?;
//! assert_eq!(decoded.transactions.iter().next().map(|found| found.nonce), Some(7));
//! # Ok::<(), blockmill_rlp::Error>(())
//! ```

mod access_list;
mod account;
mod authorization;
mod bft;
mod block;
mod block_access_list;
mod body;
mod header;
mod log;
mod path;
mod receipt;
mod request;
mod slim_receipt;
mod stored_receipt;
mod transaction;
mod transaction_type;
mod trie_node;
mod withdrawal;

pub use access_list::AccessListEntry;
pub use account::Account;
pub use authorization::Authorization;
pub use bft::{BFT_MIX_HASH, BftEngine, BftExtraData, BftVote};
pub use block::Block;
pub use block_access_list::{
    AccountChanges, BalanceChange, CodeChange, NonceChange, SlotChanges, StorageChange,
};
pub use body::Body;
pub use header::{
    EMPTY_OMMERS, EMPTY_ROOT, EditLater, EncodedHeader, Header, HeaderIndex, HeaderView,
    LaterField, LaterValue, OwnedHeader, UnsealedHeader, block_hash, block_hashes,
};
pub use log::Log;
pub use path::{Path, PathBuffer};
pub use receipt::{CanonicalReceipt, Outcome, Receipt};
pub use request::{
    Consolidation, Deposit, Record, Records, Request, WithdrawalRequest, requests_hash,
};
pub use slim_receipt::SlimReceipt;
pub use stored_receipt::{OldLog, StoredLogs, StoredReceipt};
pub use transaction::{CanonicalTransaction, Transaction, UnsignedTransaction};
pub use transaction_type::TransactionType;
pub use trie_node::{Child, TrieNode};
pub use withdrawal::Withdrawal;
