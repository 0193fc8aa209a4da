//! Tries built from the nodes of real witnesses: all that a block touches, and no more.

use blockmill_rlp::ethereum::Account;
use blockmill_rlp::{Decode, Reader};
use blockmill_testkit::Random;
use blockmill_testkit::hex::decode;
use blockmill_trie::codec::Ethereum;
use blockmill_trie::update::{Changes, Error, Forest, TrieId, Update, Witness};
use serde_json::Value;
use std::fs;

/// A key and its value.
type Leaf = (Vec<u8>, Vec<u8>);

/// The state before a block, as far as it is known.
struct State {
    forest: Forest<Ethereum>,
    accounts: TrieId,
    storage: Vec<TrieId>,
    nodes: usize,
    unknown: usize,
}

/// The keys and values that are known. Nodes that are not known are passed over, and counted.
fn known(forest: &Forest<Ethereum>, trie: TrieId) -> (Vec<Leaf>, usize) {
    let mut leaves = vec![];
    let mut unknown = 0;
    let each = |key: &[u8], value: [&[u8]; 2]| leaves.push((key.to_vec(), value.concat()));
    forest.known_leaves(trie, each, |_| unknown += 1).unwrap();
    (leaves, unknown)
}

fn plant(file: &str) -> State {
    let text = blockmill_testkit::read(format!("ethereum/witness/{file}"));
    let json: Value = serde_json::from_slice(&text).unwrap();
    let list = |name: &str| {
        let items = json["witness"][name].as_array().unwrap();
        items.iter().map(|item| decode(item.as_str().unwrap())).collect::<Vec<_>>()
    };
    // the last header is the parent; the state root is its fourth field
    let header = list("headers").pop().unwrap();
    let mut fields = Reader::new(&header).list().unwrap();
    for _ in 0..3 {
        fields.item().unwrap();
    }
    let root: [u8; 32] = fields.bytes().unwrap().try_into().unwrap();

    let nodes = list("state");
    let mut witness = Witness::new(&Ethereum::new(), nodes.iter().map(|node| &node[..]));
    assert!(witness.node(&root).is_some(), "{file}: the root is among the nodes");
    let mut forest = Forest::new(Ethereum::new());
    let accounts = forest.plant(root, &mut witness).unwrap();
    let (leaves, mut unknown) = known(&forest, accounts);
    let mut storage = vec![];
    for (_, account) in leaves {
        let account = Account::decode(&account).unwrap();
        if witness.node(account.storage_root).is_some() {
            let trie = forest.plant(*account.storage_root, &mut witness).unwrap();
            assert_eq!(forest.root(trie).unwrap(), *account.storage_root);
            unknown += known(&forest, trie).1;
            storage.push(trie);
        }
    }
    State { forest, accounts, storage, nodes: nodes.len(), unknown }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_witnesses_give_tries_that_can_be_read_proved_and_changed() {
    let mut random = Random::new(4);
    let (mut files, mut nodes, mut leaves, mut tries, mut unknown) = (0, 0, 0, 0, 0);
    let mut names: Vec<_> = fs::read_dir(blockmill_testkit::fixture("ethereum/witness"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for file in names {
        let mut state = plant(&file);
        for trie in [state.accounts].into_iter().chain(state.storage.clone()) {
            let forest = &mut state.forest;
            let root = forest.root(trie).unwrap();
            let (known, _) = known(forest, trie);
            for (key, value) in &known {
                assert_eq!(forest.get(trie, key).unwrap().as_ref(), Some(value), "{file}");
                let proof = forest.prove(trie, key).unwrap();
                assert_eq!(blockmill_hashes::keccak256(&proof[0]), root, "{file}");
            }
            // other values, and the old ones again
            let other = random.bytes(40);
            let set: Vec<_> =
                known.iter().map(|(key, _)| Update { trie, key, value: Some(&other) }).collect();
            let back: Vec<_> =
                known.iter().map(|(key, value)| Update { trie, key, value: Some(value) }).collect();
            if known.is_empty() {
                continue;
            }
            forest.update(&Changes { wiped: &[], updates: &set }).unwrap();
            assert_ne!(forest.root(trie).unwrap(), root);
            forest.update(&Changes { wiped: &[], updates: &back }).unwrap();
            assert_eq!(forest.root(trie).unwrap(), root, "{file}");
            leaves += known.len();
            tries += 1;
        }
        files += 1;
        nodes += state.nodes;
        unknown += state.unknown;
    }
    println!("{files} witnesses: {nodes} nodes, {tries} tries, {leaves} leaves, {unknown} unknown");
    assert!(files >= 22 && leaves > 2500 && unknown > 100_000);
}

/// A trie of 400 leaves and the forest that holds it.
fn full() -> (Forest<Ethereum>, TrieId, Vec<[u8; 32]>) {
    let mut forest = Forest::new(Ethereum::new());
    let trie = forest.create().unwrap();
    let keys: Vec<_> =
        (0..400_u32).map(|i| blockmill_hashes::keccak256(&i.to_be_bytes())).collect();
    let updates: Vec<_> =
        keys.iter().map(|key| Update { trie, key, value: Some(&key[..9]) }).collect();
    forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
    (forest, trie, keys)
}

#[test]
fn what_is_not_known_is_named_by_its_hash() {
    let (forest, trie, keys) = full();
    let root = forest.root(trie).unwrap();
    let proof = forest.prove(trie, &keys[0]).unwrap();
    let mut witness = Witness::new(&Ethereum::new(), proof.iter().map(|node| &node[..]));
    let mut partial = Forest::new(Ethereum::new());
    let planted = partial.plant(root, &mut witness).unwrap();
    assert_eq!(partial.get(planted, &keys[0]), forest.get(trie, &keys[0]));
    let elsewhere = keys.iter().find(|key| key[0] >> 4 != keys[0][0] >> 4).unwrap();
    let missing = forest.prove(trie, elsewhere).unwrap();
    let expected = Error::Unknown(blockmill_hashes::keccak256(&missing[1]));
    assert_eq!(partial.get(planted, elsewhere), Err(expected.clone()));
    let update = Update { trie: planted, key: elsewhere, value: Some(b"new") };
    let result = partial.update(&Changes { wiped: &[], updates: &[update] });
    assert_eq!(result, Err(expected));
}

#[test]
fn a_deletion_that_merges_with_an_unknown_node_names_it() {
    let mut forest = Forest::new(Ethereum::new());
    let trie = forest.create().unwrap();
    let (one, other) = ([0x11; 32], [0x22; 32]);
    let updates = [&one, &other].map(|key| Update { trie, key, value: Some(&[7; 40]) });
    forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
    let root = forest.root(trie).unwrap();
    let proof = forest.prove(trie, &one).unwrap();
    let sibling = forest.prove(trie, &other).unwrap()[1].clone();
    let mut witness = Witness::new(&Ethereum::new(), proof.iter().map(|node| &node[..]));
    let mut partial = Forest::new(Ethereum::new());
    let planted = partial.plant(root, &mut witness).unwrap();
    let delete = [Update { trie: planted, key: &one, value: None }];
    let result = partial.update(&Changes { wiped: &[], updates: &delete });
    assert_eq!(result, Err(Error::Unknown(blockmill_hashes::keccak256(&sibling))));
}

#[test]
fn no_damage_to_a_witness_makes_more_than_an_error() {
    let (forest, trie, keys) = full();
    let root = forest.root(trie).unwrap();
    let mut random = Random::new(5);
    let mut damaged = 0;
    for _ in 0..blockmill_testkit::rounds(2000) {
        let mut proof = forest.prove(trie, &random.pick(&keys)).unwrap();
        // the root itself is corrupt, and referenced by its new hash
        let at = random.below(proof[0].len());
        proof[0][at] = random.pick(&[0x00, 0x20, 0x80, 0xa0, 0xc0, 0xf8, 0xff]);
        let root = blockmill_hashes::keccak256(&proof[0]);
        let mut witness = Witness::new(&Ethereum::new(), proof.iter().map(|node| &node[..]));
        let mut partial = Forest::new(Ethereum::new());
        match partial.plant(root, &mut witness) {
            Ok(planted) => drop(partial.get(planted, &keys[0])),
            Err(Error::Corrupt { hash, .. }) => {
                assert_eq!(hash, root);
                damaged += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(damaged > 0);
    let mut nothing = Witness::new(&Ethereum::new(), []);
    let mut partial = Forest::new(Ethereum::new());
    let planted = partial.plant(root, &mut nothing).unwrap();
    assert_eq!(partial.get(planted, &keys[0]), Err(Error::Unknown(root)));
}
