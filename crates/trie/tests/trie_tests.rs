//! The published TrieTests of ethereum/tests.

use blockmill_trie::{RootBuilder, naive, secure_root};
use serde_json::Value;
use std::collections::BTreeMap;

/// The files of `folder` in the archive of published tests.
fn published(folder: &str) -> Vec<(String, Value)> {
    let wanted = |path: &str| path.contains(folder) && path.ends_with(".json");
    let files = testkit::tar_files("ethereum/eth-tests.tar.zst", wanted);
    files.into_iter().map(|(path, text)| (path, serde_json::from_slice(&text).unwrap())).collect()
}

/// A string that begins with 0x is hex, any other one is text.
fn bytes(text: &str) -> Vec<u8> {
    if text.starts_with("0x") { testkit::hex::decode(text) } else { text.as_bytes().to_vec() }
}

/// What is left after the steps of a test, in order; a null value takes its key away.
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

#[testkit::needs(fixtures)]
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
            let leaves = leaves(&test["in"]);
            if path.to_lowercase().contains("secure") {
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
