//! State roots and application logs, entry by entry: `convert --to neo-go` writes for each block
//! and transaction what neo-go v0.122 has.
//!
//! The chains are the cases, a stored sample of random ones (`tests/random/README.md`), and random
//! ones that the peer generates.

use blockmill_archive::acc;
use blockmill_leveldb::Scan;
use blockmill_neo::Level;
use blockmill_neo::export::to_neo_go;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import};
use blockmill_neo::ledger::Ledger;
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::params::Protocol;
use blockmill_pipeline::Cancel;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Prefix of blocks and transactions (`storage.DataExecutable`).
const EXECUTABLE: u8 = 0x01;
/// Number of random chains, and the seed of the first one.
const CHAINS: &str = "BLOCKMILL_RANDOM_CHAINS";
const SEED: &str = "BLOCKMILL_RANDOM_SEED";

/// A line of the oracle: height, hash as in keys, subject of the entry, value.
struct Line {
    height: String,
    hash: Vec<u8>,
    kind: String,
    value: Vec<u8>,
}

/// neo-go's results for a chain.
struct Oracle {
    roots: Vec<String>,
    lines: Vec<Line>,
}

/// The program's results and their differences.
#[derive(Default)]
struct Compared {
    entries: usize,
    transactions: usize,
    /// Entries that differ only in the fault message.
    texts: Vec<String>,
    /// All other differences.
    others: Vec<String>,
    /// Differences of entries: kind, neo-go's value, own value.
    values: Vec<(String, Vec<u8>, Vec<u8>)>,
}

fn text(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let bytes = match path.extension().is_some_and(|ending| ending == "zst") {
        true => zstd::decode_all(&bytes[..]).unwrap(),
        false => bytes,
    };
    // names of cases have arbitrary bytes
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Oracle {
    fn read(roots: &Path, logs: &Path) -> Self {
        let root = |line: &str| {
            let root = line.split_once(' ').unwrap().1;
            format!("0x{}", root.trim_start_matches("0x"))
        };
        let line = |line: &str| {
            let (height, rest) = line.split_once(' ').unwrap();
            let (hash, rest) = rest.split_once(' ').unwrap();
            let (kind, value) = rest.rsplit_once(' ').unwrap();
            let [mut hash, value] =
                [hash, value].map(|digits| blockmill_testkit::hex::decode(digits));
            hash.reverse();
            Line { height: height.into(), hash, kind: kind.into(), value }
        };
        let (roots, logs) = (text(roots), text(logs));
        Self { roots: roots.lines().map(root).collect(), lines: logs.lines().map(line).collect() }
    }
}

/// Imports a chain, exports it for neo-go, and compares both with the oracle.
fn compare(dump: &Path, config: &Path, oracle: &Oracle) -> Compared {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("data"), folder.path().join("out"));
    let protocol = Protocol::from_yaml(&fs::read_to_string(config).unwrap()).unwrap();
    let options = Options { threads: 2, level: Level::Execution, ..Options::new(protocol) };
    let mut sink =
        Sink::Ledger(Ledger::open(&data, &blockmill_store::Options::default()).unwrap().into());
    let dumps = acc::open(&[dump.to_path_buf()]).unwrap();
    let outcome = import(&dumps, &options, &mut sink, |_| {}).1;
    drop(sink);
    let mut compared = Compared::default();
    compared.others.extend(outcome.err().map(|error| error.to_string()));
    to_neo_go(&data, &out, &Cancel::default()).unwrap().unwrap();
    let (mut scan, mut entries) = (Scan::open(&out).unwrap(), BTreeMap::new());
    while scan.advance().unwrap() {
        if let Some((&EXECUTABLE, hash)) = scan.key().split_first() {
            entries.insert(hash.to_vec(), scan.value().to_vec());
        }
    }
    let stored = StoreReader::open(&data).unwrap();
    let texts = texts(&stored);
    let committed = stored.tip().unwrap().number;
    for (height, root) in (0..=committed).zip(&oracle.roots) {
        let found = stored.root_at(height as u32).unwrap().unwrap().to_string();
        if found != *root {
            compared.others.push(format!("root {height}: expected {root}, found {found}"));
        }
    }
    for line in &oracle.lines {
        if line.height.parse::<u64>().unwrap() > committed {
            continue;
        }
        compared.entries += 1;
        compared.transactions += usize::from(line.kind != "block");
        let Some(found) = entries.get(&line.hash) else {
            compared.others.push(format!("{} {}: no entry", line.height, line.kind));
            continue;
        };
        if *found != line.value {
            // neo-go overwrites the script (`docs/neo.md`)
            if line.kind.starts_with("base58CheckEncode_of_a_literal") {
                continue;
            }
            let exception = texts.get(&line.hash).map_or(0, |text| text.len());
            compared.add(line, found, exception);
        }
    }
    compared
}

/// The fault message of each failed transaction, as it ends the value of its entry.
fn texts(stored: &StoreReader) -> HashMap<Vec<u8>, Vec<u8>> {
    let mut texts = HashMap::new();
    for height in 0..=stored.tip().unwrap().number as u32 {
        for execution in stored.executions(height).unwrap().unwrap() {
            let Some(fault) = execution.fault else { continue };
            let mut text = Vec::new();
            blockmill_neo::execute::vm::serialize::write_size(&mut text, fault.len());
            text.extend_from_slice(fault.as_bytes());
            texts.insert(execution.container.0.to_vec(), text);
        }
    }
    texts
}

impl Compared {
    /// Adds a difference of an entry that ends with `exception` bytes of message.
    fn add(&mut self, line: &Line, found: &[u8], exception: usize) {
        let expected = &line.value;
        let at = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
        let start = found.len() - exception;
        // a length of one or three bytes precedes a message
        let is_text =
            exception > 0 && expected.len() > start && expected[..start] == found[..start];
        let shown = |value: &[u8]| {
            let from = if is_text { start } else { at.saturating_sub(90) };
            let part = &value[from.min(value.len())..value.len().min(from.max(at) + 200)];
            String::from_utf8_lossy(part).escape_debug().to_string()
        };
        let text = format!(
            "{} {}\n  expected {}\n  found    {}",
            line.height,
            line.kind,
            shown(expected),
            shown(found)
        );
        if is_text {
            self.texts.push(text);
            return;
        }
        self.others.push(text);
        self.values.push((line.kind.clone(), expected.clone(), found.to_vec()));
    }

    /// Asserts that exactly so many messages differ, and nothing else.
    fn assert(&self, texts: usize) {
        self.others.iter().for_each(|other| eprintln!("{other}"));
        assert!(self.others.is_empty(), "{} differences", self.others.len());
        if self.texts.len() != texts {
            self.texts.iter().for_each(|text| eprintln!("{text}"));
        }
        let (found, entries) = (self.texts.len(), self.entries);
        assert_eq!(found, texts, "texts of exceptions that differ, of {entries} entries");
    }
}

#[blockmill_testkit::needs(cases)]
#[test]
fn logs_of_odd_transactions_are_those_of_neo_go() {
    let case = blockmill_testkit::case("13-neo-divergences");
    let oracle = Oracle::read(&case.join("cases.roots"), &case.join("cases.logs.zst"));
    let compared = compare(&case.join("cases.acc"), &case.join("cases.yml"), &oracle);
    assert_eq!((compared.entries, compared.transactions), (2415, 2343));
    compared.assert(0);
}

/// Generates random chains with the peer and compares each. The environment can set number and
/// first seed.
#[blockmill_testkit::needs(neo_random)]
#[test]
fn random_chains_of_the_peer_have_its_roots_and_logs() {
    let number = |name: &str, default: u64| -> u64 {
        let given = std::env::var(name).ok();
        given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
    };
    let (first, chains) = (number(SEED, 1), number(CHAINS, 3));
    let (mut transactions, mut texts) = (0, BTreeMap::<String, usize>::new());
    let mut others = Vec::new();
    for seed in first..first + chains {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(blockmill_testkit::path_of("neo_random"));
        command.args(["-seed", &seed.to_string(), "-out"]).arg(folder.path());
        assert!(command.status().unwrap().success(), "seed {seed}");
        let path = |name: &str| folder.path().join(name);
        let oracle = Oracle::read(&path("roots.txt"), &path("logs.txt"));
        let compared = compare(&path("chain.acc"), &path("chain.yml"), &oracle);
        transactions += compared.transactions;
        others.extend(compared.others.into_iter().map(|other| format!("seed {seed}: {other}")));
        for text in compared.texts {
            *texts.entry(text.split_once('\n').unwrap().1.to_owned()).or_default() += 1;
        }
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let different: usize = texts.iter().map(|(_, count)| count).sum();
    println!("{transactions} transactions, {different} other texts of exceptions");
    texts.iter().take(400).for_each(|(text, count)| println!("{count}\n{text}"));
    others.iter().take(100).for_each(|other| println!("{other}"));
    assert!(others.is_empty(), "{} differences", others.len());
    assert!(transactions > 0);
}

/// The stored random chains: seeds for which an earlier version had other roots.
#[test]
fn kept_random_chains_have_the_roots_and_logs_of_neo_go() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random");
    for (seed, transactions, texts) in [("seed130", 241, 9), ("seed178", 41, 0)] {
        let path = |name: &str| folder.join(seed).join(name);
        let oracle = Oracle::read(&path("roots.txt"), &path("logs.txt.zst"));
        let compared = compare(&path("chain.acc.zst"), &path("chain.yml"), &oracle);
        assert_eq!(compared.transactions, transactions, "{seed}");
        compared.assert(texts);
    }
}

/// The chain in which the committee sets the fixed fee of a method a second time. neo-go keeps the
/// first fee in memory until a restart; blockmill uses the stored one (`docs/neo.md`).
#[test]
fn a_fee_that_is_fixed_again_counts_at_once_as_in_a_node_that_was_started_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random/fixed-fees");
    let path = |name: &str| folder.join(name);
    let oracle = Oracle::read(&path("roots.txt"), &path("logs.txt.zst"));
    let compared = compare(&path("chain.acc.zst"), &path("chain.yml"), &oracle);
    assert_eq!((compared.transactions, compared.texts.len()), (20, 0));
    // roots are equal, and so are all results that do not depend on a restart
    let kinds: Vec<&str> = compared.values.iter().map(|(kind, ..)| &**kind).collect();
    let expected = ["call_first_fee", "list_first_fee", "set_twice_first_fee", "list_first_fee"];
    assert_eq!((&*kinds, compared.others.len()), (&expected[..], 4));
    // gas is 8 bytes in little endian
    let more = |(_, expected, found): &(String, Vec<u8>, Vec<u8>)| {
        let at = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
        let gas = |value: &[u8]| i64::from_le_bytes(value[at..at + 8].try_into().unwrap());
        assert_eq!(expected[at + 8..], found[at + 8..]);
        gas(found) - gas(expected)
    };
    assert_eq!(more(&compared.values[0]), 5_000_000 - 1000);
    assert_eq!(more(&compared.values[2]), 8_000_000 + 9_000_000 - 2 * 7_000_000);
}
