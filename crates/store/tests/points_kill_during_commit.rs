//! Death at every named point of a commit, at every moment it is passed: either the commit counts
//! with its state, or the one before does, and going on from there ends the same.

mod made_points;

use std::path::Path;

use blockmill_store::{Error, PointCrash, PointOptions, PointStore, Result};
use made_points::{Keys, Random, State, assert_same, folder, value};

/// Commits of the whole work: enough for a merge.
const COMMITS: u64 = 11;

/// The changes before commit `n`; the same whenever they are made.
fn change(store: &mut PointStore, state: &mut State, n: u64) -> Result<()> {
    let (mut random, keys) = (Random::new(n), Keys { chains: 50 });
    for _ in 0..120 {
        let key = keys.any(&mut random);
        let value = value(&mut random);
        if state.remove(&key).is_some() {
            assert!(store.take(&key, None, &mut Vec::new())?);
        } else {
            store.insert(&key, &value)?;
            state.insert(key, value);
        }
    }
    Ok(())
}

/// What there should be after `commits`.
fn expected(commits: u64) -> State {
    let dir = folder();
    let (mut store, _) = PointStore::open(dir.path(), &PointOptions::new(1 << 20)).unwrap();
    let mut state = State::new();
    (0..commits).for_each(|n| change(&mut store, &mut state, n).unwrap());
    state
}

/// Opens the store, checks what it holds and works on to the end. Returns the last commit begun.
fn work(
    dir: &Path,
    options: &PointOptions,
    states: &[State],
) -> std::result::Result<(), (Error, u64)> {
    let (mut store, bytes) = PointStore::open(dir, options).unwrap();
    let done = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut state = states[done as usize].clone();
    assert_same(&store, &state);
    for n in done..COMMITS {
        change(&mut store, &mut state, n).map_err(|error| (error, n))?;
        store.wait_for_merge();
        if let Err(error) = store.commit(&(n + 1).to_le_bytes()) {
            assert!(matches!(store.commit(b""), Err(Error::Failed { .. })));
            return Err((error, n));
        }
    }
    assert_same(&store, &states[COMMITS as usize]);
    Ok(())
}

#[test]
fn a_kill_at_any_point_leaves_one_commit_or_the_next() {
    let states: Vec<State> = (0..=COMMITS).map(expected).collect();
    let options = PointOptions::new(1 << 20);
    for point in PointCrash::ALL {
        for nth in 0.. {
            let dir = folder();
            let planned = PointOptions { crash_at: Some((point, nth)), ..options.clone() };
            let Err((error, n)) = work(dir.path(), &planned, &states) else {
                assert!(nth >= 10, "{point:?} was passed {nth} times");
                break;
            };
            assert!(matches!(error, Error::PointCrash(found) if found == point), "{error}");
            let (store, bytes) = PointStore::open(dir.path(), &options).unwrap();
            let found = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let counts = matches!(point, PointCrash::AfterRename | PointCrash::BeforeRemoval);
            assert_eq!(found, n + u64::from(counts), "{point:?} {nth}");
            let files = std::fs::read_dir(dir.path()).unwrap().count();
            assert_eq!(files, store.snapshot().count() + 2, "runs, manifest, lock");
            drop(store);
            work(dir.path(), &options, &states).unwrap();
        }
    }
}
