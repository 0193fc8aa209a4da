//! Snapshots adopted by stores of blocks: what a kill during the adoption leaves.

use super::executed_store::{SMALL, small};
use super::imports::{Place, options, published, run};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::{ExecutedStore, Limits};
use blockmill_ethereum::import::Options;
use blockmill_ethereum::settings::Settings;
use blockmill_ethereum::snapshot::{Head, write};
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, CrashPoint, Tip};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The block that the snapshot is after, and the last one of the chain.
const AT: u64 = 40;
const LAST: u64 = 54;

/// Writes the snapshot of a store.
fn make(store: &ExecutedStore, chain_id: u64, path: &Path) {
    let cancel = Cancel::default();
    let state = store.state_after(AT, &cancel).unwrap().unwrap();
    let blocks = store.blocks();
    let Tip { chain: genesis, .. } = blocks.tip().unwrap();
    let hash = blocks.hash_of(AT).unwrap().unwrap();
    let mut head = Head { chain_id, genesis, number: AT, hash, state_root: [0; 32] };
    let written = write(&state, &head, &mut std::io::sink(), &cancel).unwrap().unwrap();
    head.state_root = written.state_root;
    write(&state, &head, &mut File::create(path).unwrap(), &cancel).unwrap().unwrap();
}

/// A chain, a snapshot of the state after one of its blocks, and where a store may be.
struct Case {
    path: PathBuf,
    options: Options,
    snapshot: PathBuf,
    store: PathBuf,
}

impl Case {
    /// Takes the snapshot over, dies at a point, and goes on; whether it died, and what it had kept
    /// then.
    fn die(&self, limits: Limits, point: CrashPoint, times: u32) -> (bool, bool) {
        let Self { path, options, snapshot, store } = self;
        let mut sink = Sink::Segments(Box::new(ChainStore::open(store, &small()).unwrap().0));
        let bodies = Options { level: Level::Bodies, until: Some(AT), ..options.clone() };
        assert_eq!(run(path.clone(), &bodies, &mut sink).1, None);
        drop(sink);
        let open = |options: &blockmill_store::Options| {
            ExecutedStore::open(store, options, limits).unwrap().0
        };
        let adopt = |options: &blockmill_store::Options| {
            open(options).adopt(snapshot, 1, &Cancel::default(), |_| ())
        };
        let died =
            adopt(&blockmill_store::Options { crash_at: Some((point, times)), ..small() }).is_err();
        let read = open(&small());
        let tip = read.blocks().tip().unwrap();
        let facts = read.facts().map(|facts| (facts.block, facts.hash));
        let level = if facts.is_some() { Level::Execution } else { Level::Bodies };
        assert_eq!((tip.number, tip.level), (AT, level as u8), "{point:?} {times}");
        assert!(facts.is_none_or(|found| found == (tip.number, tip.hash)));
        assert!(facts.is_some() || died, "{point:?} {times}");
        drop(read);
        if facts.is_none() {
            adopt(&small()).unwrap();
        }
        let mut sink = Sink::Executed(Box::new(open(&small())));
        let place = Place { state: limits.state, flat: limits.disk.flat_store };
        let options = Options { settings: place.with(&[]), ..options.clone() };
        let (run, error) = run(path.clone(), &options, &mut sink);
        assert_eq!((run.committed, error), (Some(LAST), None), "{point:?} {times}");
        drop(sink);
        fs::remove_dir_all(store).unwrap();
        (died, died && facts.is_some())
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_death_while_a_snapshot_is_taken_over_leaves_blocks_or_blocks_with_their_state() {
    let folder = tempfile::tempdir().unwrap();
    let [snapshot, whole, store] = ["snapshot", "whole", "store"].map(|it| folder.path().join(it));
    let (spec, path) = published("execution-apis");
    let chain_id = spec.chain_id.to();
    let options = options(spec, Settings::default());
    let made = ExecutedStore::open(&whole, &small(), Limits::default()).unwrap().0;
    let mut sink = Sink::Executed(Box::new(made));
    assert_eq!(run(path.clone(), &options, &mut sink).1, None);
    drop(sink);
    make(&ExecutedStore::open_read_only(&whole).unwrap(), chain_id, &snapshot);
    let case = Case { path, options, snapshot, store };
    for place in Place::all() {
        let limits = place.limits(SMALL);
        let (mut deaths, mut kept) = (0, 0);
        for point in CrashPoint::ALL {
            for times in [0, 1, 2, 3, 5] {
                let (died, kept_it) = case.die(limits, point, times);
                deaths += usize::from(died);
                kept += usize::from(kept_it);
                if !died {
                    break;
                }
            }
        }
        println!("{place:?}: {deaths} deaths, {kept} after the commit");
        assert!(deaths > 5 && kept > 0, "{place:?}: {deaths} deaths, {kept} after the commit");
    }
}
