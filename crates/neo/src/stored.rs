//! A store of an import, opened for reading its last commit: blocks, and where they were executed
//! their application logs, state roots, contract storage and transfers.

mod balances;

pub use balances::Balance;

use crate::execute::engine::Execution;
use crate::fault::Error;
use crate::history::{self, HISTORY};
use crate::ledger::{self, Facts, Position, ROOTS, STORAGE, TABLE_MEMORY, TRANSACTIONS};
use crate::logs::{self, TRANSFERS, Transfer, TransferError, UPDATES, application};
use crate::params::Protocol;
use crate::state::{Base, State, StateTrie, StorageKey};
use crate::types::{Block, Header, Reader, UInt160, UInt256};
use blockmill_hashes::{ManySha256, sha256};
use blockmill_store::{ChainStore, Table, TableOptions, Tip};
use blockmill_verdict::Level;
use std::path::Path;

/// A store, as of its last commit.
pub struct Stored {
    store: ChainStore,
    tables: Option<Tables>,
    /// Are there state roots in headers?
    state_root: bool,
}

/// What a store of executed blocks has besides them.
struct Tables {
    storage: Table,
    transactions: Table,
    transfers: Table,
    updates: Table,
    roots: Table,
    /// Contract storage as of every block, where that is kept.
    history: Option<Table>,
    /// The state root after the last block.
    root: UInt256,
}

impl Stored {
    /// Opens the store in a folder. Nothing is changed.
    ///
    /// # Errors
    /// There is none, or it is damaged.
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
        let facts = Facts::of(&store)?.and_then(|facts| facts.state).unwrap_or_default();
        let root = facts.root;
        let tables = Tables { storage, transactions, transfers, updates, roots, history, root };
        Ok(Self { store, tables: Some(tables), state_root })
    }

    /// The network that the blocks were verified by; none of a store without blocks.
    ///
    /// # Errors
    /// The store does not say it: damage.
    pub fn protocol(&self) -> Result<Option<Protocol>, Error> {
        let Some(facts) = Facts::of(&self.store)? else { return Ok(None) };
        let protocol = facts.configuration.protocol();
        protocol.map(Some).ok_or_else(|| Error::StoredFacts("a setting is missing".into()))
    }

    /// Have blocks been removed?
    #[must_use]
    pub fn has_removed(&self) -> bool {
        self.store.first_whole() > self.store.first()
    }

    /// The last block, and how deep blocks were verified.
    #[must_use]
    pub fn tip(&self) -> Option<Tip> {
        self.store.tip()
    }

    /// The height of the first block.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.store.first()
    }

    /// The height of the first block that is whole: blocks before it were removed but for their
    /// headers.
    #[must_use]
    pub fn first_whole(&self) -> Option<u64> {
        self.store.first_whole()
    }

    /// The state root after the last block, where blocks were executed.
    #[must_use]
    pub fn root(&self) -> Option<UInt256> {
        self.tables.as_ref().map(|tables| tables.root)
    }

    /// The state root after a block, where blocks were executed.
    ///
    /// # Errors
    /// Those of reading.
    pub fn root_at(&self, height: u32) -> Result<Option<UInt256>, Error> {
        let Some(tables) = &self.tables else { return Ok(None) };
        let mut root = Vec::new();
        let live = tables.roots.get(&height.to_be_bytes(), &mut root)?;
        Ok(UInt256::from_slice(&root).filter(|_| live))
    }

    /// A block; none where the store has none of this height, or has only its header.
    ///
    /// # Errors
    /// Those of reading; [`blockmill_store::Error::Removed`] when the store has it no more.
    pub fn block(&self, height: u32) -> Result<Option<Block>, Error> {
        Ok(ledger::stored_block(&self.store, height.into(), self.state_root)?)
    }

    /// The height of the block with this hash.
    ///
    /// # Errors
    /// Those of reading.
    pub fn height_of(&self, hash: UInt256) -> Result<Option<u32>, Error> {
        let number = self.store.number_of(&hash.0)?;
        Ok(number.and_then(|number| number.try_into().ok()))
    }

    /// Where a transaction is: height, and number in the block.
    ///
    /// # Errors
    /// Those of reading.
    pub fn transaction(&self, hash: UInt256) -> Result<Option<(u32, u32)>, Error> {
        let Some(tables) = &self.tables else { return Ok(None) };
        let mut value = Vec::new();
        let live = tables.transactions.get(&hash.0, &mut value)?;
        let position = live.then(|| Position::decode(&value)).flatten();
        Ok(position.map(|position| (position.height, position.index)))
    }

    /// The executions of a block; none where it was not executed.
    ///
    /// # Errors
    /// Those of [`Stored::block`], and a log that is none.
    pub fn executions(&self, height: u32) -> Result<Option<Vec<Execution>>, Error> {
        let (block, log) = (self.block(height)?, self.store.receipts(height.into())?);
        let Some((block, log)) = block.zip(log) else { return Ok(None) };
        let damaged = |error| Error::StoredLog { height, error };
        application::decode(&block, &log).map(Some).map_err(damaged)
    }

    /// The transfers of an account of one standard (17 or 11), in the order of the chain; where
    /// blocks were removed, of the older ones of NEP-17 only the last of each token. `each`
    /// says whether to go on.
    ///
    /// # Errors
    /// Those of reading, and an entry that is none.
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

    /// The tokens of an account, and when its balance of each changed last.
    fn updates(&self, account: UInt160) -> Result<Vec<(i32, u32)>, TransferError> {
        match &self.tables {
            None => Ok(vec![]),
            Some(tables) => logs::last_updates(&tables.updates.reader(), account),
        }
    }

    /// What contract `id` has under a key after a block; only where the state as of every block is
    /// kept.
    ///
    /// # Errors
    /// Those of reading.
    pub fn value_at(&self, height: u32, id: i32, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let history = self.tables.as_ref().and_then(|tables| tables.history.as_ref());
        let (Some(history), Some(key)) = (history, StorageKey::new(id, key)) else {
            return Ok(None);
        };
        Ok(history::value_at(&history.snapshot(), &key, height)?)
    }

    /// The state trie after a block, built again; none where the state as of every block is not
    /// kept.
    ///
    /// # Errors
    /// Those of reading; a root that is another than the one of that block.
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

/// Whether the last header carries a state root: no byte tells, but the hash does.
pub(crate) fn has_state_roots(store: &ChainStore) -> Result<bool, Error> {
    let Some(tip) = store.tip() else { return Ok(false) };
    let number = tip.number;
    let Some(raw) = store.header(number)? else { return Ok(false) };
    for state_root in [false, true] {
        let header = Header::read(&mut Reader::new(&raw), state_root);
        if header.is_ok_and(|header| sha256(header.signed.of(&raw)) == tip.hash) {
            return Ok(state_root);
        }
    }
    let found = None;
    Err(Error::StoredBlock { number, expected: UInt256(tip.hash), found })
}
