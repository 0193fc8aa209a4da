//! How nodes are written and hashed, apart from how tries change.

mod column;
mod ethereum;
mod neo;

pub use column::Column;
pub use ethereum::Ethereum;
pub use neo::Neo;

use std::fmt::Debug;

/// A leaf as its parent sees it.
#[derive(Clone, Copy, Debug)]
pub struct LeafParts<'a> {
    /// The whole key.
    pub key: &'a [u8],
    /// Half-bytes of the key that lead to the leaf; the others belong to it.
    pub depth: usize,
    /// The value in two pieces.
    pub value: [&'a [u8]; 2],
}

/// A branch with references of its children.
#[derive(Clone, Copy, Debug)]
pub struct BranchParts<'a> {
    /// A bit for each child that is there; bit 16 for the key that ends here.
    pub mask: u32,
    /// Bits of the children that are embedded; the others are referenced by hash.
    pub inline: u32,
    /// References of the children that are there, in order.
    pub references: &'a [[u8; 32]],
    /// Value of the key that ends here, in two pieces.
    pub value: [&'a [u8]; 2],
}

/// A node read from bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadNode<'a> {
    /// A value and the rest of its key, in half-bytes; the rest is empty if leaves have none.
    Leaf {
        /// Half-bytes, one a byte.
        rest: Vec<u8>,
        /// The value.
        value: &'a [u8],
    },
    /// Half-bytes that all keys below have in common.
    Extension {
        /// Half-bytes, one a byte; at least one.
        path: Vec<u8>,
        /// The child.
        child: ReadChild<'a>,
    },
    /// The point where keys diverge.
    Branch {
        /// 16 children, or 17 if the value of the key that ends here is a child too.
        children: Vec<ReadChild<'a>>,
        /// The value of the key that ends here, if it is in the branch itself.
        value: Option<&'a [u8]>,
    },
}

/// The reference of a decoded node to a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadChild<'a> {
    /// There is none.
    None,
    /// By its hash.
    Hash([u8; 32]),
    /// The child is embedded.
    Inline {
        /// Its bytes, fewer than 32.
        raw: &'a [u8],
        /// The decoded child.
        node: Box<ReadNode<'a>>,
    },
}

/// The encoding and the hash function of the trie nodes of a family of chains.
pub trait Codec: Clone + Debug + Send + Sync {
    /// Bytes of a key at most; no more than 127, so that half-bytes are counted in a byte.
    const MAX_KEY: usize;
    /// Fewest and most bytes of a value.
    const VALUE_LENGTHS: (usize, usize);
    /// The ending of most values; leaves store a bit instead. Empty if there is no common ending.
    const COMMON_TAIL: &'static [u8];
    /// The root of a trie without leaves.
    const EMPTY_ROOT: [u8; 32];
    /// Whether a node of fewer than 32 bytes is embedded in its parent.
    const INLINE: bool;
    /// True when a leaf does not hold the rest of its key, but hangs below an extension that does.
    const WRAPS_LEAVES: bool;

    /// Hashes messages that are back to back and end at `ends`.
    fn hash_column(&self, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]);

    /// Writes a leaf; without the rest of its key if [`WRAPS_LEAVES`](Self::WRAPS_LEAVES).
    fn leaf(&self, leaf: &LeafParts<'_>, out: &mut Vec<u8>);

    /// Writes an extension: `path` has a nibble in each byte. The hash of a child that is
    /// referenced by hash is at the end.
    fn extension(&self, path: &[u8], child: &[u8; 32], inline: bool, out: &mut Vec<u8>);

    /// Writes a branch. `on_hash` gets the slot of each child that is referenced by hash, and the
    /// offset of the hash in `out`.
    fn branch(
        &self,
        branch: &BranchParts<'_>,
        out: &mut Vec<u8>,
        on_hash: impl FnMut(usize, usize),
    );

    /// Reads a node that [`leaf`](Self::leaf), [`extension`](Self::extension) or
    /// [`branch`](Self::branch) wrote; what is wrong with it otherwise.
    fn read<'a>(&self, node: &'a [u8]) -> Result<ReadNode<'a>, String>;
}
