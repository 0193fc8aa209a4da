//! The trie nodes of real blocks: those that the blocks' witnesses hold.

use crate::encoding;
use crate::nodes::again;
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::{Account, Child, TrieNode};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Counts over some nodes.
#[derive(Debug, Default)]
struct Counts {
    nodes: usize,
    leaves: usize,
    extensions: usize,
    branches: usize,
    embedded: usize,
    accounts: usize,
    unreferenced: usize,
}

fn hex(text: &Value) -> Vec<u8> {
    blockmill_testkit::hex::decode(text.as_str().unwrap())
}

/// Visits the nodes of the witness below one root; `is_state` if the values are accounts, whose
/// storage roots are added to `roots`.
fn walk(
    root: [u8; 32],
    is_state: bool,
    nodes: &HashMap<[u8; 32], Vec<u8>>,
    reached: &mut HashSet<[u8; 32]>,
    roots: &mut Vec<[u8; 32]>,
    counts: &mut Counts,
) {
    let mut open: Vec<&[u8]> = vec![];
    let mut named = vec![root];
    loop {
        if let Some(hash) = named.pop() {
            if let Some(node) = nodes.get(&hash).filter(|_| reached.insert(hash)) {
                open.push(node);
            }
            continue;
        }
        let Some(bytes) = open.pop() else { return };
        let children = match TrieNode::decode(bytes).unwrap() {
            TrieNode::Leaf { value, .. } => {
                counts.leaves += 1;
                if is_state {
                    let account = Account::decode(value).unwrap();
                    assert_eq!(encoding(&account), value);
                    roots.push(*account.storage_root);
                    counts.accounts += 1;
                }
                vec![]
            }
            TrieNode::Extension { child, .. } => {
                counts.extensions += 1;
                vec![child]
            }
            TrieNode::Branch { children, .. } => {
                counts.branches += 1;
                children.to_vec()
            }
        };
        for child in children {
            match child {
                Child::Empty => {}
                Child::Hash(hash) => named.push(*hash),
                Child::Embedded(node) => {
                    counts.embedded += 1;
                    open.push(node);
                }
            }
        }
    }
}

/// Root of the state before the block: field 3 of the last header of the witness.
fn state_root(header: &[u8]) -> [u8; 32] {
    let mut fields = blockmill_rlp::Reader::new(header).list().unwrap();
    for _ in 0..3 {
        fields.item().unwrap();
    }
    *fields.fixed().unwrap()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn nodes_of_witnesses_come_back_and_are_referenced() {
    let folder = blockmill_testkit::fixture("ethereum/witness");
    let (mut files, mut counts) = (0, Counts::default());
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = blockmill_testkit::read(entry.unwrap().path());
        let json: Value = serde_json::from_slice(&text).unwrap();
        let witness = &json["witness"];
        let mut nodes = HashMap::new();
        for text in witness["state"].as_array().unwrap() {
            let bytes = hex(text);
            // some witnesses hold the root of an empty trie, which is no node
            if bytes == [0x80] {
                continue;
            }
            assert_eq!(again(&bytes), bytes);
            nodes.insert(blockmill_hashes::keccak256(&bytes), bytes);
        }
        let mut roots = vec![];
        let mut reached = HashSet::new();
        for header in witness["headers"].as_array().unwrap() {
            let root = state_root(&hex(header));
            walk(root, true, &nodes, &mut reached, &mut roots, &mut counts);
        }
        for root in roots {
            walk(root, false, &nodes, &mut reached, &mut vec![], &mut counts);
        }
        counts.nodes += nodes.len();
        counts.unreferenced += nodes.keys().filter(|hash| !reached.contains(*hash)).count();
        files += 1;
    }
    println!("{files} witnesses: {counts:?}");
    assert_eq!((files, counts.nodes, counts.accounts, counts.unreferenced), (22, 14_198, 959, 0));
    assert_eq!((counts.leaves, counts.extensions, counts.branches), (2798, 58, 11_342));
}
