//! The state: contract storage in layers, and the trie over it.
//!
//! The layers, top first: changes of the running calls (a failed call is rolled back), of the
//! transaction, of the block; changes of earlier blocks in memory; the runs of a table on disk. A
//! lookup goes from the top down, an iteration merges all layers. The layers below the block do not
//! change while a block is executed.

mod base;
mod find;
mod journal;
mod key;
mod layers;
mod mpt;
mod native_cache;
mod value;

pub use base::{Base, Layer};
pub use find::{Direction, Find};
pub use key::{MAX_STORAGE_KEY, MAX_STORAGE_VALUE, StorageKey};
pub use layers::{Change, State};
pub use mpt::StateTrie;
pub(crate) use native_cache::GAS_RECORDS;
pub use value::Value;
