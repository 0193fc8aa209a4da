//! The streaming builder against the definition, on random leaves.

use blockmill_rlp::Encode;
use blockmill_testkit::Random;
use blockmill_trie::{RootBuilder, naive, ordered_root, root_of_sorted, secure_root};
use std::collections::BTreeMap;

#[test]
fn sorted_roots_equal_the_definition() {
    let mut random = Random::new(1);
    let mut builder = RootBuilder::new();
    for round in 0..240 {
        // few distinct bytes make long shared prefixes and keys that begin others
        let mask = [0xff, 0x11, 0x01, 0x80][round % 4];
        let max_len = [3, 6, 32][round % 3];
        let mut leaves = BTreeMap::new();
        for _ in 0..random.below(120) {
            let key_len = random.below(max_len + 1);
            let value_len = [1, 4, 40, 300, 2000][random.below(5)];
            let value = random.bytes(value_len);
            let mut key = random.bytes(key_len);
            key.iter_mut().for_each(|byte| *byte &= mask);
            leaves.insert(key, value);
        }
        assert_eq!(builder.sorted(&leaves), naive::root(&leaves), "round {round}: {leaves:02x?}");
    }
}

#[test]
fn hashed_keys_give_the_same_root_by_every_way() {
    let mut random = Random::new(2);
    for count in [1, 2, 3, 17, 400] {
        let accounts: Vec<_> = (0..count).map(|_| (random.bytes(20), random.bytes(70))).collect();
        let hashed: BTreeMap<[u8; 32], Vec<u8>> =
            accounts.iter().map(|(k, v)| (blockmill_hashes::keccak256(k), v.clone())).collect();
        let root = root_of_sorted(hashed.iter().map(|(k, v)| (*k, v)));
        assert_eq!(root, naive::root(&hashed.into_iter().map(|(k, v)| (k.to_vec(), v)).collect()));
        assert_eq!(root, secure_root(accounts));
    }
}

#[test]
fn ordered_roots_equal_the_definition_at_every_length_where_keys_change() {
    let mut random = Random::new(3);
    let mut builder = RootBuilder::new();
    let mut lengths: Vec<usize> = (0..=20).collect();
    lengths.extend([126, 127, 128, 129, 130, 255, 256, 257, 300]);
    for count in lengths {
        for max_len in [3, 40, 200] {
            let items: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let len = 1 + random.below(max_len);
                    random.bytes(len)
                })
                .collect();
            let mut leaves = BTreeMap::new();
            for (position, item) in items.iter().enumerate() {
                leaves.insert((position as u64).encode(), item.clone());
            }
            let root = builder.ordered(items.iter().map(|item| &item[..]));
            assert_eq!(root, naive::root(&leaves), "{count} items");
            assert_eq!(root, ordered_root(items.iter().map(|item| &item[..])));
        }
    }
}

#[test]
#[should_panic(expected = "keys do not ascend")]
fn keys_that_do_not_ascend_are_refused() {
    root_of_sorted([([2; 32], b"a"), ([1; 32], b"b")]);
}
