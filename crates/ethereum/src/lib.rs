//! Ethereum: header rules, ethash, bodies, import. The front door is `import.rs`.
//!
//! Folders: `params` (forks, networks, genesis states), `header`, `body`, `access_list`, `execute`
//! (blocks, the virtual machine, and the stages of level `execution`), `state`, `witness`,
//! `snapshot`, `state_dump` (states as clients write them), `shard` (parts of a chain verified
//! apart, and their merge), `suite` (the public tests). The steps of an import are `resume`,
//! `verify`, `link`, `execute::stages` and `commit`, which also has the store of blocks and state.
//! `convert` writes other formats, and `check` verifies a store.

pub mod access_list;
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
pub mod state_dump;
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
