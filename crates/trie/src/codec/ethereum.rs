//! Nodes of Ethereum's tries (Yellow Paper, appendices C and D): RLP, Keccak-256, and nodes of
//! fewer than 32 bytes inside their parents.

use super::{BranchParts, Codec, LeafParts, ReadChild, ReadNode};
use crate::EMPTY_ROOT;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::{Child, TrieNode};

/// The codec of Ethereum. Keys have up to 32 bytes; keys of the state and of storage are hashes.
#[derive(Clone, Debug)]
pub struct Ethereum {
    hasher: ManyKeccak,
}

impl Ethereum {
    /// Creates a codec that hashes as many nodes at once as the CPU can.
    #[must_use]
    pub fn new() -> Self {
        Self::with_hasher(ManyKeccak::detect())
    }

    /// Hashes nodes with `hasher`; one after the other with [`ManyKeccak::scalar`].
    #[must_use]
    pub fn with_hasher(hasher: ManyKeccak) -> Self {
        Self { hasher }
    }
}

impl Default for Ethereum {
    fn default() -> Self {
        Self::new()
    }
}

/// RLP prefix of a string of 32 bytes.
const HASH: u8 = 0xa0;
/// RLP of an empty string.
const EMPTY: u8 = 0x80;

/// The end of most accounts: no storage and no code.
const NO_CONTRACT: [u8; 66] = {
    // Keccak-256 of nothing
    let code = [
        0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03,
        0xc0, 0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85,
        0xa4, 0x70,
    ];
    let mut tail = [HASH; 66];
    let mut at = 0;
    while at < 32 {
        tail[1 + at] = EMPTY_ROOT[at];
        tail[34 + at] = code[at];
        at += 1;
    }
    tail
};

impl Codec for Ethereum {
    const MAX_KEY: usize = 32;
    // in a branch an empty value cannot be distinguished from none
    const VALUE_LENGTHS: (usize, usize) = (1, (1 << 23) - 1);
    const COMMON_TAIL: &'static [u8] = &NO_CONTRACT;
    const EMPTY_ROOT: [u8; 32] = EMPTY_ROOT;
    const INLINE: bool = true;
    const WRAPS_LEAVES: bool = false;

    fn hash_column(&self, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]) {
        self.hasher.keccak256_column(bytes, ends, out);
    }

    fn leaf(&self, leaf: &LeafParts<'_>, out: &mut Vec<u8>) {
        let [head, tail] = leaf.value;
        let rest = 2 * leaf.key.len() - leaf.depth;
        let path_len = 1 + rest / 2;
        let first = if rest % 2 == 1 { 0x30 | leaf.key[leaf.depth / 2] & 15 } else { 0x20 };
        let len = head.len() + tail.len();
        let single = len == 1 && head.first().or(tail.first()).is_some_and(|byte| *byte < EMPTY);
        let value_len = if single { 1 } else { prefix_len(len) + len };
        // a path of one byte is below 0x80 and has no prefix
        list_prefix(usize::from(path_len > 1) + path_len + value_len, out);
        if path_len > 1 {
            out.push(EMPTY + path_len as u8);
        }
        out.push(first);
        out.extend_from_slice(&leaf.key[leaf.depth.div_ceil(2)..]);
        if !single {
            string_prefix(len, out);
        }
        out.extend_from_slice(head);
        out.extend_from_slice(tail);
    }

    fn extension(&self, path: &[u8], child: &[u8; 32], inline: bool, out: &mut Vec<u8>) {
        let path_len = 1 + path.len() / 2;
        let child_len = if inline { inline_len(child) } else { 33 };
        list_prefix(usize::from(path_len > 1) + path_len + child_len, out);
        if path_len > 1 {
            out.push(EMPTY + path_len as u8);
        }
        let (odd, pairs) = path.split_at(path.len() % 2);
        out.push(odd.first().map_or(0, |half| 0x10 | half));
        out.extend(pairs.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        if inline {
            out.extend_from_slice(&child[..child_len]);
        } else {
            out.push(HASH);
            out.extend_from_slice(child);
        }
    }

    #[inline]
    fn branch(
        &self,
        branch: &BranchParts<'_>,
        out: &mut Vec<u8>,
        mut on_hash: impl FnMut(usize, usize),
    ) {
        let BranchParts { mask, inline, references, value } = *branch;
        if inline | mask >> 16 != 0 {
            return rare_branch(branch, out, on_hash);
        }
        let count = references.len();
        list_prefix(33 * count + 17 - count, out);
        // an absent child is one byte, which is written for all children first
        let at = out.len();
        out.resize(at + 32 * count + 17, EMPTY);
        let mut left = mask;
        for (i, reference) in references.iter().enumerate() {
            let slot = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let place = at + slot + 32 * i;
            if let Some(item) = out[place..].first_chunk_mut::<33>() {
                item[0] = HASH;
                item[1..].copy_from_slice(reference);
            }
            on_hash(slot, place + 1);
        }
        debug_assert!(value.iter().all(|piece| piece.is_empty()), "no key ends here");
    }

    fn read<'a>(&self, node: &'a [u8]) -> Result<ReadNode<'a>, String> {
        read(node).map_err(|error| error.to_string())
    }
}

fn read(node: &[u8]) -> Result<ReadNode<'_>, blockmill_rlp::Error> {
    let child = |child| match child {
        Child::Empty => Ok(ReadChild::None),
        Child::Hash(hash) => Ok(ReadChild::Hash(*hash)),
        Child::Embedded(raw) => Ok(ReadChild::Inline { raw, node: Box::new(read(raw)?) }),
    };
    if let Some(children) = branch_of_hashes(node) {
        return Ok(ReadNode::Branch { children, value: None });
    }
    Ok(match TrieNode::decode(node)? {
        TrieNode::Leaf { path, value } => ReadNode::Leaf { rest: path.nibbles().collect(), value },
        TrieNode::Extension { path, child: below } => {
            ReadNode::Extension { path: path.nibbles().collect(), child: child(below)? }
        }
        TrieNode::Branch { children, value } => {
            let mut all = Vec::with_capacity(children.len());
            for below in children {
                all.push(child(below)?);
            }
            ReadNode::Branch { children: all, value: (!value.is_empty()).then_some(value) }
        }
    })
}

/// The children of a branch without a value or embedded children; `None` for any other bytes. Most
/// nodes are such branches: this takes a fraction of the time of a general decoder.
fn branch_of_hashes(node: &[u8]) -> Option<Vec<ReadChild<'_>>> {
    let (length, mut rest) = match *node {
        [0xf8, length, ref rest @ ..] if length >= 56 => (usize::from(length), rest),
        [0xf9, high, low, ref rest @ ..] if high > 0 => {
            (usize::from(high) << 8 | usize::from(low), rest)
        }
        _ => return None,
    };
    if rest.len() != length {
        return None;
    }
    let mut children = Vec::with_capacity(16);
    for _ in 0..16 {
        match *rest {
            [EMPTY, ref after @ ..] => {
                children.push(ReadChild::None);
                rest = after;
            }
            [HASH, ref after @ ..] => {
                let (hash, after) = after.split_first_chunk()?;
                children.push(ReadChild::Hash(*hash));
                rest = after;
            }
            _ => return None,
        }
    }
    (rest == [EMPTY]).then_some(children)
}

/// Writes a branch with a value, or with embedded children.
#[cold]
fn rare_branch(branch: &BranchParts<'_>, out: &mut Vec<u8>, mut on_hash: impl FnMut(usize, usize)) {
    let mut items = vec![];
    let mut hashes = vec![];
    let mut references = branch.references;
    for slot in 0..16 {
        let is_there = branch.mask >> slot & 1 == 1;
        let Some((reference, after)) = references.split_first().filter(|_| is_there) else {
            items.push(EMPTY);
            continue;
        };
        references = after;
        if branch.inline >> slot & 1 == 1 {
            items.extend_from_slice(&reference[..inline_len(reference)]);
        } else {
            items.push(HASH);
            hashes.push((slot, items.len()));
            items.extend_from_slice(reference);
        }
    }
    let [head, tail] = branch.value;
    let value = [head, tail].concat();
    if !matches!(value[..], [byte] if byte < EMPTY) {
        string_prefix(value.len(), &mut items);
    }
    items.extend_from_slice(&value);
    list_prefix(items.len(), out);
    hashes.iter().for_each(|(slot, at)| on_hash(*slot, out.len() + at));
    out.extend_from_slice(&items);
}

/// Length of an embedded node: a list of fewer than 56 bytes.
fn inline_len(node: &[u8; 32]) -> usize {
    (1 + usize::from(node[0].saturating_sub(0xc0))).min(32)
}

/// Bytes of the prefix of a string of `len` bytes.
fn prefix_len(len: usize) -> usize {
    if len < 56 { 1 } else { 1 + bytes_of(len) }
}

/// Bytes of a number without leading zeros.
fn bytes_of(number: usize) -> usize {
    size_of::<usize>() - number.leading_zeros() as usize / 8
}

#[inline(always)]
fn string_prefix(len: usize, out: &mut Vec<u8>) {
    prefix(EMPTY, len, out);
}

#[inline(always)]
fn list_prefix(len: usize, out: &mut Vec<u8>) {
    prefix(0xc0, len, out);
}

#[inline(always)]
fn prefix(short: u8, len: usize, out: &mut Vec<u8>) {
    match len {
        0..56 => out.push(short + len as u8),
        56..256 => out.extend_from_slice(&[short + 56, len as u8]),
        256..65_536 => out.extend_from_slice(&[short + 57, (len >> 8) as u8, len as u8]),
        _ => {
            out.push(short + 55 + bytes_of(len) as u8);
            out.extend_from_slice(&len.to_be_bytes()[size_of::<usize>() - bytes_of(len)..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_testkit::Random;

    #[test]
    fn branches_of_hashes_are_read_as_by_the_general_decoder() {
        let mut random = Random::new(41);
        let (mut fast, mut refused) = (0, 0);
        for _ in 0..blockmill_testkit::rounds(4000) {
            let mut items = vec![];
            for _ in 0..16 {
                match random.below(40) {
                    0 => items.extend([0xc2, 0x80, 0x01]),
                    1..10 => items.push(EMPTY),
                    _ => {
                        items.push(HASH);
                        items.extend(random.array::<32>());
                    }
                }
            }
            items.extend(random.pick(&[&[EMPTY][..], &[EMPTY], &[EMPTY], &[0x07]]));
            let mut node = vec![];
            list_prefix(items.len(), &mut node);
            node.extend(items);
            if random.below(3) == 0 {
                random.flip(&mut node);
            }
            let general = TrieNode::decode(&node);
            let Some(children) = branch_of_hashes(&node) else {
                refused += 1;
                continue;
            };
            fast += 1;
            let Ok(TrieNode::Branch { children: expected, value: [] }) = general else {
                panic!("{node:02x?}: {general:?}");
            };
            for (child, expected) in children.iter().zip(expected) {
                match (child, expected) {
                    (ReadChild::None, Child::Empty) => {}
                    (ReadChild::Hash(hash), Child::Hash(other)) => assert_eq!(hash, other),
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(fast > 0 && refused > 0, "{fast} {refused}");
    }
}
