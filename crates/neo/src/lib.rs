//! Neo N3: from a block dump to verified blocks, state roots, application logs and transfers.
//!
//! [`import`] reads dumps (`.acc`), verifies their blocks against a [`params::Protocol`] and stores
//! them. Hashes are kept in the byte order of the encoding and show themselves as Neo does.

#![forbid(unsafe_code)]

mod assumed;
mod batch;
pub mod body;
pub mod check;
mod columns;
pub mod commit;
mod datadir;
pub mod error;
pub mod execute;
mod execution;
pub mod export;
pub mod fault;
pub mod header;
pub mod history;
pub mod import;
pub mod ledger;
mod link;
pub mod logs;
mod options;
pub mod params;
mod recent;
pub mod record;
pub mod repeated;
mod run;
pub mod settings;
pub mod state;
pub mod stored;
mod tasks;
pub mod types;
pub mod witness;
mod writer;

pub use blockmill_verdict::Level;
pub use error::{Rule, Violation};
pub use fault::Error;
