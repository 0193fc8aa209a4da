//! Nodes that are hashed together.

use super::Codec;
use std::ops::Range;

/// Encoded nodes, back to back, and their hashes.
#[derive(Debug, Default)]
pub struct Column {
    /// Of all nodes.
    pub bytes: Vec<u8>,
    /// The end of each node in `bytes`.
    pub ends: Vec<u32>,
    /// As many as nodes, after [`Column::hash`].
    pub hashes: Vec<[u8; 32]>,
}

impl Column {
    /// Forgets the nodes and keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The node that was written last ends here.
    pub fn end(&mut self) {
        self.ends.push(self.bytes.len() as u32);
    }

    /// The range of a node in `bytes`.
    pub fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        start as usize..self.ends[at] as usize
    }

    /// Hashes all nodes.
    pub fn hash(&mut self, codec: &impl Codec) {
        self.hashes.resize(self.ends.len(), [0; 32]);
        codec.hash_column(&self.bytes, &self.ends, &mut self.hashes);
    }
}
