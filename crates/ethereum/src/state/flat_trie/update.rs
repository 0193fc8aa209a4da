//! Applies the changes of a block: to storage tries, to the trie of accounts, then to the flat
//! tables. The flat tables change last, so that a missing node can be rebuilt from their old
//! values.

use super::{
    FlatTrie, FlatTrieError, OF_STORAGE, ROOT, Reader, malformed, node_key, slot_key, storage_root,
};
use crate::Hash;
use crate::state::SparseTrie;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_rlp::{Decode, Encode};
use blockmill_state_store::Change;
use blockmill_trie::EMPTY_ROOT;
use hashbrown::HashSet;

impl FlatTrie {
    /// Applies the changes of a block, in the order of their keys; the state root. Values are those
    /// of the leaves; the storage root in an account's is put in here. An account that is removed
    /// takes its storage with it.
    ///
    /// # Errors
    /// Those of the tables, and a node that neither was stored nor can be made from the values: the
    /// store must be opened again then. Changes that are none of a block.
    pub fn update(&mut self, changes: &[Change<'_>]) -> Result<Hash, FlatTrieError> {
        check(changes)?;
        let mut leaves: Vec<(Hash, Option<Vec<u8>>)> = vec![];
        for group in changes.chunk_by(|a, b| a.key.account == b.key.account) {
            let (own, slots) = match group {
                [own, slots @ ..] if own.key.slot.is_none() => (Some(own.value), slots),
                slots => (None, slots),
            };
            let account = group[0].key.account;
            let mut old = vec![];
            let was_there = self.accounts.get(&account, &mut old)?;
            let before = if was_there { storage_root(&old)? } else { EMPTY_ROOT };
            if own == Some(None) {
                if before != EMPTY_ROOT {
                    self.remove_storage(&account)?;
                }
                leaves.push((account, None));
                continue;
            }
            let value = match own.flatten() {
                Some(value) => value,
                None if was_there => &old,
                None => return Err(malformed("account of slots", "one that is there", "none")),
            };
            let root = self.change_trie(Some(account), &before, slots.iter().map(slot_leaf))?;
            leaves.push((account, Some(with_storage(value, &root)?)));
        }
        let all = leaves.iter().map(|(key, value)| (*key, value.clone()));
        self.root = self.change_trie(None, &self.root.clone(), all)?;
        self.put_values(changes, leaves)?;
        self.nodes.put(ROOT, &self.root)?;
        Ok(self.root)
    }

    /// Sets and removes leaves of a trie; its root.
    fn change_trie(
        &mut self,
        account: Option<Hash>,
        root: &Hash,
        leaves: impl Iterator<Item = (Hash, Option<Vec<u8>>)>,
    ) -> Result<Hash, FlatTrieError> {
        let mut trie = SparseTrie::unread(*root);
        let reader = Reader::new(self, account);
        for (key, value) in leaves {
            reader.finish(trie.set(&key, value, &reader))?;
        }
        let mut made = vec![];
        let root = trie.root_with(&mut |node| {
            let key = node_key(account.as_ref(), node.key, node.depth);
            made.push((key, *node.hash, node.encoding));
        });
        let mut left = HashSet::new();
        trie.positions(&mut |key, depth| _ = left.insert(node_key(account.as_ref(), key, depth)));
        let Reader { read, rebuilt: again, .. } = reader;
        let (read, again) = (read.into_inner(), again.into_inner());
        self.healed.nodes += again.len() as u64;
        self.put_rebuilt(again)?;
        for (key, depth) in read {
            let key = node_key(account.as_ref(), &key, depth);
            if !left.contains(&key) {
                self.nodes.delete(&key)?;
            }
        }
        for (key, hash, node) in made {
            self.preloaded.change(&key, &hash, &node);
            self.nodes.put(&key, &node)?;
        }
        Ok(root)
    }

    /// Stores rebuilt nodes.
    pub(super) fn put_rebuilt(
        &mut self,
        nodes: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
    ) -> Result<(), FlatTrieError> {
        for (key, node) in nodes {
            self.nodes.put(&key, &node)?;
        }
        Ok(())
    }

    /// Removes slots and nodes of an account.
    fn remove_storage(&mut self, account: &Hash) -> Result<(), FlatTrieError> {
        let prefix = [&[OF_STORAGE][..], account].concat();
        for (table, prefix) in [(&mut self.slots, &account[..]), (&mut self.nodes, &prefix)] {
            let mut keys = vec![];
            let mut scan = table.scan_prefix(prefix)?;
            while let Some((key, _)) = scan.next()? {
                keys.push(key.to_vec());
            }
            drop(scan);
            for key in keys {
                table.delete(&key)?;
            }
        }
        Ok(())
    }

    /// Writes changed values to the flat tables.
    fn put_values(
        &mut self,
        changes: &[Change<'_>],
        accounts: Vec<(Hash, Option<Vec<u8>>)>,
    ) -> Result<(), FlatTrieError> {
        for (key, value) in accounts {
            match value {
                Some(value) => self.accounts.put(&key, &value)?,
                None => self.accounts.delete(&key)?,
            }
        }
        for Change { key, value } in changes {
            let Some(slot) = &key.slot else { continue };
            let key = slot_key(&key.account, slot);
            match value {
                Some(value) => self.slots.put(&key, value)?,
                None => self.slots.delete(&key)?,
            }
        }
        Ok(())
    }
}

fn slot_leaf(change: &Change<'_>) -> (Hash, Option<Vec<u8>>) {
    (change.key.slot.unwrap_or_default(), change.value.map(<[u8]>::to_vec))
}

/// An account's leaf with another storage root.
fn with_storage(leaf: &[u8], root: &Hash) -> Result<Vec<u8>, FlatTrieError> {
    let error = |error| malformed("account", "RLP of one", format!("{error}"));
    Ok(Leaf { storage_root: root, ..Leaf::decode(leaf).map_err(error)? }.encode())
}

/// Checks the order of changes, and that removed accounts have no slots.
fn check(changes: &[Change<'_>]) -> Result<(), FlatTrieError> {
    if changes.windows(2).any(|pair| pair[0].key >= pair[1].key) {
        return Err(malformed("keys of changes", "each greater than the one before", "another"));
    }
    let mut removed = None;
    for Change { key, value } in changes {
        match (key.slot, value) {
            (None, None) => removed = Some(key.account),
            (Some(_), Some(_)) if removed == Some(key.account) => {
                return Err(malformed("slots of a removed account", "none", "some"));
            }
            _ => {}
        }
    }
    Ok(())
}
