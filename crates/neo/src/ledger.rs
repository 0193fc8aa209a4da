//! The store of executed blocks: blocks, application logs and tables, all of which one commit makes
//! visible together.

mod blocks;
mod cache;
mod digest;
mod entries;
mod facts;
mod history;
mod parts;
mod put;
mod reader;
mod recent;
mod remove;
mod repair;
mod trie;
mod undo;
mod unwind;

pub(crate) use blocks::stored_block;
pub use cache::CachedTable;
pub(crate) use cache::TableCache;
pub(crate) use entries::{Position, conflict_key};
pub use facts::is_neo_store;
pub(crate) use facts::{Facts, StateFacts};
pub use history::HISTORY;
pub(crate) use reader::has_state_roots;
pub use reader::{Balance, StoreReader};
pub(crate) use recent::RecentBlocks;
pub use remove::KeptBlocks;
pub use repair::{goes_back_to, is_of_log, repair};
pub(crate) use trie::trie_of;
pub use undo::{ChangeLog, UNWIND_DEPTH};
pub use unwind::{Unwound, unwind_blocks};

use crate::error::Error;
use crate::params::Configuration;
use crate::state::{Base, StateTrie};
use crate::types::UInt256;
use blockmill_hashes::ManySha256;
use blockmill_store::{ChainStore, CommitPart, Opening, Table, TableReader};
use parts::Parts;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use undo::UndoLog;

/// Contract storage, by id and key.
pub const STORAGE: &str = "storage";
/// Positions of transactions, by hash.
pub const TRANSACTIONS: &str = "transactions";
/// `Conflicts` attributes: hash and signer, with the last height.
pub const CONFLICTS: &str = "conflicts";
/// Transactions of removed blocks that made an oracle request, by hash.
pub const ASKERS: &str = "oracle-askers";
/// The state root after each block, by its height in big endian.
pub const ROOTS: &str = "roots";

/// Bytes of memory for the changes of a table and for its cached pages.
pub(crate) const TABLE_MEMORY: usize = 32 << 20;
/// The blocks, shared by the writer and the lookups of contracts.
#[derive(Clone)]
pub(crate) struct SharedStore(Arc<Mutex<ChainStore>>);

impl SharedStore {
    pub fn lock(&self) -> MutexGuard<'_, ChainStore> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store of executed blocks.
pub struct Ledger {
    pub(crate) store: SharedStore,
    storage: Table,
    transactions: Table,
    conflicts: Table,
    transfers: Table,
    updates: Table,
    roots: Table,
    askers: Table,
    /// Contract storage as of every block, if the store keeps it.
    history: Option<Table>,
    undo: UndoLog,
    /// Minimum number of blocks that can be unwound.
    depth: u32,
    /// Which blocks are kept.
    blocks: KeptBlocks,
    /// The tables differ from the last commit.
    changed: bool,
    /// The configuration of the blocks to come.
    configuration: Configuration,
    /// As of the last block that was added.
    facts: StateFacts,
    /// The last appended block that is not committed.
    pending: Option<blockmill_store::Tip>,
    /// Number of committed blocks, for the execution stage.
    committed: Arc<AtomicU64>,
}

impl Ledger {
    /// Opens the store in a folder, or creates one that keeps the state as of the last block only.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the store is corrupt, locked or cannot be opened, and
    /// [`Error::StoredFacts`] if its facts cannot be decoded.
    pub fn open(folder: &Path, options: &blockmill_store::Options) -> Result<Self, Error> {
        Self::open_or_make(folder, options, false)
    }

    /// Opens the store in a folder, or creates one that keeps the state as of every block.
    ///
    /// # Errors
    /// Returns the errors of [`Ledger::open`], and [`Error::OtherChain`] if the store was begun
    /// without the history of the state.
    pub fn open_with_history(
        folder: &Path,
        options: &blockmill_store::Options,
    ) -> Result<Self, Error> {
        let ledger = Self::open_or_make(folder, options, true)?;
        match &ledger.history {
            Some(_) => Ok(ledger),
            None => {
                let expected = "a store that keeps the state as of every block".into();
                let found = "one that began without".into();
                Err(Error::OtherChain { expected, found })
            }
        }
    }

    fn open_or_make(
        folder: &Path,
        options: &blockmill_store::Options,
        wants_history: bool,
    ) -> Result<Self, Error> {
        // the first import decides whether a store keeps the history
        let keeps_history = match ChainStore::open_read_only(folder) {
            Ok((store, _)) if store.count() > 0 => store.parts_besides().contains(&HISTORY),
            _ => wants_history,
        };
        let parts = |opening: &mut Opening| Parts::open(opening, keeps_history);
        let ((store, _), parts) = ChainStore::open_with(folder, options, parts)?;
        Self::from_parts(store, parts)
    }

    fn from_parts(store: ChainStore, parts: Parts) -> Result<Self, Error> {
        let Parts { tables, history, undo } = parts;
        let [storage, transactions, conflicts, transfers, updates, roots, askers] = tables;
        let facts = Facts::read(&store)?.unwrap_or_default();
        let store = SharedStore(Arc::new(Mutex::new(store)));
        Ok(Self {
            store,
            undo,
            depth: UNWIND_DEPTH,
            blocks: KeptBlocks::All,
            changed: false,
            configuration: facts.configuration,
            facts: facts.state.unwrap_or_default(),
            storage,
            transactions,
            conflicts,
            transfers,
            updates,
            roots,
            askers,
            history,
            pending: None,
            committed: Arc::default(),
        })
    }

    /// Sets the minimum number of blocks that can be unwound. The undo log holds at most about
    /// twice as many.
    #[must_use]
    pub fn with_depth(self, blocks: u32) -> Self {
        Self { depth: blocks.max(1), ..self }
    }

    /// Sets the configuration of the blocks to come, and which blocks are kept.
    pub(crate) fn configure(&mut self, configuration: Configuration, blocks: KeptBlocks) {
        (self.configuration, self.blocks) = (configuration, blocks);
    }

    /// Reports whether the store keeps the state as of every block.
    pub(crate) fn keeps_history(&self) -> bool {
        self.history.is_some()
    }

    /// The state before the next block.
    pub(crate) fn base(&self) -> Base {
        Base::over(self.storage.reader())
    }

    /// Contract storage as of the last commit.
    pub(crate) fn storage(&self) -> TableReader {
        self.storage.reader()
    }

    /// Transactions as of the last commit.
    pub(crate) fn transactions(&self) -> TableReader {
        self.transactions.reader()
    }

    /// Conflicts as of the last commit.
    pub(crate) fn conflicts(&self) -> TableReader {
        self.conflicts.reader()
    }

    /// The kept transactions of removed blocks, as of the last commit.
    pub(crate) fn askers(&self) -> TableReader {
        self.askers.reader()
    }

    /// Builds the state trie as of the last commit from contract storage.
    ///
    /// # Errors
    /// Returns [`Error::StoredState`] if the root is not the committed one, [`Error::Store`] if
    /// contract storage cannot be read.
    pub(crate) fn trie(&self, hasher: ManySha256) -> Result<StateTrie, Error> {
        let trie = trie_of(&self.storage.reader(), hasher)?;
        match trie.root() == self.facts.root {
            true => Ok(trie),
            false => Err(Error::StoredState { expected: self.facts.root, found: trie.root() }),
        }
    }

    /// Appends a chunk of blocks up to `tip`, after [`Ledger::put`].
    ///
    /// # Errors
    /// Returns the error of [`ChainStore::append`].
    pub(crate) fn append(
        &mut self,
        blocks: &blockmill_store::Blocks<'_>,
        tip: blockmill_store::Tip,
    ) -> blockmill_store::Result<()> {
        self.store.lock().append(blocks)?;
        self.pending = Some(tip);
        Ok(())
    }

    /// Commits everything that was put and appended so far, durably. Then removes blocks that are
    /// no longer traceable, if the settings say so.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the commit fails, and the errors of reading the removed blocks.
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        self.commit_pending()?;
        // a removal must not commit what a failed write left in the tables
        let removes = self.blocks == KeptBlocks::Traceable && !self.changed;
        if removes { self.remove() } else { Ok(()) }
    }

    fn commit_pending(&mut self) -> blockmill_store::Result<()> {
        let Some(tip) = self.pending.take() else { return Ok(()) };
        // heights have four bytes
        self.undo.rotate(tip.number as u32 + 1, self.depth, &mut self.facts)?;
        let (store, state) = (self.store.clone(), self.encoded_facts());
        store.lock().commit_with(&tip, &mut self.parts(), &state)?;
        self.changed = false;
        self.committed.store(tip.number + 1, Ordering::Release);
        Ok(())
    }

    /// The facts of the next commit.
    fn encoded_facts(&self) -> Vec<u8> {
        let configuration = self.configuration.clone();
        Facts { configuration, state: Some(self.facts) }.encode()
    }

    /// All parts of the store but the blocks.
    fn parts(&mut self) -> Vec<CommitPart<'_>> {
        let tables = [
            &mut self.storage,
            &mut self.transactions,
            &mut self.conflicts,
            &mut self.transfers,
            &mut self.updates,
            &mut self.roots,
            &mut self.askers,
        ];
        let tables = tables.into_iter().chain(&mut self.history).map(CommitPart::from);
        tables.chain(self.undo.parts()).collect()
    }

    /// Number of committed blocks as of the last commit of this process; 0 before it.
    pub(crate) fn committed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.committed)
    }

    /// Reports whether the tables exceed their memory limit, so that a commit is due.
    pub(crate) fn wants_flush(&self) -> bool {
        let tables = [&self.storage, &self.transactions, &self.conflicts, &self.transfers];
        let others = [&self.updates, &self.roots].into_iter().chain(&self.history);
        tables.into_iter().chain(others).any(Table::wants_flush)
    }

    /// The state root after the last block.
    #[must_use]
    pub fn root(&self) -> UInt256 {
        self.facts.root
    }
}
