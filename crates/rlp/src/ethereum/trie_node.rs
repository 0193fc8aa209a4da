//! Nodes of Merkle-Patricia tries (Yellow Paper, appendix D).

use super::Path;
use crate::{Decode, Encode, Error, ErrorKind, Reader, Write, bytes_len};

/// Bytes of a hash. A node with a shorter encoding is embedded in its parent.
const HASH: usize = 32;

/// The reference of a node to a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Child<'a> {
    /// There is none.
    #[default]
    Empty,
    /// Keccak-256 of its encoding.
    Hash(&'a [u8; HASH]),
    /// Its encoding, of fewer than 32 bytes. [`TrieNode::decode`] looks into it.
    Embedded(&'a [u8]),
}

impl Child<'_> {
    /// Bytes of the encoding.
    #[inline(always)]
    const fn len(&self) -> usize {
        match self {
            Self::Empty => 1,
            Self::Hash(_) => 1 + HASH,
            Self::Embedded(node) => node.len(),
        }
    }
}

impl<'a> Decode<'a> for Child<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut embedded = reader.clone();
        let item = reader.item()?;
        if !item.is_list {
            return match item.payload.try_into() {
                Ok(hash) => Ok(Self::Hash(hash)),
                Err(_) if item.payload.is_empty() => Ok(Self::Empty),
                Err(_) => Err(wrong_length(item.offset, item.payload)),
            };
        }
        if item.raw.len() >= HASH {
            let kind = ErrorKind::NodeTooLong { found: item.raw.len() };
            return Err(Error { offset: item.offset, kind });
        }
        // each node inside another one is shorter than it, so this ends after a few levels
        TrieNode::read(&mut embedded)?;
        Ok(Self::Embedded(item.raw))
    }
}

/// The error for a child that is neither a list nor of the length of a hash.
#[cold]
fn wrong_length(offset: usize, found: &[u8]) -> Error {
    Error { offset, kind: ErrorKind::WrongLength { expected: HASH, found: found.len() } }
}

impl Encode for Child<'_> {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Empty => out.bytes(&[]),
            Self::Hash(hash) => out.fixed(hash),
            Self::Embedded(node) => out.raw(node),
        }
    }
}

/// A node.
///
/// ```
/// use blockmill_rlp::ethereum::{PathBuffer, TrieNode};
/// use blockmill_rlp::{Decode, Encode};
///
/// let path = PathBuffer::new(&[0x12, 0x34], 0..4, true);
/// let leaf = TrieNode::Leaf { path: path.path(), value: b"value" };
/// let bytes = leaf.encode();
/// assert_eq!(TrieNode::decode(&bytes), Ok(leaf));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a view on the stack; a box would be an allocation")]
pub enum TrieNode<'a> {
    /// The rest of a key and its value.
    Leaf {
        /// The rest of the key; [`Path::is_leaf`].
        path: Path<'a>,
        /// The value.
        value: &'a [u8],
    },
    /// The common part of the keys below a branch.
    Extension {
        /// The common piece; not [`Path::is_leaf`].
        path: Path<'a>,
        /// The branch.
        child: Child<'a>,
    },
    /// The point where keys diverge.
    Branch {
        /// The nodes below, by the next half-byte of the key.
        children: [Child<'a>; 16],
        /// Value of the key that ends here; empty without one.
        value: &'a [u8],
    },
}

impl<'a> Decode<'a> for TrieNode<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let mut after_two = list.clone();
        after_two.item()?;
        after_two.item()?;
        let node = if after_two.is_empty() {
            Self::read_short(&mut list)?
        } else {
            let mut children = [Child::Empty; 16];
            for child in &mut children {
                *child = Child::read(&mut list)?;
            }
            Self::Branch { children, value: list.bytes()? }
        };
        list.finish()?;
        Ok(node)
    }
}

impl<'a> TrieNode<'a> {
    /// Reads the two items of a leaf or an extension.
    fn read_short(list: &mut Reader<'a>) -> Result<Self, Error> {
        let path = Path::read(list)?;
        if path.is_leaf() {
            return Ok(Self::Leaf { path, value: list.bytes()? });
        }
        let offset = list.offset();
        match Child::read(list)? {
            Child::Empty => Err(wrong_length(offset, &[])),
            child => Ok(Self::Extension { path, child }),
        }
    }
}

impl Encode for TrieNode<'_> {
    /// The length of a node follows from the sizes of its parts.
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Leaf { path, value } => {
                out.list_of(bytes_len(path.encoded()) + bytes_len(value), |out| {
                    path.write(out);
                    out.bytes(value);
                });
            }
            Self::Extension { path, child } => {
                out.list_of(bytes_len(path.encoded()) + child.len(), |out| {
                    path.write(out);
                    child.write(out);
                });
            }
            Self::Branch { children, value } => {
                let lengths = children.iter().map(Child::len);
                out.list_of(lengths.sum::<usize>() + bytes_len(value), |out| {
                    children.iter().for_each(|child| child.write(out));
                    out.bytes(value);
                });
            }
        }
    }
}
