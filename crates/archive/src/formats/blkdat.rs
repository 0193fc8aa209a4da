//! Bitcoin block files: `blk*.dat` of a datadir, bootstrap files, single raw blocks, blocks in hex;
//! obfuscated or not. Bytes: `docs/formats/blkdat.md`. Files of headers without blocks:
//! `docs/formats/bitcoin-headers.md`.
//!
//! [`open`] finds the files and their network. [`Walk`] reads the records of one file and inspects
//! frames and headers only. [`BodyReader`] reads blocks by their [`BlockLocation`]s.
//! [`BlockWriter`] writes block files.

mod body;
mod corruption;
mod extent;
mod files;
mod growing;
mod headers;
mod hex;
mod lost_key;
mod network;
mod open;
mod probe;
mod scan;
mod source;
#[cfg(test)]
mod tests;
mod walk;
mod write;
mod xor;

pub use body::{BlockLocation, BodyReader};
pub use corruption::{Corruption, CorruptionKind, FileReport};
pub use files::{BlockFile, BlockFiles};
pub(crate) use growing::is_being_written;
pub use headers::HeaderWriter;
pub(crate) use lost_key::lost_key;
pub use lost_key::otherwise_obfuscated;
pub use network::Network;
pub(crate) use open::folder;
pub use open::{looks_like, open};
pub use probe::Shape;
pub use scan::{Record, Scanner, Stop};
pub use source::{Positioned, Source};
pub use walk::{Walk, first_header, inspect};
pub(crate) use write::is_of_datadir;
pub use write::{BlockWriter, WriterOptions, is_own_file};
pub use xor::{XOR_FILE, XorKey};

/// Bytes before each block: magic and size.
pub const FRAME: u64 = 8;

/// Bytes of a header.
pub const HEADER: usize = 80;

/// The smallest block that is read: a header and a count.
pub const MIN_BLOCK: u32 = 81;

/// The largest block that is read: with the most weight (BIP141) and nothing but witnesses.
pub const MAX_BLOCK: u32 = 4_000_000;
