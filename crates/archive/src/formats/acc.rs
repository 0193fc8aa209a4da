//! Block dumps of Neo, `.acc`: what `neo-go db dump` writes and `db restore` reads. Whole ones
//! begin with a count, incremental ones with the first height and a count; then comes each block
//! with its length before it. Plain or compressed. Bytes: `docs/formats/acc.md`.
//!
//! [`open`] finds the dumps in some paths; [`Reader`] cuts them into batches of whole blocks;
//! [`DumpWriter`] writes one.

mod batch;
mod head;
mod inspect;
mod older;
mod open;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use batch::Batch;
pub use head::Head;
pub use inspect::inspect;
pub use open::{Dump, Dumps, looks_like, open};
pub use read::Reader;
pub use write::DumpWriter;

/// The shortest block: a header with an empty invocation script and a verification script of one
/// byte, and no transactions. So is the first block of every chain.
pub const MIN_BLOCK: u32 = 114;

/// The longest block that is read. Networks allow a few MiB.
pub const MAX_BLOCK: u32 = 1 << 28;

/// Where a block has its height: behind version, hash, merkle root, timestamp and nonce.
const HEIGHT_AT: usize = 4 + 32 + 32 + 8 + 8;

/// The height in a block's bytes, none when they end before it.
fn height_of(block: &[u8]) -> Option<u32> {
    block.get(HEIGHT_AT..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}
