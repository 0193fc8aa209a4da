//! The real peers, built and run on a little data of every definition that names them: each prints
//! the parts of a run record, and has the same answers as our program.

use blockmill_bench::counting::CountingAllocator;
use blockmill_bench::definition::{Definition, Settings};
use blockmill_bench::job::Job;
use blockmill_bench::peers::{self, Peer, Ready};
use blockmill_bench::workloads::{self, Workload};
use blockmill_pipeline::record::{CHECK_DECODE, CHECK_VERIFY, CHUNK, RunRecord, WALL_S, WRITE};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator(std::alloc::System);

/// Settings that make these runs smaller than the definitions say.
const LITTLE: [(&str, &str); 13] = [
    ("gas", "200000"),
    ("among", "ADD SLOAD CALL"),
    ("headers", "5000"),
    ("gb", "0.02"),
    ("inputs", "2000"),
    ("unusual", "200"),
    ("keys", "10000"),
    ("samples", "3"),
    ("min-ms", "0"),
    ("page-cache", "warm"),
    ("blocks", "5"),
    ("accounts", "200"),
    ("slots", "4096"),
];

/// The same of Neo, whose settings have names of their own there.
const LITTLE_NEO: [(&str, &str); 4] =
    [("blocks", "30"), ("txs", "20"), ("accounts", "150"), ("digest", "true")];

/// The last of the first 16,383 headers of the main network.
const HASH: &str = "0x05c64fc4842734317f8f1dfe29a7e16f676575ad82a7dae37cef1379cf8500b5";

fn benchmarks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks")
}

fn definitions() -> Vec<Definition> {
    Definition::all(&benchmarks().join("definitions")).unwrap()
}

fn definition_of(name: &str) -> Definition {
    definitions().into_iter().find(|definition| definition.name == name).unwrap()
}

/// All peers.
fn all_peers() -> Vec<Peer> {
    peers::load(&benchmarks().join("peers.toml")).unwrap()
}

/// All peers, built.
fn built() -> HashMap<String, Ready> {
    let all = all_peers();
    let ready = |peer: Peer| {
        let ready = peer.prepare().unwrap_or_else(|left_out| panic!("{left_out}"));
        (peer.name().to_owned(), ready)
    };
    all.into_iter().map(ready).collect()
}

/// What a definition asks for, but with little data.
fn little(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    for (name, value) in LITTLE {
        // blocks of other chains are small
        if name == "blocks" && !settings.contains_key("work") {
            continue;
        }
        settings.entry(name.into()).and_modify(|known| value.clone_into(known));
    }
    if settings.get("chain").is_some_and(|chain| chain == "neo") {
        settings.extend(LITTLE_NEO.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    if let Some(coins) = settings.get_mut("coins").filter(|coins| !coins.is_empty()) {
        *coins = "3000".into();
    }
    settings
}

/// A definition with little data, in `folder`. Settings that only the user can give name a
/// generated chain, or real blocks.
fn prepared(definition: &Definition, settings: &Settings, folder: &Path) -> Settings {
    let workload = workloads::by_name(&definition.measures).unwrap();
    let mut settings = little(settings);
    if settings.contains_key("from") {
        let connect = definition_of("reindex-connect");
        let chain = prepared(&connect, &connect.settings, folder);
        settings.insert("from".into(), chain["paths"].clone());
    }
    if definition.measures == "witnesses" {
        let blocks = blockmill_testkit::fixture("ethereum/witness");
        settings.insert("paths".into(), blocks.to_str().unwrap().into());
    } else if ["public-tests", "benchmark-tests"].contains(&&*definition.measures) {
        let tests = folder.join("tests");
        if !tests.exists() {
            blockmill_testkit::unpack("ethereum/amsterdam/eels-osaka-bpo.tar.zst", &tests);
        }
        settings.insert("paths".into(), tests.display().to_string());
    } else if settings.contains_key("paths") {
        let executes = settings["level"] == "execution";
        let given = definition_of(if executes { "execution-erc20" } else { "headers" });
        let chain = prepared(&given, &given.settings, folder);
        for name in ["paths", "genesis"] {
            settings.insert(name.into(), chain[name].clone());
        }
    }
    workload.prepare(&mut settings, folder, &mut |_| {}).unwrap();
    settings
}

/// A run of ours.
fn ours(workload: &dyn Workload, settings: &Settings, folder: &Path) -> RunRecord {
    let (settings, folder) = (settings.clone(), folder.join("ours"));
    let job = Job { measures: workload.name().into(), settings, folder, ..Job::default() };
    workload.measure(&job).unwrap()
}

/// Checks that the answers of `record` equal ours; returns how many answers both have.
fn agree(record: &RunRecord, ours: &RunRecord, case: &str) -> usize {
    let expected = ours.answers();
    let mut both = 0;
    for (name, found) in record.answers() {
        if let Some(expected) = expected.get(name).filter(|expected| !expected.is_empty()) {
            assert_eq!(found, *expected, "{case}, {}: {name}", record.label);
            both += 1;
        }
    }
    both
}

/// One case of a definition.
fn hold(definition: &Definition, settings: &Settings, ready: &HashMap<String, Ready>) -> usize {
    let workload = workloads::by_name(&definition.measures).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut settings = prepared(definition, settings, &folder.path().join("data"));
    let step = definition.steps.clone().into_iter().next();
    let (name, mut values) = step.unwrap_or(("step".into(), vec!["".into()]));
    if name == "until" {
        // of the few blocks that there are
        values = vec!["3".into(), "5".into()];
    }
    let mut both = 0;
    for value in values {
        settings.insert(name.clone(), value);
        let ours = ours(workload, &settings, folder.path());
        for peer in &definition.peers {
            let case = format!("{} {settings:?}", definition.name);
            let record = ready[peer].run(&settings, &folder.path().join(peer));
            let record = record.unwrap_or_else(|error| panic!("{case}, {peer}: {error:#}"));
            for fact in &definition.compare {
                let fact = fact.rsplit('.').next().unwrap();
                let known = record.facts.get(fact).is_some_and(|number| number >= 0.0);
                assert!(known || fact == "cpu_s" && record.cpu_s() > 0.0, "{case}, {peer}: {fact}");
            }
            both += agree(&record, &ours, &case);
        }
    }
    both
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn definitions_have_the_settings_that_their_peers_ask_for() {
    let (folder, all) = (tempfile::tempdir().unwrap(), all_peers());
    let mut asked = 0;
    for definition in definitions().iter().filter(|definition| !definition.peers.is_empty()) {
        let mut settings = prepared(definition, &definition.cases()[0].1, folder.path());
        settings.extend(definition.steps.iter().map(|(name, all)| (name.clone(), all[0].clone())));
        for name in &definition.peers {
            let peer = all.iter().find(|peer| peer.name() == name).unwrap();
            for setting in peer.settings() {
                let case = format!("{}, {name}: {setting}", definition.name);
                assert!(settings.contains_key(setting), "{case}");
                asked += 1;
            }
        }
    }
    assert!(asked > 50, "{asked}");
}

#[blockmill_testkit::needs(fixtures, peers)]
#[test]
fn peers_find_what_we_find() {
    let ready = built();
    let mut named = vec![];
    for definition in definitions().iter().filter(|definition| !definition.peers.is_empty()) {
        let workload = workloads::by_name(&definition.measures).unwrap();
        let mut both = 0;
        for (_, settings) in definition.cases() {
            if workload.fits(&settings).unwrap() {
                both += hold(definition, &settings, &ready);
            }
        }
        println!("{}: {both} answers", definition.name);
        // one block whose parent is unknown is in no chain of Core's
        assert!(both > 0 || definition.settings.get("data").is_some_and(|it| it == "one-block"));
        named.extend(definition.peers.clone());
    }
    assert!(ready.keys().all(|peer| named.contains(peer)), "{named:?}");
}

/// Every version of go-ethereum imports the first headers of the main network.
#[blockmill_testkit::needs(fixtures, peers)]
#[test]
fn real_headers_end_at_the_same_head() {
    let folder = tempfile::tempdir().unwrap();
    let definition = definition_of("headers");
    let era1 = blockmill_testkit::fixture("ethereum/era1");
    let names = ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"];
    let paths = names.map(|name| era1.join(name).to_str().unwrap().to_owned()).join(",");
    let mut settings = definition.settings;
    for (name, value) in [("data", "files"), ("paths", &paths), ("seal", "1/100")] {
        settings.insert(name.into(), value.into());
    }
    let workload = workloads::by_name("import").unwrap();
    workload.prepare(&mut settings, folder.path(), &mut |_| {}).unwrap();
    let ready = built();
    for peer in &definition.peers {
        let record = ready[peer].run(&settings, &folder.path().join(peer)).unwrap();
        assert_eq!((record.result.tip_number, record.result.tip_hash.as_str()), (16383, HASH));
        let chunks = record.series(CHUNK).unwrap();
        assert_eq!((chunks.len(), chunks.values("blocks").iter().sum::<f64>()), (8, 16383.0));
        assert_eq!(record.phases(), [CHECK_DECODE, CHECK_VERIFY, WRITE]);
        let busy: f64 = record.phases().iter().map(|phase| record.busy_s(phase)).sum();
        println!("{peer}: {} s, busy {busy}", record.wall_s());
        assert!(busy > 0.0 && busy <= record.facts.value(WALL_S));
        // version 1.17 checks none
        let checks_seals = record.facts.value("seals") >= 160.0;
        assert_eq!(checks_seals, !peer.starts_with("geth-v1.17"), "{peer}");
    }
}

/// Bitcoin Core reindexes the first blocks of the main network, shuffled.
#[blockmill_testkit::needs(fixtures, peers)]
#[test]
fn bitcoin_core_ends_with_the_coins_that_we_have() {
    let folder = tempfile::tempdir().unwrap();
    let definition = definition_of("reindex-connect");
    let blocks = blockmill_testkit::fixture("bitcoin/mainnet-0-4521.dat");
    let mut settings = definition.settings;
    for (name, value) in [("data", "shuffled"), ("from", blocks.to_str().unwrap())] {
        settings.insert(name.into(), value.into());
    }
    let workload = workloads::by_name("import").unwrap();
    workload.prepare(&mut settings, &folder.path().join("data"), &mut |_| {}).unwrap();
    let ours = ours(workload, &settings, folder.path());
    for cache in ["warm", "cold"] {
        settings.insert("page-cache".into(), cache.into());
        let ready = &built()["bitcoin-core"];
        let record = ready.run(&settings, &folder.path().join(cache)).unwrap();
        assert_eq!(record.result.tip_number, 4521);
        assert_eq!(agree(&record, &ours, cache), 4, "number and hash, coins and their hash");
        let stages: Vec<_> = record.stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(stages, ["open", "load", "connect", "close"]);
        let busy: f64 = record.stages.iter().map(|stage| stage.busy_s).sum();
        assert!((busy - record.wall_s()).abs() < 1e-6 && record.facts.value("index_s") > 0.0);
    }
}

/// neo-go restores mixed chains of ours, and has our state roots and application logs, block by
/// block.
#[blockmill_testkit::needs(peers)]
#[test]
fn neo_go_finds_in_generated_chains_what_we_find() {
    let definition = definition_of("restore-mixed");
    let ready = &built()["neo-go"];
    for seed in ["11", "12", "13"] {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = definition.settings.clone();
        let own = [
            ("blocks", "60"),
            ("txs", "80"),
            ("accounts", "120"),
            ("seed", seed),
            ("threads", "2"),
        ];
        settings.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let workload = workloads::by_name("import").unwrap();
        workload.prepare(&mut settings, &folder.path().join("data"), &mut |_| {}).unwrap();
        let ours = ours(workload, &settings, folder.path());
        let record = ready.run(&settings, &folder.path().join("peer")).unwrap();
        let case = format!("seed {seed}");
        assert_eq!(agree(&record, &ours, &case), 4, "number and hash, root and digest");
        assert!(ours.facts.value("transactions") > 4_000.0);
    }
}

/// We restore what neo-go generated, and so does it.
#[blockmill_testkit::needs(fixtures, peers)]
#[test]
fn chains_of_neo_go_are_restored_alike() {
    let ready = &built()["neo-go"];
    let mut settings = definition_of("restore-mixed").settings;
    for name in ["mix200x200-sr", "empty2000-sr"] {
        let folder = tempfile::tempdir().unwrap();
        // neo-go reads what is not compressed
        let dump = folder.path().join("chain.acc");
        std::fs::write(&dump, &*blockmill_testkit::read(format!("neo/gen/{name}.acc.zst")))
            .unwrap();
        let config = blockmill_testkit::fixture(format!("neo/gen/{name}.yml"));
        for (setting, path) in [("paths", &dump), ("config", &config)] {
            settings.insert(setting.into(), path.to_str().unwrap().into());
        }
        let ours = ours(workloads::by_name("import").unwrap(), &settings, folder.path());
        let record = ready.run(&settings, &folder.path().join("peer")).unwrap();
        assert_eq!(agree(&record, &ours, name), 4, "number and hash, root and digest");
    }
}
