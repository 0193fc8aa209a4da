//! Reading a chain store: by number, by hash, and many blocks at once.

use std::path::{Path, PathBuf};

use crate::{
    chain_store::ChainStore,
    column::OwnedItems,
    error::{Result, mismatch},
};

/// A part of a block that a chain store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPart {
    /// Headers.
    Headers = 0,
    /// Bodies.
    Bodies = 1,
    /// Receipts.
    Receipts = 2,
}

impl ChainStore {
    /// The folder that it is in.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Header bytes of block `number`, or `None` when the store does not have it.
    pub fn header(&self, number: u64) -> Result<Option<Vec<u8>>> {
        self.item(BlockPart::Headers, number)
    }

    /// Body bytes of block `number`, or `None` when the store does not have them.
    ///
    /// # Errors
    /// [`crate::Error::Removed`] when it has them no more; those of reading.
    pub fn body(&self, number: u64) -> Result<Option<Vec<u8>>> {
        self.item(BlockPart::Bodies, number)
    }

    /// Receipt bytes of block `number`, or `None` when the store does not have them.
    ///
    /// # Errors
    /// As [`ChainStore::body`].
    pub fn receipts(&self, number: u64) -> Result<Option<Vec<u8>>> {
        self.item(BlockPart::Receipts, number)
    }

    fn item(&self, part: BlockPart, number: u64) -> Result<Option<Vec<u8>>> {
        let column = &self.columns[part as usize];
        match self.position(number).filter(|position| *position < column.count()) {
            Some(position) if position < column.first() => Err(self.removed(column, number)),
            Some(position) => column.item(position).map(Some),
            None => Ok(None),
        }
    }

    /// A part of `count` blocks from number `first` on; `None` when the store does not keep it.
    /// From any thread: nobody waits for another reader.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] names the file; [`crate::Error::Mismatch`] when the store has not
    /// all of these blocks, or they have 4 GiB or more; [`crate::Error::Removed`].
    pub fn items(&self, part: BlockPart, first: u64, count: u64) -> Result<Option<OwnedItems>> {
        let column = &self.columns[part as usize];
        if column.count() == 0 || count == 0 {
            return Ok(None);
        }
        let from = first.checked_sub(self.state.first);
        let end = from.and_then(|from| from.checked_add(count));
        match (from, end) {
            (Some(from), _) if from < column.first() => Err(self.removed(column, first)),
            (Some(from), Some(end)) if end <= self.count() => column.items(from, count).map(Some),
            _ => {
                let have = format!("{} to before {}", self.state.first, self.next());
                Err(mismatch("blocks to read", have, format!("{count} from {first} on")))
            }
        }
    }

    /// Hash of block `number`, or `None` when the store does not have it.
    pub fn hash_of(&self, number: u64) -> Result<Option<[u8; 32]>> {
        let Some(position) = self.position(number) else { return Ok(None) };
        let mut hash = [0; 32];
        self.hashes.read(position * 32, &mut hash)?;
        Ok(Some(hash))
    }

    /// Appends to `into` the hashes of `count` blocks from `number` on, or of those that the store
    /// has.
    pub fn hashes(&self, number: u64, count: u64, into: &mut Vec<[u8; 32]>) -> Result<()> {
        let Some(position) = self.position(number) else { return Ok(()) };
        let count = count.min(self.count() - position) as usize;
        let from = into.len();
        into.resize(from + count, [0; 32]);
        self.hashes.read(position * 32, into[from..].as_flattened_mut())
    }

    /// Number of the block with this hash, or `None` when the store does not have it.
    pub fn number_of(&self, hash: &[u8; 32]) -> Result<Option<u64>> {
        let found = self.index.find(hash, &self.hashes.file)?;
        Ok(found.map(|position| self.state.first + position))
    }

    /// The file and the byte where the header of block `number` begins, as far as that is known.
    pub fn header_place(&self, number: u64) -> (PathBuf, u64) {
        let before = self.position(number).and_then(|position| position.checked_sub(1));
        let start = before.and_then(|before| self.columns[0].end_of(before).ok()).unwrap_or(0);
        self.columns[0].data.file.location(start)
    }

    fn position(&self, number: u64) -> Option<u64> {
        number.checked_sub(self.state.first).filter(|p| *p < self.count())
    }
}
