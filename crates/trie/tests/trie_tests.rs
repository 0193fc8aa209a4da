//! The published TrieTests of ethereum/tests.

use blockmill_trie::codec::Ethereum;
use blockmill_trie::update::{Changes, Forest, Update};
use blockmill_trie::{RootBuilder, naive, secure_root};
use serde_json::Value;
use std::collections::BTreeMap;

/// The files of `folder` in the archive of published tests.
fn published(folder: &str) -> Vec<(String, Value)> {
    let wanted = |path: &str| path.contains(folder) && path.ends_with(".json");
    let files = blockmill_testkit::tar_files("ethereum/eth-tests.tar.zst", wanted);
    files.into_iter().map(|(path, text)| (path, serde_json::from_slice(&text).unwrap())).collect()
}

/// A string that begins with 0x is hex, any other one is text.
fn bytes(text: &str) -> Vec<u8> {
    if text.starts_with("0x") {
        blockmill_testkit::hex::decode(text)
    } else {
        text.as_bytes().to_vec()
    }
}

/// The changes of a test, in order.
fn steps(input: &Value) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let step = |key: &str, value: &Value| (bytes(key), value.as_str().map(bytes));
    match input {
        Value::Array(steps) => {
            steps.iter().map(|pair| step(pair[0].as_str().unwrap(), &pair[1])).collect()
        }
        _ => input.as_object().unwrap().iter().map(|(key, value)| step(key, value)).collect(),
    }
}

/// The root of a trie that changes: step by step, and all steps at once.
fn changed_root(input: &Value, is_secure: bool) -> [u8; 32] {
    let mut steps = steps(input);
    if is_secure {
        steps.iter_mut().for_each(|(key, _)| *key = blockmill_hashes::keccak256(key).to_vec());
    }
    let mut forest = Forest::new(Ethereum::new());
    let [one, all] = [(); 2].map(|()| forest.create().unwrap());
    let update = |trie| {
        let steps = steps.iter();
        steps.map(move |(key, value)| Update { trie, key, value: value.as_deref() })
    };
    for step in update(one) {
        forest.update(&Changes { wiped: &[], updates: &[step] }).unwrap();
    }
    let updates: Vec<_> = update(all).collect();
    forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
    assert_eq!(forest.root(one), forest.root(all));
    forest.root(all).unwrap()
}

/// The leaves after the steps of a test, in order; a null value removes its key.
fn leaves(steps: &Value) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let pairs: Vec<(&Value, &Value)> = match steps {
        Value::Array(steps) => steps.iter().map(|step| (&step[0], &step[1])).collect(),
        _ => return leaves_of_object(steps),
    };
    let mut leaves = BTreeMap::new();
    for (key, value) in pairs {
        set(&mut leaves, key.as_str().unwrap(), value);
    }
    leaves
}

fn leaves_of_object(steps: &Value) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut leaves = BTreeMap::new();
    for (key, value) in steps.as_object().unwrap() {
        set(&mut leaves, key, value);
    }
    leaves
}

fn set(leaves: &mut BTreeMap<Vec<u8>, Vec<u8>>, key: &str, value: &Value) {
    match value {
        Value::Null => drop(leaves.remove(&bytes(key))),
        value => drop(leaves.insert(bytes(key), bytes(value.as_str().unwrap()))),
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn published_roots_are_reproduced() {
    let (mut plain, mut secure, mut other) = (0, 0, 0);
    let mut builder = RootBuilder::new();
    for (path, tests) in published("TrieTests/") {
        for (name, test) in tests.as_object().unwrap() {
            let Some(root) = test["root"].as_str() else {
                // tests of neighbours in the key order have no root
                other += 1;
                continue;
            };
            let is_secure = path.to_lowercase().contains("secure");
            assert_eq!(changed_root(&test["in"], is_secure)[..], bytes(root), "{path} {name}");
            let leaves = leaves(&test["in"]);
            if is_secure {
                secure += 1;
                assert_eq!(secure_root(&leaves)[..], bytes(root), "{path} {name}");
            } else {
                plain += 1;
                assert_eq!(builder.sorted(&leaves)[..], bytes(root), "{path} {name}");
                assert_eq!(naive::root(&leaves)[..], bytes(root), "{path} {name}");
            }
        }
    }
    println!("TrieTests: {plain} plain and {secure} secure roots, {other} without a root");
    assert!(plain >= 8 && secure >= 8, "the archive holds more tests than that");
}
