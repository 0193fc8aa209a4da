//! The trie of pointers compared with the naive root.

use super::*;
use crate::state::nodes::NoNodes;
use blockmill_testkit::Random;
use std::collections::BTreeMap;

#[test]
fn sets_and_removals_give_the_root_of_what_is_left() {
    let mut random = Random::new(14);
    let nodes = NoNodes;
    for round in 0..40 {
        let mut leaves = BTreeMap::new();
        let mut trie = SparseTrie::default();
        for _ in 0..200 {
            // few values of few bytes, so that long paths are shared
            let mut key = [7; 32];
            for at in [0, 1, 2, 15, 31] {
                key[at] = random.below(3 + round % 5) as u8 * 16 + random.below(2) as u8;
            }
            let value = vec![round as u8 + 1; 1 + random.below(40) as usize];
            let value = (random.below(3) > 0).then_some(value);
            trie.set(&key, value.clone(), &nodes).unwrap();
            match value {
                Some(value) => leaves.insert(key.to_vec(), value),
                None => leaves.remove(&key[..]),
            };
            if random.below(4) == 0 {
                assert_eq!(trie.root(), blockmill_trie::naive::root(&leaves));
            }
        }
        assert!(!leaves.is_empty());
        for key in leaves.keys() {
            trie.set(key[..].try_into().unwrap(), None, &nodes).unwrap();
        }
        assert_eq!(trie.root(), EMPTY_ROOT);
    }
}
