//! Tries that are kept and change block by block.
//!
//! All tries of a [`Forest`] share one array of nodes. A branch keeps the hashes of its children
//! beside their addresses, so that no child is read to hash it. An update takes all changes of a
//! block at once: their keys walk down together, a step at a time, so that cache misses overlap;
//! on the way up each node that changed is written and hashed once, with many others of its step
//! in the lanes of the CPU.
//!
//! * [`Forest::update`] applies a block, [`Forest::root`] gives the root of a trie after it.
//! * [`Forest::update_group`] applies several small blocks and hashes the nodes of all of them
//!   together; the roots after each block are found nevertheless.
//! * To undo a block, apply the old values of its changes.
//! * [`Forest::plant`] makes a trie of those of its nodes that a [`Witness`] holds.
//! * [`Forest::get`], [`Forest::leaves`] and [`Forest::prove`] read.
//!
//! Storage tries and the trie of accounts are best two forests: the accounts of one block can then
//! be updated beside the storage of the next.

mod ascend;
mod batch;
mod deferred;
mod descend;
mod error;
mod forest;
mod heap;
mod node;
mod queue;
mod read;
mod records;
mod visit;
mod witness;

pub use error::Error;
pub use forest::{Changes, Forest, Memory, Roots, TrieId, Update};
pub use queue::Hashed;
pub use witness::Witness;

use forest::Trie;
