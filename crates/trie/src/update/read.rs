//! Reading: values, all leaves, proofs.

use super::batch::slot_of;
use super::error::Error;
use super::forest::{Forest, TrieId};
use super::node::{Form, Node, NodeKind};
use super::records::{Leaf, VALUE};

use crate::codec::{BranchParts, Codec, LeafParts};
use crate::nibbles::nibble;

impl<C: Codec> Forest<C> {
    /// Returns the value of a key, encoded as in the trie; `None` if the trie does not have the
    /// key.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unknown`] if the path passes a node of which only the hash is known.
    ///
    /// ```
    /// use blockmill_trie::codec::Ethereum;
    /// use blockmill_trie::update::{Changes, Forest, Update};
    ///
    /// let mut forest = Forest::new(Ethereum::new());
    /// let trie = forest.create()?;
    /// let update = Update { trie, key: &[1; 32], value: Some(&[7]) };
    /// forest.update(&Changes { updates: &[update], ..Changes::default() })?;
    /// assert_eq!(forest.get(trie, &[1; 32])?, Some(vec![7]));
    /// assert_eq!(forest.get(trie, &[2; 32])?, None);
    /// # Ok::<(), blockmill_trie::update::Error>(())
    /// ```
    pub fn get(&self, trie: TrieId, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let trie = self.trie(trie)?;
        let (mut node, mut hash) = (trie.node, trie.reference.bytes);
        let mut depth = trie.start as usize;
        loop {
            match node.kind() {
                NodeKind::None => return Ok(None),
                NodeKind::Unknown => return Err(Error::Unknown(hash)),
                NodeKind::Leaf => {
                    let leaf = self.heap.leaf(node);
                    return Ok((leaf.key == key).then(|| value_of::<C>(&leaf).concat()));
                }
                NodeKind::Branch => {
                    let slot = slot_of(key, depth);
                    let branch = self.heap.branch(node);
                    (node, hash) = (branch.child(slot), branch.reference(slot).bytes);
                    depth += usize::from(slot != VALUE);
                }
                NodeKind::Extension => {
                    let extension = self.heap.extension(node);
                    if !leads_along(key, depth, extension.path) {
                        return Ok(None);
                    }
                    (node, hash) = (extension.child, extension.reference.bytes);
                    depth += extension.path.len();
                }
            }
        }
    }

    /// Calls `each` with all keys of a trie in order, and their values in two parts.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unknown`] if only the hash of a node is known, after calling `each` for the
    /// leaves before it.
    pub fn leaves(&self, trie: TrieId, each: impl FnMut(&[u8], [&[u8]; 2])) -> Result<(), Error> {
        let mut missing = None;
        self.known_leaves(trie, each, |hash| {
            missing.get_or_insert(Error::Unknown(hash));
        })?;
        missing.map_or(Ok(()), Err)
    }

    /// Like [`leaves`](Self::leaves), but `unknown` gets the hashes of the nodes of which only
    /// those are known.
    pub fn known_leaves(
        &self,
        trie: TrieId,
        mut each: impl FnMut(&[u8], [&[u8]; 2]),
        mut unknown: impl FnMut([u8; 32]),
    ) -> Result<(), Error> {
        let trie = self.trie(trie)?;
        let mut open = vec![(trie.node, trie.reference.bytes)];
        while let Some((node, hash)) = open.pop() {
            match node.kind() {
                NodeKind::None => {}
                NodeKind::Unknown => unknown(hash),
                NodeKind::Leaf => {
                    let leaf = self.heap.leaf(node);
                    each(leaf.key, value_of::<C>(&leaf));
                }
                NodeKind::Branch => {
                    let branch = self.heap.branch(node);
                    // the key that ends here comes before longer keys
                    let slots = (0..VALUE).rev().chain([VALUE]).filter(|at| branch.head.has(*at));
                    open.extend(slots.map(|at| (branch.child(at), branch.reference(at).bytes)));
                }
                NodeKind::Extension => {
                    let extension = self.heap.extension(node);
                    open.push((extension.child, extension.reference.bytes));
                }
            }
        }
        Ok(())
    }

    /// Returns the encoded nodes on the path of a key: the proof of its value or its absence for
    /// anyone who knows the root (EIP-1186). Embedded nodes are not listed separately. Empty for a
    /// trie without leaves.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unknown`] if the path passes a node of which only the hash is known.
    pub fn prove(&self, trie: TrieId, key: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let trie = self.trie(trie)?;
        let (mut node, mut reference) = (trie.node, trie.reference);
        let mut depth = trie.start as usize;
        let mut proof = vec![];
        loop {
            let listed = proof.is_empty() || reference.form == Form::Hash;
            match node.kind() {
                NodeKind::None => return Ok(proof),
                NodeKind::Unknown => return Err(Error::Unknown(reference.bytes)),
                NodeKind::Leaf => {
                    let leaf = self.heap.leaf(node);
                    if listed {
                        self.encode_leaf(&leaf, depth, &mut proof);
                    }
                    return Ok(proof);
                }
                NodeKind::Branch => {
                    let slot = slot_of(key, depth);
                    let branch = self.heap.branch(node);
                    if listed {
                        proof.push(self.encode_branch(node));
                    }
                    (node, reference) = (branch.child(slot), branch.reference(slot));
                    if slot == VALUE && !C::WRAPS_LEAVES {
                        return Ok(proof);
                    }
                    depth += usize::from(slot != VALUE);
                }
                NodeKind::Extension => {
                    let extension = self.heap.extension(node);
                    if listed {
                        let mut out = vec![];
                        let child = &extension.reference;
                        let inline = child.form == Form::Inline;
                        self.queue.codec.extension(extension.path, &child.bytes, inline, &mut out);
                        proof.push(out);
                    }
                    if !leads_along(key, depth, extension.path) {
                        return Ok(proof);
                    }
                    (node, reference) = (extension.child, extension.reference);
                    depth += extension.path.len();
                }
            }
        }
    }

    fn encode_leaf(&self, leaf: &Leaf<'_>, depth: usize, proof: &mut Vec<Vec<u8>>) {
        let codec = &self.queue.codec;
        let mut out = vec![];
        codec.leaf(&LeafParts { key: leaf.key, depth, value: value_of::<C>(leaf) }, &mut out);
        if C::WRAPS_LEAVES && depth < 2 * leaf.key.len() {
            let mut hash = [[0; 32]];
            codec.hash_column(&out, &[out.len() as u32], &mut hash);
            let path: Vec<u8> =
                (depth..2 * leaf.key.len()).map(|at| nibble(leaf.key, at)).collect();
            let mut above = vec![];
            codec.extension(&path, &hash[0], false, &mut above);
            proof.push(above);
        }
        proof.push(out);
    }

    fn encode_branch(&self, node: Node) -> Vec<u8> {
        let branch = self.heap.branch(node);
        let value = if branch.head.has(VALUE) && !C::WRAPS_LEAVES {
            value_of::<C>(&self.heap.leaf(branch.child(VALUE)))
        } else {
            [&[][..]; 2]
        };
        let (mask, inline) = (branch.head.mask, branch.head.inline);
        let parts = BranchParts { mask, inline, references: branch.references, value };
        let mut out = vec![];
        self.queue.codec.branch(&parts, &mut out, |_, _| {});
        out
    }
}

/// A leaf's value in two pieces.
pub(super) fn value_of<'a, C: Codec>(leaf: &Leaf<'a>) -> [&'a [u8]; 2] {
    [leaf.stored, if leaf.tail { C::COMMON_TAIL } else { &[] }]
}

/// True when the half-bytes of `key` from `depth` on begin with `path`.
fn leads_along(key: &[u8], depth: usize, path: &[u8]) -> bool {
    path.iter().enumerate().all(|(i, half)| slot_of(key, depth + i) == *half)
}
