//! A state that stays on disk, by hashed key, for chains whose state is larger than memory: in
//! pages ([`blockmill_state_store::Pages`]), or as Besu keeps it ([`FlatTrie`]). Codes are in a
//! table beside it.
//!
//! It is some blocks behind the execution, which keeps what these blocks changed and asks here for
//! everything else. So a value that is read here is right whenever it is read, unless the execution
//! has a newer one.

mod begin;
mod changes;
mod commit;
mod heal;
mod kind;
mod nodes;
mod settings;
mod shared;

pub use begin::StateLoader;
pub use changes::HashedChanges;
pub use kind::DiskOptions;
pub(super) use nodes::DiskNodes;
pub use settings::{CommitThreads, PageCache, PageReads, References, StateKind, TriePreload};
pub use shared::{DiskError, SharedState};

use super::nodes::NoNodes;
use super::sparse::HashedNode;
use super::{
    Account, FlatOptions, FlatStore, FlatTrie, FlatTrieError, NodeBytes, SparseTrie, StateError,
};
use crate::execute::Code;
use crate::{Hash, U256};
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_state_store::{NodeAt, Pages, PagesOptions, StateKey};
use blockmill_store::{Compression, Opening, Table, TableOptions};
use std::path::{Path, PathBuf};

/// Names of the parts; those of the flat tables and their nodes are [`FlatTrie`]'s.
const PAGES: &str = "state-pages";
const CODES: &str = "state-codes";
/// The share of the memory that is for codes.
const CODE_SHARE: usize = 16;
/// The share of it that is for nodes that are read ahead, where any are.
const AHEAD_SHARE: usize = 8;

/// See the module's text.
pub struct DiskState {
    design: Design,
    codes: Table,
    /// Where the store is.
    dir: PathBuf,
    /// Bytes for caches and for changes.
    memory_bytes: usize,
}

enum Design {
    Pages(Box<Pages>),
    FlatTrie(Box<FlatTrie>),
}

impl DiskState {
    /// Opens the state among the parts of a store, or creates an empty one; none where it is in
    /// memory.
    ///
    /// # Errors
    /// Those of the parts.
    pub fn open(
        opening: &mut Opening,
        dir: &Path,
        kind: StateKind,
        options: &DiskOptions,
    ) -> blockmill_store::Result<Option<Self>> {
        let memory = options.memory_bytes;
        let design = match kind {
            StateKind::Memory => return Ok(None),
            StateKind::Pages => {
                let reference_bytes = (!options.all_references).then_some(memory / 4);
                let for_pages = memory / 2 - reference_bytes.unwrap_or(0);
                let (read_method, threads) = (options.read_ahead, options.threads);
                let pages = PagesOptions {
                    read_method,
                    threads,
                    reference_bytes,
                    ..PagesOptions::new(if options.page_cache { for_pages as u64 } else { 0 })
                };
                Design::Pages(Box::new(Pages::open(opening, PAGES, &pages)?))
            }
            StateKind::FlatTrie => {
                let ahead = if options.trie_preload { memory / AHEAD_SHARE } else { 0 };
                let memory_bytes = memory / 4 * 3 - ahead;
                let (store, rocksdb) = (options.flat_store, options.rocksdb);
                let salvages = options.salvages;
                let flat = FlatOptions { memory_bytes, store, rocksdb, salvages };
                let opened = FlatTrie::open(opening, dir, &flat);
                let state = opened.map_err(|error| of_tables(dir, error))?;
                Design::FlatTrie(Box::new(state.preloading(ahead)))
            }
        };
        let options = TableOptions {
            compression: Compression::Lz4,
            ..TableOptions::new(memory / CODE_SHARE)
        };
        let codes = opening.table(CODES, &options)?;
        let dir = dir.to_path_buf();
        Ok(Some(Self { design, codes, dir, memory_bytes: memory }))
    }

    /// Is `name` that of a part of a store that has a state on disk?
    #[must_use]
    pub fn is_part(name: &str) -> bool {
        [PAGES, CODES].contains(&name) || super::flat_trie::is_part(name)
    }

    /// Bytes for what the execution keeps in memory: a quarter; changes before they are written get
    /// as much, and caches the rest.
    #[must_use]
    pub fn execution_bytes(&self) -> usize {
        self.memory_bytes / 4
    }

    /// Where it is kept.
    #[must_use]
    pub fn kind(&self) -> StateKind {
        match &self.design {
            Design::Pages(_) => StateKind::Pages,
            Design::FlatTrie(_) => StateKind::FlatTrie,
        }
    }

    /// Where flat values and nodes are kept; none of a state in pages.
    #[must_use]
    pub fn flat_store(&self) -> Option<FlatStore> {
        match &self.design {
            Design::Pages(_) => None,
            Design::FlatTrie(state) => Some(state.store()),
        }
    }

    /// The state root.
    #[must_use]
    pub fn root(&self) -> Hash {
        match &self.design {
            Design::Pages(pages) => pages.root(),
            Design::FlatTrie(state) => state.root(),
        }
    }

    /// An account and the root of its storage, by its hashed address.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn account(&self, account: &Hash) -> Result<Option<(Account, Hash)>, StateError> {
        let mut value = vec![];
        if !self.get(&StateKey::account(*account), &mut value)? {
            return Ok(None);
        }
        let leaf = Leaf::decode(&value).map_err(|error| self.bad("account", error))?;
        let (nonce, balance, code_hash) = (leaf.nonce, leaf.balance, *leaf.code_hash);
        Ok(Some((Account { nonce, balance, code_hash }, *leaf.storage_root)))
    }

    /// The value of a slot, by hashed address and hashed slot; 0 where there is none.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn slot(&self, account: &Hash, slot: &Hash) -> Result<U256, StateError> {
        let mut value = vec![];
        match self.get(&StateKey::slot(*account, *slot), &mut value)? {
            true => U256::decode(&value).map_err(|error| self.bad("slot", error)),
            false => Ok(U256::ZERO),
        }
    }

    fn get(&self, key: &StateKey, value: &mut Vec<u8>) -> Result<bool, StateError> {
        match &self.design {
            Design::Pages(pages) => Ok(pages.get(key, value).map_err(DiskError::from)?),
            Design::FlatTrie(state) => state.get(key, value).map_err(|e| self.of_tables(e)),
        }
    }

    /// The values of slots in the order of their keys, which are read together; 0 where there is
    /// none.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn slots(&self, keys: &[StateKey]) -> Result<Vec<U256>, StateError> {
        let mut found = vec![Ok(U256::ZERO); keys.len()];
        self.get_many(keys, |at, value| {
            if let Some(value) = value {
                found[at] = U256::decode(value);
            }
        })?;
        let value =
            |value: Result<U256, blockmill_rlp::Error>| value.map_err(|e| self.bad("slot", e));
        found.into_iter().map(value).collect()
    }

    /// Reads what will be asked for together, so that it is in a cache then.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn touch(&self, keys: &[StateKey]) -> Result<(), StateError> {
        self.get_many(keys, |_, _| {})
    }

    fn get_many(
        &self,
        keys: &[StateKey],
        each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StateError> {
        match &self.design {
            Design::Pages(pages) => Ok(pages.get_many(keys, each).map_err(DiskError::from)?),
            Design::FlatTrie(state) => {
                state.get_many(keys, each).map_err(|error| self.of_tables(error))
            }
        }
    }

    /// All slots of an account by their hashes, in their order.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn storage(&self, account: &Hash) -> Result<Vec<(Hash, U256)>, StateError> {
        let mut found = vec![];
        let mut each = |slot: &Hash, value: &[u8]| found.push((*slot, U256::decode(value)));
        match &self.design {
            Design::Pages(pages) => pages.storage(account, &mut each).map_err(DiskError::from)?,
            Design::FlatTrie(state) => {
                state.storage(account, &mut each).map_err(|error| self.of_tables(error))?;
            }
        }
        let value = |(slot, value): (Hash, Result<U256, blockmill_rlp::Error>)| {
            value.map(|value| (slot, value)).map_err(|error| self.bad("slot", error))
        };
        found.into_iter().map(value).collect()
    }

    /// The nodes at and about a place: the one with this hash, to which the first `depth`
    /// half-bytes of `key` lead in the trie of accounts or of an account's storage, is among them
    /// where the state has it.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub(super) fn nodes_at(
        &self,
        account: Option<&Hash>,
        hash: &Hash,
        (key, depth): (&Hash, usize),
    ) -> Result<Vec<(Hash, NodeBytes)>, StateError> {
        let pages = match &self.design {
            Design::FlatTrie(state) => {
                let node = state.node(account, hash, (key, depth));
                return Ok(vec![(*hash, node.map_err(|error| self.of_tables(error))?)]);
            }
            Design::Pages(pages) => pages,
        };
        let found = pages.node(account, key, depth).map_err(DiskError::from)?;
        let mut nodes = vec![];
        match found {
            None => {}
            Some(NodeAt::Node(node)) => {
                nodes.push((blockmill_hashes::keccak256(&node), node.into()))
            }
            Some(NodeAt::Leaves { depth, leaves }) => {
                let (mut trie, none) = (SparseTrie::default(), NoNodes);
                for (key, value) in leaves {
                    trie.set(&key, Some(value), &none)?;
                }
                let mut keep = |node: HashedNode<'_>| {
                    nodes.push((*node.hash, node.encoding.into()));
                };
                match depth {
                    0 => _ = trie.root_with(&mut keep),
                    _ => _ = trie.hash_at(depth, &mut keep),
                }
            }
        }
        Ok(nodes)
    }

    /// The code with this hash; none where it is not there.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        let mut code = vec![];
        let is_there = self.codes.get(hash, &mut code).map_err(DiskError::from)?;
        let code = is_there.then(|| Code::new(code));
        match code.as_ref().is_some_and(|code| code.hash() != *hash) {
            true => Err(self.bad("code", "another under the hash")),
            false => Ok(code),
        }
    }

    /// Keeps a code.
    ///
    /// # Errors
    /// Those of the table.
    pub fn put_code(&mut self, hash: &Hash, code: &[u8]) -> Result<(), StateError> {
        Ok(self.codes.put(hash, code).map_err(DiskError::from)?)
    }

    /// Applies changes; the state root behind them.
    ///
    /// # Errors
    /// Corruption; those of the system. The store must be opened again then.
    pub fn update(&mut self, changes: &HashedChanges) -> Result<Hash, StateError> {
        let cleared = changes.cleared();
        if !cleared.is_empty() {
            self.update_sorted(&cleared)?;
        }
        self.update_sorted(&changes.leaves())
    }

    /// The pages, where it is kept in pages.
    pub(super) fn pages(&self) -> Option<&Pages> {
        match &self.design {
            Design::Pages(pages) => Some(pages),
            Design::FlatTrie(_) => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn pages_mut(&mut self) -> Option<&mut Pages> {
        match &mut self.design {
            Design::Pages(pages) => Some(pages),
            Design::FlatTrie(_) => None,
        }
    }

    /// Applies changes in the order of their keys; the state root behind them.
    pub(super) fn update_sorted(
        &mut self,
        changes: &[blockmill_state_store::Change<'_>],
    ) -> Result<Hash, StateError> {
        let Self { design, dir, .. } = self;
        Ok(match design {
            Design::Pages(pages) => pages.update(changes).map_err(DiskError::from)?,
            Design::FlatTrie(state) => {
                state.update(changes).map_err(|e| DiskError::from(of_tables(dir, e)))?
            }
        })
    }

    fn of_tables(&self, error: FlatTrieError) -> StateError {
        DiskError::from(of_tables(&self.dir, error)).into()
    }

    /// What was read is not what was written.
    fn bad(&self, what: &'static str, found: impl ToString) -> StateError {
        let (path, found) = (self.dir.join(blockmill_store::MANIFEST), found.to_string());
        let expected = format!("the encoding of one {what}");
        DiskError::from(blockmill_store::Error::Corrupt { path, offset: 0, what, expected, found })
            .into()
    }
}

/// What flat tables and their nodes fail with, as an error of the store.
fn of_tables(dir: &Path, error: FlatTrieError) -> blockmill_store::Error {
    let damaged = |what, expected, found| {
        let path = dir.join(blockmill_store::MANIFEST);
        blockmill_store::Error::Corrupt { path, offset: 0, what, expected, found }
    };
    match error {
        FlatTrieError::Store(error) => error,
        FlatTrieError::State(error) => {
            damaged("trie", "nodes that lead to the values".into(), error.to_string())
        }
        FlatTrieError::Malformed { what, expected, found } => damaged(what, expected, found),
    }
}
