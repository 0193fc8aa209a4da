//! The size of the chunks that are read.

use crate::Level;
use crate::options::Options;
use blockmill_archive::ChunkLimit;

/// Limit of a chunk that is executed: small enough that stages overlap on short archives and wait
/// little for each other.
const CHUNK: ChunkLimit = ChunkLimit { blocks: 64, bytes: 128 << 10 };

/// Limit of the bytes of a chunk whose bodies are verified: some thousand signatures, so that many
/// cores have work on short archives.
const BODIES: usize = 512 << 10;

/// The limit of a chunk: at least the blocks with a common root.
pub(crate) fn chunk(options: &Options) -> ChunkLimit {
    let ChunkLimit { blocks, bytes } = options.chunk;
    let together = options.settings.root_every.blocks();
    match options.level {
        Level::Execution => ChunkLimit {
            blocks: blocks.min(CHUNK.blocks.max(together)),
            bytes: bytes.min(CHUNK.bytes * together),
        },
        Level::Bodies => ChunkLimit { blocks, bytes: bytes.min(BODIES) },
        Level::Headers => options.chunk,
    }
}
