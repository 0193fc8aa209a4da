//! Storage of imported chains.
//!
//! * A [`Store`] holds tables, log files and segments in one folder. One manifest names all of
//!   them, so a commit of all parts is atomic. A [`Table`] maps keys to values: sorted runs on disk
//!   and changes in memory, found by key and by range. A [`LogFile`] keeps records that are read
//!   from the end, such as undo data. A [`Segment`] keeps appended bytes, each piece with its
//!   checksum. Other crates define further parts ([`part`]).
//! * A [`ChainStore`] is a store of consecutive blocks: headers, bodies and receipts as raw bytes
//!   in segments, found by number and by hash. Blocks are appended in chunks and committed with one
//!   small write. Killing the process at any moment loses nothing that was committed.

mod chain_commit;
mod chain_open;
mod chain_read;
mod chain_remove;
mod chain_state;
mod chain_store;
mod check;
mod checksummed_file;
mod column;
mod crash;
pub mod disk;
mod error;
mod filter;
mod folder;
mod hash_index;
mod index_level;
mod log_file;
mod manifest;
mod opening;
pub mod part;
mod repair;
mod segment;
mod segmented_file;
mod store;
mod table;
mod tip;

pub use chain_open::Recovery;
pub use chain_read::BlockPart;
pub use chain_store::{BLOCK_PARTS, Blocks, ChainStore, Options, is_own_file};
pub use check::Corruption;
pub use column::{Items, MAX_ITEM_BYTES, OwnedItems};
pub use crash::CrashPoint;
pub use error::{CORRUPTION_HINT, Error, REMOVED_HINT, Result};
pub use log_file::LogFile;
pub use manifest::NAME as MANIFEST;
pub use opening::Opening;
pub use segment::Segment;
pub use store::{CommitPart, Store, StoreOptions};
pub use table::{
    Compression, Fetched, Hint, MAX_KEY_BYTES, MAX_VALUE_BYTES, PageCache, Runs, Scan, Table,
    TableOptions, TableReader, TableSurvey,
};
pub use tip::Tip;
