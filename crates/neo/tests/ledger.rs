//! neo-go's dumps imported at level execution: application logs and state roots equal neo-go's,
//! also with interrupted and resumed imports. Invalid blocks are rejected.

use crate::dumps;
use crate::dumps::{Dump, oracle, records, shown};
use blockmill_archive::acc::{self, DumpWriter, Head};
use blockmill_neo::Level;
use blockmill_neo::error::Error;
use blockmill_neo::fault::Cause;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, Run, import};
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::ledger::{CONFLICTS, Ledger, ROOTS, STORAGE, TRANSACTIONS};
use blockmill_neo::logs::{TRANSFERS, UPDATES};
use blockmill_neo::params::Protocol;
use blockmill_neo::rule::Rule;
use blockmill_neo::settings::Settings;
use blockmill_neo::types::UInt256;
use blockmill_pipeline::options::OptionSet;
use blockmill_store::{ChainStore, Table, TableOptions};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

fn options(dump: Dump, threads: usize) -> Options {
    let text = std::fs::read_to_string(blockmill_testkit::fixture(dump.config)).unwrap();
    let protocol = Protocol::from_yaml(&text).unwrap();
    Options { threads, level: Level::Execution, ..Options::new(protocol) }
}

fn ledger(data: &Path) -> Ledger {
    Ledger::open(data, &blockmill_store::Options::default()).unwrap()
}

fn run(path: &Path, options: &Options, data: &Path) -> (Run, Result<(), Error>) {
    let dumps = acc::open(&[path.to_path_buf()]).unwrap();
    let mut sink = Sink::Ledger(Box::new(ledger(data)));
    import(&dumps, options, &mut sink, |_| {})
}

/// Application logs, state roots and contract storage of the store equal the oracle's.
fn compare_with_oracle(dump: Dump, data: &Path) {
    let stored = StoreReader::open(data).unwrap();
    let file = blockmill_testkit::read(format!("neo/oracle/{}.applog.jsonl.gz", dump.name));
    let mut blocks = 0;
    for (height, line) in (0..).zip(BufReader::new(GzDecoder::new(&file[..])).lines()) {
        let log: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let expected = log["executions"].as_array().unwrap();
        let found = stored.executions(height).unwrap().unwrap();
        assert_eq!(expected.len(), found.len());
        for execution in &found {
            let what = format!("{} {height} {}", dump.name, execution.container);
            let same = |each: &&Value| {
                each["container"] == execution.container.to_string()
                    && each["trigger"] == execution.trigger.name()
            };
            let expected = expected.iter().find(same).expect(&what);
            let found = shown::execution(execution);
            assert!(*expected == found, "{what}: expected\n{expected}\nfound\n{found}");
        }
        blocks += 1;
    }
    assert_eq!(blocks, dump.blocks);
    for (height, root) in (0..).zip(oracle::roots(dump)) {
        assert_eq!(stored.root_at(height).unwrap(), Some(root), "{} {height}", dump.name);
    }
    let mut storage = BTreeMap::new();
    for (key, value) in oracle::changes(dump).into_iter().flatten() {
        match value {
            Some(value) => storage.insert(key.as_slice().to_vec(), value.to_vec()),
            None => storage.remove(key.as_slice()),
        };
    }
    assert!(tables(data).swap_remove(0) == storage, "{}: contract storage", dump.name);
}

/// All entries of the tables, contract storage first.
fn tables(data: &Path) -> Vec<BTreeMap<Vec<u8>, Vec<u8>>> {
    let names = [STORAGE, TRANSACTIONS, CONFLICTS, TRANSFERS, UPDATES, ROOTS];
    let parts = |opening: &mut blockmill_store::Opening| {
        let open = |name| opening.table(name, &TableOptions::new(1 << 20));
        names.into_iter().map(open).collect::<blockmill_store::Result<Vec<Table>>>()
    };
    let (_, tables) = ChainStore::open_read_only_with(data, parts).unwrap();
    let entries = |table: &Table| {
        let (mut found, mut scan) = (BTreeMap::new(), table.iter().unwrap());
        while let Some((key, value)) = scan.next().unwrap() {
            found.insert(key.to_vec(), value.to_vec());
        }
        found
    };
    tables.iter().map(entries).collect()
}

/// The stored application logs of the blocks.
fn logs(data: &Path) -> Vec<Vec<u8>> {
    let (store, _) = ChainStore::open_read_only(data).unwrap();
    (0..store.count()).map(|height| store.receipts(height).unwrap().unwrap()).collect()
}

fn root_of(dump: Dump, height: usize) -> UInt256 {
    oracle::roots(dump)[height]
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn dumps_are_executed_as_by_neo_go() {
    for dump in Dump::ALL {
        for threads in [1, 2] {
            let folder = tempfile::tempdir().unwrap();
            let (path, options) = (blockmill_testkit::fixture(dump.file), options(dump, threads));
            let (run, outcome) = run(&path, &options, folder.path());
            outcome.unwrap_or_else(|error| panic!("{}: {error}", dump.name));
            assert_eq!(run.root, Some(root_of(dump, dump.blocks - 1)));
            assert_eq!((run.blocks, run.unverified), (dump.blocks as u64, 0));
            assert_eq!((run.transactions, run.tolerated), (dump.transactions as u64, 0));
            compare_with_oracle(dump, folder.path());
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_option_gives_the_same_roots_logs_and_transfers() {
    let dump = Dump::CHAIN50;
    let default = Settings::default();
    let neighbours = default.neighbours().map(|(_, _, settings)| settings);
    // all distributions of the work over tasks
    let mut all: Vec<Settings> = [default].into_iter().chain(neighbours).collect();
    for tasks in ["tasks=1", "tasks=2", "tasks=3"] {
        for roots in ["roots=each-block", "roots=many-blocks"] {
            all.push(default.with(&[tasks, roots]).unwrap());
        }
    }
    let mut expected = None;
    for settings in all {
        let folder = tempfile::tempdir().unwrap();
        let batch = blockmill_archive::ChunkLimit { blocks: 7, bytes: 2 << 20 };
        let options = Options { settings, batch, memory: 1 << 16, ..options(dump, 2) };
        let (run, outcome) = run(&blockmill_testkit::fixture(dump.file), &options, folder.path());
        outcome.unwrap();
        assert_eq!(run.root, Some(root_of(dump, 50)));
        let found = (tables(folder.path()), logs(folder.path()));
        assert!(found.0[3].len() > 100, "transfers");
        assert!(*expected.get_or_insert_with(|| found.clone()) == found, "{settings:?}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn little_memory_and_one_block_at_a_time_have_the_same_result() {
    let dump = Dump::MIXED;
    let folder = tempfile::tempdir().unwrap();
    let batch = blockmill_archive::ChunkLimit { blocks: 3, bytes: 1 << 20 };
    let options = Options { batch, memory: 1 << 16, ..options(dump, 2) };
    let (run, outcome) = run(&blockmill_testkit::fixture(dump.file), &options, folder.path());
    outcome.unwrap();
    assert_eq!(run.root, Some(root_of(dump, dump.blocks - 1)));
    compare_with_oracle(dump, folder.path());
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_import_resumes_from_the_committed_state() {
    for (dump, stops) in [(Dump::CHAIN50, vec![0, 7, 30]), (Dump::EMPTY, vec![1, 777])] {
        let folder = tempfile::tempdir().unwrap();
        let path = blockmill_testkit::fixture(dump.file);
        let mut before = None;
        for until in stops.into_iter().map(Some).chain([None]) {
            let options = Options { until, ..options(dump, 2) };
            let (run, outcome) = run(&path, &options, folder.path());
            outcome.unwrap();
            let last = until.map_or(dump.blocks - 1, |until| until as usize);
            assert_eq!(run.root, Some(root_of(dump, last)), "{} {last}", dump.name);
            assert_eq!((run.resumed, run.committed), (before, Some(last as u64)));
            before = Some(last as u32);
        }
        compare_with_oracle(dump, folder.path());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_state_as_of_every_block_is_kept_on_request() {
    let dump = Dump::CHAIN50;
    let folder = tempfile::tempdir().unwrap();
    let dumps = acc::open(&[blockmill_testkit::fixture(dump.file)]).unwrap();
    let open = || Ledger::open_with_history(folder.path(), &blockmill_store::Options::default());
    for until in [Some(20), None] {
        let mut sink = Sink::Ledger(Box::new(open().unwrap()));
        let options = Options { until, ..options(dump, 2) };
        import(&dumps, &options, &mut sink, |_| {}).1.unwrap();
    }
    compare_with_oracle(dump, folder.path());
    let stored = StoreReader::open(folder.path()).unwrap();
    let mut storage: BTreeMap<_, Option<Vec<u8>>> = BTreeMap::new();
    for (height, changes) in (0..).zip(oracle::changes(dump)) {
        let value = |value: Option<blockmill_neo::state::Value>| value.map(|all| all.to_vec());
        storage.extend(changes.into_iter().map(|(key, changed)| (key, value(changed))));
        for (key, expected) in &storage {
            let found = stored.value_at(height, key.id(), key.key()).unwrap();
            assert_eq!(found, *expected, "{height} {key:?}");
        }
        let trie = stored.trie_at(height).unwrap().unwrap();
        assert_eq!(Some(trie.root()), stored.root_at(height).unwrap());
    }
    // a store that began without history cannot have it
    let folder = tempfile::tempdir().unwrap();
    run(&blockmill_testkit::fixture(dump.file), &options(dump, 2), folder.path()).1.unwrap();
    let without = Ledger::open_with_history(folder.path(), &blockmill_store::Options::default());
    assert!(matches!(without, Err(Error::OtherChain { .. })));
    assert!(StoreReader::open(folder.path()).unwrap().trie_at(5).unwrap().is_none());
}

fn write(folder: &Path, blocks: &[Vec<u8>]) -> PathBuf {
    let path = folder.join("changed.acc");
    let _ = std::fs::remove_file(&path);
    let head = Head { first: 0, count: blocks.len() as u32, incremental: false };
    let mut writer = DumpWriter::create(&path, head, false).unwrap();
    blocks.iter().for_each(|block| writer.append(block).unwrap());
    writer.finish().unwrap();
    path
}

/// Imports modified blocks. Returns the height and rule of the fault. Earlier blocks stay.
fn broken(options: &Options, blocks: &[Vec<u8>]) -> (u64, Rule) {
    let folder = tempfile::tempdir().unwrap();
    let (run, outcome) = run(&write(folder.path(), blocks), options, &folder.path().join("data"));
    let Err(Error::Fault(fault)) = outcome else { panic!("{outcome:?}") };
    let Cause::Rule(violation) = fault.cause else { panic!("{:?}", fault.cause) };
    assert_eq!(run.committed, fault.block.checked_sub(1));
    (fault.block, violation.rule)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_invalid_witness_is_rejected_and_earlier_blocks_stay() {
    let dump = Dump::CHAIN50;
    let blocks = dumps::blocks(dump);
    let mut seen = 0;
    for (height, block) in blocks.iter().enumerate().skip(20).step_by(9) {
        let Some(transaction) = block.transactions().next() else { continue };
        let Some(witness) = transaction.witnesses().find(|each| !each.invocation.is_empty()) else {
            continue;
        };
        let at = witness.invocation.as_ptr() as usize - block.raw.as_ptr() as usize;
        let mut changed = records(dump);
        changed[height][at + 10] ^= 1;
        assert_eq!(broken(&options(dump, 2), &changed), (height as u64, Rule::Witness));
        seen += 1;
    }
    assert!(seen > 0);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_state_root_of_another_configuration_is_refused() {
    // equal genesis blocks, but other initial values of native contracts
    let dump = Dump::EMPTY;
    let options = options(dump, 2);
    let mut protocol = (*options.protocol).clone();
    protocol.initial_gas += 1;
    let options = Options { protocol: protocol.into(), ..options };
    assert_eq!(broken(&options, &records(dump)), (1, Rule::StateRoot));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_sender_without_the_fees_is_refused() {
    // equal genesis blocks, but the consensus nodes get less GAS than they spend
    let dump = Dump::CHAIN50;
    let options = options(dump, 2);
    let first = dumps::blocks(dump).iter().position(|each| !each.transactions.is_empty()).unwrap();
    let protocol = Protocol { initial_gas: 1000, ..(*options.protocol).clone() };
    let poor = Options { protocol: protocol.into(), ..options.clone() };
    assert_eq!(broken(&poor, &records(dump)), (first as u64, Rule::Funds));
    // a network that tolerates such blocks reports them
    let protocol = Protocol { verify_transactions: false, ..(*poor.protocol).clone() };
    let lenient = Options { protocol: protocol.into(), until: Some(first as u32), ..poor };
    let folder = tempfile::tempdir().unwrap();
    let (run, _) = run(&blockmill_testkit::fixture(dump.file), &lenient, folder.path());
    assert!(run.tolerated >= 1 || run.blocks == first as u64, "{run:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_transaction_that_is_valid_for_too_long_is_refused() {
    let dump = Dump::CHAIN50;
    let options = options(dump, 2);
    let mut protocol = (*options.protocol).clone();
    protocol.max_valid_until_block_increment = 1;
    protocol.genesis.max_valid_until_block_increment = 1;
    let options = Options { protocol: protocol.into(), ..options };
    assert_eq!(broken(&options, &records(dump)).1, Rule::ValidUntilIncrement);
}
