//! The published TrieTests of ethereum/tests.

use blockmill_trie::{RootBuilder, naive, secure_root};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// The files of `folder` in the archive of published tests; `None` without the fixtures.
fn published(folder: &str) -> Option<Vec<(String, Value)>> {
    let Some(fixtures) = std::env::var_os("BLOCKMILL_FIXTURES") else {
        println!("skipped: BLOCKMILL_FIXTURES is not set");
        return None;
    };
    let path = std::path::Path::new(&fixtures).join("ethereum/eth-tests.tar.zst");
    let file = std::fs::File::open(path).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
    let mut files = vec![];
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        if path.contains(folder) && path.ends_with(".json") {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.push((path, serde_json::from_str(&text).unwrap()));
        }
    }
    Some(files)
}

/// A string that begins with 0x is hex, any other one is text.
fn bytes(text: &str) -> Vec<u8> {
    let Some(hex) = text.strip_prefix("0x") else { return text.as_bytes().to_vec() };
    let digits: Vec<u8> = hex.bytes().map(|c| (c as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
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

#[test]
fn published_roots_are_reproduced() {
    let Some(files) = published("TrieTests/") else { return };
    let (mut plain, mut secure, mut other) = (0, 0, 0);
    let mut builder = RootBuilder::new();
    for (path, tests) in files {
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
