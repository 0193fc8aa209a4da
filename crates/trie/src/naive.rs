//! Trie roots by the definition in the Yellow Paper (appendix D), for comparison: a recursion over
//! the leaves that builds every node anew. Slow and short.

use blockmill_rlp::{Encode, OnePass, Write};
use std::collections::BTreeMap;

/// The root of Neo's state trie with these leaves (`pkg/core/mpt` of neo-go); zeros without any.
///
/// ```
/// use blockmill_trie::codec::Neo;
/// use blockmill_trie::naive::neo_root;
/// use blockmill_trie::update::{Changes, Forest, Update};
/// use std::collections::BTreeMap;
///
/// let mut forest = Forest::new(Neo::new());
/// let trie = forest.create()?;
/// let update = Update { trie, key: &[1, 0, 0, 0, 9], value: Some(&[5]) };
/// forest.update(&Changes { updates: &[update], ..Changes::default() })?;
/// let leaves = BTreeMap::from([(update.key.to_vec(), vec![5])]);
/// assert_eq!(forest.root(trie)?, neo_root(&leaves));
/// # Ok::<(), blockmill_trie::update::Error>(())
/// ```
pub fn neo_root(leaves: &BTreeMap<Vec<u8>, Vec<u8>>) -> [u8; 32] {
    if leaves.is_empty() {
        return [0; 32];
    }
    let halves = |key: &Vec<u8>| key.iter().flat_map(|b| [b >> 4, b & 15]).collect::<Vec<u8>>();
    let keys: Vec<Vec<u8>> = leaves.keys().map(halves).collect();
    let leaves: Vec<_> = keys.iter().map(|k| &k[..]).zip(leaves.values().map(|v| &v[..])).collect();
    neo_hash(&leaves)
}

/// The hash of the node over `leaves`, which are not empty.
fn neo_hash(leaves: &Leaves<'_>) -> [u8; 32] {
    let (first, value) = leaves[0];
    let last = leaves[leaves.len() - 1].0;
    let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let mut node = vec![];
    if shared > 0 {
        let below: Vec<_> = leaves.iter().map(|(key, value)| (&key[shared..], *value)).collect();
        node.extend([1, shared as u8]);
        node.extend(&first[..shared]);
        node.push(3);
        node.extend(neo_hash(&below));
    } else if leaves.len() == 1 {
        node.push(2);
        match value.len() {
            len @ 0..0xfd => node.push(len as u8),
            len @ 0xfd..0x1_0000 => node.extend([0xfd, len as u8, (len >> 8) as u8]),
            len => node.extend([0xfe, len as u8, (len >> 8) as u8, (len >> 16) as u8, 0]),
        }
        node.extend(value);
    } else {
        node.push(0);
        for half in (0..16).map(Some).chain([None]) {
            let own = leaves.iter().filter(|(key, _)| key.first().copied() == half);
            let below: Vec<_> =
                own.map(|(key, value)| (key.get(1..).unwrap_or_default(), *value)).collect();
            if below.is_empty() {
                node.push(4);
            } else {
                node.push(3);
                node.extend(neo_hash(&below));
            }
        }
    }
    blockmill_hashes::sha256d(&node)
}

/// The leaves below one node: the remaining nibbles of each key, and its value.
type Leaves<'a> = [(&'a [u8], &'a [u8])];

/// The root of the trie with these leaves.
///
/// ```
/// use blockmill_trie::{RootBuilder, naive};
/// use std::collections::BTreeMap;
///
/// let leaves = BTreeMap::from([(vec![1], vec![7]), (vec![1, 2], vec![8])]);
/// assert_eq!(naive::root(&leaves), RootBuilder::new().sorted(leaves.clone()));
/// ```
pub fn root(leaves: &BTreeMap<Vec<u8>, Vec<u8>>) -> [u8; 32] {
    if leaves.is_empty() {
        return blockmill_hashes::keccak256(&[0x80]);
    }
    let halves = |key: &Vec<u8>| key.iter().flat_map(|b| [b >> 4, b & 15]).collect::<Vec<u8>>();
    let keys: Vec<Vec<u8>> = leaves.keys().map(halves).collect();
    let leaves: Vec<_> = keys.iter().map(|k| &k[..]).zip(leaves.values().map(|v| &v[..])).collect();
    blockmill_hashes::keccak256(&node(&leaves))
}

/// The encoding of the node over `leaves`, which are not empty.
fn node(leaves: &Leaves<'_>) -> Vec<u8> {
    let (first, value) = leaves[0];
    if leaves.len() == 1 {
        return list(&[string(&hex_prefix(first, true)), string(value)]);
    }
    let last = leaves[leaves.len() - 1].0;
    let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    if shared > 0 {
        let below: Vec<_> = leaves.iter().map(|(key, value)| (&key[shared..], *value)).collect();
        return list(&[string(&hex_prefix(&first[..shared], false)), reference(&below)]);
    }
    let mut items = vec![];
    for half in 0..16 {
        let own = leaves.iter().filter(|(key, _)| key.first() == Some(&half));
        let below: Vec<_> = own.map(|(key, value)| (&key[1..], *value)).collect();
        items.push(reference(&below));
    }
    items.push(string(if first.is_empty() { value } else { &[] }));
    list(&items)
}

/// The reference in the parent: nothing, the node itself, or its hash.
fn reference(leaves: &Leaves<'_>) -> Vec<u8> {
    if leaves.is_empty() {
        return string(&[]);
    }
    let node = node(leaves);
    if node.len() < 32 { node } else { string(&blockmill_hashes::keccak256(&node)) }
}

fn hex_prefix(path: &[u8], leaf: bool) -> Vec<u8> {
    let flag = if leaf { 2 } else { 0 };
    let mut halves = if path.len() % 2 == 1 { vec![flag + 1] } else { vec![flag, 0] };
    halves.extend_from_slice(path);
    halves.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn string(bytes: &[u8]) -> Vec<u8> {
    bytes.encode_in_one_pass()
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = OnePass::default();
    out.list(|out| items.iter().for_each(|item| out.raw(item)));
    out.into_bytes()
}
