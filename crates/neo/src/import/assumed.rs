//! `--assume-valid`: witnesses and transaction rules are not checked up to a block that the user
//! names by its hash. Linkage, merkle roots and everything computed are checked, so the trusted
//! hash covers every byte before it.

use crate::error::Error;
use crate::options::Options;
use crate::types::{Block, UInt256, hash_blocks};
use blockmill_archive::ChunkLimit;
use blockmill_archive::acc::{self, Dumps};

/// Headers that are read and hashed in one batch.
const SEARCH_BATCH: ChunkLimit = ChunkLimit { blocks: 4096, bytes: 8 << 20 };

/// Finds the height of the assumed block; `None` if the options name no block. Reads headers of the
/// dumps up to it.
///
/// # Errors
/// Returns [`Error::NotThere`] if the dumps lack the block, [`Error::Archive`] if a dump before it
/// cannot be read.
pub(crate) fn height(dumps: &Dumps, options: &Options, from: u32) -> Result<Option<u32>, Error> {
    let Some(assumed) = options.assume_valid else { return Ok(None) };
    match find(dumps, options, from, assumed)? {
        Some(height) => Ok(Some(height)),
        None => Err(Error::NotThere(assumed)),
    }
}

fn find(dumps: &Dumps, options: &Options, from: u32, hash: UInt256) -> Result<Option<u32>, Error> {
    let hasher = options.settings.hashes.hasher();
    let mut reader = acc::Reader::new(dumps, from, SEARCH_BATCH);
    let (mut batch, mut blocks) = (acc::Batch::default(), Vec::<Block>::new());
    while reader.read(&mut batch)? {
        blocks.resize_with(batch.len().max(blocks.len()), Block::default);
        let mut count = 0;
        for (at, block) in blocks.iter_mut().enumerate().take(batch.len()) {
            // the check stage reports an invalid header
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
