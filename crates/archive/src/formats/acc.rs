//! Block dumps of Neo, `.acc`, as `neo-go db dump` writes and `db restore` reads them. A whole dump
//! begins with a count, an incremental one with the first height and a count; then comes each block
//! after its length. Plain or compressed. Bytes: `docs/formats/acc.md`.
//!
//! [`open`] finds the dumps in paths. [`Reader`] cuts them into batches of whole blocks.
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

/// The shortest block in bytes: a header with an empty invocation script and a verification script
/// of one byte, and no transactions. The first block of every chain is like this.
pub const MIN_BLOCK: u32 = 114;

/// The longest block that is read, in bytes. Networks allow a few MiB.
pub const MAX_BLOCK: u32 = 1 << 28;

/// Offset of the height in a block: after version, hash, merkle root, timestamp and nonce.
const HEIGHT_AT: usize = 4 + 32 + 32 + 8 + 8;

/// The height in the bytes of a block; `None` if they end before it.
fn height_of(block: &[u8]) -> Option<u32> {
    block.get(HEIGHT_AT..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}
