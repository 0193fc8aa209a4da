//! Death at every named point of a commit, at every moment it is passed: either the commit counts
//! with its state, or the one before does, and going on from there ends the same.

use std::path::Path;

use crate::generated_keys::{Keys, OneTable, Random, State, assert_same, folder, value};
use blockmill_store::{CrashPoint, Error, Result, StoreOptions, Table, TableOptions};

/// Commits of the whole work: enough for a merge.
const COMMITS: u64 = 11;

/// Points that a commit of a table passes.
const POINTS: [CrashPoint; 6] = [
    CrashPoint::HalfRun,
    CrashPoint::AfterParts,
    CrashPoint::HalfManifest,
    CrashPoint::BeforeRename,
    CrashPoint::AfterRename,
    CrashPoint::BeforeRemoval,
];

fn options() -> TableOptions {
    TableOptions::read_once(1 << 20)
}

/// The changes before commit `n`; the same whenever they are made.
fn change(table: &mut Table, state: &mut State, n: u64) -> Result<()> {
    let (mut random, keys) = (Random::new(n), Keys { chains: 50 });
    for _ in 0..120 {
        let key = keys.any(&mut random);
        let value = value(&mut random);
        if state.remove(&key[..]).is_some() {
            assert!(table.take(&key, None, &mut Vec::new())?);
        } else {
            table.insert(&key, &value)?;
            state.insert(key.to_vec(), value);
        }
    }
    Ok(())
}

/// What there should be after `commits`.
fn expected(commits: u64) -> State {
    let dir = folder();
    let mut open = OneTable::open(dir.path(), &options()).unwrap();
    let mut state = State::new();
    (0..commits).for_each(|n| change(&mut open.table, &mut state, n).unwrap());
    state
}

/// Opens the store, checks what it holds and works on to the end. Returns the last commit begun.
fn work(
    dir: &Path,
    options: &StoreOptions,
    states: &[State],
) -> std::result::Result<(), (Error, u64)> {
    let mut open = OneTable::open_with(dir, options, &self::options()).unwrap();
    let done = open.state.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let mut state = states[done as usize].clone();
    assert_same(&open.table, &state);
    for n in done..COMMITS {
        change(&mut open.table, &mut state, n).map_err(|error| (error, n))?;
        open.table.wait_for_merge();
        if let Err(error) = open.commit(&(n + 1).to_le_bytes()) {
            assert!(matches!(open.commit(b""), Err(Error::Failed { .. })));
            return Err((error, n));
        }
    }
    assert_same(&open.table, &states[COMMITS as usize]);
    Ok(())
}

#[test]
fn a_kill_at_any_point_leaves_one_commit_or_the_next() {
    let states: Vec<State> = (0..=COMMITS).map(expected).collect();
    let options = StoreOptions::default();
    for point in POINTS {
        for nth in 0.. {
            let dir = folder();
            let planned = StoreOptions { crash_at: Some((point, nth)), ..options.clone() };
            let Err((error, n)) = work(dir.path(), &planned, &states) else {
                assert!(nth >= 10, "{point:?} was passed {nth} times");
                break;
            };
            assert!(matches!(error, Error::Crash(found) if found == point), "{error}");
            let open = OneTable::open(dir.path(), &self::options()).unwrap();
            let found = open.state.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let counts = matches!(point, CrashPoint::AfterRename | CrashPoint::BeforeRemoval);
            assert_eq!(found, n + u64::from(counts), "{point:?} {nth}");
            let files = std::fs::read_dir(dir.path()).unwrap().count();
            assert_eq!(files, open.table.snapshot().count() + 2, "runs, manifest, lock");
            drop(open);
            work(dir.path(), &options, &states).unwrap();
        }
    }
}
