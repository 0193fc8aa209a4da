//! Tries that change block by block against the definition.

use crate::input::Input;
use blockmill_trie::codec::{Codec, Ethereum, Neo};
use blockmill_trie::update::{Changes, Forest, TrieId, Update, Witness};
use std::collections::BTreeMap;

type Leaves = BTreeMap<Vec<u8>, Vec<u8>>;
type Change = (usize, Vec<u8>, Option<Vec<u8>>);

/// Tries of a forest.
const TRIES: usize = 2;

/// A block: the trie that it wipes, and what it changes.
struct Block {
    wiped: Option<usize>,
    changes: Vec<Change>,
}

/// Blocks of inserts, deletes and wipes in tries of both families, alone and in groups, against
/// the definition; and tries made of the nodes that prove a key.
pub fn trie_update(data: &[u8]) -> bool {
    let mut input = Input(data);
    match input.byte() & 1 {
        0 => check(&mut input, &Ethereum::new(), blockmill_trie::naive::root),
        _ => check(&mut input, &Neo::new(), blockmill_trie::naive::neo_root),
    }
    true
}

fn read_block(input: &mut Input<'_>) -> Block {
    let wiped = input.byte();
    let wiped = (wiped < 16).then_some(usize::from(wiped) % TRIES);
    let mut changes = vec![];
    for _ in 0..input.byte() % 24 {
        let flags = input.byte();
        // few distinct bytes make long shared prefixes and keys that begin others
        let mask = [0xff, 0x11, 0x01, 0x80][usize::from(flags & 3)];
        let key_len = if flags & 4 == 0 { 32 } else { input.byte() % 33 };
        let key = (0..key_len).map(|_| input.byte() & mask).collect();
        // an empty value is no leaf in Ethereum
        let len = 1 + usize::from(input.byte() % 48);
        let value = (flags & 8 == 0).then(|| (0..len).map(|_| input.byte()).collect());
        changes.push((usize::from(flags >> 7), key, value));
    }
    Block { wiped, changes }
}

fn check<C: Codec>(input: &mut Input<'_>, codec: &C, naive: fn(&Leaves) -> [u8; 32]) {
    let mut forest = Forest::new(codec.clone());
    let ids = [(); TRIES].map(|()| forest.create().expect("two tries"));
    let mut tries = [(); TRIES].map(|()| Leaves::new());
    for _ in 0..32 {
        if input.0.is_empty() {
            break;
        }
        let group = input.byte() % 4;
        let blocks: Vec<_> = (0..=group).map(|_| read_block(input)).collect();
        let wiped: Vec<Vec<TrieId>> =
            blocks.iter().map(|block| block.wiped.iter().map(|at| ids[*at]).collect()).collect();
        let updates: Vec<Vec<Update<'_>>> = blocks
            .iter()
            .map(|block| block.changes.iter().map(|c| update(&ids, c)).collect())
            .collect();
        let changes: Vec<_> =
            wiped.iter().zip(&updates).map(|(wiped, updates)| Changes { wiped, updates }).collect();
        if let [one] = &changes[..] {
            forest.update(one).expect("all nodes are known");
            blocks.iter().for_each(|block| apply(block, &mut tries));
        } else {
            let roots = forest.update_group(&changes).expect("all nodes are known");
            for (block, roots) in blocks.iter().zip(roots) {
                apply(block, &mut tries);
                for (id, root) in roots {
                    let at = ids.iter().position(|known| *known == id).expect("a known trie");
                    assert_eq!(root, naive(&tries[at]));
                }
            }
        }
        for (id, leaves) in ids.iter().zip(&tries) {
            assert_eq!(forest.root(*id), Ok(naive(leaves)), "{leaves:02x?}");
        }
    }
    for (id, leaves) in ids.iter().zip(&tries) {
        read(&forest, codec, *id, leaves);
    }
}

fn update<'a>(ids: &[TrieId], (trie, key, value): &'a Change) -> Update<'a> {
    Update { trie: ids[*trie], key, value: value.as_deref() }
}

fn apply(block: &Block, tries: &mut [Leaves]) {
    if let Some(at) = block.wiped {
        tries[at].clear();
    }
    for (trie, key, value) in &block.changes {
        match value {
            Some(value) => drop(tries[*trie].insert(key.clone(), value.clone())),
            None => drop(tries[*trie].remove(key)),
        }
    }
}

/// Reads give the expected leaves, also of a trie built from the nodes that prove a key.
fn read<C: Codec>(forest: &Forest<C>, codec: &C, trie: TrieId, leaves: &Leaves) {
    let mut found = Leaves::new();
    let each = |key: &[u8], value: [&[u8]; 2]| drop(found.insert(key.to_vec(), value.concat()));
    forest.leaves(trie, each).expect("all nodes are known");
    assert_eq!(found, *leaves);
    let root = forest.root(trie).expect("a known trie");
    for (key, value) in leaves {
        let proof = forest.prove(trie, key).expect("all nodes are known");
        let mut witness = Witness::new(codec, proof.iter().map(|node| &node[..]));
        let mut partial = Forest::new(codec.clone());
        let planted = partial.plant(root, &mut witness).expect("nodes of a trie");
        assert_eq!(partial.get(planted, key).as_ref(), Ok(&Some(value.clone())));
    }
}
