//! The receiver of verified blocks: none, a store of blocks, or a ledger.

use super::Verified;
use super::columns::Columns;
use crate::Level;
use crate::error::Error;
use crate::ledger::{Facts, KeptBlocks, Ledger};
use crate::params::Configuration;
use crate::types::{Header, Reader, UInt256};
use blockmill_hashes::sha256;
use blockmill_store::{Blocks, ChainStore};

/// The receiver of an import.
pub enum Sink {
    /// Verify only.
    Discard,
    /// A store of headers and bodies; a body is the rest of a block after its header.
    Store(Box<ChainStore>),
    /// A store of executed blocks, for level execution: blocks, application logs as their receipts,
    /// and tables.
    Ledger(Box<Ledger>),
}

/// What all commits of a run have in common.
pub(crate) struct Commit {
    /// Hash of the chain's first block.
    pub chain: UInt256,
    /// The level of verification.
    pub level: Level,
    /// The configuration that the blocks were verified against.
    pub configuration: Configuration,
}

impl Sink {
    /// Writes the blocks and commits them.
    pub(crate) fn write(&mut self, commit: &Commit, verified: &Verified<'_>) -> Result<(), Error> {
        let Some(last) = verified.blocks().last() else { return Ok(()) };
        let tip = blockmill_store::Tip {
            number: last.header.index.into(),
            hash: last.hash.0,
            chain: commit.chain.0,
            anchor_hash: commit.chain.0,
            level: commit.level as u8,
            ..blockmill_store::Tip::default()
        };
        match self {
            Self::Discard => {}
            Self::Store(store) => {
                let mut columns = Columns::default();
                columns.fill(verified.blocks());
                let blocks = Self::blocks(verified, &columns, commit.level);
                store.append(&blocks)?;
                let facts = Facts { configuration: commit.configuration.clone(), state: None };
                let facts = facts.encode();
                match store.state_of_parts() == facts {
                    true => store.commit(&tip)?,
                    // the first commit records the configuration, and so does a changed one
                    false => store.commit_with(&tip, &mut [], &facts)?,
                }
            }
            Self::Ledger(ledger) => {
                let range = (verified.blocks()[0].header.index, verified.blocks().len());
                ledger.put(
                    range,
                    verified.executed(),
                    (verified.results(), verified.tolerated()),
                )?;
                let (columns, logs) = (verified.results().columns(), verified.results().logs());
                let mut blocks = Self::blocks(verified, &columns, commit.level);
                blocks.receipts = Some(logs.items(verified.blocks().len()));
                ledger.append(&blocks, tip)?;
                if verified.flushes() || ledger.wants_flush() {
                    ledger.commit()?;
                }
            }
        }
        Ok(())
    }

    /// The blocks as the store takes them; `columns` may hold more of them.
    fn blocks<'a>(verified: &Verified<'_>, columns: &'a Columns, level: Level) -> Blocks<'a> {
        let count = verified.blocks().len();
        Blocks {
            first: verified.blocks().first().map_or(0, |block| block.header.index.into()),
            hashes: &columns.hashes[..count.min(columns.hashes.len())],
            headers: columns.headers.items(count),
            bodies: (level >= Level::Bodies).then(|| columns.bodies.items(count)),
            receipts: None,
        }
    }

    /// Sets the configuration for the blocks to come, and which blocks a ledger keeps.
    pub(crate) fn configure(&mut self, configuration: &Configuration, blocks: KeptBlocks) {
        if let Self::Ledger(ledger) = self {
            ledger.configure(configuration.clone(), blocks);
        }
    }

    /// Checks that an import with this value of `blocks` can continue a store.
    ///
    /// # Errors
    /// Returns [`Error::Blocks`] if the store has removed blocks and the import keeps all,
    /// or if the store keeps the state of every block and the import removes blocks.
    pub(crate) fn check_removal(&self, blocks: KeptBlocks) -> Result<(), Error> {
        let Self::Ledger(ledger) = self else { return Ok(()) };
        let (first, whole) = {
            let store = ledger.store.lock();
            (store.first(), store.first_whole())
        };
        let expected = match (whole.filter(|whole| Some(*whole) > first), blocks) {
            (Some(whole), KeptBlocks::All) => {
                format!("traceable, as blocks before {whole} were removed")
            }
            (_, KeptBlocks::Traceable) if ledger.keeps_history() => {
                "all, as the store keeps the state as of every block".into()
            }
            _ => return Ok(()),
        };
        Err(Error::Blocks { expected, found: blocks.name() })
    }

    /// Queries the store of blocks; `None` if nothing is stored.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&ChainStore) -> T) -> Option<T> {
        match self {
            Self::Discard => None,
            Self::Store(store) => Some(ask(store)),
            Self::Ledger(ledger) => Some(ask(&ledger.store.lock())),
        }
    }

    /// The state root after the last block; zero if blocks are not executed.
    pub(crate) fn root(&self) -> UInt256 {
        match self {
            Self::Ledger(ledger) => ledger.root(),
            _ => UInt256::ZERO,
        }
    }

    /// The height of the last committed block; `None` if nothing is stored.
    pub(crate) fn committed(&self) -> Option<u64> {
        self.with(ChainStore::tip).flatten().map(|tip| tip.number)
    }

    /// Makes everything committed survive a power loss.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        match self {
            Self::Store(store) => Ok(store.sync()?),
            Self::Ledger(ledger) => ledger.commit(),
            Self::Discard => Ok(()),
        }
    }

    /// Reads back the header of the last committed block and hashes it; `None` if nothing is
    /// stored.
    ///
    /// # Errors
    /// Returns [`Error::StoredBlock`] if the stored block is not the one that was committed.
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
    let found = UInt256(sha256(header.signed.slice(&raw)));
    if found != expected {
        return Err(damaged(Some(found)));
    }
    if tip.level >= Level::Bodies as u8 && store.body(number)?.is_none() {
        return Err(damaged(None));
    }
    Ok(Some((header, found)))
}
