//! Blocks that are taken for valid: up to one whose hash the user gives, witnesses and the rules of
//! transactions are not checked. Linkage, merkle roots and everything that is computed are, so the
//! hash vouches for every byte before it, as far as the user trusts it.

use crate::fault::Error;
use crate::options::Options;
use crate::types::{Block, UInt256, hash_blocks};
use blockmill_archive::ChunkLimit;
use blockmill_archive::acc::{self, Dumps};

/// Blocks that are looked at together.
const TOGETHER: ChunkLimit = ChunkLimit { blocks: 4096, bytes: 8 << 20 };

/// The height of the block that the options name; none where they name none. Reads the dumps up to
/// it, headers only.
///
/// # Errors
/// When the dumps do not have it; those of reading what stands before it.
pub(crate) fn height(dumps: &Dumps, options: &Options, from: u32) -> Result<Option<u32>, Error> {
    let Some(assumed) = options.assume_valid else { return Ok(None) };
    match find(dumps, options, from, assumed)? {
        Some(height) => Ok(Some(height)),
        None => Err(Error::NotThere(assumed)),
    }
}

fn find(dumps: &Dumps, options: &Options, from: u32, hash: UInt256) -> Result<Option<u32>, Error> {
    let hasher = options.settings.hashes.hasher();
    let mut reader = acc::Reader::new(dumps, from, TOGETHER);
    let (mut batch, mut blocks) = (acc::Batch::default(), Vec::<Block>::new());
    while reader.read(&mut batch)? {
        blocks.resize_with(batch.len().max(blocks.len()), Block::default);
        let mut count = 0;
        for (at, block) in blocks.iter_mut().enumerate().take(batch.len()) {
            // what is no header is told when its turn comes
            if block.parse_header(batch.block(at), options.protocol.state_root_in_header).is_err() {
                break;
            }
            count += 1;
        }
        hash_blocks(&mut blocks[..count], &hasher);
        if let Some(found) = blocks[..count].iter().find(|block| block.hash == hash) {
            return Ok(Some(found.header.index));
        }
        if count < batch.len() {
            return Ok(None);
        }
    }
    Ok(None)
}
