//! Reads the last commit of a store: blocks, and for executed blocks their application logs, state
//! roots, contract storage and transfers.

mod balances;

pub use balances::Balance;

use crate::error::Error;
use crate::execute::engine::Execution;
use crate::ledger::history::{self, HISTORY};
use crate::ledger::{self, Facts, Position, ROOTS, STORAGE, TABLE_MEMORY, TRANSACTIONS};
use crate::logs::{self, TRANSFERS, Transfer, TransferError, UPDATES, application};
use crate::params::Protocol;
use crate::state::{Base, State, StateTrie, StorageKey};
use crate::types::{Block, Header, Reader, UInt160, UInt256};
use blockmill_hashes::{ManySha256, sha256};
use blockmill_store::{ChainStore, Table, TableOptions, Tip};
use blockmill_verdict::Level;
use std::path::Path;

/// A read-only view of a store as of its last commit.
pub struct StoreReader {
    store: ChainStore,
    tables: Option<Tables>,
    /// Whether headers have state roots.
    state_root: bool,
}

/// The tables of a store of executed blocks.
struct Tables {
    storage: Table,
    transactions: Table,
    transfers: Table,
    updates: Table,
    roots: Table,
    /// Contract storage as of every block, if the store keeps it.
    history: Option<Table>,
    /// The state root after the last block.
    root: UInt256,
}

impl StoreReader {
    /// Opens the store in a folder, read-only.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if there is no store or it is corrupt, [`Error::StoredFacts`] or
    /// [`Error::StoredBlock`] if its facts or last header cannot be decoded.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (store, _) = ChainStore::open_read_only(folder)?;
        Self::over(store, folder)
    }

    fn over(store: ChainStore, folder: &Path) -> Result<Self, Error> {
        let executed = store.tip().is_some_and(|tip| tip.level >= Level::Execution as u8);
        let state_root = has_state_roots(&store)?;
        if !executed {
            return Ok(Self { store, tables: None, state_root });
        }
        let keeps_history = store.parts_besides().contains(&HISTORY);
        let mut history = None;
        let parts =
            |opening: &mut blockmill_store::Opening| -> blockmill_store::Result<[Table; 5]> {
                let mut table = |name| opening.table(name, &TableOptions::new(TABLE_MEMORY));
                history = if keeps_history { Some(table(HISTORY)?) } else { None };
                Ok([
                    table(STORAGE)?,
                    table(TRANSACTIONS)?,
                    table(TRANSFERS)?,
                    table(UPDATES)?,
                    table(ROOTS)?,
                ])
            };
        let ((store, _), tables) = ChainStore::open_read_only_with(folder, parts)?;
        let [storage, transactions, transfers, updates, roots] = tables;
        let facts = Facts::read(&store)?.and_then(|facts| facts.state).unwrap_or_default();
        let root = facts.root;
        let tables = Tables { storage, transactions, transfers, updates, roots, history, root };
        Ok(Self { store, tables: Some(tables), state_root })
    }

    /// The network that the blocks were verified against; `None` for a store without blocks.
    ///
    /// # Errors
    /// Returns [`Error::StoredFacts`] if the stored configuration is incomplete.
    pub fn protocol(&self) -> Result<Option<Protocol>, Error> {
        let Some(facts) = Facts::read(&self.store)? else { return Ok(None) };
        let protocol = facts.configuration.protocol();
        protocol.map(Some).ok_or_else(|| Error::StoredFacts("a setting is missing".into()))
    }

    /// Reports whether blocks have been removed.
    #[must_use]
    pub fn has_removed(&self) -> bool {
        self.store.first_whole() > self.store.first()
    }

    /// The last block, and the level of verification.
    #[must_use]
    pub fn tip(&self) -> Option<Tip> {
        self.store.tip()
    }

    /// The height of the first block.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.store.first()
    }

    /// The height of the first complete block: earlier blocks were removed up to their headers.
    #[must_use]
    pub fn first_whole(&self) -> Option<u64> {
        self.store.first_whole()
    }

    /// The state root after the last block, if blocks were executed.
    #[must_use]
    pub fn root(&self) -> Option<UInt256> {
        self.tables.as_ref().map(|tables| tables.root)
    }

    /// The state root after a block, if blocks were executed.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the table cannot be read.
    pub fn root_at(&self, height: u32) -> Result<Option<UInt256>, Error> {
        let Some(tables) = &self.tables else { return Ok(None) };
        let mut root = Vec::new();
        let live = tables.roots.get(&height.to_be_bytes(), &mut root)?;
        Ok(UInt256::from_slice(&root).filter(|_| live))
    }

    /// Reads a block; `None` if the store has no block at this height, or only its header.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the block cannot be read, with
    /// [`blockmill_store::Error::Removed`] if it was removed.
    pub fn block(&self, height: u32) -> Result<Option<Block>, Error> {
        Ok(ledger::stored_block(&self.store, height.into(), self.state_root)?)
    }

    /// The height of the block with this hash.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the index cannot be read.
    pub fn height_of(&self, hash: UInt256) -> Result<Option<u32>, Error> {
        let number = self.store.number_of(&hash.0)?;
        Ok(number.and_then(|number| number.try_into().ok()))
    }

    /// The position of a transaction: height, and index in the block.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the table cannot be read.
    pub fn transaction(&self, hash: UInt256) -> Result<Option<(u32, u32)>, Error> {
        let Some(tables) = &self.tables else { return Ok(None) };
        let mut value = Vec::new();
        let live = tables.transactions.get(&hash.0, &mut value)?;
        let position = live.then(|| Position::decode(&value)).flatten();
        Ok(position.map(|position| (position.height, position.index)))
    }

    /// The executions of a block; `None` if it was not executed.
    ///
    /// # Errors
    /// Returns the errors of [`StoreReader::block`], and [`Error::StoredLog`] if the application
    /// log cannot be decoded.
    pub fn executions(&self, height: u32) -> Result<Option<Vec<Execution>>, Error> {
        let (block, log) = (self.block(height)?, self.store.receipts(height.into())?);
        let Some((block, log)) = block.zip(log) else { return Ok(None) };
        let damaged = |error| Error::StoredLog { height, error };
        application::decode(&block, &log).map(Some).map_err(damaged)
    }

    /// Passes the transfers of an account of one standard (17 or 11) to `each`, in the order of the
    /// chain, until it returns false. Of removed blocks, only the last NEP-17 transfer of each
    /// token is left.
    ///
    /// # Errors
    /// Returns [`TransferError::Store`] if the table cannot be read, [`TransferError::Entry`] if an
    /// entry cannot be decoded.
    pub fn transfers(
        &self,
        account: UInt160,
        standard: u8,
        each: impl FnMut(Transfer) -> bool,
    ) -> Result<(), TransferError> {
        match &self.tables {
            None => Ok(()),
            Some(tables) => logs::of_account(&tables.transfers.reader(), account, standard, each),
        }
    }

    /// The tokens of an account, with the height of the last change of each balance.
    fn updates(&self, account: UInt160) -> Result<Vec<(i32, u32)>, TransferError> {
        match &self.tables {
            None => Ok(vec![]),
            Some(tables) => logs::last_updates(&tables.updates.reader(), account),
        }
    }

    /// The value under a key of contract `id` after a block, if the store keeps the state as of
    /// every block.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the table cannot be read.
    pub fn value_at(&self, height: u32, id: i32, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let history = self.tables.as_ref().and_then(|tables| tables.history.as_ref());
        let (Some(history), Some(key)) = (history, StorageKey::new(id, key)) else {
            return Ok(None);
        };
        Ok(history::value_at(&history.snapshot(), &key, height)?)
    }

    /// Rebuilds the state trie after a block; `None` if the store does not keep the state as of
    /// every block.
    ///
    /// # Errors
    /// Returns [`Error::StoredState`] if its root is not the one of that block, [`Error::Store`] if
    /// a table cannot be read.
    pub fn trie_at(&self, height: u32) -> Result<Option<StateTrie>, Error> {
        let history = self.tables.as_ref().and_then(|tables| tables.history.as_ref());
        let (Some(history), Some(expected)) = (history, self.root_at(height)?) else {
            return Ok(None);
        };
        let trie = history::trie_at(&history.snapshot(), height, ManySha256::detect())?;
        match trie.root() == expected {
            true => Ok(Some(trie)),
            false => Err(Error::StoredState { expected, found: trie.root() }),
        }
    }

    /// The state after the last block.
    fn state(&self) -> Option<State> {
        let tables = self.tables.as_ref()?;
        Some(State::new(Base::over(tables.storage.reader())))
    }
}

/// Reports whether headers have state roots. The encoding does not say it, but only one layout
/// yields the hash of the last header.
///
/// # Errors
/// Returns [`Error::StoredBlock`] if neither layout does, [`Error::Store`] if the header cannot be
/// read.
pub(crate) fn has_state_roots(store: &ChainStore) -> Result<bool, Error> {
    let Some(tip) = store.tip() else { return Ok(false) };
    let number = tip.number;
    let Some(raw) = store.header(number)? else { return Ok(false) };
    for state_root in [false, true] {
        let header = Header::read(&mut Reader::new(&raw), state_root);
        if header.is_ok_and(|header| sha256(header.signed.slice(&raw)) == tip.hash) {
            return Ok(state_root);
        }
    }
    let found = None;
    Err(Error::StoredBlock { number, expected: UInt256(tip.hash), found })
}
