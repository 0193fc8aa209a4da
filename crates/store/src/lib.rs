//! Where imported chains live: append-only segments of blocks with a checkpoint and recovery, and a
//! key-value tree for what is changed and deleted.
//!
//! * [`ChainStore`] keeps headers, bodies and receipts of consecutive blocks as raw bytes, found by
//!   number and by hash. Blocks are appended in chunks and committed with one small write; killing
//!   the process at any moment loses nothing that was committed.
//! * [`Tree`] keeps keys and values; [`HeaderTree`] keeps headers in it the way geth does, to be
//!   measured against the segments.
//! * [`PointStore`] keeps small values that are read once and then removed: unspent coins. A
//!   [`Journal`] keeps what is needed to undo such changes.

mod bulk;
mod chain_store;
mod check;
mod checkpoint;
mod commit;
mod error;
mod filter;
mod hash_index;
mod header_tree;
mod index_level;
mod journal;
mod kv;
mod map;
pub mod points;
mod recovery;
mod rope;
mod summed;

pub use bulk::{OwnedItems, Part};
pub use chain_store::{Blocks, ChainStore, Items, MAX_ITEM_BYTES, Options, is_own_file};
pub use check::Damage;
pub use checkpoint::{FILE_NAME as CHECKPOINT, Tip};
pub use commit::CrashPoint;
pub use error::{DAMAGE_HINT, Error, Result};
pub use header_tree::{HeaderEntry, HeaderTree};
pub use journal::Journal;
pub use kv::{Batch, MAX_KEY_BYTES, Tree};
pub use map::FileMap;
pub use points::{
    Fetched, Hint, KEY_BYTES, Key, MAX_POINT_BYTES, PointCrash, PointOptions, PointReader,
    PointStore, PointSurvey, Points, Runs,
};
pub use recovery::Recovery;
