//! Bitcoin: from block files in any order to a block index, a set of unspent coins and undo data.
//!
//! Pass 1 ([`index`]) reads the 80 bytes of each header and chooses the chain with the most work;
//! pass 2 ([`import`]) reads each body of that chain once, checks it, connects it to the coins.
//! Hashes are kept in the byte order in which they are computed; [`Id`] shows them the way users
//! know them, reversed.

#![forbid(unsafe_code)]

pub mod coin;
pub mod decode;
mod hash;
pub mod params;

pub use hash::{Hash, Id};
