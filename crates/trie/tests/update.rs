//! Tries that change, against the definition: random inserts, updates, deletes and wipes in many
//! tries, with all kinds of keys.

use blockmill_hashes::ManyKeccak;
use blockmill_testkit::Random;
use blockmill_trie::codec::Ethereum;
use blockmill_trie::naive;
use blockmill_trie::update::{Changes, Error, Forest, TrieId, Update};
use std::collections::BTreeMap;

type Leaves = BTreeMap<Vec<u8>, Vec<u8>>;

/// The keys of a round.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Hashes.
    Hashed,
    /// 32 bytes with few distinct ones: long common prefixes, nodes inside their parents.
    Alike,
    /// Of any length, some of them the beginning of others.
    Short,
}

fn key(keys: Keys, random: &mut Random, pool: usize) -> Vec<u8> {
    match keys {
        Keys::Hashed => {
            blockmill_hashes::keccak256(&(random.below(pool) as u64).to_le_bytes()).to_vec()
        }
        Keys::Alike => {
            let mut key = vec![0x11; 32];
            for _ in 0..2 {
                let at = random.pick(&[0, 1, 15, 30, 31, 31]);
                key[at] = random.pick(&[0x00, 0x01, 0x10, 0x11, 0x21]);
            }
            key
        }
        Keys::Short => {
            let len = random.below(5_usize);
            (0..len).map(|_| random.pick(&[0x00, 0x01, 0x10, 0x12])).collect()
        }
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    let len = random.pick(&[1, 1, 2, 5, 32, 33, 70, 300]);
    let mut value = random.bytes(len);
    if random.below(4_u32) == 0 {
        // an account without storage and code
        value = random.bytes(len.min(12));
        value.push(0xa0);
        value.extend(blockmill_trie::EMPTY_ROOT);
        value.push(0xa0);
        value.extend(blockmill_hashes::keccak256(&[]));
    }
    value
}

/// The changes of a block, owned.
#[derive(Debug, Default)]
struct Block {
    wiped: Vec<TrieId>,
    changes: Vec<(TrieId, Vec<u8>, Option<Vec<u8>>)>,
}

impl Block {
    fn random(random: &mut Random, tries: &[TrieId], keys: Keys, most: usize) -> Self {
        let pool = random.pick(&[3, 20, 200]);
        let mut block = Block::default();
        if random.below(8_u32) == 0 {
            block.wiped.push(random.pick(tries));
        }
        for _ in 0..random.below(most + 1) {
            let value = (random.below(3_u32) > 0).then(|| value(random));
            let key = key(keys, random, pool);
            block.changes.push((random.pick(tries), key, value));
        }
        block
    }

    fn updates(&self) -> Vec<Update<'_>> {
        self.changes
            .iter()
            .map(|(trie, key, value)| Update { trie: *trie, key, value: value.as_deref() })
            .collect()
    }

    fn apply(&self, tries: &mut BTreeMap<TrieId, Leaves>) {
        for trie in &self.wiped {
            tries.get_mut(trie).unwrap().clear();
        }
        for (trie, key, value) in &self.changes {
            let leaves = tries.get_mut(trie).unwrap();
            match value {
                Some(value) => drop(leaves.insert(key.clone(), value.clone())),
                None => drop(leaves.remove(key)),
            }
        }
    }
}

fn check(forest: &Forest<Ethereum>, tries: &BTreeMap<TrieId, Leaves>, what: &str) {
    for (trie, leaves) in tries {
        let root = forest.root(*trie).unwrap();
        assert_eq!(root, naive::root(leaves), "{what} {trie:?}: {leaves:02x?}");
        let mut found = vec![];
        let each = |key: &[u8], value: [&[u8]; 2]| found.push((key.to_vec(), value.concat()));
        forest.leaves(*trie, each).unwrap();
        let expected: Vec<_> = leaves.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        assert_eq!(found, expected, "{what} {trie:?}");
    }
}

#[test]
fn random_changes_give_the_roots_of_the_definition() {
    let mut random = Random::new(1);
    for round in 0..blockmill_testkit::rounds(300) {
        let keys = [Keys::Hashed, Keys::Alike, Keys::Short][round % 3];
        let hashers = ManyKeccak::all_available();
        let hasher = hashers[round / 3 % hashers.len()];
        let mut forest = Forest::new(Ethereum::with_hasher(hasher));
        let count = random.pick(&[1, 2, 7]);
        let ids: Vec<_> = (0..count).map(|_| forest.create().unwrap()).collect();
        let mut tries: BTreeMap<_, _> = ids.iter().map(|id| (*id, Leaves::new())).collect();
        for step in 0..12 {
            let most = random.pick(&[1, 4, 30, 200]);
            let block = Block::random(&mut random, &ids, keys, most);
            block.apply(&mut tries);
            let updates = block.updates();
            forest.update(&Changes { wiped: &block.wiped, updates: &updates }).unwrap();
            check(&forest, &tries, &format!("round {round} {keys:?} step {step}"));
        }
    }
}

#[test]
fn groups_of_blocks_give_the_root_of_each() {
    let mut random = Random::new(2);
    for round in 0..blockmill_testkit::rounds(150) {
        let keys = [Keys::Hashed, Keys::Alike, Keys::Short][round % 3];
        let mut forest = Forest::new(Ethereum::new());
        let ids: Vec<_> = (0..3).map(|_| forest.create().unwrap()).collect();
        let mut tries: BTreeMap<_, _> = ids.iter().map(|id| (*id, Leaves::new())).collect();
        for step in 0..5 {
            let what = format!("round {round} {keys:?} group {step}");
            let most = random.pick(&[1, 4, 30, 100]);
            let size = random.pick(&[1, 2, 8]);
            let blocks: Vec<_> =
                (0..size).map(|_| Block::random(&mut random, &ids, keys, most)).collect();
            let updates: Vec<_> = blocks.iter().map(Block::updates).collect();
            let changes: Vec<_> = blocks
                .iter()
                .zip(&updates)
                .map(|(block, updates)| Changes { wiped: &block.wiped, updates })
                .collect();
            let roots = forest.update_group(&changes).unwrap();
            assert_eq!(roots.len(), blocks.len());
            for (block, roots) in blocks.iter().zip(roots) {
                block.apply(&mut tries);
                let mut touched: Vec<_> = block.changes.iter().map(|change| change.0).collect();
                touched.extend(&block.wiped);
                touched.sort_unstable();
                touched.dedup();
                let found: Vec<_> = roots.iter().map(|(trie, _)| *trie).collect();
                assert_eq!(found, touched, "{what}");
                for (trie, root) in roots {
                    assert_eq!(root, naive::root(&tries[&trie]), "{what}");
                }
            }
            check(&forest, &tries, &what);
            // and one alone, which needs all hashes in their places
            let block = Block::random(&mut random, &ids, keys, most);
            block.apply(&mut tries);
            let updates = block.updates();
            forest.update(&Changes { wiped: &block.wiped, updates: &updates }).unwrap();
            check(&forest, &tries, &what);
        }
    }
}

#[test]
fn what_no_trie_can_hold_is_an_error() {
    let mut forest = Forest::with_limit(Ethereum::new(), 1 << 12);
    let trie = forest.create().unwrap();
    let mut other = Forest::new(Ethereum::new());
    let _ = other.create();
    let strange = other.create().unwrap();
    let change = |forest: &mut Forest<_>, trie, key: &[u8], value: &[u8]| {
        let update = Update { trie, key, value: Some(value) };
        forest.update(&Changes { wiped: &[], updates: &[update] })
    };
    assert_eq!(change(&mut forest, strange, b"key", b"value"), Err(Error::NoTrie(1)));
    let long = Error::KeyTooLong { limit: 32, found: 33 };
    assert_eq!(change(&mut forest, trie, &[1; 33], b"value"), Err(long));
    let empty = change(&mut forest, trie, b"key", &[]);
    assert!(matches!(empty, Err(Error::ValueLength { least: 1, found: 0, .. })), "{empty:?}");
    let wipe = Changes { wiped: &[strange], updates: &[] };
    assert_eq!(forest.update(&wipe), Err(Error::NoTrie(1)));
    // none of this has changed anything
    assert_eq!(forest.root(trie).unwrap(), blockmill_trie::EMPTY_ROOT);
    let mut random = Random::new(6);
    let full = (0..200).find_map(|_| {
        let key = random.bytes(32);
        change(&mut forest, trie, &key, &[7; 33]).err()
    });
    assert!(matches!(full, Some(Error::Full { limit: 4096, .. })), "{full:?}");
}

#[test]
fn removed_tries_leave_their_memory_and_their_number() {
    let mut forest = Forest::new(Ethereum::new());
    let tries = [(); 2].map(|()| forest.create().unwrap());
    let keys: Vec<_> =
        (0..500_u32).map(|i| blockmill_hashes::keccak256(&i.to_be_bytes())).collect();
    let fill = |forest: &mut Forest<_>, trie| {
        let updates: Vec<_> =
            keys.iter().map(|key| Update { trie, key, value: Some(key) }).collect();
        forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
        forest.root(trie).unwrap()
    };
    let root = fill(&mut forest, tries[0]);
    let one = forest.memory();
    assert_eq!(fill(&mut forest, tries[1]), root);
    let two = forest.memory();
    assert_eq!(two.live, 2 * one.live);
    forest.remove(tries[1]).unwrap();
    assert_eq!((forest.memory().live, forest.memory().tries), (one.live, 1));
    let again = forest.create().unwrap();
    assert_eq!(again, tries[1]);
    assert_eq!(forest.root(again).unwrap(), blockmill_trie::EMPTY_ROOT);
    assert_eq!(fill(&mut forest, again), root);
    assert_eq!(forest.memory().nodes, two.nodes, "freed records are used again");
}
