//! Bitcoin: builds a block index, a set of unspent coins and undo data from block files in any
//! order.
//!
//! Pass 1 ([`index`]) reads the 80 bytes of each header, and chooses the chain with the most work.
//! Pass 2 ([`import`]) reads each body of that chain once, checks it, and connects it to the coins.
//! Hashes have the byte order of their computation; their text is reversed, as users know it.

#![forbid(unsafe_code)]

pub mod body;
pub mod chainstate;
pub mod check;
pub mod coins;
pub mod data_folder;
pub mod datadir;
mod error;
mod execute;
pub mod export;
mod fault;
pub mod header;
pub mod import;
pub mod index;
pub mod inspect;
pub mod multiset;
mod options;
pub mod params;
pub mod record;
mod rule;
mod run;
pub mod script;
pub mod settings;
pub mod shard;
pub mod sources;
pub mod types;
pub mod undo;
pub mod verified;

pub use blockmill_verdict::Level;
pub use error::Error;
pub use rule::{Rule, Violation};
pub use types::{BlockHash, Hash};
