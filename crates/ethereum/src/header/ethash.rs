//! Ethash, the proof of work of Ethereum up to the merge, verified with the light cache only.
//!
//! Source: the Ethash specification, revision 23, and the Yellow Paper, appendix J. The names of
//! constants are from the specification.
//!
//! [`Caches`] generates or loads the cache of each epoch, [`check_seals`] checks many seals at
//! once. The tests compare with the plain form of the specification.

mod cache;
mod caches;
mod disk;
mod epoch;
mod hashimoto;
#[cfg(test)]
#[path = "../../tests/naive/ethash.rs"]
mod naive;

pub use cache::Cache;
pub use caches::{CacheStats, Caches};
pub use disk::{CacheFileError, Loaded};
pub use epoch::{EPOCH_LENGTH, EpochTooHigh, MAX_EPOCH, cache_rows, dataset_pages, epoch_of};
pub use hashimoto::{Seal, SealError, check_seals};
