//! Ethereum: header rules, ethash, bodies, import. The front door is `import.rs`.

pub mod bloom;
pub mod bodies;
pub mod check;
pub mod commit;
pub mod convert;
pub mod difficulty;
pub mod difficulty_bigint;
pub mod error;
pub mod ethash;
pub mod fault;
pub mod genesis;
pub mod header;
pub mod import;
pub mod ommers;
pub mod params;
pub mod receipts;
pub mod record;
pub mod seal;
pub mod senders;
pub mod signing;
pub mod transaction_rules;
pub mod transactions;
pub mod variants;
pub mod verify;

mod batch;
mod link;
mod list;
mod options;
mod overlap;
mod resume;
mod run;

pub use link::{BlockId, Tip};
pub use ruint::aliases::U256;

/// A Keccak-256 hash, a root or any other 32-byte name.
pub type Hash = [u8; 32];
/// A 20-byte account address.
pub type Address = [u8; 20];

/// How deep a chain is verified; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Linkage, every header rule, seals.
    Headers = 0,
    /// Transactions, ommers, withdrawals and receipts against their roots; every transaction's
    /// rules and its sender.
    Bodies = 1,
}

impl Level {
    /// The level's name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Bodies => "bodies",
        }
    }
}
