//! Where verified blocks go: nowhere, or a store of blocks.

use crate::Level;
use crate::fault::Error;
use crate::link::Verified;
use crate::types::{Header, Reader, UInt256};
use crypto::sha256;
use std::path::Path;
use store::{Blocks, ChainStore, Items};

/// What the state of the store's parts begins with: whose store it is.
const MARK: &[u8; 4] = b"NEO3";

/// The receiver of an import.
pub enum Sink {
    /// Verify only.
    Discard,
    /// The store of `blockmill import`: headers, and what follows them in their blocks as bodies.
    Store(Box<ChainStore>),
}

/// Does a folder hold a store of Neo blocks? One that cannot be opened is none.
#[must_use]
pub fn holds_neo(folder: &Path) -> bool {
    ChainStore::is_in(folder)
        && ChainStore::open_read_only(folder)
            .is_ok_and(|(store, _)| store.state_of_parts().starts_with(MARK))
}

/// What stays the same for all commits of one run.
pub(crate) struct Commit {
    /// Hash of the chain's first block.
    pub chain: UInt256,
    /// How deep blocks were verified.
    pub level: Level,
}

impl Sink {
    /// Writes the blocks and commits them.
    pub(crate) fn write(&mut self, commit: &Commit, verified: &Verified<'_>) -> Result<(), Error> {
        let (Self::Store(store), Some(last)) = (self, verified.blocks().last()) else {
            return Ok(());
        };
        let first = verified.blocks()[0].header.index.into();
        let (mut headers, mut bodies) = (Bytes::default(), Bytes::default());
        let mut hashes = Vec::with_capacity(verified.blocks().len());
        for block in verified.blocks() {
            let (header, body) = block.raw.split_at(block.header_length());
            headers.push(header);
            bodies.push(body);
            hashes.push(block.hash.0);
        }
        let bodies = (commit.level >= Level::Bodies).then_some(&bodies);
        store.append(&Blocks {
            first,
            hashes: &hashes,
            headers: headers.items(),
            bodies: bodies.map(Bytes::items),
            receipts: None,
        })?;
        let tip = store::Tip {
            number: last.header.index.into(),
            hash: last.hash.0,
            chain: commit.chain.0,
            anchor_hash: commit.chain.0,
            level: commit.level as u8,
            ..store::Tip::default()
        };
        match store.state_of_parts().starts_with(MARK) {
            true => store.commit(&tip)?,
            // the first commit says whose store it is
            false => store.commit_with(&tip, &mut [], MARK)?,
        }
        Ok(())
    }

    /// Height of the last committed block; none where nothing is kept.
    pub(crate) fn committed(&self) -> Option<u64> {
        match self {
            Self::Store(store) => store.tip().map(|tip| tip.number),
            Self::Discard => None,
        }
    }

    /// Makes everything committed survive a power loss.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        match self {
            Self::Store(store) => Ok(store.sync()?),
            Self::Discard => Ok(()),
        }
    }

    /// The header of the last committed block and its hash, read back and hashed; none where
    /// nothing is kept.
    pub(crate) fn read_back(&self, state_root: bool) -> Result<Option<(Header, UInt256)>, Error> {
        let Self::Store(store) = self else { return Ok(None) };
        let Some(tip) = store.tip() else { return Ok(None) };
        let (number, expected) = (tip.number, UInt256(tip.hash));
        let damaged = |found| Error::StoredBlock { number, expected, found };
        let raw = store.header(number)?.ok_or_else(|| damaged(None))?;
        let header = Header::read(&mut Reader::new(&raw), state_root).map_err(|_| damaged(None))?;
        let found = UInt256(sha256(header.signed.of(&raw)));
        if found != expected {
            return Err(damaged(Some(found)));
        }
        if tip.level >= Level::Bodies as u8 && store.body(number)?.is_none() {
            return Err(damaged(None));
        }
        Ok(Some((header, found)))
    }
}

/// Items back to back, for the store.
#[derive(Default)]
struct Bytes {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Bytes {
    fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.ends.push(self.bytes.len() as u32);
    }

    fn items(&self) -> Items<'_> {
        Items { bytes: &self.bytes, ends: &self.ends }
    }
}
