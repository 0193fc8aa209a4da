//! A state as Besu keeps it (Bonsai): values by hashed key in flat tables, and the nodes of
//! the tries by the path that leads to them. A read asks the flat tables; an update reads
//! and writes the nodes on the way. Each of the two can be healed by the other ([`Healed`]).
//!
//! It is what pages are measured against: a node is read for each level that a change comes
//! through, and all nodes above a change are written again.

mod backend;
mod heal;
mod preload;
mod reader;
mod rebuild;
mod update;

pub(super) use backend::is_part;
pub use backend::{
    BlockCache, Bloom, FlatOptions, FlatStore, HAS_ROCKSDB, ROCKSDB_PART, ReadChecksum,
    RocksDbOptions,
};
pub use heal::{Healed, LostNode};

use self::backend::{Backend, RocksDbCommits};
use self::preload::PreloadedNodes;
use self::reader::Reader;
use super::sparse::Nodes;
use super::{NodeBytes, StateError};
use crate::Hash;
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_state_store::StateKey;
use blockmill_store::{CommitPart, Opening, Table};
use blockmill_trie::EMPTY_ROOT;
use std::path::Path;

/// What keys of nodes begin with: those of the trie of accounts, those of a storage trie, after
/// which comes the hashed address.
const OF_ACCOUNTS: u8 = 0;
const OF_STORAGE: u8 = 1;
/// The key of the state root.
const ROOT: &[u8] = &[2];

/// An error of reading or changing a flat+trie state.
#[derive(Debug, thiserror::Error)]
pub enum FlatTrieError {
    /// A node that is missing or malformed.
    #[error(transparent)]
    State(#[from] StateError),
    /// An error of the tables.
    #[error(transparent)]
    Store(#[from] blockmill_store::Error),
    /// Bytes that are not a valid value or node.
    #[error("{what}: expected {expected}, found {found}")]
    Malformed {
        /// What was read or given.
        what: &'static str,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
}

fn malformed(what: &'static str, expected: &str, found: impl ToString) -> FlatTrieError {
    FlatTrieError::Malformed { what, expected: expected.into(), found: found.to_string() }
}

/// See the module's text.
pub struct FlatTrie {
    accounts: Backend,
    slots: Backend,
    nodes: Backend,
    /// What makes RocksDB true with the commits of the store, where it is in that.
    commits: Option<RocksDbCommits>,
    root: Hash,
    /// Values and nodes that were put right while they were read.
    healed: Healed,
    /// Nodes that a root may need.
    preloaded: PreloadedNodes,
    /// What is damaged of files that were left out.
    corruption: Vec<blockmill_store::Error>,
    /// The first nodes that cannot be made again.
    lost: Vec<LostNode>,
}

impl FlatTrie {
    /// Opens its tables among the parts of a store in `dir`, or creates empty ones; or what is in
    /// the place of them.
    ///
    /// # Errors
    /// Those of the tables; [`blockmill_store::Error::Mismatch`] where it is in RocksDB and the
    /// program was built without that.
    pub fn open(
        opening: &mut Opening,
        dir: &Path,
        options: &FlatOptions,
    ) -> Result<Self, FlatTrieError> {
        let ([accounts, slots, nodes], commits, corruption) = backend::open(opening, dir, options)?;
        let mut root = vec![];
        let root = match nodes.get(ROOT, &mut root)? {
            false => EMPTY_ROOT,
            true => root.try_into().map_err(|other: Vec<u8>| {
                malformed("state root", "32 bytes", format!("{} bytes", other.len()))
            })?,
        };
        let (healed, preloaded, lost) = Default::default();
        Ok(Self { accounts, slots, nodes, commits, root, healed, preloaded, corruption, lost })
    }

    /// Where it is kept.
    #[must_use]
    pub fn store(&self) -> FlatStore {
        if self.commits.is_some() { FlatStore::RocksDb } else { FlatStore::Tables }
    }

    /// Commits what changed: `commit` gets the parts, which are committed together.
    ///
    /// # Errors
    /// Errors of `commit`, and of RocksDB. The store must be opened again then.
    pub fn commit<T>(
        &mut self,
        commit: impl FnOnce(Vec<CommitPart<'_>>) -> blockmill_store::Result<T>,
    ) -> blockmill_store::Result<T> {
        let Self { accounts, slots, nodes, commits, .. } = self;
        backend::commit([accounts, slots, nodes], commits.as_mut(), commit)
    }

    /// Is it time to commit?
    #[must_use]
    pub fn wants_flush(&self) -> bool {
        [&self.accounts, &self.slots, &self.nodes].into_iter().any(Backend::wants_flush)
    }

    /// Writes changes out now, for the next commit to name them ([`Table::spill`]).
    ///
    /// # Errors
    /// Those of the tables.
    pub fn spill(&mut self) -> blockmill_store::Result<()> {
        let Self { accounts, slots, nodes, commits, .. } = self;
        backend::spill([accounts, slots, nodes], commits.as_ref())
    }

    /// The state root.
    #[must_use]
    pub fn root(&self) -> Hash {
        self.root
    }

    /// Values and nodes that were repaired while they were read or changed.
    #[must_use]
    pub fn healed(&self) -> Healed {
        self.healed
    }

    /// Appends the value of a key to `out`, as the leaf of the trie has it; whether there is one.
    ///
    /// # Errors
    /// Those of the tables.
    pub fn get(&self, key: &StateKey, out: &mut Vec<u8>) -> Result<bool, FlatTrieError> {
        Ok(match &key.slot {
            None => self.accounts.get(&key.account, out)?,
            Some(slot) => self.slots.get(&slot_key(&key.account, slot), out)?,
        })
    }

    /// Reads the values of keys in any order and calls `each` with the place of a key among `keys`
    /// and its value, in any order.
    ///
    /// # Errors
    /// Those of the tables.
    pub fn get_many(
        &self,
        keys: &[StateKey],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), FlatTrieError> {
        let all = (0..).zip(keys);
        let (accounts, slots): (Vec<_>, Vec<_>) = all.partition(|(_, key)| key.slot.is_none());
        let whole: Vec<Hash> = accounts.iter().map(|(_, key)| key.account).collect();
        self.accounts.fetch(&whole, |i, value| each(accounts[i].0, value))?;
        let whole: Vec<_> = slots
            .iter()
            .filter_map(|(_, key)| Some(slot_key(&key.account, key.slot.as_ref()?)))
            .collect();
        self.slots.fetch(&whole, |i, value| each(slots[i].0, value))?;
        if self.preloaded.is_on() { self.preload(keys) } else { Ok(()) }
    }

    /// Calls `each` with the slots of an account and their values, in the order of their keys.
    ///
    /// # Errors
    /// Those of the tables.
    pub fn storage(
        &self,
        account: &Hash,
        each: &mut dyn FnMut(&Hash, &[u8]),
    ) -> Result<(), FlatTrieError> {
        let mut scan = self.slots.scan_prefix(account)?;
        while let Some((key, value)) = scan.next()? {
            if let Some(slot) = key.last_chunk() {
                each(slot, value);
            }
        }
        Ok(())
    }

    /// Calls `each` with the keys of accounts, in their order, and their values, until it returns
    /// false.
    ///
    /// # Errors
    /// Those of the tables.
    pub fn each_account(
        &self,
        each: &mut dyn FnMut(&Hash, &[u8]) -> bool,
    ) -> Result<(), FlatTrieError> {
        let mut scan = self.accounts.scan_prefix(&[])?;
        while let Some((key, value)) = scan.next()? {
            if let Ok(key) = key.try_into()
                && !each(key, value)
            {
                break;
            }
        }
        Ok(())
    }

    /// The node with this hash, to which the first `depth` half-bytes of `key` lead in the trie of
    /// accounts or of an account's storage.
    ///
    /// # Errors
    /// Those of the tables; a node that is not there, nor can be made from the values.
    pub fn node(
        &self,
        account: Option<&Hash>,
        hash: &Hash,
        (key, depth): (&Hash, usize),
    ) -> Result<NodeBytes, FlatTrieError> {
        let reader = Reader::new(self, account.copied());
        reader.finish(reader.node(hash, key, depth).map(|node| node.to_shared()))
    }

    /// Waits for running compactions. Returns whether there were any, so that a commit is due.
    pub fn wait_for_merge(&self) -> bool {
        let merging = [&self.accounts, &self.slots, &self.nodes];
        let merging =
            merging.into_iter().filter_map(Backend::table).filter(|table| table.is_merging());
        merging.map(Table::wait_for_merge).count() > 0
    }

    /// The same where the flat tables may lack values: what they do not have is sought in the trie,
    /// and put back.
    ///
    /// # Errors
    /// Those of the tables; [`FlatTrieError::State`] where the trie lacks a node on the way, too.
    pub fn get_or_heal(
        &mut self,
        key: &StateKey,
        out: &mut Vec<u8>,
    ) -> Result<bool, FlatTrieError> {
        if self.get(key, out)? {
            return Ok(true);
        }
        let found = {
            let reader = Reader::new(self, None);
            let account = reader.finish(reader.value(&self.root, &key.account))?;
            match (&key.slot, account) {
                (None, account) => account,
                (Some(_), None) => None,
                (Some(slot), Some(account)) => {
                    let root = storage_root(&account)?;
                    let reader = Reader::new(self, Some(key.account));
                    reader.finish(reader.value(&root, slot))?
                }
            }
        };
        let Some(value) = found else { return Ok(false) };
        match &key.slot {
            None => self.accounts.put(&key.account, &value)?,
            Some(slot) => self.slots.put(&slot_key(&key.account, slot), &value)?,
        }
        self.healed.values += 1;
        out.extend_from_slice(&value);
        Ok(true)
    }
}

fn slot_key(account: &Hash, slot: &Hash) -> [u8; 64] {
    let mut key = [0; 64];
    key[..32].copy_from_slice(account);
    key[32..].copy_from_slice(slot);
    key
}

/// The key of a node of the trie of accounts, or of an account's storage, to which the first
/// `depth` half-bytes of `key` lead.
fn node_key(account: Option<&Hash>, key: &Hash, depth: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(33 + depth);
    out.push(if account.is_some() { OF_STORAGE } else { OF_ACCOUNTS });
    out.extend_from_slice(account.map_or(&[], |account| account));
    out.extend((0..depth).map(|at| blockmill_trie::nibbles::nibble(key, at)));
    out
}

/// The root of an account's storage, as the account's leaf says.
fn storage_root(leaf: &[u8]) -> Result<Hash, FlatTrieError> {
    let error = |error| malformed("account", "RLP of one", format!("{error}"));
    Ok(*Leaf::decode(leaf).map_err(error)?.storage_root)
}
