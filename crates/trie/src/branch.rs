//! A branch node that grows while its children arrive in key order.

/// How a parent names a node: its hash, or the node itself when that is shorter than 32 bytes.
#[derive(Clone, Copy)]
pub struct Reference {
    bytes: [u8; 32],
    len: u8,
}

impl Reference {
    /// Names a node of 32 bytes or more by its Keccak-256.
    pub fn hash(hash: [u8; 32]) -> Self {
        Self { bytes: hash, len: 32 }
    }

    /// Names the encoded `node`; `hash` is its Keccak-256, which a short node does not need.
    pub fn new(node: &[u8], hash: [u8; 32]) -> Self {
        if node.len() >= 32 {
            return Self::hash(hash);
        }
        let mut bytes = [0; 32];
        bytes[..node.len()].copy_from_slice(node);
        Self { bytes, len: node.len() as u8 }
    }

    /// Names the encoded `node`.
    pub fn of(node: &[u8]) -> Self {
        let hash = if node.len() >= 32 { crypto::keccak256(node) } else { [0; 32] };
        Self::new(node, hash)
    }

    /// Bytes that [`Reference::put`] appends.
    pub fn len(&self) -> usize {
        usize::from(self.len) + usize::from(self.len == 32)
    }

    /// Appends the reference as a parent holds it.
    pub fn put(&self, out: &mut Vec<u8>) {
        if self.len == 32 {
            out.push(0x80 + 32);
        }
        out.extend_from_slice(&self.bytes[..usize::from(self.len)]);
    }
}

/// A branch whose later children are still to come. Its buffers are used again and again.
#[derive(Default)]
pub struct Branch {
    /// Half-bytes that all keys below it share.
    pub depth: usize,
    /// Children written so far, the absent ones between them included.
    filled: u8,
    /// Those children, encoded.
    payload: Vec<u8>,
    /// The value of the key that ends here; empty without one.
    value: Vec<u8>,
}

impl Branch {
    /// Starts over as a branch without children at `depth`.
    pub fn reset(&mut self, depth: usize) {
        self.depth = depth;
        self.filled = 0;
        self.payload.clear();
        self.value.clear();
    }

    /// Sets the value of the key that ends at this branch.
    pub fn set_value(&mut self, value: &[u8]) {
        self.value.extend_from_slice(value);
    }

    /// Adds the child under `nibble`, which is greater than those of the children before.
    pub fn add(&mut self, nibble: u8, child: &Reference) {
        self.skip_to(nibble);
        child.put(&mut self.payload);
        self.filled += 1;
    }

    /// Writes absent children up to `nibble`.
    fn skip_to(&mut self, nibble: u8) {
        let absent = usize::from(nibble - self.filled);
        self.payload.resize(self.payload.len() + absent, 0x80);
        self.filled = nibble;
    }

    /// Writes the whole node into `node`, all children being there.
    pub fn encode(&mut self, node: &mut Vec<u8>) {
        self.skip_to(16);
        rlp::put_bytes(&mut self.payload, &self.value);
        node.clear();
        rlp::put_list_prefix(node, self.payload.len());
        node.extend_from_slice(&self.payload);
    }
}
