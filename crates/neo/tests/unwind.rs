//! Blocks are unwound with all their results and imported again: the store then equals that of an
//! import without the unwind.

use crate::dumps::Dump;
use blockmill_archive::{ChunkLimit, acc};
use blockmill_neo::Level;
use blockmill_neo::error::Error;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import};
use blockmill_neo::ledger::HISTORY;
use blockmill_neo::ledger::{
    CONFLICTS, Ledger, ROOTS, STORAGE, TRANSACTIONS, Unwound, unwind_blocks,
};
use blockmill_neo::logs::{TRANSFERS, UPDATES};
use blockmill_neo::params::Protocol;
use blockmill_neo::settings::Settings;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::OptionSet;
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_store::{ChainStore, CrashPoint, Table, TableOptions};
use blockmill_testkit::{Random, spread};
use blockmill_verdict::Status;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn options(dump: Dump) -> Options {
    let text = std::fs::read_to_string(blockmill_testkit::fixture(dump.config)).unwrap();
    let protocol = Protocol::from_yaml(&text).unwrap();
    // many commits
    let batch = ChunkLimit { blocks: 3, bytes: 1 << 20 };
    let memory = 1 << 16;
    Options { threads: 2, level: Level::Execution, batch, memory, ..Options::new(protocol) }
}

fn with(dump: Dump, option: &str) -> Options {
    let settings = Settings::default().with(&[option]).unwrap();
    Options { settings, ..options(dump) }
}

/// Files of few bytes, so that there are many of them.
fn small() -> blockmill_store::Options {
    blockmill_store::Options {
        file_bytes: 4096,
        run_items: 16,
        ..blockmill_store::Options::default()
    }
}

/// Imports a dump up to a block. Returns the last committed block.
fn run(ledger: Ledger, options: &Options, dump: Dump, until: Option<u32>) -> Option<u64> {
    let dumps = acc::open(&[blockmill_testkit::fixture(dump.file)]).unwrap();
    let options = Options { until, ..options.clone() };
    let mut sink = Sink::Ledger(Box::new(ledger));
    let (run, outcome) = import(&dumps, &options, &mut sink, |_| {});
    outcome.unwrap();
    run.committed
}

fn open(data: &Path) -> Ledger {
    Ledger::open(data, &blockmill_store::Options::default()).unwrap()
}

fn unwind(ledger: Ledger, to: u64) -> Result<Unwound, Error> {
    ledger.unwind(to, &Cancel::new()).map(|done| done.expect("nobody asked to stop"))
}

/// The contents of a store of executed blocks.
#[derive(PartialEq)]
struct Whole {
    blocks: Vec<[Vec<u8>; 4]>,
    tables: BTreeMap<&'static str, BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl Whole {
    fn of(data: &Path) -> Self {
        Self::on(data, &blockmill_store::Options::default())
    }

    fn on(data: &Path, options: &blockmill_store::Options) -> Self {
        let names = [STORAGE, TRANSACTIONS, CONFLICTS, TRANSFERS, UPDATES, ROOTS, HISTORY];
        let parts = |opening: &mut blockmill_store::Opening| {
            let open = |name| opening.table(name, &TableOptions::new(1 << 20));
            names.into_iter().map(open).collect::<blockmill_store::Result<Vec<Table>>>()
        };
        let ((store, _), tables) = ChainStore::open_with(data, options, parts).unwrap();
        let entries = |table: &Table| {
            let (mut found, mut scan) = (BTreeMap::new(), table.iter().unwrap());
            while let Some((key, value)) = scan.next().unwrap() {
                found.insert(key.to_vec(), value.to_vec());
            }
            found
        };
        let item = |found: blockmill_store::Result<Option<Vec<u8>>>| found.unwrap().unwrap();
        let block = |height| {
            let hash = store.hash_of(height).unwrap().unwrap();
            assert_eq!(store.number_of(&hash).unwrap(), Some(height));
            let (header, body) = (store.header(height), store.body(height));
            [hash.to_vec(), item(header), item(body), item(store.receipts(height))]
        };
        Self {
            blocks: (0..store.count()).map(block).collect(),
            tables: names.into_iter().zip(tables.iter().map(entries)).collect(),
        }
    }

    /// Compares without printing the contents.
    fn assert_same(&self, other: &Self, what: &str) {
        assert_eq!(self.blocks.len(), other.blocks.len(), "{what}");
        assert!(self.blocks == other.blocks, "{what}: blocks or logs differ");
        for (name, own) in &self.tables {
            let other = &other.tables[name];
            let differ = own.iter().filter(|(key, value)| other.get(*key) != Some(*value)).count();
            let sizes = (own.len(), other.len());
            assert!(own == other, "{what}, {name}: {sizes:?} entries, {differ} differ");
        }
    }
}

/// Imports a dump, unwinds it to each of `stops` and imports the blocks again.
fn there_and_back(dump: Dump, stops: &[u64], history: bool) {
    let options = options(dump);
    let open = |data: &Path| match history {
        true => Ledger::open_with_history(data, &blockmill_store::Options::default()).unwrap(),
        false => open(data),
    };
    let folder = tempfile::tempdir().unwrap();
    let last = dump.blocks as u64 - 1;
    assert_eq!(run(open(folder.path()), &options, dump, None), Some(last));
    let whole = Whole::of(folder.path());
    assert_eq!(history, !whole.tables[HISTORY].is_empty());
    assert!(whole.tables[TRANSFERS].len() > 100);
    for to in stops {
        let done = unwind(open(folder.path()), *to).unwrap();
        assert_eq!(done, Unwound { from: last, to: *to, with_state: true });
        let never = tempfile::tempdir().unwrap();
        run(open(never.path()), &options, dump, Some(*to as u32));
        let what = format!("{} {to}", dump.name);
        Whole::of(folder.path()).assert_same(&Whole::of(never.path()), &what);
        assert_eq!(run(open(folder.path()), &options, dump, None), Some(last));
        Whole::of(folder.path()).assert_same(&whole, &what);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_mixed_chain_is_unwound_without_a_trace_and_imported_again() {
    there_and_back(Dump::MIXED, &[200, 101, 3], false);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_chain_is_unwound_to_genesis_with_its_history() {
    there_and_back(Dump::CHAIN50, &[49, 20, 0, 50], true);
    there_and_back(Dump::EMPTY, &[1_500, 4], false);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_undo_log_covers_the_depth_and_at_most_twice_as_many_blocks() {
    let (dump, folder) = (Dump::EMPTY, tempfile::tempdir().unwrap());
    let options = options(dump);
    for (until, depth) in [(400, 90), (701, 90), (702, 90), (2_003, 200)] {
        run(open(folder.path()).with_depth(depth), &options, dump, Some(until));
        let earliest = open(folder.path()).earliest().unwrap();
        let room = u64::from(until) - earliest;
        // a commit has several batches
        assert!((90..=2 * u64::from(depth) + 60).contains(&room), "{room} of {depth} at {until}");
    }
    // each across both logs
    for _ in 0..2 {
        let earliest = open(folder.path()).earliest().unwrap();
        let refused = unwind(open(folder.path()), earliest - 1).unwrap_err();
        assert!(matches!(&refused, Error::Unwind { .. }), "{refused}");
        assert_eq!(refused.status(), Status::Usage);
        unwind(open(folder.path()), 1_900).unwrap();
        unwind(open(folder.path()), earliest).unwrap();
        assert_eq!(open(folder.path()).earliest(), Some(earliest));
        run(open(folder.path()).with_depth(200), &options, dump, None);
    }
    let never = tempfile::tempdir().unwrap();
    run(open(never.path()), &options, dump, None);
    Whole::of(folder.path()).assert_same(&Whole::of(never.path()), "through both logs");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_stored_without_a_log_cannot_be_unwound() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    for (option, until, earliest) in [
        ("log=undo", 10, 0),
        ("log=off", 20, 20),
        ("log=undo", 35, 20),
        ("log=off", 36, 36),
        ("log=undo", 50, 36),
    ] {
        run(open(folder.path()), &with(dump, option), dump, Some(until));
        assert_eq!(open(folder.path()).earliest(), Some(earliest), "{option} {until}");
        let to = earliest.saturating_sub(1);
        let refused = unwind(open(folder.path()), to).err();
        assert_eq!(refused.is_some(), earliest > 0, "{option} {until}");
        run(open(folder.path()), &with(dump, option), dump, Some(until));
    }
    unwind(open(folder.path()), 40).unwrap();
    let unknown = unwind(open(folder.path()), 41).unwrap_err().to_string();
    assert!(unknown.contains("expected one of the blocks 0 to 40, found --to 41"), "{unknown}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_without_a_state_can_be_unwound() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    let options = Options { level: Level::Bodies, ..options(dump) };
    let dumps = acc::open(&[blockmill_testkit::fixture(dump.file)]).unwrap();
    for to in [30, 0] {
        let store =
            || ChainStore::open(folder.path(), &blockmill_store::Options::default()).unwrap().0;
        let mut sink = Sink::Store(Box::new(store()));
        import(&dumps, &options, &mut sink, |_| {}).1.unwrap();
        drop(sink);
        let done = unwind_blocks(&mut store(), to).unwrap();
        assert_eq!(done, Unwound { from: 50, to, with_state: false });
        assert_eq!(store().tip().map(|tip| tip.number), Some(to));
        assert!(unwind_blocks(&mut store(), to + 1).is_err());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_cancelled_unwind_changes_nothing() {
    let (dump, folder) = (Dump::CHAIN50, tempfile::tempdir().unwrap());
    run(open(folder.path()), &options(dump), dump, None);
    let whole = Whole::of(folder.path());
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(open(folder.path()).unwind(5, &cancel).unwrap(), None);
    Whole::of(folder.path()).assert_same(&whole, "cancelled");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_crash_during_an_unwind_leaves_one_tip_or_the_other() {
    let dump = Dump::CHAIN50;
    let options = Options { batch: ChunkLimit { blocks: 5, bytes: 1 << 20 }, ..options(dump) };
    let open = |data: &Path, options: &blockmill_store::Options| {
        Ledger::open(data, options).unwrap().with_depth(15)
    };
    let [whole, never] = [None, Some(30)].map(|until| {
        let folder = tempfile::tempdir().unwrap();
        run(open(folder.path(), &small()), &options, dump, until);
        Whole::on(folder.path(), &small())
    });
    let mut died = 0;
    for point in CrashPoint::ALL {
        for times in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path();
            run(open(data, &small()), &options, dump, None);
            let dying = blockmill_store::Options { crash_at: Some((point, times)), ..small() };
            let done = unwind(open(data, &dying), 30);
            let found = Whole::on(data, &small());
            let what = format!("{point:?} {times}");
            match (&done, found.blocks.len()) {
                (Err(_), 51) => found.assert_same(&whole, &what),
                _ => found.assert_same(&never, &what),
            }
            died += usize::from(done.is_err());
            run(open(data, &small()), &options, dump, None);
            Whole::on(data, &small()).assert_same(&whole, &what);
            if done.is_ok() {
                break;
            }
        }
    }
    assert!(died > 20, "{died} deaths");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_power_loss_during_an_unwind_leaves_one_tip_or_the_other() {
    let dump = Dump::CHAIN50;
    let options = options(dump);
    let (disk, dir) = (SimulatedDisk::default(), Path::new("data"));
    let on =
        |disk: &SimulatedDisk| blockmill_store::Options { disk: Arc::new(disk.clone()), ..small() };
    let open = |disk: &SimulatedDisk| Ledger::open(dir, &on(disk)).unwrap();
    run(open(&disk), &options, dump, None);
    let whole = Whole::on(dir, &on(&disk));
    let before = disk.now();
    unwind(open(&disk), 30).unwrap();
    let never = Whole::on(dir, &on(&disk));
    let (mut counts, mut tried) = ([0, 0], 0);
    for moment in spread(disk.now() + 1 - before) {
        for percent in [0u64, 40, 90] {
            let mut random = Random::new(tried);
            tried += 1;
            let mut keeps = || random.below(100u64) < percent;
            let left = disk.lost_power(before + moment, &mut keeps);
            let found = Whole::on(dir, &on(&left));
            let is_whole = found.blocks.len() == 51;
            found.assert_same(if is_whole { &whole } else { &never }, "after a power loss");
            counts[usize::from(is_whole)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
}
