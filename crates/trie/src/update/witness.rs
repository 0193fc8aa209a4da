//! Tries of which only some nodes are known: those that a block reads and changes.
//!
//! What is missing is named by its hash. A way that leads there, or a deletion that would have to
//! merge with it, is an error that says which node it was.

use super::error::Error;
use super::forest::{Forest, TrieId};
use super::node::{Node, NodeKind, Reference};
use super::records::{Children, VALUE};
use crate::codec::{Codec, ReadChild, ReadNode};
use std::collections::HashMap;
use std::ops::Range;

/// The largest number of nodes that are built from one witness. A node may be referenced several
/// times, so a small witness could describe tries that do not fit in memory; nodes beyond this
/// number stay unknown.
const MOST: usize = 1 << 20;

/// Nodes by their hashes.
///
/// ```
/// use blockmill_trie::codec::Ethereum;
/// use blockmill_trie::update::{Changes, Error, Forest, Update, Witness};
///
/// let mut whole = Forest::new(Ethereum::new());
/// let trie = whole.create()?;
/// let value = [9; 40];
/// let keys = [[0x11; 32], [0x22; 32]];
/// let updates = keys.each_ref().map(|key| Update { trie, key, value: Some(&value) });
/// whole.update(&Changes { updates: &updates, ..Changes::default() })?;
///
/// // the proof of one key, and the trie that is known from it alone
/// let proof = whole.prove(trie, &keys[0])?;
/// let codec = Ethereum::new();
/// let mut witness = Witness::new(&codec, proof.iter().map(Vec::as_slice));
/// let mut part = Forest::new(codec);
/// let planted = part.plant(whole.root(trie)?, &mut witness)?;
/// assert_eq!(part.get(planted, &keys[0])?, Some(value.to_vec()));
/// assert!(matches!(part.get(planted, &keys[1]), Err(Error::Unknown(_))));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Witness {
    bytes: Vec<u8>,
    nodes: HashMap<[u8; 32], Range<usize>>,
    left: usize,
}

impl Witness {
    /// Hashes the nodes, whatever they are.
    pub fn new<'a, C: Codec>(codec: &C, nodes: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let (mut bytes, mut ends) = (vec![], vec![]);
        for node in nodes {
            // what 32-bit lengths do not count is left out, and unknown
            if bytes.len() + node.len() <= u32::MAX as usize {
                bytes.extend_from_slice(node);
                ends.push(bytes.len() as u32);
            }
        }
        let mut hashes = vec![[0; 32]; ends.len()];
        codec.hash_column(&bytes, &ends, &mut hashes);
        let starts = [0].into_iter().chain(ends.iter().copied());
        let ranges = starts.zip(&ends).map(|(start, end)| start as usize..*end as usize);
        Self { nodes: hashes.into_iter().zip(ranges).collect(), bytes, left: MOST }
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True without nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with this hash.
    #[must_use]
    pub fn node(&self, hash: &[u8; 32]) -> Option<&[u8]> {
        self.nodes.get(hash).map(|range| &self.bytes[range.clone()])
    }
}

impl<C: Codec> Forest<C> {
    /// Builds a trie with this root from the nodes of the witness. Missing nodes are no error here.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Corrupt`] for a node that is impossible at its position in a trie of this
    /// codec.
    pub fn plant(&mut self, root: [u8; 32], witness: &mut Witness) -> Result<TrieId, Error> {
        let mut left = witness.left;
        let trie = self.plant_found(root, &|hash| witness.node(hash), &mut left);
        witness.left = left;
        trie
    }

    /// Builds a trie with this root from the nodes that `find` returns for their hashes, and
    /// subtracts their number from `left`: nodes beyond it stay unknown. Missing nodes are no error
    /// here.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Corrupt`] for a node that is impossible at its position in a trie of this
    /// codec.
    pub fn plant_found<'a>(
        &mut self,
        root: [u8; 32],
        find: &dyn Fn(&[u8; 32]) -> Option<&'a [u8]>,
        left: &mut usize,
    ) -> Result<TrieId, Error> {
        let trie = self.create()?;
        if root != C::EMPTY_ROOT {
            let mut planting = Planting { forest: self, find, left, path: vec![], hash: root };
            let (node, reference) = planting.child(&ReadChild::Hash(root))?;
            self.set_trie(trie, node, reference);
        }
        Ok(trie)
    }
}

/// The state while a trie is built from a witness.
struct Planting<'p, 'a, C> {
    forest: &'p mut Forest<C>,
    find: &'p dyn Fn(&[u8; 32]) -> Option<&'a [u8]>,
    /// Number of nodes that may still be built.
    left: &'p mut usize,
    /// Half-bytes that lead to the present node.
    path: Vec<u8>,
    /// Hash of the current node, or of the node in which it is embedded.
    hash: [u8; 32],
}

impl<C: Codec> Planting<'_, '_, C> {
    fn damaged<T>(&self, reason: impl Into<String>) -> Result<T, Error> {
        Err(Error::Corrupt { hash: self.hash, reason: reason.into() })
    }

    /// Makes a child; the depth is bounded by the length of keys.
    fn child(&mut self, child: &ReadChild<'_>) -> Result<(Node, Reference), Error> {
        match child {
            ReadChild::None => Ok((Node::NONE, Reference::default())),
            ReadChild::Inline { raw, node } => Ok((self.node(node)?, Reference::inline(raw))),
            ReadChild::Hash(hash) => {
                let reference = Reference::hash(*hash);
                let Some(bytes) = (self.find)(hash).filter(|_| *self.left > 0) else {
                    return Ok((Node::UNKNOWN, reference));
                };
                *self.left -= 1;
                let above = std::mem::replace(&mut self.hash, *hash);
                let read = match self.forest.queue.codec.read(bytes) {
                    Ok(read) => read,
                    Err(reason) => return self.damaged(reason),
                };
                let node = self.node(&read)?;
                self.hash = above;
                Ok((node, reference))
            }
        }
    }

    fn node(&mut self, node: &ReadNode<'_>) -> Result<Node, Error> {
        match node {
            ReadNode::Leaf { rest, value } => {
                let len = self.path.len();
                self.path.extend_from_slice(rest);
                let leaf = self.leaf(value);
                self.path.truncate(len);
                leaf
            }
            ReadNode::Extension { path, child } => self.extension(path, child),
            ReadNode::Branch { children, value } => self.branch(children, *value),
        }
    }

    fn leaf(&mut self, value: &[u8]) -> Result<Node, Error> {
        if self.path.len() % 2 == 1 || self.path.len() > 2 * C::MAX_KEY {
            return self.damaged(format!("a key of {} half-bytes", self.path.len()));
        }
        let (least, most) = C::VALUE_LENGTHS;
        if !(least..=most).contains(&value.len()) {
            return self.damaged(format!("a value of {} bytes", value.len()));
        }
        let key: Vec<u8> = self.path.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        self.forest.heap.new_leaf(&key, value, C::COMMON_TAIL)
    }

    fn extension(&mut self, path: &[u8], child: &ReadChild<'_>) -> Result<Node, Error> {
        let len = self.path.len();
        self.path.extend_from_slice(path);
        if path.is_empty() || self.path.len() > 2 * C::MAX_KEY {
            return self.damaged(format!("an extension to half-byte {}", self.path.len()));
        }
        let (below, reference) = self.child(child)?;
        self.path.truncate(len);
        match below.kind() {
            NodeKind::Branch | NodeKind::Unknown => {
                self.forest.heap.new_extension(path, below, &reference)
            }
            NodeKind::Leaf if C::WRAPS_LEAVES => Ok(below),
            kind => self.damaged(format!("an extension above {kind:?}")),
        }
    }

    fn branch(&mut self, below: &[ReadChild<'_>], value: Option<&[u8]>) -> Result<Node, Error> {
        let mut children = Children::default();
        for (slot, child) in
            below.iter().enumerate().filter(|(_, child)| **child != ReadChild::None)
        {
            let is_value = slot == usize::from(VALUE);
            if !is_value {
                if self.path.len() >= 2 * C::MAX_KEY {
                    return self.damaged("a branch below the end of keys");
                }
                self.path.push(slot as u8);
            }
            let (node, reference) = self.child(child)?;
            if is_value && !matches!(node.kind(), NodeKind::Leaf | NodeKind::Unknown) {
                return self.damaged("a value that is no leaf");
            }
            if !is_value {
                self.path.pop();
            }
            (children.nodes[slot], children.references[slot]) = (node, reference);
        }
        if let Some(value) = value {
            children.nodes[usize::from(VALUE)] = self.leaf(value)?;
            children.references[usize::from(VALUE)] = Reference::hash([0; 32]);
        }
        match children.count() {
            0 | 1 => self.damaged("a branch with fewer than two children"),
            _ => self.forest.heap.put_branch(Node::NONE, &children),
        }
    }
}
