//! Neo's state trie: against the definition, and against the roots of neo-go.

use blockmill_hashes::ManySha256;
use blockmill_testkit::Random;
use blockmill_testkit::hex::decode;
use blockmill_trie::codec::Neo;
use blockmill_trie::naive;
use blockmill_trie::update::{Changes, Error, Forest, TrieId, Update, Witness};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// Keys and their new values.
type Change = (Vec<u8>, Option<Vec<u8>>);

fn random_changes(random: &mut Random, most: usize) -> Vec<Change> {
    let mut changes = vec![];
    for _ in 0..random.below(most + 1) {
        let mut key = random.pick(&[vec![0xfb, 0xff, 0xff, 0xff], vec![1, 0, 0, 0], vec![]]);
        for _ in 0..random.pick(&[0, 1, 2, 21, 64]) {
            key.push(random.pick(&[0x00, 0x01, 0x10, 0x14]));
        }
        let len = random.pick(&[0, 1, 31, 32, 252, 253, 70_000]);
        let value = (random.below(3_u32) > 0).then(|| random.bytes(len.min(65_539)));
        changes.push((key, value));
    }
    changes
}

#[test]
fn random_changes_give_the_roots_of_the_definition() {
    let mut random = Random::new(3);
    for round in 0..blockmill_testkit::rounds(60) {
        let hashers = ManySha256::all_available();
        let hasher = hashers[round % hashers.len()];
        let mut forest = Forest::new(Neo::with_hasher(hasher));
        let trie = forest.create().unwrap();
        let mut leaves = BTreeMap::new();
        for step in 0..8 {
            let most = random.pick(&[1, 4, 40]);
            let size = random.pick(&[1, 2, 5]);
            let blocks: Vec<_> = (0..size).map(|_| random_changes(&mut random, most)).collect();
            let updates: Vec<Vec<Update<'_>>> = blocks
                .iter()
                .map(|block| block.iter().map(|change| to_update(trie, change)).collect())
                .collect();
            let changes: Vec<_> =
                updates.iter().map(|updates| Changes { wiped: &[], updates }).collect();
            let roots = forest.update_group(&changes).unwrap();
            for (block, roots) in blocks.iter().zip(roots) {
                for (key, value) in block {
                    match value {
                        Some(value) => drop(leaves.insert(key.clone(), value.clone())),
                        None => drop(leaves.remove(key)),
                    }
                }
                if !block.is_empty() {
                    let expected = (trie, naive::neo_root(&leaves));
                    assert_eq!(roots, [expected], "round {round} step {step}");
                }
            }
            assert_eq!(forest.root(trie).unwrap(), naive::neo_root(&leaves));
            check_reads(&forest, trie, &leaves);
        }
    }
}

fn to_update(trie: TrieId, (key, value): &Change) -> Update<'_> {
    Update { trie, key, value: value.as_deref() }
}

/// Checks all leaves, the value of one, and a trie built from its proof.
fn check_reads(forest: &Forest<Neo>, trie: TrieId, leaves: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let mut found = BTreeMap::new();
    forest.leaves(trie, |key, value| drop(found.insert(key.to_vec(), value.concat()))).unwrap();
    assert_eq!(found, *leaves);
    for (key, value) in leaves.iter().take(3) {
        assert_eq!(forest.get(trie, key).unwrap().as_ref(), Some(value));
        let proof = forest.prove(trie, key).unwrap();
        let root = forest.root(trie).unwrap();
        assert_eq!(blockmill_hashes::sha256d(&proof[0]), root);
        let mut witness = Witness::new(&Neo::new(), proof.iter().map(|node| &node[..]));
        let mut other = Forest::new(Neo::new());
        let partial = other.plant(root, &mut witness).unwrap();
        assert_eq!(other.get(partial, key).unwrap().as_ref(), Some(value));
        if leaves.len() > 1 {
            let all = leaves.keys().map(|key| other.get(partial, key));
            assert!(all.filter(|got| matches!(got, Err(Error::Unknown(_)))).count() > 0);
        }
    }
}

/// A hash as neo-go prints it: the last byte first.
fn printed(root: [u8; 32]) -> String {
    let digits: String = root.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn leaves_of_the_main_network_have_the_root_of_their_block() {
    let file = blockmill_testkit::read("neo/mainnet/mainnet-height-5549-storage.json");
    let leaves: Vec<Value> = serde_json::from_slice(&file).unwrap();
    assert_eq!(leaves.len(), 132);
    let text = |leaf: &Value, name: &str| decode(leaf[name].as_str().unwrap());
    let leaves: Vec<_> = leaves
        .iter()
        .map(|leaf| (text(leaf, "storage_key_hex"), text(leaf, "value_hex")))
        .collect();
    let mut forest = Forest::new(Neo::new());
    let trie = forest.create().unwrap();
    // one after the other, and all at once
    for (key, value) in &leaves {
        let updates = [Update { trie, key, value: Some(value) }];
        forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
    }
    let root = printed(forest.root(trie).unwrap());
    assert!(root.starts_with("0x559cf882"), "{root}");
    let at_once = forest.create().unwrap();
    let updates: Vec<_> = leaves
        .iter()
        .map(|(key, value)| Update { trie: at_once, key, value: Some(value) })
        .collect();
    forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
    assert_eq!(forest.root(at_once), forest.root(trie));
}

/// The storage changes of each block.
fn oracle_changes(name: &str) -> Vec<Vec<Change>> {
    let packed = blockmill_testkit::read(format!("neo/oracle/{name}.storage.jsonl.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let mut blocks = vec![];
    for (height, line) in text.lines().enumerate() {
        let block: Value = serde_json::from_str(line).unwrap();
        assert_eq!(block["Index"], height);
        let list = |name: &str| block[name].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| decode(value.as_str().unwrap());
        let mut changes = vec![];
        for put in list("Put") {
            changes.push((text(&put["K"]), Some(text(&put["V"]))));
        }
        for key in list("Del") {
            changes.push((text(if key.is_string() { &key } else { &key["K"] }), None));
        }
        blocks.push(changes);
    }
    blocks
}

/// Applies the changes of each block, in groups, and compares each root with neo-go's. Gives the
/// number of blocks.
fn check_oracle(name: &str, group: usize) -> usize {
    let roots = blockmill_testkit::read(format!("neo/oracle/{name}.roots.txt"));
    let roots: Vec<_> = str::from_utf8(&roots).unwrap().lines().collect();
    let blocks = oracle_changes(name);
    assert_eq!(blocks.len(), roots.len(), "{name}");
    let mut forest = Forest::new(Neo::new());
    let trie = forest.create().unwrap();
    let mut leaves = BTreeMap::new();
    let mut undo = vec![];
    for (number, blocks) in blocks.chunks(group).enumerate() {
        let updates: Vec<Vec<Update<'_>>> = blocks
            .iter()
            .map(|block| block.iter().map(|change| to_update(trie, change)).collect())
            .collect();
        let changes: Vec<_> =
            updates.iter().map(|updates| Changes { wiped: &[], updates }).collect();
        let mut current = forest.root(trie).unwrap();
        let found = forest.update_group(&changes).unwrap();
        for (i, (block, found)) in blocks.iter().zip(found).enumerate() {
            let before = current;
            let mut old = vec![];
            for (key, value) in block {
                let previous = match value {
                    Some(value) => leaves.insert(key.clone(), value.clone()),
                    None => leaves.remove(key),
                };
                old.push((key.clone(), previous));
            }
            undo.push((before, old));
            current = found.first().map_or(current, |(_, root)| *root);
            let height = number * group + i;
            let expected = format!("{height} {}", printed(current));
            assert_eq!(roots[height], expected, "{name}");
        }
    }
    // back to the beginning
    for (root, old) in undo.iter().rev() {
        // of several old values of one key the first is the one before the block
        let updates: Vec<_> = old.iter().rev().map(|change| to_update(trie, change)).collect();
        forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
        assert_eq!(forest.root(trie).unwrap(), *root, "{name}");
    }
    assert_eq!(forest.memory().live, 0, "nothing is left");
    roots.len()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_root_of_the_reference_is_found_and_undone() {
    assert_eq!(check_oracle("chain50x2", 1), 51);
    assert_eq!(check_oracle("chain50x2", 8), 51);
    assert_eq!(check_oracle("mix200x200-sr", 1), 205);
    assert_eq!(check_oracle("mix200x200-sr", 4), 205);
    assert_eq!(check_oracle("empty2000-sr", 1), 2004);
    assert_eq!(check_oracle("empty2000-sr", 16), 2004);
}
