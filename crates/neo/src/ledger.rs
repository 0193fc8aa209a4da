//! The store of executed blocks: blocks with their application logs, and tables beside them, all of
//! which become true with one commit.

mod blocks;
mod digest;
mod entries;
pub(crate) mod facts;
mod parts;
mod remove;
mod repair;
mod trie;
mod undo;
mod unwind;

pub(crate) use blocks::stored_block;
pub(crate) use entries::{Position, conflict_key};
pub(crate) use facts::{Facts, MARK, StateFacts};
pub use remove::KeptBlocks;
pub use repair::{goes_back_to, is_of_log, repair};
pub(crate) use trie::trie_of;
pub use undo::{ChangeLog, UNWIND_DEPTH};
pub use unwind::{Unwound, unwind_blocks};

use crate::error::Violation;
use crate::execute::block::Executed;
use crate::fault::Error;
use crate::history::{self, HISTORY};
use crate::params::Configuration;
use crate::state::{Base, StateTrie};
use crate::tasks::{Kept, Left};
use crate::types::UInt256;
use blockmill_hashes::ManySha256;
use blockmill_store::{ChainStore, CommitPart, Opening, Table, TableReader};
use parts::Parts;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use undo::{Replacements, UndoLog};

/// Contract storage, by id and key.
pub const STORAGE: &str = "storage";
/// Where transactions are, by hash.
pub const TRANSACTIONS: &str = "transactions";
/// What transactions name as conflicting: hash and signer, and the last height.
pub const CONFLICTS: &str = "conflicts";
/// Transactions that asked an oracle, of blocks that were removed, by hash.
pub const ASKERS: &str = "oracle-askers";
/// The state root after each block, by its height in big endian.
pub const ROOTS: &str = "roots";

/// Bytes of memory for each table's changes and for pages that were read.
pub(crate) const TABLE_MEMORY: usize = 32 << 20;
/// Entries of a table whose places are fetched from memory at the same time.
const TOGETHER: usize = 64;

/// The blocks, shared by who writes them and who looks into the past.
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
    /// Contract storage as of every block, where that is kept.
    history: Option<Table>,
    undo: UndoLog,
    /// Blocks that can be taken back at least.
    depth: u32,
    /// Which blocks are kept.
    blocks: KeptBlocks,
    /// What the tables have is not what was committed.
    changed: bool,
    /// The configuration that blocks are verified by from now on.
    configuration: Configuration,
    /// As of the last block that was put in.
    facts: StateFacts,
    /// The last block that was appended and not committed.
    pending: Option<blockmill_store::Tip>,
    /// How many blocks are committed, for who executes those after them.
    committed: Arc<AtomicU64>,
}

impl Ledger {
    /// Opens the store in a folder, or makes one, which keeps the state as of the last block only.
    ///
    /// # Errors
    /// Those of [`ChainStore::open_with`].
    pub fn open(folder: &Path, options: &blockmill_store::Options) -> Result<Self, Error> {
        Self::open_or_make(folder, options, false)
    }

    /// The same, but a new store keeps the state as of every block.
    ///
    /// # Errors
    /// As [`Ledger::open`]; a store that has not kept it from its first block on.
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
        // a store keeps what it has kept from its first block on
        let keeps_history = match ChainStore::open_read_only(folder) {
            Ok((store, _)) if store.count() > 0 => store.parts_besides().contains(&HISTORY),
            _ => wants_history,
        };
        let parts = |opening: &mut Opening| Parts::open(opening, keeps_history);
        let ((store, _), parts) = ChainStore::open_with(folder, options, parts)?;
        Self::of(store, parts)
    }

    fn of(store: ChainStore, parts: Parts) -> Result<Self, Error> {
        let Parts { tables, history, undo } = parts;
        let [storage, transactions, conflicts, transfers, updates, roots, askers] = tables;
        let facts = Facts::of(&store)?.unwrap_or_default();
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

    /// The same store, which from now on keeps what it needs to take back so many blocks at least,
    /// and at most about twice as many.
    #[must_use]
    pub fn with_depth(self, blocks: u32) -> Self {
        Self { depth: blocks.max(1), ..self }
    }

    /// Sets the configuration that blocks are verified by from now on, and which blocks are kept.
    pub(crate) fn configure(&mut self, configuration: Configuration, blocks: KeptBlocks) {
        (self.configuration, self.blocks) = (configuration, blocks);
    }

    /// Is the state kept as of every block?
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

    /// Transactions of removed blocks that are left, as of the last commit.
    pub(crate) fn askers(&self) -> TableReader {
        self.askers.reader()
    }

    /// The state trie as of the last commit, built from contract storage.
    ///
    /// # Errors
    /// Those of reading, and a root that is not the one that was committed.
    pub(crate) fn trie(&self, hasher: ManySha256) -> Result<StateTrie, Error> {
        let trie = trie_of(&self.storage.reader(), hasher)?;
        match trie.root() == self.facts.root {
            true => Ok(trie),
            false => Err(Error::StoredState { expected: self.facts.root, found: trie.root() }),
        }
    }

    /// Puts what `count` blocks of a batch, from the first on, leave into the tables. It counts
    /// with the next commit.
    ///
    /// # Errors
    /// Those of the tables.
    pub(crate) fn put(
        &mut self,
        (first, count): (u32, usize),
        executed: &[Executed],
        (left, tolerated): (&Left, &[(u32, Violation)]),
    ) -> blockmill_store::Result<()> {
        // if this fails, what the tables have is not of a whole chunk: nothing may be committed
        (self.pending, self.changed) = (None, true);
        let mut replaced = Replacements::new(first, tolerated);
        let storage = &mut self.storage;
        for changes in executed.iter().take(count).flat_map(|each| each.changes.chunks(TOGETHER)) {
            let keys: Vec<&[u8]> = changes.iter().map(|(key, _)| key.as_slice()).collect();
            storage.touch(&keys);
            for (key, value) in changes {
                match value {
                    Some(value) => storage.put(key.as_slice(), value)?,
                    None => storage.delete(key.as_slice())?,
                }
            }
        }
        if let Some(history) = &mut self.history {
            for (height, executed) in (first..).zip(executed.iter().take(count)) {
                history::put(history, height, &executed.changes)?;
            }
        }
        for cache in &left.caches() {
            for (kept, entries) in cache.tables() {
                let table = self.table(kept);
                if replaced.looks_at(kept) {
                    for (key, value) in entries.of_first(count) {
                        replaced.look(kept, table, key, value)?;
                        table.put(key, value)?;
                    }
                } else {
                    put_all(table, entries.of_first(count))?;
                }
            }
        }
        match replaced.records(&executed[..count.min(executed.len())]) {
            Some(records) => self.undo.append(first, &records, &mut self.facts)?,
            None => self.undo.give_up()?,
        }
        for (height, root) in (first..).zip(left.roots().iter().take(count)) {
            self.roots.put(&height.to_be_bytes(), &root.0)?;
            self.facts.root = *root;
        }
        Ok(())
    }

    fn table(&mut self, kept: Kept) -> &mut Table {
        match kept {
            Kept::Transactions => &mut self.transactions,
            Kept::Conflicts => &mut self.conflicts,
            Kept::Transfers => &mut self.transfers,
            Kept::Updates => &mut self.updates,
        }
    }

    /// Appends a chunk of blocks up to `tip`, which are in the tables by now.
    ///
    /// # Errors
    /// Those of [`ChainStore::append`].
    pub(crate) fn append(
        &mut self,
        blocks: &blockmill_store::Blocks<'_>,
        tip: blockmill_store::Tip,
    ) -> blockmill_store::Result<()> {
        self.store.lock().append(blocks)?;
        self.pending = Some(tip);
        Ok(())
    }

    /// Makes everything that was put in and appended so far true, durably; then removes blocks that
    /// nobody can ask for any more, where that is wanted.
    ///
    /// # Errors
    /// Those of [`ChainStore::commit_with`], and of reading what is removed.
    pub(crate) fn commit(&mut self) -> Result<(), Error> {
        self.commit_pending()?;
        // what a failed write left in the tables is not committed on the way
        let removes = self.blocks == KeptBlocks::Traceable && !self.changed;
        if removes { self.remove() } else { Ok(()) }
    }

    fn commit_pending(&mut self) -> blockmill_store::Result<()> {
        let Some(tip) = self.pending.take() else { return Ok(()) };
        // heights have four bytes
        self.undo.turn(tip.number as u32 + 1, self.depth, &mut self.facts)?;
        let (store, state) = (self.store.clone(), self.encoded_facts());
        store.lock().commit_with(&tip, &mut self.parts(), &state)?;
        self.changed = false;
        self.committed.store(tip.number + 1, Ordering::Release);
        Ok(())
    }

    /// What a commit says of the store now.
    fn encoded_facts(&self) -> Vec<u8> {
        let configuration = self.configuration.clone();
        Facts { configuration, state: Some(self.facts) }.encode()
    }

    /// All parts besides the blocks.
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

    /// How many blocks of the chain are committed, as of the last commit of this process; 0 before
    /// that.
    pub(crate) fn committed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.committed)
    }

    /// Is it time to commit, by the memory that the tables take?
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

/// Puts entries into a table.
fn put_all<'a>(
    table: &mut Table,
    mut entries: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> blockmill_store::Result<()> {
    let (mut keys, mut values) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
    loop {
        keys.clear();
        values.clear();
        for (key, value) in entries.by_ref().take(TOGETHER) {
            keys.push(key);
            values.push(value);
        }
        if keys.is_empty() {
            return Ok(());
        }
        table.touch(&keys);
        keys.iter().zip(&values).try_for_each(|(key, value)| table.put(key, value))?;
    }
}
