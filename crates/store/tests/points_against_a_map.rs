//! Random histories of a point store against a map: changes, commits, merges, lost changes, hints
//! of every age, ids that share their beginning, values of every size.

mod made_points;

use blockmill_store::{Fetched, PointOptions, PointStore};
use made_points::{Keys, Random, State, assert_same, folder, value};

/// One history. `chains` is how many ids begin alike.
fn history(seed: u64, steps: u64, chains: u64) {
    let dir = folder();
    let options = PointOptions::new(1 << 20);
    let (mut store, _) = PointStore::open(dir.path(), &options).unwrap();
    let mut random = Random::new(seed);
    let keys = Keys { chains };
    let (mut state, mut committed) = (State::new(), State::new());
    let mut old = Fetched::default();
    let mut old_keys = Vec::new();
    for step in 0..steps {
        let key = keys.any(&mut random);
        match random.below(100) {
            0..45 if !state.contains_key(&key) => {
                let value = value(&mut random);
                assert!(!store.insert(&key, &value).unwrap());
                state.insert(key, value);
            }
            45..50 => {
                let value = value(&mut random);
                let was = state.insert(key, value.clone()).is_some();
                assert_eq!(store.replace(&key, &value).unwrap(), was);
            }
            50..95 => {
                let mut fetched = Fetched::default();
                let at = old_keys.iter().position(|other| *other == key);
                let hint = match random.below(3) {
                    0 => None,
                    1 => at.and_then(|at| old.hint(at)),
                    _ => {
                        store.reader().snapshot().fetch(&[key], &mut fetched).unwrap();
                        fetched.hint(0)
                    }
                };
                assert_eq!(store.contains(&key, hint).unwrap(), state.contains_key(&key));
                let mut out = vec![1, 2];
                let was = store.take(&key, hint, &mut out).unwrap();
                let expected = state.remove(&key);
                assert_eq!(was.then(|| out[2..].to_vec()), expected, "step {step}");
                assert_eq!(&out[..2], [1, 2]);
            }
            95 => {
                old_keys = (0..50).map(|_| keys.any(&mut random)).collect();
                store.snapshot().fetch(&old_keys, &mut old).unwrap();
            }
            96 if random.below(8) == 0 => {
                store.commit(&step.to_le_bytes()).unwrap();
                committed = state.clone();
                if random.below(2) == 0 {
                    store.wait_for_merge();
                }
            }
            97 if random.below(60) == 0 => {
                drop(store);
                store = PointStore::open(dir.path(), &options).unwrap().0;
                state = committed.clone();
                old_keys.clear();
            }
            98 if random.below(40) == 0 => assert_same(&store, &state),
            _ => {}
        }
        assert_eq!(store.len(), state.len() as u64, "step {step}");
    }
    assert_same(&store, &state);
    assert!(store.snapshot().count() <= 17);
}

#[test]
fn every_history_ends_like_the_map() {
    for seed in 1..=6 {
        history(seed, 30_000, 4);
    }
}

#[test]
fn ids_that_begin_alike_change_nothing() {
    history(77, 30_000, 1);
    history(78, 30_000, 100_000);
}
