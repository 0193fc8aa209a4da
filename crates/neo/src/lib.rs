//! Neo N3: turns block dumps into verified blocks, state roots, application logs and transfers.
//!
//! [`import`] reads dumps (`.acc`), verifies their blocks against a [`params::Protocol`] and stores
//! them. Hashes have the byte order of the encoding; `Display` prints them as Neo does.
//!
//! | module | contents |
//! |---|---|
//! | [`import`] | the stages of an import: read, check, link, execute, tasks, write |
//! | [`params`] | networks and hardforks as data |
//! | [`types`], [`witness`] | blocks and transactions as parsed views; standard witnesses |
//! | [`header`], [`body`] | rules of headers; rules of transactions that need no state |
//! | [`execute`] | NeoVM, system calls, native contracts, rules that need the state |
//! | [`state`] | contract storage in layers, and the state trie |
//! | [`logs`] | application logs and token transfers |
//! | [`ledger`] | the store of executed blocks: commit, undo log, unwind, removal, repair |
//! | `datadir`, [`export`] | the database of neo-go |

#![forbid(unsafe_code)]

pub mod body;
pub mod check;
mod datadir;
pub mod error;
pub mod execute;
pub mod export;
pub mod fault;
pub mod header;
pub mod import;
pub mod ledger;
pub mod logs;
mod options;
pub mod params;
pub mod record;
pub mod rule;
mod run;
pub mod settings;
pub mod state;
pub mod types;
pub mod witness;

pub use blockmill_verdict::Level;
pub use error::Error;
pub use rule::{Rule, Violation};
