//! Ethereum: header rules, ethash, bodies, import. The front door is `import.rs`.
//!
//! What a block consists of, and its rules, are in folders: `header`, `body`, `params` (the rules'
//! numbers, and genesis states); what it does in `execute`, on what is in `state`. The files beside
//! `import.rs` are the steps of an import: `resume`, `verify`, `link`, `execution`, `commit`;
//! `durable` keeps the state of a store. `convert` writes other formats, `check` reads a store
//! again, `shard` verifies parts of a chain and merges them, `suite` runs the public tests.

pub mod body;
pub mod check;
pub mod commit;
pub mod convert;
pub mod error;
pub mod execute;
pub mod fault;
pub mod header;
pub mod import;
mod pace;
pub mod params;
pub mod record;
pub mod rule;
pub mod settings;
pub mod shard;
pub mod snapshot;
pub mod state;
pub mod stored;
pub mod suite;
pub mod witness;

mod block_times;
mod encoding;
mod link;
mod options;
mod overlap;
mod resume;
mod run;
mod verify;

pub use blockmill_verdict::Level;
pub use body::{bloom, ommers, receipts, senders, signing, transaction_rules, transactions};
pub use header::{difficulty, ethash, seal};
pub use link::{BlockId, Tip};
pub use ruint::aliases::U256;

/// A Keccak-256 hash, a root or any other 32-byte name.
pub type Hash = [u8; 32];
/// A 20-byte account address.
pub type Address = [u8; 20];
