//! The state trie over neo-go's storage changes has neo-go's roots.

use crate::dumps;
use crate::dumps::{Dump, oracle};
use blockmill_hashes::ManySha256;
use blockmill_neo::state::{Base, State, StateTrie, StorageKey, Value};
use blockmill_neo::types::UInt256;

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_block_of_every_dump_has_the_root_of_neo_go() {
    for dump in Dump::ALL {
        let (roots, changes) = (oracle::roots(dump), oracle::changes(dump));
        assert_eq!((roots.len(), changes.len()), (dump.blocks, dump.blocks));
        let mut trie = StateTrie::new(ManySha256::detect()).unwrap();
        // through the layers, as in execution
        let mut state = State::new(Base::default());
        let mut count = 0;
        for (height, (expected, changes)) in roots.iter().zip(&changes).enumerate() {
            for (key, value) in changes {
                match value {
                    Some(value) => state.put(key.id(), key.key(), value.clone()),
                    None => state.delete(key.id(), key.key()),
                }
            }
            let merged = state.end_block();
            assert_eq!(merged, *changes);
            count += merged.len();
            let root = trie.apply(&merged).unwrap();
            assert_eq!(root, *expected, "{} {height}", dump.name);
        }
        assert!(count > 100, "{count}");
        let (key, value) = changes.iter().flatten().rfind(|change| change.1.is_some()).unwrap();
        let kept = trie.get(key).unwrap().map(Value::from);
        assert_eq!(kept, state.get(key.id(), key.key()));
        assert!(kept == *value || kept.is_none());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn several_blocks_at_once_have_the_same_roots() {
    for dump in Dump::ALL {
        let (roots, changes) = (oracle::roots(dump), oracle::changes(dump));
        for (hasher, size) in [(ManySha256::detect(), 7), (ManySha256::scalar(), 64)] {
            let mut trie = StateTrie::new(hasher).unwrap();
            let groups = changes.chunks(size);
            let found = groups.flat_map(|group| trie.apply_group(group).unwrap());
            let found: Vec<UInt256> = found.collect();
            assert!(found == roots, "{} {size}", dump.name);
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn headers_have_the_state_root_of_the_parent() {
    for dump in [Dump::EMPTY, Dump::MIXED] {
        let blocks = dumps::blocks(dump);
        let roots = oracle::roots(dump);
        assert_eq!(blocks[0].header.previous_state_root, Some(UInt256::ZERO));
        for (block, root) in blocks[1..].iter().zip(&roots) {
            assert_eq!(block.header.previous_state_root, Some(*root));
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_state_of_the_main_network_at_height_5549_has_its_root() {
    let text = blockmill_testkit::read("neo/mainnet/mainnet-height-5549-storage.json");
    let leaves: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(leaves.len(), 132);
    let bytes = |leaf: &serde_json::Value, name| {
        blockmill_testkit::hex::decode(leaf[name].as_str().unwrap())
    };
    let change = |leaf| {
        let key = StorageKey::from_slice(&bytes(leaf, "storage_key_hex")).unwrap();
        (key, Some(Value::from(bytes(leaf, "value_hex"))))
    };
    let changes: Vec<_> = leaves.iter().map(change).collect();
    let root = StateTrie::new(ManySha256::detect()).unwrap().apply(&changes).unwrap();
    assert!(root.to_string().starts_with("0x559cf882"), "{root}");
}
