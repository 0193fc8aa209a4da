//! All nodes of the state tries of all blocks, without reference counts (`KeepOnlyLatestState:
//! false`), for a store with contract storage as of every block. The changes are replayed block by
//! block, and nodes are recorded when they are hashed.

use super::source::SourceStore;
use super::{NODE, key_of};
use crate::error::Error;
use crate::types::UInt256;
use blockmill_leveldb::Sorter;
use blockmill_pipeline::Cancel;
use blockmill_store::Table;
use blockmill_trie::codec::{BranchParts, Codec, LeafParts, Neo, ReadChild, ReadNode};
use blockmill_trie::update::{Changes, Forest, TrieId, Update};
use std::collections::HashMap;
use std::mem;
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

/// Nodes by their hashes.
type Nodes = HashMap<[u8; 32], Vec<u8>>;

/// Neo's codec, which records each node that it hashes.
#[derive(Clone, Debug, Default)]
struct Recorder {
    codec: Neo,
    nodes: Arc<Mutex<Nodes>>,
}

impl Recorder {
    /// Takes the nodes that were hashed since the last call.
    fn take_hashed(&self) -> Nodes {
        mem::take(&mut *self.nodes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Codec for Recorder {
    const MAX_KEY: usize = Neo::MAX_KEY;
    const VALUE_LENGTHS: (usize, usize) = Neo::VALUE_LENGTHS;
    const COMMON_TAIL: &'static [u8] = Neo::COMMON_TAIL;
    const EMPTY_ROOT: [u8; 32] = Neo::EMPTY_ROOT;
    const INLINE: bool = Neo::INLINE;
    const WRAPS_LEAVES: bool = Neo::WRAPS_LEAVES;

    fn hash_column(&self, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]) {
        self.codec.hash_column(bytes, ends, out);
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut start = 0;
        for (hash, end) in out.iter().zip(ends) {
            let end = *end as usize;
            nodes.insert(*hash, bytes[start..end].to_vec());
            start = end;
        }
    }

    fn leaf(&self, leaf: &LeafParts<'_>, out: &mut Vec<u8>) {
        self.codec.leaf(leaf, out);
    }

    fn extension(&self, path: &[u8], child: &[u8; 32], inline: bool, out: &mut Vec<u8>) {
        self.codec.extension(path, child, inline, out);
    }

    fn branch(
        &self,
        branch: &BranchParts<'_>,
        out: &mut Vec<u8>,
        on_hash: impl FnMut(usize, usize),
    ) {
        self.codec.branch(branch, out, on_hash);
    }

    fn read<'a>(&self, node: &'a [u8]) -> Result<ReadNode<'a>, String> {
        self.codec.read(node)
    }
}

/// Puts the nodes of all versions and checks their roots. `changes` sorts the changes by block.
/// Returns false if it was cancelled.
pub(crate) fn put(
    source: &SourceStore,
    history: &Table,
    mut changes: Sorter,
    into: &mut Sorter,
    cancel: &Cancel,
) -> Result<bool, Error> {
    let runs = history.snapshot();
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded))?;
    while let Some((key, value)) = scan.next()? {
        // length, key, height
        let parts = key.split_first().and_then(|(_, rest)| rest.split_last_chunk::<4>());
        let Some((key, height)) = parts else {
            return Err(Error::StoredFacts(format!("a change of {} bytes", key.len())));
        };
        changes.push(&[&height[..], key].concat(), value)?;
    }
    let recorder = Recorder::default();
    let mut forest = Forest::new(recorder.clone());
    let trie = forest.create()?;
    let mut replay = Replay { source, recorder, forest, trie, height: 0, changes: vec![], into };
    let mut stopped = false;
    changes.finish(|key, value| {
        stopped |= cancel.is_cancelled();
        match key.split_first_chunk() {
            Some((height, key)) if !stopped => {
                replay.apply(u32::from_be_bytes(*height), key, value)
            }
            _ => Ok(()),
        }
    })?;
    if !stopped {
        replay.end_block()?;
    }
    Ok(!stopped)
}

/// Replays the changes of the chain.
struct Replay<'a> {
    source: &'a SourceStore,
    recorder: Recorder,
    forest: Forest<Recorder>,
    trie: TrieId,
    /// The current block, and its changes so far.
    height: u32,
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    into: &'a mut Sorter,
}

impl Replay<'_> {
    fn apply(&mut self, height: u32, key: &[u8], entry: &[u8]) -> Result<(), Error> {
        if height != self.height {
            self.end_block()?;
            self.height = height;
        }
        // a deleted key has an empty entry
        let value = entry.split_first().map(|(_, value)| value.to_vec());
        self.changes.push((key.to_vec(), value));
        Ok(())
    }

    /// Applies the current block and puts its new nodes.
    fn end_block(&mut self) -> Result<(), Error> {
        let updates = self.changes.iter().map(|(key, value)| Update {
            trie: self.trie,
            key,
            value: value.as_deref(),
        });
        let updates: Vec<Update<'_>> = updates.collect();
        self.forest.update(&Changes { updates: &updates, ..Changes::default() })?;
        self.changes.clear();
        let (found, mut expected) = (UInt256(self.forest.root(self.trie)?), Vec::new());
        self.put_below(found.0)?;
        self.source.roots.get(&self.height.to_be_bytes(), &mut expected)?;
        let expected = UInt256::from_slice(&expected).unwrap_or_default();
        match found == expected {
            true => Ok(()),
            false => Err(Error::StoredState { expected, found }),
        }
    }

    /// Puts the nodes that were hashed in this block and belong to the trie with this root. A leaf
    /// that moves because its branch collapses is hashed at both positions; only one belongs to a
    /// trie. All ancestors of a new node are new.
    fn put_below(&mut self, root: [u8; 32]) -> Result<(), Error> {
        let mut nodes = self.recorder.take_hashed();
        let mut named = vec![root];
        while let Some(hash) = named.pop() {
            let Some(node) = nodes.remove(&hash) else { continue };
            self.into.push(&key_of(NODE, &[&hash]), &node)?;
            let children = match self.recorder.read(&node) {
                Ok(ReadNode::Branch { children, .. }) => children,
                Ok(ReadNode::Extension { child, .. }) => vec![child],
                // a node that was just written can be read
                Ok(ReadNode::Leaf { .. }) | Err(_) => vec![],
            };
            named.extend(children.iter().filter_map(|child| match child {
                ReadChild::Hash(hash) => Some(*hash),
                ReadChild::None | ReadChild::Inline { .. } => None,
            }));
        }
        Ok(())
    }
}
