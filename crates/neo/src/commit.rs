//! Where verified blocks go: nowhere, or a store of blocks.

use crate::Level;
use crate::fault::Error;
use crate::ledger::{Entry, Ledger, MARK};
use crate::link::Verified;
use crate::logs::application;
use crate::types::{Header, Reader, UInt256};
use crypto::sha256;
use std::path::Path;
use store::{Blocks, ChainStore, Items};

/// The receiver of an import.
pub enum Sink {
    /// Verify only.
    Discard,
    /// The store of `blockmill import`: headers, and what follows them in their blocks as bodies.
    Store(Box<ChainStore>),
    /// A store of executed blocks, for level execution: application logs are its receipts, and
    /// tables stand beside the blocks.
    Ledger(Box<Ledger>),
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
        let Some(last) = verified.blocks().last() else { return Ok(()) };
        let tip = store::Tip {
            number: last.header.index.into(),
            hash: last.hash.0,
            chain: commit.chain.0,
            anchor_hash: commit.chain.0,
            level: commit.level as u8,
            ..store::Tip::default()
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
        let mut blocks = Blocks {
            first,
            hashes: &hashes,
            headers: headers.items(),
            bodies: bodies.map(Bytes::items),
            receipts: None,
        };
        match self {
            Self::Discard => {}
            Self::Store(store) => {
                store.append(&blocks)?;
                match store.state_of_parts().starts_with(MARK) {
                    true => store.commit(&tip)?,
                    // the first commit says whose store it is
                    false => store.commit_with(&tip, &mut [], MARK)?,
                }
            }
            Self::Ledger(ledger) => {
                let logs = Self::put(ledger, verified)?;
                blocks.receipts = Some(logs.items());
                ledger.append(&blocks, tip)?;
                if verified.flushes() || ledger.wants_flush() {
                    ledger.commit()?;
                }
            }
        }
        Ok(())
    }

    /// Puts what the blocks leave into the tables, and returns their application logs.
    fn put(ledger: &mut Ledger, verified: &Verified<'_>) -> store::Result<Bytes> {
        let mut logs = Bytes::default();
        let (roots, transfers) = (verified.roots(), verified.transfers());
        let left = verified.executed().iter().zip(&roots).zip(transfers.iter());
        for (block, ((executed, root), transfers)) in verified.blocks().iter().zip(left) {
            let (executions, changes) = (&executed.executions[..], &executed.changes[..]);
            ledger.put(&Entry { block, executions, changes, transfers, root: *root })?;
            logs.push(&application::encode(executions));
        }
        Ok(logs)
    }

    /// Asks the store of blocks; none where nothing is kept.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&ChainStore) -> T) -> Option<T> {
        match self {
            Self::Discard => None,
            Self::Store(store) => Some(ask(store)),
            Self::Ledger(ledger) => Some(ask(&ledger.store.lock())),
        }
    }

    /// The state root after the last block, where blocks are executed.
    pub(crate) fn root(&self) -> UInt256 {
        match self {
            Self::Ledger(ledger) => ledger.root(),
            _ => UInt256::ZERO,
        }
    }

    /// Height of the last committed block; none where nothing is kept.
    pub(crate) fn committed(&self) -> Option<u64> {
        self.with(ChainStore::tip).flatten().map(|tip| tip.number)
    }

    /// Makes everything committed survive a power loss.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        match self {
            Self::Store(store) => Ok(store.sync()?),
            Self::Ledger(ledger) => Ok(ledger.commit()?),
            Self::Discard => Ok(()),
        }
    }

    /// The header of the last committed block and its hash, read back and hashed; none where
    /// nothing is kept.
    pub(crate) fn read_back(&self, state_root: bool) -> Result<Option<(Header, UInt256)>, Error> {
        self.with(|store| read_back(store, state_root)).unwrap_or(Ok(None))
    }
}

fn read_back(store: &ChainStore, state_root: bool) -> Result<Option<(Header, UInt256)>, Error> {
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
