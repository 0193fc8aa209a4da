//! Reads and writes archives of chains: bytes and positions, no consensus rules.
//!
//! [`Archive::open`] detects the format of a path. [`Archive::reader`] reads [`Packed`] chunks on
//! one thread; any worker unpacks them into [`Chunk`]s of header, body and receipt RLP.
//! [`ArchiveWriter`] writes such chunks. [`blkdat`] and [`acc`] read and write Bitcoin block files
//! and Neo block dumps. The bytes of each format are specified in `docs/formats`.

#![forbid(unsafe_code)]

mod beacon_roots;
mod check_blocks;
mod checksum;
mod chunk;
mod column;
mod compression;
mod detect;
mod difficulty;
mod error;
mod family;
pub mod file_checksums;
mod foreign;
pub mod format;
mod formats;
pub mod growing;
mod input;
mod inspect;
mod left_out;
mod listing;
mod location;
mod names;
mod open;
pub mod output;
mod packed;
mod report;
mod row;
#[cfg(test)]
mod sample;
mod snappy;
mod stream;
mod survey;
mod target;
mod write;

pub use beacon_roots::BeaconRoots;
pub use checksum::chain_checksum;
pub use chunk::{Accumulates, Chunk, ChunkLimit, EraEnd, Packed, ReceiptEncoding, Want};
pub use column::Column;
pub use compression::{Compression, CompressionFault};
pub use error::{Error, expect_next};
pub use family::Family;
pub use format::Format;
pub use formats::block_store::{StoreContent, StoreReader, StoredBlocks, register_store_reader};
pub use formats::{acc, blkdat, era1, freezer, headers, rlp_export};
pub use input::{STDIN, Unpacked, is_pipe, read_whole, stop_waiting};
pub use inspect::inspect;
pub use left_out::{LeftOut, Unread};
pub use location::Part;
pub use open::{Archive, Reader};
pub use report::{Corruption, FileReport, Gap, Inspection, Survey, TableReport};
pub use row::{StoredParts, WriteOptions};
pub use target::{Files, Output, Target};
pub use write::ArchiveWriter;

/// The largest header that is read, in bytes. A header is below 1 KiB; only those that list signers
/// or validators in their extra data are larger: 20 bytes each, and 67 for a committed seal.
pub const MAX_HEADER: usize = 64 << 10;

/// The largest body that is read, in bytes. The gas limit of every main network block so far keeps
/// it below 4 MiB, and EIP-7934 limits a block to 8 MiB; test networks with a huge gas limit have
/// larger ones.
pub const MAX_BODY: usize = 64 << 20;

/// The largest list of receipts that is read, in bytes.
pub const MAX_RECEIPTS: usize = 128 << 20;
