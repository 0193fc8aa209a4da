//! The state: what contracts keep, in layers, and the trie over it.
//!
//! From above: the changes of the calls that run (they may fail and leave nothing), of the
//! transaction, of the block; then the memory, changes of blocks that are not on disk yet; then the
//! runs of a table on disk. A value is looked for from above, and an iteration merges all layers.
//! Below the block nothing changes while a block is executed.

mod base;
mod find;
mod journal;
mod key;
mod layers;
mod mpt;
mod remembered;
mod value;

pub use base::{Base, Layer};
pub use find::{Direction, Find};
pub use key::{MAX_STORAGE_KEY, MAX_STORAGE_VALUE, StorageKey};
pub use layers::{Change, State};
pub use mpt::StateTrie;
pub(crate) use remembered::GAS_RECORDS;
pub use value::Value;
