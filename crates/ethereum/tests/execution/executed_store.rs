//! The state on disk: what a kill, a power loss or damage leaves of it, and the way back.

use super::imports::{INTO_AMSTERDAM, Place, options, published, run, settings};
use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::{ExecutedStore, Limits};
use blockmill_ethereum::error::Error;
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::settings::{LogValues, Settings};
use blockmill_ethereum::state::{DiskOptions, FlatStore, StateKind};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::NamedOption;
use blockmill_store::CrashPoint;
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_testkit::{Random, rounds, spread};
use blockmill_verdict::Status;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Checkpoints often, and short logs.
pub const SMALL: Limits = Limits {
    depth: 40,
    least_log: 3_000,
    share: 8,
    file_bytes: 4096,
    memory_bytes: 1 << 20,
    state: StateKind::Memory,
    disk: DiskOptions { memory_bytes: 1 << 20, ..DiskOptions::DEFAULT },
};

pub fn small() -> blockmill_store::Options {
    blockmill_store::Options {
        file_bytes: 4096,
        run_items: 16,
        ..blockmill_store::Options::default()
    }
}

fn open_with(dir: &Path, options: &blockmill_store::Options, limits: Limits) -> Sink {
    Sink::Executed(Box::new(ExecutedStore::open(dir, options, limits).unwrap().0))
}

fn open(dir: &Path) -> ExecutedStore {
    ExecutedStore::open(dir, &small(), SMALL).unwrap().0
}

/// A chain through every fork, in chunks of few blocks.
fn chain(with: &[&str]) -> (Options, PathBuf) {
    chain_in(MEMORY, with)
}

const MEMORY: Place = Place { state: StateKind::Memory, flat: FlatStore::Tables };

/// The same with its state somewhere.
fn chain_in(place: Place, with: &[&str]) -> (Options, PathBuf) {
    let (spec, path) = published("execution-apis");
    let setting = place.with(with);
    let chunk = ChunkLimit { blocks: 5, ..ChunkLimit::default() };
    (Options { chunk, ..options(spec, setting) }, path)
}

/// The last block of that chain.
const LAST: u64 = 54;

/// Imports up to a block; everything must be well.
fn import_to(dir: &Path, path: &Path, options: &Options, until: Option<u64>) -> u64 {
    import_within(SMALL, dir, path, options, until)
}

fn import_within(
    limits: Limits,
    dir: &Path,
    path: &Path,
    options: &Options,
    until: Option<u64>,
) -> u64 {
    let options = Options { until, ..options.clone() };
    let Settings { state, flat_store: flat, .. } = options.settings;
    let limits = Place { state, flat }.limits(limits);
    let mut sink = open_with(dir, &small(), limits);
    let (run, error) = run(path.to_path_buf(), &options, &mut sink);
    assert_eq!(error, None);
    run.committed.unwrap()
}

/// Blocks and state end with the same block.
fn assert_together(store: &ExecutedStore) {
    let tip = store.blocks().tip().map(|tip| (tip.number, tip.hash));
    match store.facts() {
        Some(facts) => assert_eq!(tip, Some((facts.block, facts.hash))),
        // the genesis block may be there before a state is
        None => assert!(tip.is_none_or(|(number, _)| number == 0)),
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_goes_on_with_the_state_that_it_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, path) = published("geth-ethtest");
    let options = options(spec, Settings::default());
    for until in [100, 101, 250, 600] {
        assert_eq!(import_to(folder.path(), &path, &options, Some(until)), until);
        let store = open(folder.path());
        assert_together(&store);
        let checkpoint = store.facts().unwrap().checkpoint;
        assert!(checkpoint.is_some(), "no checkpoint up to {until}");
        assert_eq!(store.earliest().map(|earliest| earliest < until), Some(true));
    }
    // nothing is new, and the state is held to the root once more
    let mut sink = open_with(folder.path(), &small(), SMALL);
    let (run, error) = run(path, &options, &mut sink);
    assert_eq!((run.blocks, error), (0, None));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_that_were_stored_without_a_log_are_executed_again() {
    let folder = tempfile::tempdir().unwrap();
    for (with, until) in [("off", 11), ("redo", 20), ("off", 33), ("redo+undo", 54)] {
        let (options, path) = chain(&[&format!("log={with}")]);
        import_to(folder.path(), &path, &options, Some(until));
        let store = open(folder.path());
        assert_eq!(store.blocks().tip().map(|tip| tip.number), Some(until));
        if with != "off" {
            assert_together(&store);
        }
    }
}

/// The files of the log: their names and bytes.
fn logs(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    let of_log = named.filter(|(name, _)| name.starts_with("state-log"));
    of_log.map(|(name, path)| (name, std::fs::read(path).unwrap())).collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_setting_keeps_the_same_state_in_two_runs() {
    let ((plain, path), mut kept) = (chain(&[]), None);
    for settings in settings() {
        let options = Options { settings, ..plain.clone() };
        let folder = tempfile::tempdir().unwrap();
        // a log that is never given up: when a checkpoint comes depends on the time of blocks
        let limits = Limits { depth: 1_000, ..SMALL };
        // the last run finds nothing new, and compares
        for until in [Some(30), None, None] {
            import_within(limits, folder.path(), &path, &options, until);
        }
        let log = settings.log;
        if log != LogValues::Both {
            // a state is there nevertheless: the rest of the chain would follow
            assert_eq!(import_to(folder.path(), &path, &plain, None), LAST, "{log}");
            continue;
        }
        let found = logs(folder.path());
        assert_eq!(open(folder.path()).kind(), options.settings.state);
        assert!(found.values().any(|bytes| !bytes.is_empty()));
        assert!(*kept.get_or_insert_with(|| found.clone()) == found, "another log");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_thousand_blocks_are_taken_back_and_come_again() {
    Place::all().into_iter().for_each(take_back);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_blocks_of_a_fork_are_taken_back_and_come_again() {
    let limits = Limits { depth: 200, least_log: 1 << 20, ..SMALL };
    for place in Place::all() {
        let folder = tempfile::tempdir().unwrap();
        let (spec, path) = published(INTO_AMSTERDAM);
        let options = options(spec, place.with(&[]));
        let import = |until| {
            let last = import_within(limits, folder.path(), &path, &options, until);
            let store = ExecutedStore::open_read_only(folder.path()).unwrap();
            assert_together(&store);
            assert!(store.check_state(&Cancel::new()).unwrap(), "{place:?} {last}");
            (last, store.facts().unwrap().hash)
        };
        let whole = import(None);
        assert_eq!(whole.0, 239);
        // before, at and after the first block of Amsterdam
        for to in [238, 180, 121, 120, 119, 118, 60] {
            let mut store =
                ExecutedStore::open(folder.path(), &small(), place.limits(limits)).unwrap().0;
            store.unwind(to, &Cancel::new()).unwrap().unwrap();
            assert_together(&store);
            drop(store);
            assert_eq!(import(Some(to + 1)).0, to + 1);
            assert_eq!(import(None), whole);
        }
    }
}

/// Takes blocks back, and imports them again.
fn take_back(place: Place) {
    let folder = tempfile::tempdir().unwrap();
    let (spec, path) = published("hive-sync");
    let options = options(spec, place.with(&[]));
    let limits = place.limits(Limits { depth: 1_200, least_log: 20_000, ..SMALL });
    let open = || ExecutedStore::open(folder.path(), &small(), limits).unwrap().0;
    let import = || {
        let mut sink = open_with(folder.path(), &small(), limits);
        let (run, error) = run(path.clone(), &options, &mut sink);
        assert_eq!((run.committed, error), (Some(3_000), None));
    };
    import();
    for to in [2_000, 2_999, 2_500, 1_900] {
        let mut store = open();
        let last = store.blocks().tip().unwrap().number;
        let done = store.unwind(to, &Cancel::new()).unwrap().unwrap();
        assert_eq!((done.from, done.to, done.with_state), (last, to, true));
        assert_together(&store);
        drop(store);
        assert_together(&open());
        import();
    }
    let mut store = open();
    let earliest = store.earliest().unwrap();
    assert!((600..=1_800).contains(&earliest), "{earliest}");
    let refused = store.unwind(earliest - 1, &Cancel::new());
    assert!(matches!(refused, Err(Error::Unwind { .. })));
    store.unwind(earliest, &Cancel::new()).unwrap().unwrap();
    drop(store);
    import();
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_log_of_new_values_has_no_way_back() {
    let folder = tempfile::tempdir().unwrap();
    let (options, path) = chain(&["log=redo"]);
    import_to(folder.path(), &path, &options, None);
    let error = open(folder.path()).unwind(50, &Cancel::new()).unwrap_err();
    assert!(error.to_string().contains("log=redo+undo"), "{error}");
    assert_eq!(open(folder.path()).blocks().tip().map(|tip| tip.number), Some(LAST));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_death_at_any_point_loses_nothing_that_was_committed() {
    let mut died = 0;
    for place in Place::all() {
        let here = die_everywhere(place);
        println!("{place:?}: {here} deaths");
        assert!(here > 40, "{place:?}: {here} deaths");
        died += here;
    }
    assert!(died > 160, "{died} deaths");
}

/// Who only reads comes to the root of the last block, too.
fn assert_can_be_read(dir: &Path) {
    let store = match ExecutedStore::open_read_only(dir) {
        Err(Error::Store(blockmill_store::Error::NoStore { .. })) => None,
        opened => Some(opened.unwrap()),
    };
    let facts = store.as_ref().and_then(|store| Some((store, store.facts()?)));
    if let Some((store, facts)) = facts {
        assert_together(store);
        store.nodes_after(facts.block, &Cancel::new()).unwrap().unwrap();
    }
}

/// Dies at every point, and goes on.
fn die_everywhere(place: Place) -> usize {
    let (options, path) = chain_in(place, &[]);
    let limits = place.limits(SMALL);
    let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
    let times = if place == MEMORY { &[0, 1, 2, 3, 5, 8, 13, 21][..] } else { &[0, 2, 7] };
    let mut died = 0;
    for point in CrashPoint::ALL {
        for times in times.iter().copied() {
            let folder = tempfile::tempdir().unwrap();
            let crash_at = Some((point, times));
            let dying = blockmill_store::Options { crash_at, ..small() };
            let mut sink = open_with(folder.path(), &dying, limits);
            let mut seen = None;
            let (_, outcome) = import(&archive, &options, &mut sink, |p| seen = p.committed);
            drop(sink);
            died += usize::from(outcome.is_err());
            if place.flat == FlatStore::RocksDb {
                assert_can_be_read(folder.path());
            }
            let store = open(folder.path());
            assert_together(&store);
            let found = store.blocks().tip().map(|tip| tip.number);
            assert!(found >= seen, "{point:?} {times}: {found:?} after {seen:?}");
            drop(store);
            assert_eq!(import_to(folder.path(), &path, &options, None), LAST);
            if outcome.is_ok() {
                break;
            }
            // the way back dies at the same point
            let (mut store, _) = ExecutedStore::open(folder.path(), &dying, limits).unwrap();
            let unwound = store.unwind(30, &Cancel::new());
            died += usize::from(unwound.is_err());
            drop(store);
            let store = open(folder.path());
            assert_together(&store);
            let found = store.blocks().tip().map(|tip| tip.number);
            assert!(found == Some(30) || (found == Some(LAST) && unwound.is_err()));
            drop(store);
            assert_eq!(import_to(folder.path(), &path, &options, None), LAST);
        }
    }
    died
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_power_loss_at_any_moment_leaves_blocks_and_state_of_one_commit() {
    let tried: usize = StateKind::available().map(lose_power).sum();
    println!("{tried} power losses");
    assert!(tried > rounds(900), "{tried} power losses");
}

/// Loses power everywhere, and goes on.
fn lose_power(state: StateKind) -> usize {
    // RocksDB has no disk that can lose power
    let place = Place { state, flat: FlatStore::Tables };
    let (options, path) = chain_in(place, &[]);
    let limits = place.limits(SMALL);
    let disk = SimulatedDisk::default();
    let dir = Path::new("data");
    let on =
        |disk: &SimulatedDisk| blockmill_store::Options { disk: Arc::new(disk.clone()), ..small() };
    for until in [20, 40, LAST] {
        let options = Options { until: Some(until), ..options.clone() };
        let (_, error) = run(path.clone(), &options, &mut open_with(dir, &on(&disk), limits));
        assert_eq!(error, None);
    }
    let (mut store, _) = ExecutedStore::open(dir, &on(&disk), limits).unwrap();
    store.unwind(35, &Cancel::new()).unwrap().unwrap();
    drop(store);
    let mut tried = 0;
    for moment in spread(disk.now() + 1) {
        for percent in [0u64, 40, 90] {
            let mut random = Random::new(tried as u64);
            let left = disk.lost_power(moment, &mut || random.below(100u64) < percent);
            let (store, _) = ExecutedStore::open(dir, &on(&left), limits).unwrap();
            assert_together(&store);
            drop(store);
            tried += 1;
            if tried % 5 == 0 {
                let mut sink = open_with(dir, &on(&left), limits);
                let (run, error) = run(path.clone(), &options, &mut sink);
                assert_eq!((run.committed, error), (Some(LAST), None), "moment {moment}");
            }
        }
    }
    assert!(tried > rounds(300), "{}: {tried} power losses", state.name());
    tried
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn corruption_of_log_and_checkpoint_is_reported_and_never_used() {
    Place::all().into_iter().for_each(damage);
}

/// Corrupts what keeps the state, file by file.
fn damage(place: Place) {
    let folder = tempfile::tempdir().unwrap();
    let (options, path) = chain_in(place, &[]);
    import_to(folder.path(), &path, &options, None);
    let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
    let mut random = Random::new(14);
    let mut reported = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if !["state", "flat", "trie"].iter().any(|part| name.starts_with(part)) {
            continue;
        }
        let whole = std::fs::read(&file).unwrap();
        for _ in 0..rounds(12).min(whole.len()) {
            let mut bytes = whole.clone();
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4u64) {
                0 => bytes.truncate(at),
                _ => bytes[at] ^= 1 << random.below(8u64),
            }
            std::fs::write(&file, &bytes).unwrap();
            let opened = ExecutedStore::open(folder.path(), &small(), SMALL);
            let error = match opened {
                Err(error) => Some(error),
                Ok((store, _)) => {
                    let mut sink = Sink::Executed(Box::new(store));
                    import(&archive, &options, &mut sink, |_| {}).1.err()
                }
            };
            if let Some(error) = error {
                assert_eq!(error.status(), Status::Corrupt, "{name} at {at}: {error}");
                reported += 1;
            }
            std::fs::write(&file, &whole).unwrap();
        }
    }
    assert!(reported > 10, "{reported} reported");
    assert_eq!(import_to(folder.path(), &path, &options, None), LAST);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_goes_on_where_it_keeps_its_state_and_nowhere_else() {
    for place in Place::on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let (options, path) = chain_in(place, &[]);
        import_to(folder.path(), &path, &options, Some(30));
        for other in Place::all().into_iter().filter(|other| *other != place) {
            let (options, _) = chain_in(other, &[]);
            let mut sink = open_with(folder.path(), &small(), other.limits(SMALL));
            let (_, error) = run(path.clone(), &options, &mut sink);
            let (option, expected, found) = match place.state == other.state {
                false => ("state", place.state.name(), other.state.name()),
                true => ("flat-store", place.flat.name(), other.flat.name()),
            };
            let error = error.unwrap();
            let expected = format!("{option}={expected}, as this store keeps it");
            let found = format!("{option}={found}");
            assert!(error.contains(&expected) && error.contains(&found), "{error}");
        }
        assert_eq!(import_to(folder.path(), &path, &options, None), LAST);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_stop_is_heard_while_the_state_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let (options, path) = chain(&[]);
    import_to(folder.path(), &path, &options, Some(30));
    let cancel = Cancel::new();
    cancel.cancel();
    let stopping = Options { cancel: cancel.clone(), ..options.clone() };
    let mut sink = open_with(folder.path(), &small(), SMALL);
    let (stopped, error) = run(path.clone(), &stopping, &mut sink);
    assert!(stopped.stopped && error.is_none(), "{error:?}");
    assert_eq!((stopped.blocks, stopped.committed), (0, Some(30)));
    drop(sink);
    assert!(open(folder.path()).unwind(20, &cancel).unwrap().is_none());
    assert_eq!(import_to(folder.path(), &path, &options, None), LAST);
}
