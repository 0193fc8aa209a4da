//! State dumps against go-ethereum: its dumps are imported and continued, and what is dumped
//! afterwards is what it dumps, byte by byte.

use blockmill_bench::counting::CountingAllocator;
use blockmill_bench::definition::{Definition, Settings};
use blockmill_bench::peers::{self, Ready};
use blockmill_bench::workloads;
use blockmill_pipeline::Cancel;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator(std::alloc::System);

/// The block of the first dumps, and the last block.
const MIDDLE: &str = "20";
const LAST: &str = "40";

fn benchmarks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks")
}

fn geth() -> Ready {
    let all = peers::load(&benchmarks().join("peers.toml")).unwrap();
    let peer = all.into_iter().find(|peer| peer.name() == "geth-blocks-no-prefetch").unwrap();
    peer.prepare().unwrap_or_else(|left_out| panic!("{left_out}"))
}

/// A chain of random programs.
fn chain(folder: &Path) -> Settings {
    let all = Definition::all(&benchmarks().join("definitions")).unwrap();
    let definition = all.into_iter().find(|it| it.name == "execution-transfers").unwrap();
    let mut settings = definition.settings;
    let changed = [
        ("work", "mixed"),
        ("fork", "osaka"),
        ("seed", "3"),
        ("blocks", LAST),
        ("block-transactions", "30"),
        ("accounts", "32"),
    ];
    settings.extend(changed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    workloads::by_name("import").unwrap().prepare(&mut settings, folder, &mut |_| {}).unwrap();
    settings
}

/// Dumps of go-ethereum after a block: with addresses, and hashed.
fn dumps(geth: &Ready, settings: &Settings, until: &str, folder: &Path) -> [PathBuf; 2] {
    let paths = ["plain", "hashed"].map(|name| folder.join(format!("{name}-{until}.jsonl")));
    let mut settings = settings.clone();
    let [plain, hashed] = paths.each_ref().map(|path| path.to_str().unwrap().to_owned());
    settings.extend([
        ("dump".into(), plain),
        ("hashed".into(), hashed),
        ("until".into(), until.to_owned()),
    ]);
    let more = ["-until", "{until}", "-dump", "{dump}", "-snapshot-dump", "{hashed}"];
    geth.run_with(&more, &settings, &folder.join(until)).unwrap();
    paths
}

/// Runs a command that succeeds, and returns its document.
fn ours(words: &str, paths: &[(&str, &Path)]) -> Value {
    let mut arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
    for (flag, path) in paths {
        arguments.extend(flag.split_whitespace().map(OsString::from));
        arguments.push(path.into());
    }
    let answer: Value =
        serde_json::from_str(&blockmill_cli::library::answer(&arguments, &Cancel::new())).unwrap();
    assert_eq!(answer["exit_code"], 0, "{words}: {answer}");
    answer
}

#[blockmill_testkit::needs(peers)]
#[test]
fn dumps_of_go_ethereum_continue_and_are_dumped_again_equal() {
    let (geth, folder) = (geth(), tempfile::tempdir().unwrap());
    let settings = chain(&folder.path().join("data"));
    let [genesis, blocks] = ["genesis", "paths"].map(|name| PathBuf::from(&settings[name]));
    let first = dumps(&geth, &settings, MIDDLE, folder.path());
    let last = dumps(&geth, &settings, LAST, folder.path());
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&first[0]) > 10_000 && size(&last[1]) > size(&first[1]));
    // which dump is imported, and in which form the state is written
    for (from, to, state) in
        [(0, 0, "memory"), (0, 1, "pages"), (1, 1, "pages"), (1, 1, "flat+trie")]
    {
        let [store, out] =
            ["store", "out"].map(|it| folder.path().join(format!("{it}{from}{state}")));
        let (data, chain) = (("--data", &*store), ("--chain", &*genesis));
        let with = format!("import --with state={state}");
        let begun = ours(&with, &[data, chain, ("--state", &first[from]), ("--block", &blocks)]);
        assert_eq!(begun["result"]["block"].to_string(), MIDDLE);
        let record = ours(&with, &[data, chain, ("", &blocks)]);
        assert_eq!(record["result"]["level"], "execution", "{record}");
        for (until, expected) in [(MIDDLE, &first), (LAST, &last)] {
            let words = format!("convert --to state-jsonl --force --until {until}");
            ours(&words, &[("--out", &out), ("", &store)]);
            let [found, expected] = [&out, &expected[to]].map(|path| fs::read(path).unwrap());
            assert!(found == expected, "{state}, block {until}, from {from}");
        }
        let mut settings = settings.clone();
        settings.insert("dump".into(), out.to_str().unwrap().into());
        let checked = geth.run_with(&["-check-dump", "{dump}"], &settings, folder.path()).unwrap();
        assert_eq!(checked.answers()["state_root"], record["result"]["answer"]["state_root"]);
    }
}
