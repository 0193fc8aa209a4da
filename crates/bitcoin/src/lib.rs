//! Bitcoin: from block files in any order to a block index, a set of unspent coins and undo data.
//!
//! Pass 1 ([`index`]) reads the 80 bytes of each header and chooses the chain with the most work;
//! pass 2 ([`import`]) reads each body of that chain once, checks it, connects it to the coins.
//! Hashes are kept in the byte order in which they are computed; [`Id`] shows them the way users
//! know them, reversed.

#![forbid(unsafe_code)]

pub mod bodies;
mod body_reader;
pub mod check;
pub mod coin;
pub mod coins;
pub mod commit;
pub mod compress;
pub mod core;
pub mod data_folder;
pub mod decode;
mod disconnect;
mod error;
mod execute;
pub mod export;
mod fault;
mod hash;
pub mod header;
pub mod import;
pub mod index;
pub mod inspect;
pub mod locks;
pub mod merkle;
mod options;
pub mod params;
mod pass1;
mod path;
pub mod record;
mod reorder;
mod run;
pub mod scan;
pub mod script;
mod shortfalls;
pub mod sigops;
pub mod sources;
pub mod transaction_rules;
pub mod undo;
pub mod variants;
pub mod verify;

pub use error::{Rule, Violation};
pub use fault::Error;
pub use hash::{Hash, Id};

/// Depth of verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Proof of work, difficulty, times, versions.
    Headers,
    /// Headers, and everything that a block says by itself: merkle roots, sizes, structure.
    Bodies,
    /// Bodies, and what they do: coins, amounts, scripts.
    Execution,
}

impl Level {
    /// The level's name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Bodies => "bodies",
            Self::Execution => "execution",
        }
    }
}
