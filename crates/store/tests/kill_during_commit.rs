//! Death at every named crash point, at every moment it is passed: what was committed stays, and
//! going on from there ends with the same bytes as a run without a crash.

use std::path::Path;

use crate::generated_blocks::{FIRST, assert_holds, data_files, extend, folder, small, tip};
use blockmill_store::{ChainStore, CrashPoint, Error, Options, Result};

/// Blocks of a chunk, and chunks of the run. Chunks end within files and within index runs.
const CHUNK: u64 = 37;
const CHUNKS: u64 = 8;
/// After this chunk the run goes back, once.
const TURN: u64 = 5;
/// With each chunk so many more blocks from the first on are to be removed.
const REMOVED: u64 = 20;

/// Number of the last block of a chunk.
fn end_of(chunk: u64) -> u64 {
    FIRST + (chunk + 1) * CHUNK - 1
}

/// The work of one run, from wherever the store stands. `turned` remembers the rollback, `seen` the
/// tips that a crash may leave: the last one reported, and the one being written.
fn work(store: &mut ChainStore, turned: &mut bool, seen: &mut Vec<Option<u64>>) -> Result<()> {
    loop {
        let next = store.tip().map_or(0, |tip| (tip.number + 1 - FIRST).div_ceil(CHUNK));
        if next == CHUNKS {
            let first = FIRST + CHUNKS * REMOVED;
            if store.first_whole() < Some(first) {
                store.remove_before(first)?;
                store.sync()?;
            }
            return Ok(());
        }
        if next == TURN + 1 && !*turned {
            *turned = true;
            let back = end_of(TURN) - CHUNK - 9;
            seen.push(Some(back));
            store.truncate_after(&tip(back))?;
            assert_holds(store, Some(back));
            continue;
        }
        seen.push(Some(end_of(next)));
        extend(store, end_of(next))?;
        if next % 3 == 2 {
            store.remove_before(FIRST + next * REMOVED)?;
            store.sync()?;
        }
    }
}

/// Runs with a crash planned, then once more without. Returns whether the crash happened.
fn crash_and_go_on(dir: &Path, point: CrashPoint, nth: u32) -> bool {
    let options = Options { crash_at: Some((point, nth)), ..small() };
    let (mut store, _) = ChainStore::open(dir, &options).unwrap();
    let (mut turned, mut seen) = (false, vec![None]);
    let crashed = match work(&mut store, &mut turned, &mut seen) {
        Ok(()) => false,
        Err(Error::Crash(found)) => {
            assert_eq!(found, point);
            assert!(matches!(store.sync(), Err(Error::Failed { .. })));
            true
        }
        Err(error) => panic!("{point:?} {nth}: {error}"),
    };
    drop(store);
    let (mut store, _) = ChainStore::open(dir, &small()).unwrap();
    let found = store.tip().map(|tip| tip.number);
    let allowed = &seen[seen.len().saturating_sub(2)..];
    assert!(allowed.contains(&found), "{point:?} {nth}: {found:?}, expected {allowed:?}");
    assert_holds(&store, found);
    work(&mut store, &mut turned, &mut seen).unwrap();
    crashed
}

#[test]
fn a_kill_at_any_point_keeps_what_was_committed() {
    let undisturbed = folder();
    let (mut store, _) = ChainStore::open(undisturbed.path(), &small()).unwrap();
    work(&mut store, &mut false, &mut Vec::new()).unwrap();
    assert_holds(&store, Some(end_of(CHUNKS - 1)));
    let expected = data_files(undisturbed.path());
    // a chain has no tables, and no pages
    let others = [
        CrashPoint::HalfRun,
        CrashPoint::HalfPages,
        CrashPoint::AfterPages,
        CrashPoint::HalfReferences,
    ];
    for point in CrashPoint::ALL.into_iter().filter(|point| !others.contains(point)) {
        for nth in 0.. {
            let dir = folder();
            let crashed = crash_and_go_on(dir.path(), point, nth);
            assert!(data_files(dir.path()) == expected, "{point:?} {nth}: other bytes");
            if !crashed {
                assert!(nth > 0, "{point:?} was never reached");
                break;
            }
        }
    }
}

#[test]
fn a_crash_during_recovery_after_a_crash_loses_nothing() {
    let dir = folder();
    for nth in 0..30 {
        let point = CrashPoint::ALL[nth % CrashPoint::ALL.len()];
        let options = Options { crash_at: Some((point, 2)), ..small() };
        let (mut store, _) = ChainStore::open(dir.path(), &options).unwrap();
        let found = store.tip().map(|tip| tip.number);
        assert_holds(&store, found);
        let last = found.unwrap_or(FIRST) + 5;
        let _ = extend(&mut store, last).and_then(|()| extend(&mut store, last + 30));
    }
}
