//! Level execution through the stages of an import.

use crate::source;
use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::Limits;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::import::{Options, Run, import};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::{RootInterval, Settings};
use blockmill_ethereum::state::{DiskOptions, FlatStore, StateKind};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::{NamedOption, OptionSet};
use blockmill_rlp::Encode;
use blockmill_store::ChainStore;
use std::path::PathBuf;
use std::sync::Arc;

pub fn options(spec: ChainSpec, settings: Settings) -> Options {
    Options {
        spec: Arc::new(spec),
        level: Level::Execution,
        seal: SealPolicy { mode: SealMode::Off, seed: 1 },
        settings,
        threads: 2,
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: false,
        recheck: true,
        trust: vec![],
        caches: Caches::new(None, 1),
        now: None,
        consumer: None,
        cancel: Cancel::default(),
    }
}

/// A chain whose second half is of Amsterdam and has access lists.
pub const INTO_AMSTERDAM: &str = "transition-240";

/// A chain of the fixtures.
pub fn published(name: &str) -> (ChainSpec, PathBuf) {
    let (folder, export) = match name {
        INTO_AMSTERDAM => ("bal-chains", "chain-with-bal.rlp"),
        _ => ("chains", "chain.rlp"),
    };
    let file = |file: &str| format!("ethereum/{folder}/{name}/{file}");
    let genesis = blockmill_testkit::read(file("genesis.json"));
    let spec = ChainSpec::from_genesis_json(str::from_utf8(&genesis).unwrap()).unwrap();
    (spec, blockmill_testkit::fixture(file(export)))
}

/// The run, and its error as a sentence.
pub fn run(path: PathBuf, options: &Options, sink: &mut Sink) -> (Run, Option<String>) {
    let archive = Archive::open(&[path]).unwrap();
    let (run, outcome) = import(&archive, options, sink, |_| {});
    (run, outcome.err().map(|error| error.to_string()))
}

/// Where a state can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub state: StateKind,
    /// Where flat values and nodes are.
    pub flat: FlatStore,
}

impl Place {
    /// Those that this program has, the state in memory first.
    pub fn all() -> Vec<Self> {
        let of = |state| {
            let is_flat =
                move |flat: &FlatStore| state == StateKind::FlatTrie || *flat == FlatStore::Tables;
            FlatStore::available().filter(is_flat).map(move |flat| Self { state, flat })
        };
        let mut all: Vec<_> = StateKind::available().flat_map(of).collect();
        all.reverse();
        all
    }

    /// Those on disk.
    pub fn on_disk() -> Vec<Self> {
        Self::all().into_iter().filter(|place| place.state != StateKind::Memory).collect()
    }

    /// The options for it, with others.
    pub fn with(self, others: &[&str]) -> Settings {
        let own = Settings { state: self.state, flat_store: self.flat, ..Settings::default() };
        own.with(others).unwrap()
    }

    /// These limits with a new store there.
    pub fn limits(self, limits: Limits) -> Limits {
        let disk = DiskOptions { flat_store: self.flat, ..limits.disk };
        Limits { state: self.state, disk, ..limits }
    }
}

/// Every neighbour of the default setting, that one, and that in which everything is slow.
pub fn settings() -> Vec<Settings> {
    let default = Settings::default();
    let neighbours = default.neighbours().map(|(_, _, settings)| settings);
    let read_ahead = [
        ["prefetch=runs", "speculate=all"],
        ["prefetch=access", "commit=serial"],
        ["prefetch=history", "speculate=off"],
        ["prefetch=dry-runs", "trie-preload=on"],
        ["prefetch=dry-runs", "references=cache"],
    ];
    let on_disk = Place::on_disk()
        .into_iter()
        .flat_map(|place| read_ahead.map(|[prefetch, other]| place.with(&[prefetch, other])));
    let on_disk: Vec<Settings> = on_disk.collect();
    let rest = [default, Settings::plainest()];
    neighbours.chain(on_disk).chain(in_rocksdb()).chain(rest).collect()
}

/// Every neighbour of a state in RocksDB, where there is that.
fn in_rocksdb() -> Vec<Settings> {
    let is_it = |place: &Place| place.flat == FlatStore::RocksDb;
    let own = Place::all().into_iter().filter(is_it).map(|place| place.with(&[]));
    let turned = own.flat_map(|settings| settings.neighbours().collect::<Vec<_>>());
    let of_it = ["read-checksum", "bloom", "block-cache"];
    turned.filter(|(option, ..)| of_it.contains(&option.name)).map(|(.., it)| it).collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_setting_executes_the_chains_through_every_fork() {
    let chains = [("execution-apis", 54), (INTO_AMSTERDAM, 240)];
    let chains = chains.map(|(name, blocks)| (published(name), blocks));
    let settings = settings();
    assert!(settings.len() > 5);
    for settings in settings {
        for ((spec, path), blocks) in &chains {
            let options = options(spec.clone(), settings);
            let (run, error) = run(path.clone(), &options, &mut Sink::Discard);
            assert_eq!((run.blocks, error), (*blocks, None));
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn chains_and_era1_files_are_executed_by_the_stages() {
    for (name, blocks) in [("geth-ethtest", 600), ("hive-engine", 1_024), ("hive-sync", 3_000)] {
        let (spec, path) = published(name);
        let options = options(spec, Settings::default());
        let (run, error) = run(path, &options, &mut Sink::Discard);
        assert_eq!((run.blocks, error), (blocks, None), "{name}");
    }
    for (network, file) in
        [("mainnet", "mainnet-00000-5ec1ffb8.era1"), ("sepolia", "sepolia-00000-643a00f7.era1")]
    {
        let options = options(ChainSpec::by_name(network).unwrap(), Settings::default());
        let path = blockmill_testkit::fixture(format!("ethereum/era1/{file}"));
        let (run, error) = run(path, &options, &mut Sink::Discard);
        assert_eq!((run.blocks, error), (8_192, None), "{network}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_goes_on_where_it_ended() {
    let (spec, path) = published("geth-ethtest");
    let folder = tempfile::tempdir().unwrap();
    for (until, tip) in [(Some(250), 250), (None, 600)] {
        let (store, _) =
            ChainStore::open(folder.path(), &blockmill_store::Options::default()).unwrap();
        let options = Options { until, ..options(spec.clone(), Settings::default()) };
        let mut sink = Sink::Segments(Box::new(store));
        let (run, error) = run(path.clone(), &options, &mut sink);
        assert_eq!((run.committed, error), (Some(tip), None));
        assert_eq!(run.resumed.is_some(), until.is_none());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_archive_that_begins_without_its_state_is_refused() {
    let options = options(ChainSpec::by_name("mainnet").unwrap(), Settings::default());
    let path = blockmill_testkit::fixture("ethereum/era1/mainnet-00001-a5364e9a.era1");
    let (_, error) = run(path, &options, &mut Sink::Discard);
    assert!(error.unwrap().starts_with("--level execution: expected the state before block 8192"));
}

/// Of several blocks that are rooted together, the one whose root is wrong is named.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_wrong_root_is_found_among_blocks_that_are_rooted_together() {
    let (spec, path) = published("geth-ethtest");
    let blocks = source::chain("geth-ethtest");
    let folder = tempfile::tempdir().unwrap();
    let settings = |root_every| Settings { root_every, ..Settings::default() };
    let (every_8, every_64) = (RootInterval::Every8, RootInterval::Every64);
    let mut named = 0;
    for (at, every) in [
        (5, every_8),
        (300, every_8),
        (301, every_64),
        (350, every_64),
        (599, every_64),
        (598, RootInterval::Each),
    ] {
        // an account that is what it should be, and a header that says another root of all
        let mut wrong = blocks[..=at].to_vec();
        let mut header = HeaderView::decode(&blocks[at].header).unwrap().to_owned();
        header.state_root[9] ^= 1;
        wrong[at].header = header.encode();
        let path = folder.path().join(format!("{at}.rlp"));
        super::refused::export(&path, &wrong);
        let options = options(spec.clone(), settings(every));
        let (run, error) = run(path, &options, &mut Sink::Discard);
        let error = error.unwrap();
        let number = at + 1;
        assert!(error.starts_with(&format!("block {number} ")), "{error}");
        assert!(error.contains("state root"), "{error}");
        assert_eq!(run.blocks, at as u64);
        named += 1;
    }
    assert_eq!(named, 6);
    for every in [every_8, every_64] {
        let options = options(spec.clone(), settings(every));
        let (run, error) = run(path.clone(), &options, &mut Sink::Discard);
        assert_eq!((run.blocks, error), (600, None));
    }
}

/// Whatever stage finds a fault, and whatever stage finds another after it: each setting names the
/// same block and the same rule.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_setting_refuses_the_same_block_with_the_same_words() {
    type Change = fn(&mut blockmill_ethereum::header::Header);
    let state_root: Change = |header| header.state_root[3] ^= 1;
    let receipts_root: Change = |header| header.receipts_root[3] ^= 1;
    let transactions_root: Change = |header| header.transactions_root[3] ^= 1;
    let gas_used: Change = |header| header.gas_used += 1;
    let (spec, path) = published("geth-ethtest");
    let blocks = source::chain("geth-ethtest");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(path.file_name().unwrap());
    let mut refused = 0;
    for (faults, rule) in [
        (vec![(70, transactions_root)], "transactions root"),
        (vec![(70, receipts_root), (70, state_root)], "state root"),
        (vec![(70, receipts_root), (71, state_root)], "receipts root"),
        (vec![(70, transactions_root), (69, gas_used)], "gas used"),
        (vec![(71, transactions_root), (70, state_root)], "state root"),
        (vec![(71, gas_used), (70, state_root)], "state root"),
    ] {
        let mut wrong = blocks[..=71].to_vec();
        let mut parent = None;
        for (at, block) in wrong.iter_mut().enumerate().skip(1) {
            let mut header = HeaderView::decode(&block.header).unwrap().to_owned();
            header.parent_hash = parent.unwrap_or(header.parent_hash);
            faults.iter().filter(|fault| fault.0 == at).for_each(|fault| fault.1(&mut header));
            block.header = header.encode();
            parent = Some(HeaderView::decode(&block.header).unwrap().hash());
        }
        super::refused::export(&path, &wrong);
        let mut first = None;
        for settings in settings() {
            // compared with those of 64 blocks, a root is compared after other things
            if settings.root_every != RootInterval::Each {
                continue;
            }
            let options = options(spec.clone(), settings);
            let (run, error) = run(path.clone(), &options, &mut Sink::Discard);
            let ended = (run.blocks, error.unwrap());
            let expected = format!("block {} ", ended.0 + 1);
            assert!(ended.1.starts_with(&expected) && ended.1.contains(rule), "{ended:?}");
            assert!(*first.get_or_insert_with(|| ended.clone()) == ended, "{ended:?} {settings:?}");
            refused += 1;
        }
    }
    assert!(refused > 60, "{refused}");
}
