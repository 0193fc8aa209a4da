//! Undo data of blocks: of a whole chain, or of the blocks of a shard.

use super::CoinArchive;
use crate::BlockHash;
use crate::datadir::{XorKey, undo_at};
use crate::error::Error;
use std::collections::HashMap;
use std::path::PathBuf;

/// Undo data, which is trusted until the multiset hash is known to be zero.
pub(crate) enum UndoData<'a> {
    /// Of a whole chain.
    Chain(&'a CoinArchive),
    /// Of the blocks of a shard.
    Shard(UndoPositions),
}

/// Positions of the undo data of some blocks, as reported before the salt was drawn.
#[derive(Default)]
pub(crate) struct UndoPositions {
    /// The undo files.
    pub files: Vec<PathBuf>,
    /// The files are XORed with this key, as the block files are.
    pub key: XorKey,
    /// For each block: its parent, the index of the undo file, and the offset in it.
    pub by_block: HashMap<BlockHash, (BlockHash, u32, u32)>,
}

impl UndoData<'_> {
    /// Reads the undo data of a block into `out`. Returns false if there is none.
    pub fn read(&self, height: u32, hash: &BlockHash, out: &mut Vec<u8>) -> Result<bool, Error> {
        let positions = match self {
            Self::Chain(archive) => return archive.undo(height, hash, out),
            Self::Shard(positions) => positions,
        };
        let Some((parent, file, offset)) = positions.by_block.get(hash) else { return Ok(false) };
        let Some(path) = positions.files.get(*file as usize) else { return Ok(false) };
        *out = undo_at(path, positions.key, *offset, parent)?.data;
        Ok(true)
    }

    /// The file of the undo data of a block, and its offset.
    pub fn location(&self, hash: &BlockHash) -> (PathBuf, u64) {
        match self {
            Self::Chain(archive) => archive.undo_location(hash),
            Self::Shard(positions) => {
                let found = positions.by_block.get(hash).and_then(|(_, file, offset)| {
                    let path = positions.files.get(*file as usize)?;
                    Some((path.clone(), u64::from(*offset)))
                });
                found.unwrap_or_else(|| {
                    let folder = positions.files.first().and_then(|file| file.parent());
                    (folder.map(PathBuf::from).unwrap_or_default(), 0)
                })
            }
        }
    }
}
