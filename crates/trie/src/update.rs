//! Tries that are retained and updated block by block.
//!
//! All tries of a [`Forest`] share one array of nodes. A branch stores the hashes of its children
//! next to their addresses, so that no child is read to hash it. An update applies all changes of a
//! block at once: their keys descend together, a level at a time, so that cache misses overlap. On
//! the way up each changed node is written and hashed once, together with many others of its level
//! in the lanes of the CPU.
//!
//! - [`Forest::update`] applies a block; [`Forest::root`] returns the root of a trie after it.
//! - [`Forest::update_group`] applies several small blocks, hashes the nodes of all of them
//!   together, and still returns the roots after each block.
//! - To undo a block, apply the old values of its changes.
//! - [`Forest::plant`] builds a trie from the nodes of a [`Witness`].
//! - [`Forest::get`], [`Forest::leaves`] and [`Forest::prove`] read.
//!
//! Use two forests for storage tries and the trie of accounts: the accounts of one block can then
//! be updated in parallel with the storage of the next.

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
