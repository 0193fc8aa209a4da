//! Where imported chains live: append-only segments of blocks with a checkpoint and recovery.
//!
//! [`ChainStore`] keeps headers, bodies and receipts of consecutive blocks as raw bytes, found by
//! number and by hash. Blocks are appended in chunks and committed with one small write; killing
//! the process at any moment loses nothing that was committed.

mod chain;
mod checkpoint;
mod commit;
mod error;
mod hash_index;
mod recovery;
mod rope;

pub use chain::{Blocks, ChainStore, Items, MAX_ITEM_BYTES, Options};
pub use checkpoint::Tip;
pub use commit::CrashPoint;
pub use error::{Error, Result};
pub use recovery::Recovery;
