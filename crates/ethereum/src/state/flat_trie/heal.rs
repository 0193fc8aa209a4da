//! Repairs a flat+trie state from its redundant copy: values from nodes, and nodes from values.
//!
//! A node that is missing or does not have the hash in its parent is rebuilt from the values below
//! it, and must have that hash. A value that is missing or differs from its leaf is replaced by the
//! leaf. Data that both copies lack is lost, and counted.

use super::backend::Pairs;
use super::{FlatTrie, FlatTrieError, ROOT, Reader, malformed, slot_key, storage_root};
use crate::Hash;
use crate::state::StateError;
use crate::state::sparse::{Nodes, set_half};
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::{Child, TrieNode};
use blockmill_trie::EMPTY_ROOT;
use blockmill_trie::nibbles::nibble;
use blockmill_verdict::Hex;
use hashbrown::HashSet;
use std::fmt;

/// Half-bytes of a key.
const HALVES: usize = 64;
/// Limit of the lost nodes that are named.
const NAMED: usize = 16;

/// Counts of repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Healed {
    /// Values that were missing or wrong.
    pub values: u64,
    /// Nodes that were missing or wrong.
    pub nodes: u64,
    /// Removed values without a leaf in the trie.
    pub removed: u64,
    /// Nodes that cannot be rebuilt, because values below them are missing, too.
    pub lost: u64,
}

/// A node that cannot be rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostNode {
    /// Hashed address of the account with the storage trie of the node; `None` for the trie of
    /// accounts.
    pub account: Option<Hash>,
    /// The half-bytes that lead to it.
    pub path: Vec<u8>,
}

impl fmt::Display for LostNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.account {
            Some(account) => write!(f, "the trie of the storage of account {}", Hex(account))?,
            None => f.write_str("the trie of accounts")?,
        }
        f.write_str(", path 0x")?;
        self.path.iter().try_for_each(|half| write!(f, "{half:x}"))
    }
}

impl Healed {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.values += other.values;
        self.nodes += other.nodes;
        self.removed += other.removed;
        self.lost += other.lost;
    }
}

impl Reader<'_> {
    /// Prefix of the keys of values below a position, and the number of bytes before the hash.
    pub(super) fn prefix(&self, key: &Hash, depth: usize) -> (Vec<u8>, usize) {
        let account = self.account.as_ref().map_or(&[][..], |account| account);
        ([account, &key[..depth / 2]].concat(), account.len())
    }

    pub(super) fn scan(&self, prefix: &[u8]) -> Result<Pairs<'_>, FlatTrieError> {
        let table = if self.account.is_some() { &self.state.slots } else { &self.state.accounts };
        Ok(table.scan_prefix(prefix)?)
    }

    /// Compares the leaves of the trie with the flat values, for keys that begin with `within`.
    fn compare(&self, root: &Hash, within: Option<u8>) -> Result<Differences, FlatTrieError> {
        let start = within.unwrap_or(0);
        let mut key = [0; 32];
        key[0] = start;
        let (prefix, skip) = self.prefix(&key, if within.is_some() { 2 } else { 0 });
        let mut flat = Values { scan: self.scan(&prefix)?, skip, current: None };
        flat.advance()?;
        let mut differ = Differences::default();
        if *root != EMPTY_ROOT {
            let mut walk = Walk { reader: self, within, flat: &mut flat, differ: &mut differ };
            walk.below(root, &mut key, 0)?;
        }
        while let Some((key, _)) = flat.current.take() {
            differ.remove.push(key);
            flat.advance()?;
        }
        Ok(differ)
    }
}

/// Differences between flat values and the leaves of a trie.
#[derive(Default)]
struct Differences {
    put: Vec<(Hash, Vec<u8>)>,
    remove: Vec<Hash>,
    lost: Vec<LostNode>,
}

/// Flat values in the order of their keys.
struct Values<'a> {
    scan: Pairs<'a>,
    skip: usize,
    current: Option<(Hash, Vec<u8>)>,
}

impl Values<'_> {
    fn advance(&mut self) -> Result<(), FlatTrieError> {
        self.current = match self.scan.next()? {
            None => None,
            Some((key, value)) => {
                let own = key.get(self.skip..).and_then(<[u8]>::first_chunk);
                let own = own.ok_or_else(|| malformed("key", "32 bytes of a hash", key.len()))?;
                Some((*own, value.to_vec()))
            }
        };
        Ok(())
    }
}

/// A traversal of the leaves of a trie in step with its flat values.
struct Walk<'w, 'a> {
    reader: &'w Reader<'w>,
    within: Option<u8>,
    flat: &'w mut Values<'a>,
    differ: &'w mut Differences,
}

impl Walk<'_, '_> {
    /// Whether keys that begin with the first `depth` half-bytes of `key` are compared.
    fn is_within(&self, key: &Hash, depth: usize) -> bool {
        let same = |at| self.within.is_none_or(|byte| nibble(key, at) == nibble(&[byte], at));
        (0..depth.min(2)).all(same)
    }

    /// Traverses the subtrie of the node with this hash.
    fn below(&mut self, hash: &Hash, key: &mut Hash, depth: usize) -> Result<(), FlatTrieError> {
        match self.reader.finish(self.reader.node(hash, key, depth)) {
            Ok(node) => self.node(&node, key, depth),
            Err(FlatTrieError::State(StateError::MissingNode { .. })) => {
                let path = (0..depth).map(|at| nibble(key, at)).collect();
                self.differ.lost.push(LostNode { account: self.reader.account, path });
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn node(&mut self, raw: &[u8], key: &mut Hash, depth: usize) -> Result<(), FlatTrieError> {
        let bad = |error: blockmill_rlp::Error| malformed("trie node", "RLP of one", error);
        let mut along = |path: &blockmill_rlp::ethereum::Path<'_>| {
            let end = depth + path.len();
            let fits = end <= HALVES && (end == HALVES) == path.is_leaf();
            let too_long = || malformed("path of a node", "64 half-bytes with its leaf", end);
            if !fits {
                return Err(too_long());
            }
            (depth..).zip(path.nibbles()).for_each(|(at, half)| set_half(key, at, half));
            Ok(end)
        };
        match TrieNode::decode(raw).map_err(bad)? {
            TrieNode::Leaf { path, value } => {
                along(&path)?;
                if self.is_within(key, HALVES) { self.leaf(key, value) } else { Ok(()) }
            }
            TrieNode::Extension { path, child } => {
                let end = along(&path)?;
                self.child(&child, key, end)
            }
            TrieNode::Branch { children, .. } if depth < HALVES => {
                for (half, child) in (0..).zip(&children) {
                    set_half(key, depth, half);
                    self.child(child, key, depth + 1)?;
                }
                Ok(())
            }
            TrieNode::Branch { .. } => Err(malformed("branch", "less than 64 above it", depth)),
        }
    }

    fn child(
        &mut self,
        child: &Child<'_>,
        key: &mut Hash,
        depth: usize,
    ) -> Result<(), FlatTrieError> {
        match child {
            _ if !self.is_within(key, depth) => Ok(()),
            Child::Empty => Ok(()),
            Child::Hash(hash) => self.below(hash, key, depth),
            Child::Embedded(raw) => self.node(raw, key, depth),
        }
    }

    fn leaf(&mut self, key: &Hash, value: &[u8]) -> Result<(), FlatTrieError> {
        while let Some((other, _)) = self.flat.current.as_ref().filter(|(other, _)| other < key) {
            self.differ.remove.push(*other);
            self.flat.advance()?;
        }
        let own = self.flat.current.as_ref().filter(|(other, _)| other == key);
        if own.is_none_or(|(_, flat)| flat != value) {
            self.differ.put.push((*key, value.to_vec()));
        }
        if own.is_some() {
            self.flat.advance()?;
        }
        Ok(())
    }
}

impl FlatTrie {
    /// What is damaged of the files of tables: it was left out when they were opened, and all of it
    /// is to be healed before a commit.
    #[must_use]
    pub fn corruption(&self) -> &[blockmill_store::Error] {
        &self.corruption
    }

    /// The first nodes that could not be rebuilt.
    #[must_use]
    pub fn lost(&self) -> &[LostNode] {
        &self.lost
    }

    /// Sets the state root to the one that a header has; whether it was another one.
    ///
    /// # Errors
    /// Those of the tables.
    pub fn trust_root(&mut self, root: &Hash) -> Result<bool, FlatTrieError> {
        if self.root == *root {
            return Ok(false);
        }
        self.root = *root;
        self.nodes.put(ROOT, root)?;
        Ok(true)
    }

    /// Repairs the accounts with keys that begin with this byte: their nodes, values and storage.
    /// The whole state is 256 pieces, in any order. An intact piece is not changed.
    ///
    /// # Errors
    /// Those of the tables, among them corruption of their files; what is no node and has its hash.
    pub fn heal(&mut self, piece: u8) -> Result<Healed, FlatTrieError> {
        let mut healed = Healed::default();
        self.heal_trie(None, self.root, Some(piece), &mut healed)?;
        let mut accounts = vec![];
        let mut scan = self.accounts.scan_prefix(&[piece])?;
        while let Some((key, value)) = scan.next()? {
            let Some(key) = key.first_chunk::<32>() else { continue };
            let root = storage_root(value)?;
            if root != EMPTY_ROOT {
                accounts.push((*key, root));
            }
        }
        drop(scan);
        for (account, root) in &accounts {
            self.heal_trie(Some(*account), *root, None, &mut healed)?;
        }
        if healed.lost == 0 {
            self.remove_orphans(piece, &accounts, &mut healed)?;
        }
        Ok(healed)
    }

    fn heal_trie(
        &mut self,
        account: Option<Hash>,
        root: Hash,
        within: Option<u8>,
        healed: &mut Healed,
    ) -> Result<(), FlatTrieError> {
        let reader = Reader::new(self, account);
        let differ = reader.compare(&root, within)?;
        let made = reader.rebuilt.into_inner();
        healed.nodes += made.len() as u64;
        self.put_rebuilt(made)?;
        healed.values += differ.put.len() as u64;
        healed.lost += differ.lost.len() as u64;
        let own = |key: &Hash| match &account {
            Some(account) => slot_key(account, key).to_vec(),
            None => key.to_vec(),
        };
        let table = if account.is_some() { &mut self.slots } else { &mut self.accounts };
        for (key, value) in &differ.put {
            table.put(&own(key), value)?;
        }
        // the trie does not show which values are below a lost node
        let nothing_lost = differ.lost.is_empty();
        let room = NAMED.saturating_sub(self.lost.len());
        self.lost.extend(differ.lost.into_iter().take(room));
        if nothing_lost {
            healed.removed += differ.remove.len() as u64;
            for key in &differ.remove {
                table.delete(&own(key))?;
            }
        }
        Ok(())
    }

    /// Removes slots of accounts that have no storage.
    fn remove_orphans(
        &mut self,
        piece: u8,
        accounts: &[(Hash, Hash)],
        healed: &mut Healed,
    ) -> Result<(), FlatTrieError> {
        let known: HashSet<&Hash> = accounts.iter().map(|(account, _)| account).collect();
        let mut orphans = vec![];
        let mut scan = self.slots.scan_prefix(&[piece])?;
        while let Some((key, _)) = scan.next()? {
            if key.first_chunk().is_none_or(|account| !known.contains(account)) {
                orphans.push(key.to_vec());
            }
        }
        drop(scan);
        healed.removed += orphans.len() as u64;
        for key in orphans {
            self.slots.delete(&key)?;
        }
        Ok(())
    }
}
