//! Snapshots beside blocks: what a death leaves while one is taken over.

use crate::durable::{SMALL, small};
use crate::imports::{options, published, run};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::durable::{ExecutedStore, Limits};
use blockmill_ethereum::import::Options;
use blockmill_ethereum::option_table::Setting;
use blockmill_ethereum::snapshot::{Head, write};
use pipeline::Cancel;
use std::fs::{self, File};
use std::path::Path;
use store::{ChainStore, CrashPoint, Tip};

/// The block that the snapshot is behind, and the last one of the chain.
const AT: u64 = 40;
const LAST: u64 = 54;

/// Writes the snapshot of a store.
fn make(store: &ExecutedStore, chain_id: u64, path: &Path) {
    let cancel = Cancel::default();
    let state = store.state_behind(AT, &cancel).unwrap().unwrap();
    let blocks = store.blocks();
    let Tip { chain: genesis, .. } = blocks.tip().unwrap();
    let hash = blocks.hash_of(AT).unwrap().unwrap();
    let mut head = Head { chain_id, genesis, number: AT, hash, state_root: [0; 32] };
    let written = write(&state, &head, &mut std::io::sink(), &cancel).unwrap().unwrap();
    head.state_root = written.state_root;
    write(&state, &head, &mut File::create(path).unwrap(), &cancel).unwrap().unwrap();
}

#[testkit::needs(fixtures)]
#[test]
fn a_death_while_a_snapshot_is_taken_over_leaves_blocks_or_blocks_with_their_state() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, path) = published("execution-apis");
    let chain_id = spec.chain_id;
    let options = options(spec, Setting::default());
    let snapshot = folder.path().join("snapshot");
    let whole = folder.path().join("whole");
    let limits = Limits::default();
    let mut sink =
        Sink::Executed(Box::new(ExecutedStore::open(&whole, &small(), limits).unwrap().0));
    assert_eq!(run(path.clone(), &options, &mut sink).1, None);
    drop(sink);
    make(&ExecutedStore::open_read_only(&whole).unwrap(), chain_id, &snapshot);
    fs::remove_dir_all(&whole).unwrap();

    let (mut died, mut kept) = (0, 0);
    for point in CrashPoint::ALL {
        for times in [0, 1, 2, 3, 5] {
            let store = folder.path().join("store");
            let mut sink = Sink::Segments(Box::new(ChainStore::open(&store, &small()).unwrap().0));
            let bodies = Options { level: Level::Bodies, until: Some(AT), ..options.clone() };
            assert_eq!(run(path.clone(), &bodies, &mut sink).1, None);
            drop(sink);
            let crash_at = Some((point, times));
            let dying = store::Options { crash_at, ..small() };
            let adopt = |options: &store::Options| {
                let (store, _) = ExecutedStore::open(&store, options, SMALL).unwrap();
                store.adopt(&snapshot, 1, &Cancel::default(), |_| ())
            };
            let outcome = adopt(&dying);
            died += usize::from(outcome.is_err());
            let read = ExecutedStore::open(&store, &small(), SMALL).unwrap().0;
            let tip = read.blocks().tip().unwrap();
            let facts = read.facts().map(|facts| (facts.block, facts.hash));
            let level = if facts.is_some() { Level::Execution } else { Level::Bodies };
            assert_eq!((tip.number, tip.level), (AT, level as u8), "{point:?} {times}");
            assert!(facts.is_none_or(|found| found == (tip.number, tip.hash)));
            assert!(facts.is_some() || outcome.is_err(), "{point:?} {times}");
            kept += usize::from(facts.is_some() && outcome.is_err());
            drop(read);
            if facts.is_none() {
                adopt(&small()).unwrap();
            }
            let mut sink =
                Sink::Executed(Box::new(ExecutedStore::open(&store, &small(), SMALL).unwrap().0));
            let (run, error) = run(path.clone(), &options, &mut sink);
            assert_eq!((run.committed, error), (Some(LAST), None), "{point:?} {times}");
            drop(sink);
            fs::remove_dir_all(&store).unwrap();
            if outcome.is_ok() {
                break;
            }
        }
    }
    println!("{died} deaths, {kept} behind the commit");
    assert!(died > 5 && kept > 0, "{died} deaths, {kept} behind the commit");
}
