//! Rebuilds a node that is missing or does not have the hash in its parent: from the flat values
//! below it, from its children, or from the leaves in both. A rebuilt node is accepted if it has
//! the hash in the parent.

use super::{FlatTrieError, Reader, node_key};
use crate::Hash;
use crate::state::SparseTrie;
use crate::state::nodes::NoNodes;
use crate::state::sparse::{HashedNode, set_half};
use blockmill_rlp::ethereum::TrieNode;
use blockmill_rlp::{Decode, OnePass, Write};
use blockmill_trie::nibbles::nibble;
use std::collections::BTreeMap;

/// Limit of the values from which a node is rebuilt, since they are in memory.
const MOST: usize = 1 << 22;
/// Half-bytes of a key, and children of a branch.
const HALVES: usize = 64;
const CHILDREN: u8 = 16;

/// Leaves below a place.
type Leaves = BTreeMap<Hash, Vec<u8>>;

impl Reader<'_> {
    /// Rebuilds the node with this hash at a position. `None` if the data below does not give it.
    /// Keeps all nodes that were rebuilt, to be stored.
    pub(super) fn rebuild(
        &self,
        hash: &Hash,
        key: &Hash,
        depth: usize,
    ) -> Result<Option<Vec<u8>>, FlatTrieError> {
        let own = node_key(self.account.as_ref(), key, depth);
        if let Some(node) = self.rebuilt.borrow().get(&own) {
            return Ok(Some(node.clone()));
        }
        let values = self.values_below(key, depth)?;
        if let Some(values) = &values
            && let Some(node) = self.rebuild_from_leaves(values, hash, key, depth)?
        {
            return Ok(Some(node));
        }
        if let Some(node) = self.rebuild_from_children(hash, key, depth)? {
            self.rebuilt.borrow_mut().insert(own, node.clone());
            return Ok(Some(node));
        }
        let Some(mut values) = values else { return Ok(None) };
        // values that are missing may be in leaves, and the other way round
        values.extend(self.leaves_below(&own)?);
        self.rebuild_from_leaves(&values, hash, key, depth)
    }

    /// The flat values below a position; `None` if they exceed the limit.
    fn values_below(&self, key: &Hash, depth: usize) -> Result<Option<Leaves>, FlatTrieError> {
        let (prefix, skip) = self.prefix(key, depth);
        let mut values = Leaves::new();
        let mut scan = self.scan(&prefix)?;
        while let Some((found, value)) = scan.next()? {
            let Some(found) = found[skip..].first_chunk::<32>() else { continue };
            if depth % 2 == 1 && nibble(found, depth - 1) != nibble(key, depth - 1) {
                continue;
            }
            values.insert(*found, value.to_vec());
            if values.len() > MOST {
                return Ok(None);
            }
        }
        Ok(Some(values))
    }

    /// The values in the leaves that are stored below the position of a node.
    fn leaves_below(&self, place: &[u8]) -> Result<Leaves, FlatTrieError> {
        let before = 1 + self.account.map_or(0, |account| account.len());
        let mut leaves = Leaves::new();
        let mut scan = self.state.nodes.scan_prefix(place)?;
        while let Some((at, node)) = scan.next()? {
            let Ok(TrieNode::Leaf { path, value }) = TrieNode::decode(node) else { continue };
            let halves = at.get(before..).unwrap_or_default().iter().copied().chain(path.nibbles());
            let halves: Vec<u8> = halves.collect();
            if halves.len() == HALVES && leaves.len() < MOST {
                let mut key = [0; 32];
                halves.iter().enumerate().for_each(|(at, half)| set_half(&mut key, at, *half));
                leaves.insert(key, value.to_vec());
            }
        }
        Ok(leaves)
    }

    /// The node over these leaves, if it has this hash.
    fn rebuild_from_leaves(
        &self,
        leaves: &Leaves,
        hash: &Hash,
        key: &Hash,
        depth: usize,
    ) -> Result<Option<Vec<u8>>, FlatTrieError> {
        let mut made = vec![];
        let mut keep = |node: HashedNode<'_>| {
            made.push((node_key(self.account.as_ref(), node.key, node.depth), node.encoding));
        };
        if hash_of(leaves, depth, &mut keep)? != Some(*hash) {
            return Ok(None);
        }
        let mut all = self.rebuilt.borrow_mut();
        all.extend(made);
        Ok(all.get(&node_key(self.account.as_ref(), key, depth)).cloned())
    }

    /// The branch over the children of a position, stored or rebuilt from values, if it has this
    /// hash.
    fn rebuild_from_children(
        &self,
        hash: &Hash,
        key: &Hash,
        depth: usize,
    ) -> Result<Option<Vec<u8>>, FlatTrieError> {
        if depth >= HALVES {
            return Ok(None);
        }
        let (mut below, mut children) = (*key, vec![]);
        for half in 0..CHILDREN {
            set_half(&mut below, depth, half);
            let mut stored = vec![];
            let place = node_key(self.account.as_ref(), &below, depth + 1);
            let child = match self.state.nodes.get(&place, &mut stored)? {
                true => Some(blockmill_hashes::keccak256(&stored)),
                false => match self.values_below(&below, depth + 1)? {
                    Some(values) => hash_of(&values, depth + 1, &mut |_| {})?,
                    None => return Ok(None),
                },
            };
            children.push(child);
        }
        let mut branch = OnePass::default();
        branch.list(|branch| {
            children.iter().for_each(|child| branch.bytes(child.as_ref().map_or(&[], |it| it)));
            branch.bytes(&[]);
        });
        let branch = branch.into_bytes();
        Ok((blockmill_hashes::keccak256(&branch) == *hash).then_some(branch))
    }
}

/// The hash of the node at a depth over these leaves; `None` without leaves, or if the node is
/// embedded in its parent.
fn hash_of(
    leaves: &Leaves,
    depth: usize,
    keep: &mut dyn FnMut(HashedNode<'_>),
) -> Result<Option<Hash>, FlatTrieError> {
    if leaves.is_empty() && depth > 0 {
        return Ok(None);
    }
    let (mut trie, none) = (SparseTrie::default(), NoNodes);
    for (key, value) in leaves {
        trie.set(key, Some(value.clone()), &none)?;
    }
    Ok(match depth {
        0 => Some(trie.root_with(keep)),
        _ => trie.hash_at(depth, keep),
    })
}
