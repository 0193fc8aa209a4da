//! Neo dumps through the program: executed, killed, corrupted, queried.

use crate::program;
use crate::program::{
    Random, Scratch, blockmill, document, read_store, run, succeed, succeed_json, tip_of, wait,
};
use blockmill_archive::acc::Head;
use blockmill_neo::ledger::{CONFLICTS, ROOTS, STORAGE, TRANSACTIONS};
use blockmill_neo::logs::{TRANSFERS, UPDATES};
use blockmill_store::{ChainStore, Table, TableOptions};
use blockmill_verdict::Status;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Kills that must fall between the first and the last commit.
const KILLS: u32 = 50;
/// Limit of runs that are over, or have not begun, when the signal arrives.
const MAX_MISSES: u32 = 1_000;
/// The last block of an import that is killed: 8,000 transactions.
const UNTIL: &str = "40";

const TABLES: [&str; 6] = [STORAGE, TRANSACTIONS, CONFLICTS, TRANSFERS, UPDATES, ROOTS];

fn dump() -> PathBuf {
    blockmill_testkit::fixture("neo/gen/mix200x200-sr.acc.zst")
}

fn small_dump() -> PathBuf {
    blockmill_testkit::fixture("neo/chain50x2.acc")
}

fn import(store: &Path, dump: &Path) -> Command {
    let mut command = blockmill("import --data");
    command.arg(store).arg(dump);
    command
}

/// The contents of a store of executed blocks.
#[derive(Debug, PartialEq)]
struct Whole {
    blocks: program::Stored,
    tables: Vec<BTreeMap<Vec<u8>, Vec<u8>>>,
    state: Vec<u8>,
}

impl Whole {
    fn of(folder: &Path) -> Self {
        let parts = |opening: &mut blockmill_store::Opening| {
            let open = |name| opening.table(name, &TableOptions::new(1 << 20));
            TABLES.into_iter().map(open).collect::<blockmill_store::Result<Vec<Table>>>()
        };
        let ((store, _), tables) = ChainStore::open_read_only_with(folder, parts).unwrap();
        let tables = tables.iter().map(|table| {
            let (mut found, mut scan) = (BTreeMap::new(), table.iter().unwrap());
            while let Some((key, value)) = scan.next().unwrap() {
                found.insert(key.to_vec(), value.to_vec());
            }
            found
        });
        let tables: Vec<_> = tables.collect();
        Self { blocks: read_store(folder), tables, state: store.state_of_parts().to_vec() }
    }

    /// Compares without printing the contents.
    fn assert_same(&self, other: &Self) {
        assert_eq!(self.state, other.state);
        for ((own, other), name) in self.tables.iter().zip(&other.tables).zip(TABLES) {
            assert!(own == other, "{name}: {} and {} entries", own.len(), other.len());
        }
        assert!(self.blocks == other.blocks, "blocks or logs differ");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_import_that_is_killed_repeatedly_ends_with_the_same_state() {
    let scratch = Scratch::new("neo-kills");
    let dump = dump();
    let undisturbed = scratch.path("undisturbed");
    let start = Instant::now();
    let import = |store: &Path| {
        let mut command = import(store, &dump);
        command.args(["--until", UNTIL]);
        command
    };
    succeed(&mut import(&undisturbed));
    let (time, expected) = (start.elapsed(), Whole::of(&undisturbed));
    let last = tip_of(&undisturbed).unwrap();
    let (mut random, mut hits, mut misses, mut completed) = (Random::new(15), 0, 0, 0);
    while hits < KILLS {
        let store = scratch.path("killed");
        let _ = std::fs::remove_dir_all(&store);
        let (mut committed, mut limit) = (None, time / 4);
        while hits < KILLS && committed != Some(last) {
            let mut command = import(&store);
            // little memory and small chunks, for frequent commits
            command.args(["--cache", random.pick(&["1", "2"])]);
            command.args(["--chunk", random.pick(&["1", "3", "8"])]);
            command.args(["--threads", random.pick(&["1", "2", "5"])]);
            let others = ["tasks=1", "tasks=2", "roots=each-block", "flush=barrier"];
            for option in others.into_iter().chain(["stages=serial"]) {
                if random.below(3) == 0 {
                    command.args(["--with", option]);
                }
            }
            let moment = Duration::from_micros(random.below(limit.as_micros() as u64));
            let mut child = command.spawn().expect("the program starts");
            thread::sleep(moment);
            child.kill().expect("a child that can be killed, dead or alive");
            let ended = wait(child, "import");
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
            assert!(matches!(ended.code, None | Some(0)), "{:?} {}", ended.code, ended.stderr);
            let now = tip_of(&store);
            assert!(now >= committed, "committed up to {committed:?}, after a kill {now:?}");
            if now > committed && now < Some(last) {
                (hits, limit) = (hits + 1, time / 4);
            } else {
                (misses, limit) = (misses + 1, limit * 3 / 2);
                assert!(misses < MAX_MISSES, "{hits} kills hit");
            }
            committed = now;
        }
        succeed(&mut import(&store));
        Whole::of(&store).assert_same(&expected);
        completed += 1;
    }
    println!("{hits} kills hit, {misses} missed, {completed} imports completed");
    let checked = succeed_json(blockmill("check").arg(scratch.path("killed")));
    assert_eq!(checked["corruption"], serde_json::json!([]));
}

fn records(dump: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(dump).unwrap();
    let (_, mut rest) = bytes.split_first_chunk::<4>().unwrap();
    let mut records = vec![];
    while let Some((length, more)) = rest.split_first_chunk() {
        let (record, more) = more.split_at(u32::from_le_bytes(*length) as usize);
        records.push(record.to_vec());
        rest = more;
    }
    records
}

/// Writes blocks as a dump, with the configuration next to it.
fn write(folder: &Path, first: u32, blocks: &[Vec<u8>]) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let path = folder.join("dump.acc");
    let head = Head { first, count: blocks.len() as u32, incremental: first > 0 };
    // by hand: the writer accepts blocks in order only
    let mut bytes = head.bytes();
    for block in blocks {
        bytes.extend((block.len() as u32).to_le_bytes());
        bytes.extend(block);
    }
    std::fs::write(&path, bytes).unwrap();
    let config = blockmill_testkit::fixture("neo/chain50x2.yml");
    std::fs::copy(config, folder.join("dump.yml")).unwrap();
    path
}

/// Imports an invalid dump. Checks the status and the parts of the error. Earlier blocks stay.
fn refused(scratch: &Scratch, dump: &Path, flags: &[&str]) -> (Status, serde_json::Value) {
    let store = scratch.path("refused");
    let _ = std::fs::remove_dir_all(&store);
    let ended = run(import(&store, dump).args(flags).arg("--json"));
    let document = document(&ended);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let status = serde_json::from_value(document["status"].clone()).unwrap();
    let error = document["error"].clone();
    if let Some(block) = error["block"].as_u64() {
        assert_eq!(tip_of(&store), block.checked_sub(1), "{error}");
        // the same again has the same result
        let again = program::document(&run(import(&store, dump).args(flags).arg("--json")));
        assert_eq!(again["error"]["block"], error["block"], "{again}");
    }
    (status, error)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_invalid_dump_is_rejected_with_block_rule_expected_and_found() {
    let scratch = Scratch::new("neo-refused");
    let good = records(&small_dump());
    let folder = scratch.path("dump");
    let change = |height: usize, at: usize| {
        let mut blocks = good.clone();
        blocks[height][at] ^= 1;
        write(&folder, 0, &blocks)
    };
    for (height, at, rule) in
        [(20, 4, "hash of the block before"), (20, 36, "block witness"), (7, 76, "block witness")]
    {
        let (status, error) = refused(&scratch, &change(height, at), &[]);
        assert_eq!((status, error["block"].as_u64()), (Status::Invalid, Some(height as u64)));
        assert_eq!(error["rule"], rule, "{error}");
        assert!(error["expected"].is_string() && error["found"].is_string(), "{error}");
        assert!(error["offset"].is_u64(), "{error}");
    }
    // out of order
    let mut blocks = good.clone();
    blocks.swap(20, 21);
    let (status, error) = refused(&scratch, &write(&folder, 0, &blocks), &[]);
    assert_eq!((status, error["block"].as_u64()), (Status::Incomplete, Some(20)), "{error}");
    // another magic, and another network
    let path = write(&folder, 0, &good);
    let config = std::fs::read_to_string(folder.join("dump.yml")).unwrap();
    let other = config.replacen("Magic: 42", "Magic: 43", 1);
    assert_ne!(config, other);
    std::fs::write(folder.join("dump.yml"), other).unwrap();
    let (status, error) = refused(&scratch, &path, &[]);
    assert_eq!(
        (status, error["rule"].as_str()),
        (Status::Invalid, Some("block witness")),
        "{error}"
    );
    let (status, error) = refused(&scratch, &path, &["--chain", "mainnet"]);
    assert_eq!(
        (status, error["rule"].as_str()),
        (Status::Invalid, Some("genesis block")),
        "{error}"
    );
    // complete again: it continues from the remaining blocks
    refused(&scratch, &change(20, 76), &[]);
    let path = write(&folder, 0, &good);
    let store = scratch.path("refused");
    assert_eq!(tip_of(&store), Some(19));
    succeed(&mut import(&store, &path));
    assert_eq!(tip_of(&store), Some(50));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn truncated_and_flipped_dumps_never_panic_and_keep_valid_blocks() {
    let scratch = Scratch::new("neo-flipped");
    let bytes = std::fs::read(small_dump()).unwrap();
    let folder = scratch.path("dump");
    write(&folder, 0, &[]);
    let path = folder.join("dump.acc");
    let (mut random, mut statuses) = (Random::new(9), BTreeMap::<String, u32>::new());
    for round in 0..40 {
        let mut changed = bytes.clone();
        match round % 4 {
            0 => changed.truncate(random.below(bytes.len() as u64) as usize),
            1 => {
                let at = random.below(bytes.len() as u64) as usize;
                changed[at] ^= 1 << random.below(8);
            }
            2 => {
                let at = random.below(bytes.len() as u64 - 40) as usize;
                changed.drain(at..at + 1 + random.below(32) as usize);
            }
            _ => {
                let at = random.below(bytes.len() as u64 - 8) as usize;
                changed[at..at + 4].fill(0xff);
            }
        }
        std::fs::write(&path, &changed).unwrap();
        let store = scratch.path("store");
        let _ = std::fs::remove_dir_all(&store);
        let ended = run(import(&store, &path).arg("--json"));
        assert!(!ended.stderr.contains("panicked"), "{round}: {}", ended.stderr);
        let answer = document(&ended);
        let status = answer["status"].as_str().unwrap().to_owned();
        if let Some(block) = answer["error"]["block"].as_u64() {
            assert_eq!(tip_of(&store), block.checked_sub(1), "{round}: {answer}");
        }
        *statuses.entry(status).or_default() += 1;
    }
    println!("{statuses:?}");
    // a flip in bytes that no signature or hash covers may be valid
    let bad: u32 = statuses.iter().filter(|(name, _)| *name != "verified").map(|(_, n)| n).sum();
    assert!(bad >= 30, "{statuses:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_dump_from_block_1_is_executed_as_one_from_the_first() {
    let scratch = Scratch::new("neo-from-1");
    let good = records(&small_dump());
    let [whole, later] = ["whole", "later"].map(|name| scratch.path(name));
    succeed(&mut import(&whole, &write(&scratch.path("a"), 0, &good)));
    // without block 0, as an incremental dump and as a whole one
    let incremental = write(&scratch.path("b"), 1, &good[1..]);
    succeed(&mut import(&later, &incremental));
    Whole::of(&later).assert_same(&Whole::of(&whole));
    let bytes = std::fs::read(&incremental).unwrap();
    std::fs::write(&incremental, &bytes[4..]).unwrap();
    let again = scratch.path("again");
    succeed(&mut import(&again, &incremental));
    Whole::of(&again).assert_same(&Whole::of(&whole));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_is_queried_for_blocks_transactions_and_accounts() {
    let scratch = Scratch::new("neo-inspect");
    let store = scratch.path("store");
    succeed(&mut import(&store, &small_dump()));
    let inspect = |flags: &[&str]| succeed_json(blockmill("inspect").arg(&store).args(flags));
    let roots = blockmill_testkit::read("neo/oracle/chain50x2.roots.txt");
    let roots: Vec<String> = std::str::from_utf8(&roots)
        .unwrap()
        .lines()
        .map(|line| line.split_once(' ').unwrap().1.trim_start_matches("0x").to_owned())
        .collect();
    let root =
        |value: &serde_json::Value| value.as_str().unwrap().trim_start_matches("0x").to_owned();
    let all = inspect(&[]);
    assert_eq!((all["height"].as_u64(), root(&all["state_root"])), (Some(50), roots[50].clone()));
    let (mut transactions, mut accounts) = (0, vec![]);
    for (height, expected) in roots.iter().enumerate() {
        let block = inspect(&["--block", &height.to_string()]);
        assert_eq!(root(&block["state_root"]), *expected);
        for hash in block["transactions"].as_array().unwrap().iter().take(1) {
            let found = inspect(&["--transaction", hash.as_str().unwrap()]);
            assert_eq!(found["height"], height);
            assert!(found["execution"]["vmstate"].is_string(), "{found}");
            accounts.push(found["sender"].as_str().unwrap().to_owned());
            transactions += 1;
        }
    }
    assert!(transactions > 5);
    accounts.sort();
    accounts.dedup();
    for account in &accounts {
        let found = inspect(&["--account", account]);
        let balances = found["balances"].as_array().unwrap();
        let transfers = found["transfers"].as_array().unwrap();
        assert!(!balances.is_empty() && !transfers.is_empty(), "{found}");
        // received and sent amounts add up to the balance
        for balance in balances.iter().filter(|each| each["token"].is_null()) {
            let ids = [("NeoToken", -5), ("GasToken", -6)];
            let Some((_, id)) = ids.iter().find(|(name, _)| balance["name"] == *name) else {
                continue;
            };
            let sum: i128 = transfers
                .iter()
                .filter(|each| each["asset"] == *id)
                .map(|each| {
                    let amount: i128 = each["amount"].as_str().unwrap().parse().unwrap();
                    if each["outgoing"] == true { -amount } else { amount }
                })
                .sum();
            assert_eq!(balance["amount"], sum.to_string(), "{account} {balance}");
        }
    }
    succeed(blockmill("inspect").arg(&store));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn check_finds_a_changed_byte_of_a_block_and_of_the_state() {
    let scratch = Scratch::new("neo-check");
    let store = scratch.path("store");
    succeed(&mut import(&store, &small_dump()));
    let checked = succeed_json(blockmill("check").arg(&store));
    assert_eq!((checked["family"].as_str(), checked["tip"].as_u64()), (Some("neo"), Some(50)));
    // a byte of a block, and one of the state
    for name in ["bodies.00000", "headers.00000"] {
        let path = store.join(name);
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        let ended = run(blockmill("check --json").arg(&store));
        let answer = document(&ended);
        assert_eq!(answer["status"], "corrupt", "{answer}");
        assert!(answer["error"]["file"].as_str().unwrap().ends_with(name), "{answer}");
        std::fs::write(&path, good).unwrap();
    }
    // without the index of its headers it is still a store of Neo
    let path = store.join("headers-ends.00000");
    let good = std::fs::read(&path).unwrap();
    std::fs::write(&path, &good[..good.len() / 2]).unwrap();
    let answer = document(&run(blockmill("check --json").arg(&store)));
    assert_eq!(
        (&answer["status"], &answer["result"]["family"]),
        (&"corrupt".into(), &"neo".into())
    );
    std::fs::write(&path, good).unwrap();
    let run_file = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let mut runs =
        run_file.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("storage"));
    let path = runs.next().expect("a run of contract storage");
    let mut bad = std::fs::read(&path).unwrap();
    bad[100] ^= 1;
    std::fs::write(&path, bad).unwrap();
    let answer = document(&run(blockmill("check --json").arg(&store)));
    assert_eq!(answer["status"], "corrupt", "{answer}");
}

#[test]
fn check_names_no_family_of_a_store_without_a_block() {
    let scratch = Scratch::new("neo-check-empty");
    let store = scratch.path("store");
    // as a killed import leaves it before its first commit
    drop(ChainStore::open(&store, &blockmill_store::Options::default()).expect("a new store"));
    let checked = succeed_json(blockmill("check").arg(&store));
    assert_eq!(checked["family"], serde_json::Value::Null, "{checked}");
    assert_eq!(checked["holds"], serde_json::json!(["no block yet"]), "{checked}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_is_no_archive_and_the_commands_that_read_it_are_named() {
    let scratch = Scratch::new("neo-store-as-archive");
    let (store, out) = (scratch.path("store"), scratch.path("out"));
    succeed(&mut import(&store, &small_dump()));
    let configuration = blockmill_testkit::fixture("neo/chain50x2.yml");
    for words in ["verify", "verify --shard", "import --data OUT", "export --to OUT"] {
        if words.starts_with("export") && !cfg!(feature = "export") {
            continue;
        }
        let words = words.replace("OUT", &out.display().to_string());
        for chain in [None, Some(&configuration)] {
            let mut command = blockmill(&words);
            command.arg(&store);
            chain.iter().for_each(|chain| _ = command.arg("--chain").arg(chain));
            let ended = run(&mut command);
            assert_eq!(ended.code, Some(2), "{words}: {ended:?}");
            let check = format!("`blockmill check {}` checks it", store.display());
            for part in ["found a store of Neo", &check, "--to acc --out DUMP"] {
                assert!(ended.stderr.contains(part), "{words}: {part}: {ended:?}");
            }
            assert!(!out.exists(), "{words}: nothing is left");
        }
    }
    succeed(blockmill("check").arg(&store));
    let dump = scratch.path("dump.acc");
    succeed(blockmill("convert --to acc --out").arg(&dump).arg(&store));
}
