//! Untraceable blocks are removed: the rest of the store and every later block equal those of a
//! store of all blocks.

use crate::dumps::Dump;
use blockmill_archive::{ChunkLimit, acc};
use blockmill_neo::Level;
use blockmill_neo::error::Error;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import};
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::ledger::{CONFLICTS, Ledger, ROOTS, STORAGE, TRANSACTIONS};
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

const DUMP: Dump = Dump::CHAIN50;
const LAST: u64 = 50;
/// `MaxTraceableBlocks` of the test network.
const SEEN: u64 = 10;

/// A network with a small window that includes Echidna, and many commits.
fn options(with: &[&str]) -> Options {
    let text = std::fs::read_to_string(blockmill_testkit::fixture(DUMP.config)).unwrap();
    let window = format!("  MaxTraceableBlocks: {SEEN}");
    let text = text.replace("  MaxTraceableBlocks: 200000", &window);
    assert!(text.contains(&window));
    let protocol = Protocol::from_yaml(&text).unwrap();
    let settings = Settings::default().with(with).unwrap();
    let batch = ChunkLimit { blocks: 3, bytes: 1 << 20 };
    let (level, memory) = (Level::Execution, 1 << 16);
    Options { threads: 2, level, batch, memory, settings, ..Options::new(protocol) }
}

/// Files of few bytes, so that there are many of them.
fn small() -> blockmill_store::Options {
    blockmill_store::Options {
        file_bytes: 4096,
        run_items: 16,
        ..blockmill_store::Options::default()
    }
}

fn open(data: &Path) -> Ledger {
    Ledger::open(data, &small()).unwrap().with_depth(5)
}

fn run(ledger: Ledger, options: &Options, until: Option<u32>) -> Result<Option<u64>, Error> {
    let dumps = acc::open(&[blockmill_testkit::fixture(DUMP.file)]).unwrap();
    let options = Options { until, ..options.clone() };
    let mut sink = Sink::Ledger(Box::new(ledger));
    let (run, outcome) = import(&dumps, &options, &mut sink, |_| {});
    outcome.map(|()| run.committed)
}

type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// Header and hash of a block; body and log if it is complete.
type Block = (Vec<u8>, [u8; 32], Option<[Vec<u8>; 2]>);

/// The contents of a store of executed blocks.
#[derive(Clone, PartialEq)]
struct Whole {
    first: u64,
    blocks: Vec<Block>,
    tables: BTreeMap<&'static str, Entries>,
}

impl Whole {
    fn of(data: &Path) -> Self {
        Self::on(data, &small())
    }

    fn on(data: &Path, options: &blockmill_store::Options) -> Self {
        let names = [STORAGE, TRANSACTIONS, CONFLICTS, TRANSFERS, UPDATES, ROOTS];
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
        let first = store.first_whole().unwrap();
        let block = |height| {
            let header = store.header(height).unwrap().unwrap();
            let hash = store.hash_of(height).unwrap().unwrap();
            let item = |found: blockmill_store::Result<Option<Vec<u8>>>| found.unwrap().unwrap();
            let whole = || [item(store.body(height)), item(store.receipts(height))];
            (header, hash, (height >= first).then(whole))
        };
        Self {
            first,
            blocks: (0..store.count()).map(block).collect(),
            tables: names.into_iter().zip(tables.iter().map(entries)).collect(),
        }
    }

    /// The contents without the data of removed blocks before `first`.
    fn without(mut self, first: u64) -> Self {
        self.blocks.iter_mut().take(first as usize).for_each(|(_, _, whole)| *whole = None);
        self.first = first;
        let first = first as u32;
        let height = |bytes: &[u8]| u32::from_be_bytes(*bytes.first_chunk().unwrap());
        self.tables.get_mut(ROOTS).unwrap().retain(|key, _| height(key) >= first);
        let conflicts = self.tables.get_mut(CONFLICTS).unwrap();
        conflicts.retain(|_, at| u32::from_le_bytes(at[..].try_into().unwrap()) >= first);
        // the last NEP-17 transfer of each token stays
        let transfers = self.tables.get_mut(TRANSFERS).unwrap();
        let old = |key: &[u8]| key[20] == 17 && height(&key[21..]) < first;
        let mut last: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for (key, value) in transfers.iter().filter(|(key, _)| old(key)) {
            last.insert([&key[..20], &value[..4]].concat(), key.clone());
        }
        transfers.retain(|key, _| !old(key) || last.values().any(|kept| kept == key));
        self
    }

    /// Compares without printing the contents.
    fn assert_same(&self, other: &Self, what: &str) {
        assert_eq!((self.first, self.blocks.len()), (other.first, other.blocks.len()), "{what}");
        assert!(self.blocks == other.blocks, "{what}: blocks or logs differ");
        for (name, own) in &self.tables {
            let other = &other.tables[name];
            let differ = own.iter().filter(|(key, value)| other.get(*key) != Some(*value)).count();
            let sizes = (own.len(), other.len());
            assert!(own == other, "{what}, {name}: {sizes:?} entries, {differ} differ");
        }
    }
}

/// A store of all blocks up to a height.
fn all(until: Option<u32>) -> Whole {
    let folder = tempfile::tempdir().unwrap();
    run(open(folder.path()), &options(&[]), until).unwrap();
    Whole::of(folder.path())
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn remaining_data_equals_that_of_a_store_of_all_blocks() {
    let whole = all(None);
    assert!(whole.tables[TRANSFERS].len() > 100);
    // without an undo log exactly the traceable blocks are left
    for with in [vec!["blocks=traceable", "log=off"], vec!["blocks=traceable"]] {
        let folder = tempfile::tempdir().unwrap();
        for until in [Some(7), Some(30), None] {
            run(open(folder.path()), &options(&with), until).unwrap();
            let last = until.map_or(LAST, u64::from);
            let earliest = open(folder.path()).earliest().unwrap();
            assert!(if with.len() == 2 { earliest == last } else { earliest + 5 <= last });
            let found = Whole::of(folder.path());
            let first = (earliest + 1).saturating_sub(SEEN);
            found.assert_same(&all(until).without(first), &format!("{with:?} {last}"));
        }
        let found = Whole::of(folder.path());
        assert!(found.first >= 20, "{}", found.first);
        assert!(found.tables[TRANSFERS].len() < whole.tables[TRANSFERS].len());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_of_all_blocks_can_start_removal_but_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let (every, few) = (options(&["log=off"]), options(&["blocks=traceable", "log=off"]));
    run(open(folder.path()), &every, None).unwrap();
    assert_eq!(Whole::of(folder.path()).first, 0);
    // no new block
    run(open(folder.path()), &few, None).unwrap();
    let expected = all(None).without(LAST + 1 - SEEN);
    Whole::of(folder.path()).assert_same(&expected, "lessened");
    let refused = run(open(folder.path()), &every, None).unwrap_err();
    let words = "expected blocks=traceable, as blocks before 41 were removed, found blocks=all";
    assert!(refused.to_string().contains(words), "{refused}");
    assert_eq!(refused.status(), Status::Usage);
    run(open(folder.path()), &few, None).unwrap();
    Whole::of(folder.path()).assert_same(&expected, "again");
    // the history needs the data that would be removed
    let history = tempfile::tempdir().unwrap();
    let ledger = Ledger::open_with_history(history.path(), &small()).unwrap();
    let refused = run(ledger, &few, None).unwrap_err().to_string();
    assert!(refused.contains("expected blocks=all"), "{refused}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_reader_reports_removed_blocks() {
    let folder = tempfile::tempdir().unwrap();
    run(open(folder.path()), &options(&["blocks=traceable", "log=off"]), None).unwrap();
    let stored = StoreReader::open(folder.path()).unwrap();
    assert_eq!(stored.first_whole(), Some(41));
    for height in [0, 12, 40] {
        let words = format!("block {height} was removed: this store keeps the last 10 blocks");
        let reported = |error: Error| assert!(error.to_string().starts_with(&words), "{error}");
        reported(stored.block(height).err().unwrap());
        reported(stored.executions(height).unwrap_err());
    }
    assert!(stored.block(41).unwrap().is_some() && stored.executions(50).unwrap().is_some());
    // positions of transactions and headers stay
    let whole = all(None);
    let height = |value: &[u8]| u32::from_le_bytes(*value.first_chunk().unwrap());
    let places = whole.tables[TRANSACTIONS].iter();
    let old: Vec<_> = places.filter(|(_, place)| height(place) < 41).collect();
    assert!(old.len() > 10);
    for (hash, place) in old {
        let hash = blockmill_neo::types::UInt256::from_slice(hash).unwrap();
        let found = stored.transaction(hash).unwrap().map(|(height, _)| height);
        assert_eq!(found, Some(height(place)));
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_are_unwound_to_the_start_of_the_log_and_imported_again() {
    let folder = tempfile::tempdir().unwrap();
    let few = options(&["blocks=traceable"]);
    run(open(folder.path()), &few, None).unwrap();
    let before = Whole::of(folder.path());
    let earliest = open(folder.path()).earliest().unwrap();
    assert!((30..=45).contains(&earliest), "{earliest}");
    assert!(before.first > 10);
    for to in [48, earliest] {
        open(folder.path()).unwind(to, &Cancel::new()).unwrap().unwrap();
        let found = Whole::of(folder.path());
        found.assert_same(&all(Some(to as u32)).without(before.first), &format!("back to {to}"));
        run(open(folder.path()), &few, None).unwrap();
        // the undo log may have switched at another block
        let found = Whole::of(folder.path());
        assert!(found.first >= before.first);
        found.assert_same(&all(None).without(found.first), "come again");
    }
    let refused = open(folder.path()).unwind(5, &Cancel::new()).unwrap_err();
    assert!(matches!(refused, Error::Unwind { .. }), "{refused}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_crash_at_any_point_leaves_an_intact_store_that_resumes() {
    let few = options(&["blocks=traceable", "log=off"]);
    let expected = all(None).without(LAST + 1 - SEEN);
    let mut known: BTreeMap<u64, Whole> = BTreeMap::new();
    let (mut died, mut lessened) = (0, 0);
    for point in CrashPoint::ALL {
        for times in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path();
            run(open(data), &few, Some(30)).unwrap();
            let dying = blockmill_store::Options { crash_at: Some((point, times * 3)), ..small() };
            let done = run(Ledger::open(data, &dying).unwrap(), &few, None);
            let found = Whole::of(data);
            let what = format!("{point:?} {times}");
            let last = found.blocks.len() as u64 - 1;
            let own = known.entry(last).or_insert_with(|| all(Some(last as u32))).clone();
            found.assert_same(&own.without(found.first), &what);
            lessened += usize::from(found.first > 21 && found.first < 41);
            died += usize::from(done.is_err());
            run(open(data), &few, None).unwrap();
            Whole::of(data).assert_same(&expected, &what);
            if done.is_ok() {
                break;
            }
        }
    }
    assert!(died > 20 && lessened > 0, "{died} deaths, {lessened} between");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_power_loss_leaves_an_intact_store() {
    let (disk, dir) = (SimulatedDisk::default(), Path::new("data"));
    let on =
        |disk: &SimulatedDisk| blockmill_store::Options { disk: Arc::new(disk.clone()), ..small() };
    let open = |disk: &SimulatedDisk| Ledger::open(dir, &on(disk)).unwrap();
    run(open(&disk), &options(&["log=off"]), None).unwrap();
    let before = disk.now();
    run(open(&disk), &options(&["blocks=traceable", "log=off"]), None).unwrap();
    let every = all(None);
    let whole = [0, LAST + 1 - SEEN].map(|first| every.clone().without(first));
    let (mut counts, mut tried) = ([0, 0], 0);
    for moment in spread(disk.now() + 1 - before) {
        for percent in [0u64, 40, 90] {
            let mut random = Random::new(tried);
            tried += 1;
            let mut keeps = || random.below(100u64) < percent;
            let left = disk.lost_power(before + moment, &mut keeps);
            let found = Whole::on(dir, &on(&left));
            let is_less = found.first > 0;
            found.assert_same(&whole[usize::from(is_less)], "after a power loss");
            counts[usize::from(is_less)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
}
