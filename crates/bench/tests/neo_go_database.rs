//! The database that is handed over to neo-go is the one that neo-go itself makes, entry by entry,
//! and it continues one that ends earlier.

use blockmill_archive::acc;
use blockmill_bench::counting::CountingAllocator;
use blockmill_bench::definition::{Definition, Settings};
use blockmill_bench::peers::{self, Ready};
use blockmill_bench::workloads;
use blockmill_neo::Level;
use blockmill_neo::export::{Written, to_neo_go};
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import};
use blockmill_neo::ledger::Ledger;
use blockmill_neo::params::Protocol;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::record::RunRecord;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator(std::alloc::System);

/// What an entry says of an account's transfers: its prefix, and bytes before the contracts, whose
/// order neo-go draws anew each time.
const TRANSFER_INFO: &str = "74";
const BEFORE_CONTRACTS: usize = 2 * 27;
/// Digits of a contract and its height.
const CONTRACT: usize = 2 * 8;

/// neo-go, built, and the settings that make it restore.
fn neo_go() -> (Ready, Settings) {
    let benchmarks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks");
    let all = peers::load(&benchmarks.join("peers.toml")).unwrap();
    let peer = all.into_iter().find(|peer| peer.name() == "neo-go").unwrap();
    let definitions = Definition::all(&benchmarks.join("definitions")).unwrap();
    let restore = definitions.into_iter().find(|each| each.name == "restore-mixed").unwrap();
    (peer.prepare().unwrap_or_else(|left_out| panic!("{left_out}")), restore.settings)
}

/// Dump and configuration of a chain, the state of which a store may keep as of every block.
struct Chain {
    settings: Settings,
    keeps_history: bool,
}

impl Chain {
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(&self.settings[name])
    }

    /// Imports blocks up to `until` and writes the database in the folder that neo-go is given.
    fn convert(&self, until: Option<u32>, folder: &Path) -> Written {
        let text = fs::read_to_string(self.path("config")).unwrap();
        let protocol = Protocol::from_yaml(&text).unwrap();
        let options =
            Options { threads: 2, level: Level::Execution, until, ..Options::new(protocol) };
        let data = folder.join("data");
        let store = blockmill_store::Options::default();
        let ledger = match self.keeps_history {
            true => Ledger::open_with_history(&data, &store),
            false => Ledger::open(&data, &store),
        };
        let mut sink = Sink::Ledger(Box::new(ledger.unwrap()));
        let dumps = acc::open(&[self.path("paths")]).unwrap();
        import(&dumps, &options, &mut sink, |_| {}).1.unwrap();
        drop(sink);
        let written = to_neo_go(&data, &folder.join("peer/chain"), &Cancel::default());
        let written = written.unwrap().unwrap();
        assert_eq!(written.keeps_history, self.keeps_history);
        written
    }

    /// Restores the dump with neo-go; returns its record and all entries.
    fn restore(
        &self,
        ready: &Ready,
        flags: &[&str],
        folder: &Path,
    ) -> (RunRecord, BTreeMap<String, String>) {
        let list = folder.join("entries");
        let latest = format!("-keep-latest={}", !self.keeps_history);
        let own = [latest.as_str(), "-entries", list.to_str().unwrap()];
        let record = ready.run_with(&[&own, flags].concat(), &self.settings, folder).unwrap();
        let text = fs::read_to_string(&list).unwrap();
        (record, text.lines().map(entry).collect())
    }

    /// Holds the database of the whole chain, and one of its first half that neo-go continues,
    /// to what neo-go makes by itself.
    fn hold(&self, ready: &Ready, half: u32) -> BTreeMap<String, String> {
        let folders = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = folders.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let (theirs, expected) = self.restore(ready, &[], &folder("theirs"));
        for until in [None, Some(half)] {
            let own = folder(if until.is_some() { "half" } else { "whole" });
            let written = self.convert(until, &own);
            let last = until.unwrap_or(theirs.result.tip_number as u32);
            assert_eq!(written.height, last);
            let (record, found) = self.restore(ready, &["-go-on"], &own);
            assert_eq!(record.answer, theirs.answer, "root and digest of logs");
            assert_eq!(record.result.tip_hash, theirs.result.tip_hash);
            compare(&expected, &found);
        }
        expected
    }
}

/// An entry in digits, the contracts of an account in their order.
fn entry(line: &str) -> (String, String) {
    let (key, value) = line.split_once(' ').unwrap();
    if !key.starts_with(TRANSFER_INFO) {
        return (key.into(), value.into());
    }
    let (before, contracts) = value.split_at(BEFORE_CONTRACTS);
    let mut contracts: Vec<&str> =
        (0..contracts.len()).step_by(CONTRACT).map(|at| &contracts[at..at + CONTRACT]).collect();
    contracts.sort_unstable();
    (key.into(), format!("{before}{}", contracts.concat()))
}

/// Fails with the first entry that differs.
fn compare(expected: &BTreeMap<String, String>, found: &BTreeMap<String, String>) {
    for key in expected.keys().chain(found.keys()) {
        assert_eq!(found.get(key), expected.get(key), "{key}");
    }
}

/// A mixed chain of ours, with transactions that name others as conflicting.
#[blockmill_testkit::needs(peers)]
#[test]
fn the_database_of_a_generated_chain_is_the_one_of_neo_go_with_and_without_history() {
    let (ready, mut settings) = neo_go();
    let own = [("blocks", "60"), ("txs", "60"), ("accounts", "40"), ("seed", "5")];
    settings.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let folder = tempfile::tempdir().unwrap();
    let workload = workloads::by_name("import").unwrap();
    workload.prepare(&mut settings, folder.path(), &mut |_| {}).unwrap();
    for keeps_history in [false, true] {
        let chain = Chain { settings: settings.clone(), keeps_history };
        let entries = chain.hold(&ready, 30);
        let of = |prefix: &str| entries.keys().filter(|key| key.starts_with(prefix)).count();
        // logs of accounts, of which some are full
        assert!(of("73") > of(TRANSFER_INFO));
        // what a transaction conflicts with, for one of its signers
        let conflicts = entries.iter().filter(|(key, _)| key.len() == 2 * 53);
        assert!(conflicts.count() > 0);
    }
}

/// Dumps of neo-go, one of a network without state roots in headers.
#[blockmill_testkit::needs(fixtures, peers)]
#[test]
fn the_databases_of_the_fixtures_are_those_of_neo_go() {
    let (ready, settings) = neo_go();
    for (dump, ending, half) in [("chain50x2", "acc", 17), ("gen/empty2000-sr", "acc.zst", 1999)] {
        let folder = tempfile::tempdir().unwrap();
        // neo-go reads what is not compressed
        let path = folder.path().join("chain.acc");
        fs::write(&path, &*blockmill_testkit::read(format!("neo/{dump}.{ending}"))).unwrap();
        let config = blockmill_testkit::fixture(format!("neo/{dump}.yml"));
        let mut settings = settings.clone();
        for (setting, path) in [("paths", &path), ("config", &config)] {
            settings.insert(setting.into(), path.to_str().unwrap().into());
        }
        for keeps_history in [false, true] {
            Chain { settings: settings.clone(), keeps_history }.hold(&ready, half);
        }
    }
}
