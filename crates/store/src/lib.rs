//! Where imported chains live.
//!
//! * A [`Store`] holds tables and log files in one folder, which become true together or not at
//!   all: one renamed manifest names everything. A [`Table`] keeps values by key: sorted runs under
//!   changes in memory, found by key and by range. A [`LogFile`] keeps records that are read from
//!   the end, as undo data is.
//! * A [`ChainStore`] keeps headers, bodies and receipts of consecutive blocks as raw bytes in
//!   append-only segments, found by number and by hash. Blocks are appended in chunks and committed
//!   with one small write; killing the process at any moment loses nothing that was committed.

mod bulk;
mod chain_store;
mod check;
mod checkpoint;
mod commit;
mod crash;
pub mod disk;
mod error;
mod filter;
mod folder;
mod hash_index;
mod index_level;
mod log_file;
mod manifest;
mod map;
mod recovery;
mod segmented_file;
mod store;
mod summed;
mod table;

pub use bulk::{OwnedItems, Part};
pub use chain_store::{Blocks, ChainStore, Items, MAX_ITEM_BYTES, Options, is_own_file};
pub use check::Damage;
pub use checkpoint::{FILE_NAME as CHECKPOINT, Tip};
pub use commit::CrashPoint;
pub use crash::CommitPoint;
pub use error::{DAMAGE_HINT, Error, Result};
pub use log_file::LogFile;
pub use map::FileMap;
pub use recovery::Recovery;
pub use store::{CommitPart, Opening, Store, StoreOptions};
pub use table::{
    Compression, Fetched, Hint, MAX_KEY_BYTES, MAX_VALUE_BYTES, PageCache, Runs, Scan, Table,
    TableOptions, TableReader, TableSurvey,
};
