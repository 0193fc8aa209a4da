//! Blocks and transactions as parsed views over their bytes.
//!
//! Only fields of fixed length are copied. The decoder rejects what neo-go rejects. Neo-go accepts
//! overlong lengths, uncompressed public keys and booleans other than 0 and 1, but hashes and
//! stores the canonical form; so the bytes are rewritten to that form first.

mod address;
mod attribute;
mod block;
mod condition;
mod error;
mod hash;
mod header;
pub mod point;
mod reader;
mod signer;
mod transaction;
mod witness;
pub mod write;

pub use address::Address;
pub use attribute::{Attribute, AttributeParts, MAX_ORACLE_RESULT};
pub use block::{Block, Hashes, MAX_BLOCK_BYTES, MAX_TRANSACTIONS, hash_blocks};
pub use condition::{Condition, Conditions, MAX_ITEMS, MAX_NESTING, PublicKey, Rule, Rules};
pub use error::Error;
pub use hash::{TextError, UInt160, UInt256};
pub use header::Header;
pub use reader::Reader;
pub use signer::{Scopes, Signer, SignerParts};
pub use transaction::{
    MAX_ATTRIBUTES, MAX_SCRIPT, MAX_TRANSACTION_SIZE, SingleTransaction, Transaction,
    TransactionParts, Transactions,
};
pub use witness::{MAX_WITNESS_SCRIPT, Witness, WitnessParts};
