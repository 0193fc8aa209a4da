//! Trie nodes: built, decoded, and corrupt.

use crate::random::bytes;
use crate::{encoding, ends_exactly, error};
use blockmill_rlp::ethereum::{Child, Path, PathBuffer, TrieNode};
use blockmill_rlp::{Decode, Encode, ErrorKind, OnePass, Write};
use blockmill_testkit::Random;

/// The path again, from its half-bytes, which begin at an even or an odd place of a key.
fn path_again(path: Path<'_>, shift: usize) -> PathBuffer {
    let mut halves = vec![0; shift];
    halves.extend(path.nibbles());
    let range = shift..halves.len();
    assert_eq!(range.len(), path.len());
    halves.resize(halves.len().next_multiple_of(2), 0xf);
    let key: Vec<u8> = halves.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    PathBuffer::new(&key, range, path.is_leaf())
}

/// The encoding of a node that is rebuilt from its parts, embedded nodes included.
pub fn again(bytes: &[u8]) -> Vec<u8> {
    let embedded = |child: &Child<'_>| match child {
        Child::Embedded(node) => again(node),
        Child::Empty | Child::Hash(_) => vec![],
    };
    fn part<'a>(child: &Child<'a>, embedded: &'a [u8]) -> Child<'a> {
        match child {
            Child::Embedded(_) => Child::Embedded(embedded),
            Child::Empty | Child::Hash(_) => *child,
        }
    }
    let shift = bytes.len() % 2;
    match TrieNode::decode(bytes).unwrap() {
        TrieNode::Leaf { path, value } => {
            assert!(path.is_leaf());
            encoding(&TrieNode::Leaf { path: path_again(path, shift).path(), value })
        }
        TrieNode::Extension { path, child } => {
            assert!(!path.is_leaf());
            let embedded = embedded(&child);
            let child = part(&child, &embedded);
            encoding(&TrieNode::Extension { path: path_again(path, shift).path(), child })
        }
        TrieNode::Branch { children, value } => {
            let embedded: Vec<_> = children.iter().map(embedded).collect();
            let children = std::array::from_fn(|i| part(&children[i], &embedded[i]));
            encoding(&TrieNode::Branch { children, value })
        }
    }
}

/// A node of fewer than 32 bytes, two levels of them inside each other.
fn short_node(random: &mut Random) -> Vec<u8> {
    let key = random.array::<3>();
    let path = PathBuffer::new(&key, 0..random.below(5), true);
    let value = &key[..random.below(4)];
    let mut node = TrieNode::Leaf { path: path.path(), value }.encode();
    if random.below(2) == 1 {
        let path = PathBuffer::new(&key, 1..4, false);
        node = TrieNode::Extension { path: path.path(), child: Child::Embedded(&node) }.encode();
    }
    assert!(node.len() < 32);
    node
}

#[test]
fn random_nodes_come_back() {
    let mut random = Random::new(4);
    for round in 0..2000 {
        let key = random.array::<32>();
        let start = random.below(65);
        let range = start..start + random.below(65 - start);
        let path = PathBuffer::new(&key, range, round % 3 == 0);
        let path = path.path();
        let (value, short, hash) =
            (bytes(&mut random, 300), short_node(&mut random), random.array());
        let mut child =
            || [Child::Empty, Child::Hash(&hash), Child::Embedded(&short)][random.below(3)];
        let node = match round % 3 {
            0 => TrieNode::Leaf { path, value: &value },
            1 => TrieNode::Extension { path, child: Child::Hash(&hash) },
            _ => TrieNode::Branch { children: [(); 16].map(|()| child()), value: &value },
        };
        let bytes = encoding(&node);
        assert_eq!(TrieNode::decode(&bytes), Ok(node));
        assert_eq!(again(&bytes), bytes);
        if round < 100 {
            ends_exactly::<TrieNode<'_>>(&bytes, &mut vec![]);
        }
    }
}

fn list(items: impl Fn(&mut OnePass)) -> Vec<u8> {
    let mut out = OnePass::default();
    out.list(items);
    out.into_bytes()
}

#[test]
fn wrong_parts_are_named_with_their_place() {
    let node_error = |items: &dyn Fn(&mut OnePass)| error::<TrieNode<'_>>(&list(items));
    let missing = ErrorKind::Truncated { needed: 1, available: 0 };
    assert_eq!(error::<TrieNode<'_>>(&[0xc0]), (1, missing));
    assert_eq!(node_error(&|out| out.u64(0)), (2, missing));
    let path = |first: &[u8]| {
        list(|out| {
            out.bytes(first);
            out.bytes(&[7; 40]);
        })
    };
    assert_eq!(error::<TrieNode<'_>>(&path(&[0x40])), (1, ErrorKind::BadPath { found: 0x40 }));
    assert_eq!(error::<TrieNode<'_>>(&path(&[0x05, 1])), (1, ErrorKind::BadPath { found: 5 }));
    assert_eq!(error::<TrieNode<'_>>(&path(&[])), (1, missing));
    assert!(TrieNode::decode(&path(&[0x20])).is_ok(), "40 bytes are a value");
    let wrong = |found| ErrorKind::WrongLength { expected: 32, found };
    assert_eq!(error::<TrieNode<'_>>(&path(&[0x11])), (2, wrong(40)), "and no child");
    assert_eq!(error::<TrieNode<'_>>(&[0xc2, 0x11, 0x80]), (2, wrong(0)));
    for items in [3, 16] {
        let short = node_error(&|out| (0..items).for_each(|_| out.bytes(&[])));
        assert_eq!(short, (1 + items, missing));
    }
    let long = node_error(&|out| (0..18).for_each(|_| out.bytes(&[])));
    assert_eq!(long, (18, ErrorKind::TrailingBytes { count: 1 }));
    // a leaf of 31 bytes may be embedded in its parent, one of 32 may not
    let with_leaf = |value: usize| {
        list(|out| {
            (0..5).for_each(|_| out.bytes(&[]));
            out.list(|out| {
                out.u64(0x20);
                out.bytes(&vec![1; value]);
            });
            (0..11).for_each(|_| out.bytes(&[]));
        })
    };
    assert!(TrieNode::decode(&with_leaf(28)).is_ok());
    let found = ErrorKind::NodeTooLong { found: 32 };
    assert_eq!(error::<TrieNode<'_>>(&with_leaf(29)), (6, found));
    // an embedded leaf whose path begins with a wrong byte
    let mut bytes = with_leaf(9);
    bytes[7] = 0x50;
    assert_eq!(error::<TrieNode<'_>>(&bytes), (7, ErrorKind::BadPath { found: 0x50 }));
}

#[test]
fn nested_nodes_end_after_a_few_levels() {
    // extensions in extensions, up to the largest length
    let mut bytes = vec![0xc2, 0x11, 0x80];
    for _ in 0..100 {
        bytes = list(|out| {
            out.u64(0x11);
            out.raw(&bytes);
        });
    }
    assert!(matches!(error::<TrieNode<'_>>(&bytes).1, ErrorKind::NodeTooLong { found: 32.. }));
}
