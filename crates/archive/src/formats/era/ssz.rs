//! SSZ, the encoding of the consensus layer: types as data, the fields in encoded bytes, and hash
//! tree roots (consensus-specs, `ssz/simple-serialize.md`).
//!
//! A [`Type`] is a constant, so a fork of the beacon chain is a table of types. The same value
//! decodes ([`Type::parts`]) and hashes ([`Type::root`]). Decoding checks offsets, lengths and
//! limits; it copies nothing. Merkleization holds one open node for each level.

use std::sync::LazyLock;

use blockmill_hashes::Sha256;

/// Levels of the deepest tree: the chunks of a transaction of 2^30 bytes, 2^25, are below it.
const MAX_DEPTH: usize = 48;

/// Bytes of an offset.
const OFFSET: usize = 4;

type Hash = [u8; 32];

/// Why bytes are not the encoding of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub expected: String,
    pub found: String,
}

impl Fault {
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }
}

/// A type of SSZ.
#[derive(Debug)]
pub(crate) enum Type {
    /// Bytes of a fixed length: numbers, hashes, keys, vectors of bits.
    Bytes(usize),
    /// A list of at most `limit` basic values of `size` bytes each, packed into chunks.
    Packed { size: usize, limit: usize },
    /// A list of at most so many bits.
    Bits(usize),
    /// A list of at most so many values.
    List(&'static Type, usize),
    /// So many hashes.
    Hashes(usize),
    /// Fields in order.
    Container(&'static [&'static Type]),
}

impl Type {
    /// Bytes of every value, if the type has values of one length only.
    fn fixed_size(&self) -> Option<usize> {
        match self {
            Self::Bytes(size) => Some(*size),
            Self::Hashes(count) => Some(32 * count),
            Self::Container(fields) => fields.iter().map(|field| field.fixed_size()).sum(),
            Self::Packed { .. } | Self::Bits(_) | Self::List(..) => None,
        }
    }

    /// Bytes of the part of a value before the fields of variable length: the first offset in it.
    pub fn head_size(&self) -> usize {
        match self {
            Self::Container(fields) => {
                fields.iter().map(|field| field.fixed_size().unwrap_or(OFFSET)).sum()
            }
            _ => self.fixed_size().unwrap_or(0),
        }
    }

    /// The encoded fields of a container, or items of a list.
    pub fn parts<'a>(&self, bytes: &'a [u8]) -> Result<Vec<&'a [u8]>, Fault> {
        match self {
            Self::Container(fields) => self.fields(fields, bytes),
            Self::List(item, limit) => items(item, *limit, bytes),
            _ => Ok(vec![bytes]),
        }
    }

    fn fields<'a>(&self, fields: &[&Self], bytes: &'a [u8]) -> Result<Vec<&'a [u8]>, Fault> {
        let head_size = self.head_size();
        let (mut parts, mut open, mut at) = (Vec::with_capacity(fields.len()), vec![], 0);
        for field in fields {
            let size = field.fixed_size();
            let end = at + size.unwrap_or(OFFSET);
            let part = bytes.get(at..end).ok_or_else(|| {
                Fault::new(format!("{head_size} bytes or more"), format!("{} bytes", bytes.len()))
            })?;
            if size.is_none() {
                open.push((parts.len(), offset(part)));
            }
            parts.push(part);
            at = end;
        }
        match open.first() {
            Some((_, first)) if *first != at => return Err(wrong_offset(at, *first)),
            None if bytes.len() != at => {
                return Err(Fault::new(format!("{at} bytes"), format!("{} bytes", bytes.len())));
            }
            _ => {}
        }
        for (i, (field, start)) in open.iter().enumerate() {
            let end = open.get(i + 1).map_or(bytes.len(), |(_, next)| *next);
            parts[*field] = bytes.get(*start..end).ok_or_else(|| wrong_offset(bytes.len(), end))?;
        }
        Ok(parts)
    }

    /// The hash tree root of an encoded value.
    pub fn root(&self, bytes: &[u8]) -> Result<Hash, Fault> {
        match self {
            Self::Bytes(size) => {
                exactly(*size, bytes.len())?;
                Ok(merkleize(chunks(bytes), depth(size.div_ceil(32))))
            }
            Self::Hashes(count) => {
                exactly(32 * count, bytes.len())?;
                Ok(merkleize(chunks(bytes), depth(*count)))
            }
            Self::Packed { size, limit } => {
                if !bytes.len().is_multiple_of(*size) {
                    let found = format!("{} bytes", bytes.len());
                    return Err(Fault::new(format!("a multiple of {size} bytes"), found));
                }
                let count = bytes.len() / size;
                at_most(*limit, count, "values")?;
                let leaves = (limit * size).div_ceil(32);
                Ok(with_length(merkleize(chunks(bytes), depth(leaves)), count))
            }
            Self::Bits(limit) => root_of_bits(*limit, bytes),
            Self::List(item, limit) => {
                let roots = self.roots(|_| item, bytes)?;
                let count = roots.len();
                Ok(with_length(merkleize(roots.into_iter(), depth(*limit)), count))
            }
            Self::Container(fields) => {
                let roots = self.roots(|i| fields[i], bytes)?;
                Ok(merkleize(roots.into_iter(), depth(fields.len())))
            }
        }
    }

    fn roots(&self, of: impl Fn(usize) -> &'static Self, bytes: &[u8]) -> Result<Vec<Hash>, Fault> {
        self.parts(bytes)?.into_iter().enumerate().map(|(i, part)| of(i).root(part)).collect()
    }
}

/// The items of a list of at most `limit`.
fn items<'a>(item: &Type, limit: usize, bytes: &'a [u8]) -> Result<Vec<&'a [u8]>, Fault> {
    if let Some(size) = item.fixed_size() {
        at_most(limit, bytes.len() / size, "items")?;
        let items = bytes.chunks_exact(size);
        let rest = items.remainder().len();
        if rest > 0 {
            return Err(Fault::new(format!("items of {size} bytes"), format!("{rest} bytes more")));
        }
        return Ok(items.collect());
    }
    let Some(first) = bytes.get(..OFFSET).map(offset) else {
        return match bytes.len() {
            0 => Ok(vec![]),
            len => Err(Fault::new("an offset of 4 bytes", format!("{len} bytes"))),
        };
    };
    let Some(offsets) = bytes.get(..first).filter(|it| !it.is_empty() && first % OFFSET == 0)
    else {
        return Err(wrong_offset(OFFSET, first));
    };
    at_most(limit, first / OFFSET, "items")?;
    let starts = offsets.chunks_exact(OFFSET).map(offset);
    let ends = starts.clone().skip(1).chain([bytes.len()]);
    let part = |(start, end)| bytes.get(start..end).ok_or_else(|| wrong_offset(bytes.len(), end));
    starts.zip(ends).map(part).collect()
}

fn offset(bytes: &[u8]) -> usize {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

fn wrong_offset(expected: usize, found: usize) -> Fault {
    Fault::new(format!("offset {expected} in SSZ"), found.to_string())
}

fn exactly(expected: usize, found: usize) -> Result<(), Fault> {
    let fault = || Fault::new(format!("{expected} bytes"), format!("{found} bytes"));
    (expected == found).then_some(()).ok_or_else(fault)
}

fn at_most(limit: usize, found: usize, what: &str) -> Result<(), Fault> {
    let fault = || Fault::new(format!("at most {limit} {what}"), format!("{found}"));
    (found <= limit).then_some(()).ok_or_else(fault)
}

/// The root of a list of bits. The highest bit that is set marks the end of the list.
fn root_of_bits(limit: usize, bytes: &[u8]) -> Result<Hash, Fault> {
    let Some((last, whole)) = bytes.split_last().filter(|(last, _)| **last != 0) else {
        return Err(Fault::new("a bit that ends the list", "none"));
    };
    let end = last.ilog2();
    let count = 8 * whole.len() + end as usize;
    at_most(limit, count, "bits")?;
    let mut bits = whole.to_vec();
    if end > 0 {
        bits.push(last ^ (1 << end));
    }
    Ok(with_length(merkleize(chunks(&bits), depth(limit.div_ceil(256))), count))
}

/// Hash of two nodes.
pub(crate) fn pair(left: &Hash, right: &Hash) -> Hash {
    let mut hash = Sha256::new();
    hash.update(left);
    hash.update(right);
    hash.finalize()
}

/// Levels of a tree of so many leaves.
const fn depth(leaves: usize) -> usize {
    leaves.next_power_of_two().trailing_zeros() as usize
}

/// Bytes in chunks of 32, the last one filled up with zeros.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = Hash> + '_ {
    bytes.chunks(32).map(|part| {
        let mut chunk = [0; 32];
        chunk[..part.len()].copy_from_slice(part);
        chunk
    })
}

fn with_length(root: Hash, length: usize) -> Hash {
    let mut chunk = [0; 32];
    chunk[..8].copy_from_slice(&(length as u64).to_le_bytes());
    pair(&root, &chunk)
}

/// The roots of trees of zeros, by their depth.
static ZEROS: LazyLock<[Hash; MAX_DEPTH]> = LazyLock::new(|| {
    let mut zeros = [[0; 32]; MAX_DEPTH];
    for level in 1..MAX_DEPTH {
        zeros[level] = pair(&zeros[level - 1], &zeros[level - 1]);
    }
    zeros
});

/// The root of a tree of this depth: the leaves, then zeros. There are at most 2^depth leaves.
fn merkleize(leaves: impl Iterator<Item = Hash>, depth: usize) -> Hash {
    // open[k] is a finished left subtree of 2^k leaves, present if bit k of `count` is set
    let (mut open, mut count) = ([[0; 32]; MAX_DEPTH], 0_u64);
    for mut node in leaves {
        let level = count.trailing_ones() as usize;
        for left in &open[..level] {
            node = pair(left, &node);
        }
        open[level] = node;
        count += 1;
    }
    if count >> depth & 1 == 1 {
        return open[depth];
    }
    let mut node = None;
    for level in 0..depth {
        node = match (count >> level & 1 == 1, node) {
            (true, node) => Some(pair(&open[level], &node.unwrap_or(ZEROS[level]))),
            (false, Some(node)) => Some(pair(&node, &ZEROS[level])),
            (false, None) => None,
        };
    }
    node.unwrap_or(ZEROS[depth])
}

/// The root that a branch gives: `leaf` is at place `index` of its level, and `siblings` come from
/// the leaf upwards.
pub(crate) fn root_of_branch(leaf: &Hash, index: u64, siblings: &[Hash]) -> Hash {
    siblings.iter().enumerate().fold(*leaf, |node, (level, sibling)| match index >> level & 1 {
        0 => pair(&node, sibling),
        _ => pair(sibling, &node),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: Type = Type::Bytes(8);

    /// The definition: every leaf in memory.
    fn naive(mut leaves: Vec<Hash>, depth: usize) -> Hash {
        leaves.resize(1 << depth, [0; 32]);
        for _ in 0..depth {
            leaves = leaves.chunks(2).map(|two| pair(&two[0], &two[1])).collect();
        }
        leaves[0]
    }

    #[test]
    fn trees_of_every_size_have_the_root_of_the_definition() {
        for depth in 0..6 {
            for count in 0..=1 << depth {
                let leaves: Vec<_> = (0..count).map(|i| [i as u8 + 1; 32]).collect();
                let root = merkleize(leaves.iter().copied(), depth);
                assert_eq!(root, naive(leaves, depth), "{count} leaves, depth {depth}");
            }
        }
    }

    #[test]
    fn a_branch_leads_to_the_root_from_its_own_place_only() {
        let leaves: Vec<Hash> = (1..=4).map(|i| [i; 32]).collect();
        let siblings = [leaves[3], pair(&leaves[0], &leaves[1])];
        let root = naive(leaves.clone(), 2);
        assert_eq!(root_of_branch(&leaves[2], 2, &siblings), root);
        assert_ne!(root_of_branch(&leaves[2], 3, &siblings), root);
    }

    #[test]
    fn fields_of_variable_length_follow_their_offsets() {
        static LIST: Type = Type::Packed { size: 1, limit: 4 };
        static TWO: Type = Type::Container(&[&LIST, &NUMBER, &LIST]);
        let encoded = [&[16, 0, 0, 0][..], &[7; 8], &[17, 0, 0, 0], b"a", b"bc"].concat();
        assert_eq!(TWO.parts(&encoded), Ok(vec![b"a", &[7; 8][..], b"bc"]));
        for (at, value) in [(0, 15), (0, 17), (12, 15), (12, 20), (13, 1)] {
            let mut wrong = encoded.clone();
            wrong[at] = value;
            assert!(TWO.parts(&wrong).is_err(), "byte {at} is {value}");
        }
        assert!(TWO.parts(&encoded[..15]).is_err());
        let long = [&encoded[..], b"too long"].concat();
        assert_eq!(TWO.root(&long), Err(Fault::new("at most 4 values", "10")));
    }

    #[test]
    fn lists_reject_bad_offsets_and_too_many_items() {
        static BYTES: Type = Type::Packed { size: 1, limit: 9 };
        let list = Type::List(&BYTES, 2);
        assert_eq!(list.parts(&[]), Ok(vec![]));
        let two = [8, 0, 0, 0, 9, 0, 0, 0, 1, 2, 3];
        assert_eq!(list.parts(&two), Ok(vec![&[1][..], &[2, 3]]));
        for wrong in [&[1][..], &[0; 4], &[3, 0, 0, 0], &[8, 0, 0, 0, 7, 0, 0, 0], &[4; 4]] {
            assert!(list.parts(wrong).is_err(), "{wrong:?}");
        }
        let three = [12, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0];
        assert_eq!(list.parts(&three), Err(Fault::new("at most 2 items", "3")));
        assert!(Type::List(&NUMBER, 2).parts(&[0; 9]).is_err());
    }

    #[test]
    fn bits_end_at_the_highest_bit() {
        let root = |bytes: &[u8]| Type::Bits(8).root(bytes);
        let expected = |bits, length| Ok(with_length(merkleize(chunks(&[bits]), 0), length));
        assert_eq!(root(&[0b1101]), expected(0b101, 3));
        assert_eq!(root(&[0xff, 1]), expected(0xff, 8));
        assert_eq!(root(&[1]), Ok(with_length([0; 32], 0)));
        assert!(root(&[]).is_err() && root(&[3, 0]).is_err() && root(&[3, 2]).is_err());
    }
}
