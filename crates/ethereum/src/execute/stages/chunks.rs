//! How much is read at a time.

use crate::Level;
use crate::options::Options;
use blockmill_archive::ChunkLimit;

/// Most blocks and bytes of a chunk that is executed: so few that the stages work side by side also
/// on short archives, and wait little for each other.
const CHUNK: ChunkLimit = ChunkLimit { blocks: 64, bytes: 128 << 10 };

/// Most bytes of a chunk whose bodies are verified: some thousand signatures, so that many cores
/// have something to do also on short archives.
const BODIES: usize = 512 << 10;

/// The bounds of a chunk: at least the blocks that have a root together.
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
