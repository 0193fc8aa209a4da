//! Nodes of Neo N3's state trie, as `pkg/core/mpt` of neo-go writes them: a byte for the type,
//! SHA-256 twice, no node inside another. A leaf holds its value only; the rest of its key is an
//! extension above it.

use super::{BranchParts, Codec, LeafParts, ReadChild, ReadNode};
use blockmill_hashes::ManySha256;

/// Neo's nodes. Keys are a contract's number (4 bytes) and up to 64 bytes of its own.
#[derive(Clone, Debug)]
pub struct Neo {
    hasher: ManySha256,
}

impl Neo {
    /// Creates a codec that hashes as many nodes at once as the CPU can.
    #[must_use]
    pub fn new() -> Self {
        Self::with_hasher(ManySha256::detect())
    }

    /// Hashes nodes with `hasher`; one after the other with [`ManySha256::scalar`].
    #[must_use]
    pub fn with_hasher(hasher: ManySha256) -> Self {
        Self { hasher }
    }
}

impl Default for Neo {
    fn default() -> Self {
        Self::new()
    }
}

/// Types of nodes (`node.go`).
const BRANCH: u8 = 0;
const EXTENSION: u8 = 1;
const LEAF: u8 = 2;
const HASH: u8 = 3;
const EMPTY: u8 = 4;
/// Children of a branch, the one of the key that ends there among them.
const CHILDREN: usize = 17;

impl Codec for Neo {
    const MAX_KEY: usize = 68;
    // `MaxValueLength` of leaf.go
    const VALUE_LENGTHS: (usize, usize) = (0, 3 + 65_535 + 1);
    const COMMON_TAIL: &'static [u8] = &[];
    const EMPTY_ROOT: [u8; 32] = [0; 32];
    const INLINE: bool = false;
    const WRAPS_LEAVES: bool = true;

    fn hash_column(&self, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]) {
        self.hasher.sha256d_column(bytes, ends, out);
    }

    fn leaf(&self, leaf: &LeafParts<'_>, out: &mut Vec<u8>) {
        let [head, tail] = leaf.value;
        out.push(LEAF);
        length(head.len() + tail.len(), out);
        out.extend_from_slice(head);
        out.extend_from_slice(tail);
    }

    fn extension(&self, path: &[u8], child: &[u8; 32], _inline: bool, out: &mut Vec<u8>) {
        out.push(EXTENSION);
        length(path.len(), out);
        out.extend_from_slice(path);
        out.push(HASH);
        out.extend_from_slice(child);
    }

    fn branch(
        &self,
        branch: &BranchParts<'_>,
        out: &mut Vec<u8>,
        mut on_hash: impl FnMut(usize, usize),
    ) {
        out.push(BRANCH);
        // an absent child is one byte, which is written for all children first
        let at = out.len();
        out.resize(at + 32 * branch.references.len() + CHILDREN, EMPTY);
        let mut left = branch.mask;
        for (i, reference) in branch.references.iter().enumerate() {
            let slot = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let place = at + slot + 32 * i;
            if let Some(item) = out[place..].first_chunk_mut::<33>() {
                item[0] = HASH;
                item[1..].copy_from_slice(reference);
            }
            on_hash(slot, place + 1);
        }
    }

    fn read<'a>(&self, node: &'a [u8]) -> Result<ReadNode<'a>, String> {
        let mut input = Input(node);
        let read = match input.byte()? {
            BRANCH => {
                let mut children = vec![];
                for _ in 0..CHILDREN {
                    children.push(input.child()?);
                }
                ReadNode::Branch { children, value: None }
            }
            EXTENSION => {
                let path = input.bytes(2 * Self::MAX_KEY)?.to_vec();
                if path.is_empty() || path.iter().any(|half| *half > 15) {
                    return Err("the path of an extension is not one of half-bytes".into());
                }
                ReadNode::Extension { path, child: input.child()? }
            }
            LEAF => ReadNode::Leaf { rest: vec![], value: input.bytes(Self::VALUE_LENGTHS.1)? },
            other => return Err(format!("type {other} is no node")),
        };
        if !input.0.is_empty() {
            return Err(format!("{} bytes follow the node", input.0.len()));
        }
        Ok(read)
    }
}

/// Writes a length as Neo does: in one, three or five bytes.
fn length(len: usize, out: &mut Vec<u8>) {
    match len {
        0..0xfd => out.push(len as u8),
        0xfd..0x1_0000 => {
            out.push(0xfd);
            out.extend_from_slice(&(len as u16).to_le_bytes());
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&(len as u32).to_le_bytes());
        }
    }
}

/// The bytes of a node that remain to be read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or("the node is cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// Reads bytes after their length, at most `most`.
    fn bytes(&mut self, most: usize) -> Result<&'a [u8], String> {
        let size = match self.byte()? {
            0xfd => 2,
            0xfe => 4,
            0xff => 8,
            len => return self.take(len.into()),
        };
        let bytes = self.take(size)?;
        let len = bytes.iter().rev().fold(0_u64, |len, byte| len << 8 | u64::from(*byte));
        match usize::try_from(len) {
            Ok(len) if len <= most => self.take(len),
            _ => Err(format!("{len} bytes, at most {most} are possible")),
        }
    }

    fn child(&mut self) -> Result<ReadChild<'a>, String> {
        match self.byte()? {
            HASH => {
                let hash = self.take(32)?;
                Ok(ReadChild::Hash(hash.first_chunk().map_or([0; 32], |hash| *hash)))
            }
            EMPTY => Ok(ReadChild::None),
            other => Err(format!("type {other} is no child")),
        }
    }
}
