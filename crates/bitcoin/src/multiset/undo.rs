//! Where the undo data of blocks is read.

use super::Kept;
use crate::BlockHash;
use crate::datadir::{XorKey, undo_at};
use crate::fault::Error;
use std::collections::HashMap;
use std::path::PathBuf;

/// Undo data of blocks, which is believed until the sum is known.
pub(crate) enum Undo<'a> {
    /// Of a whole chain.
    Kept(&'a Kept),
    /// Of the blocks of a shard.
    Places(Places),
}

/// Where the undo data of some blocks stands, as somebody told before there was a salt.
#[derive(Default)]
pub(crate) struct Places {
    /// The undo files.
    pub files: Vec<PathBuf>,
    /// They are XORed with this, as the block files are.
    pub key: XorKey,
    /// Of each block: its parent, the index of the file, and where in it.
    pub of: HashMap<BlockHash, (BlockHash, u32, u32)>,
}

impl Undo<'_> {
    /// Reads the undo data of a block into `out`; false where there is none.
    pub fn read(&self, height: u32, hash: &BlockHash, out: &mut Vec<u8>) -> Result<bool, Error> {
        let places = match self {
            Self::Kept(kept) => return kept.undo(height, hash, out),
            Self::Places(places) => places,
        };
        let told = places.of.get(hash);
        let Some((parent, path, at)) = told
            .and_then(|(parent, file, at)| Some((parent, places.files.get(*file as usize)?, at)))
        else {
            return Ok(false);
        };
        *out = undo_at(path, places.key, *at, parent)?.data;
        Ok(true)
    }

    /// The file of the undo data of a block, and where it begins.
    pub fn place(&self, hash: &BlockHash) -> (PathBuf, u64) {
        match self {
            Self::Kept(kept) => kept.place(hash),
            Self::Places(places) => {
                let found = places.of.get(hash).and_then(|(_, file, at)| {
                    let path = places.files.get(*file as usize)?;
                    Some((path.clone(), u64::from(*at)))
                });
                found.unwrap_or_else(|| {
                    let folder = places.files.first().and_then(|file| file.parent());
                    (folder.map(PathBuf::from).unwrap_or_default(), 0)
                })
            }
        }
    }
}
