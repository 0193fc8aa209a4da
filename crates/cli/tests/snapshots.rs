//! `convert --to snapshot` and `check` of what it wrote: the state of a store in one file.

use crate::program::{
    Scratch, blockmill, fixtures, misunderstand, run, succeed, succeed_json, tip_of,
};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

fn convert(store: &Path, out: &Path, flags: &str) -> Command {
    let mut command = blockmill(&format!("convert --to snapshot {flags} --out"));
    command.arg(out).arg(store);
    command
}

fn check(snapshot: &Path) -> Command {
    let mut command = blockmill("check");
    command.arg(snapshot);
    command
}

/// What a run's record says of the state after its last block.
fn state_root(record: &Value) -> &str {
    record["answer"]["state_root"].as_str().expect("a state root")
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_state_of_every_chain_is_what_its_snapshot_says() {
    let scratch = Scratch::new("snapshots");
    let chains = ["execution-apis", "geth-ethtest", "hive-engine", "hive-sync"];
    let chains = chains.map(|name| format!("chains/{name}/chain.rlp"));
    let others =
        ["bal-chains/transition-240/chain-with-bal.rlp", "era1/mainnet-00000-5ec1ffb8.era1"];
    let others = others.map(str::to_owned);
    for (at, chain) in chains.iter().chain(&others).enumerate() {
        let (store, out) =
            (scratch.path(&format!("{at}")), scratch.path(&format!("{at}.snapshot")));
        let mut import = blockmill("import --seal off --data");
        let record = succeed_json(import.arg(&store).arg(fixtures().join(chain)));
        let genesis = fixtures().join(chain).with_file_name("genesis.json");
        let mut command = convert(&store, &out, "");
        if genesis.exists() {
            command.arg("--chain").arg(genesis);
        }
        let written = succeed_json(&mut command);
        assert_eq!(written["state_root"], state_root(&record), "{chain}");
        assert!(written["accounts"].as_u64() > Some(2), "{chain}: {written}");
        let checked = succeed_json(&mut check(&out));
        assert_eq!(checked["tip"], written["block"], "{chain}");
        let holds = checked["holds"].to_string();
        assert!(holds.contains(state_root(&record)), "{chain}: {holds}");
    }
}

#[test]
fn a_snapshot_after_an_earlier_block_and_corrupt_ones() {
    let scratch = Scratch::new("snapshots-damage");
    let [store, last, early] = ["store", "last", "early"].map(|name| scratch.path(name));
    let chain = Chain::made(&scratch);
    let whole = succeed_json(&mut chain.import(&store, ""));
    let part = succeed_json(&mut chain.import(&scratch.path("part"), "--until 17"));
    let named = chain.genesis();
    let written = succeed_json(&mut convert(&store, &last, &named));
    assert_eq!(written["state_root"], state_root(&whole));
    let written = succeed_json(&mut convert(&store, &early, &format!("{named} --until 17")));
    assert_eq!(written["state_root"], state_root(&part));
    let text = succeed(&mut check(&early));
    assert!(text.contains("the state after block 17 ") && text.contains("No corruption: "));

    let text = succeed(blockmill("inspect").arg(&early));
    let root = state_root(&part);
    assert!(text.contains("after block 17 0x") && text.contains(root), "{text}");
    let reported = succeed_json(blockmill("inspect --deep").arg(&early));
    assert_eq!((&reported["block"], &reported["state_root"]), (&17.into(), &root.into()));
    assert_eq!(reported["accounts"], written["accounts"]);

    let bytes = fs::read(&last).expect("a snapshot");
    let corrupt = scratch.path("damaged");
    for at in [9, 130, bytes.len() / 2, bytes.len() - 1] {
        let mut other = bytes.clone();
        other[at] ^= 4;
        fs::write(&corrupt, other).expect("a file");
        let ended = run(&mut check(&corrupt));
        assert_eq!(ended.code, Some(4), "byte {at}: {}{}", ended.stdout, ended.stderr);
        let text = &ended.stdout;
        assert!(text.contains("damaged at offset") && text.contains("expected"), "{at}: {text}");
        assert!(text.contains("make it again"), "{at}: {text}");
        let ended = run(blockmill("inspect --deep").arg(&corrupt));
        assert!(ended.code == Some(4) && ended.stderr.contains("at offset"), "{}", ended.stderr);
    }
    fs::write(&corrupt, &bytes[..bytes.len() - 7]).expect("a file");
    let ended = run(&mut check(&corrupt));
    assert!(
        ended.code == Some(4) && ended.stdout.contains("the end of the file"),
        "{}",
        ended.stdout
    );

    // the store keeps its chain
    let written = succeed_json(convert(&store, &early, "--until 17").arg("--force"));
    assert_eq!(written["state_root"], state_root(&part));
    let flags = format!("{named} --from 3 --force");
    misunderstand(&mut convert(&store, &early, &flags), &["--to snapshot", "found --from"]);
    misunderstand(check(&last).arg("--repair"), &["--repair", "found a snapshot"]);
}

/// A chain of executed blocks, and an import of it into a store.
struct Chain(std::path::PathBuf);

impl Chain {
    fn made(scratch: &Scratch) -> Self {
        let path = scratch.path("chain");
        let words =
            "generate ethereum --work mixed --blocks 30 --block-transactions 8 --accounts 20";
        succeed(blockmill(words).arg("--out").arg(&path));
        Self(path)
    }

    fn genesis(&self) -> String {
        format!("--chain {}", self.0.join("genesis.json").display())
    }

    fn import(&self, store: &Path, flags: &str) -> Command {
        let mut command = blockmill(&format!("import {flags} {} --data", self.genesis()));
        command.arg(store).arg(self.0.join("chain.rlp"));
        command
    }
}

#[test]
fn blocks_go_on_from_a_snapshot() {
    let scratch = Scratch::new("snapshots-import");
    let chain = Chain::made(&scratch);
    let [whole, store, late, snapshot] =
        ["whole", "store", "late", "snapshot"].map(|name| scratch.path(name));
    let expected = succeed_json(&mut chain.import(&whole, ""));
    let flags = format!("{} --until 17", chain.genesis());
    succeed(&mut convert(&whole, &snapshot, &flags));
    let adopt = |store: &Path| {
        let mut command = blockmill("import --data");
        command.arg(store).arg(&snapshot);
        command
    };
    // a store of all blocks, and one that begins late
    for (store, flags) in [(&store, "--until 17"), (&late, "--from 9 --until 17")] {
        succeed(&mut chain.import(store, &format!("{flags} --level bodies")));
        let adopted = succeed_json(&mut adopt(store));
        assert_eq!((&adopted["block"], tip_of(store)), (&17.into(), Some(17)));
        misunderstand(&mut adopt(store), &["expected a store of blocks without a state"]);
        assert!(succeed(blockmill("check").arg(store)).contains("No corruption: "));
        let record = succeed_json(&mut chain.import(store, ""));
        assert_eq!(record["level"], "execution");
        assert_eq!((state_root(&record), tip_of(store)), (state_root(&expected), Some(30)));
        let [again, first] = ["again", "first"].map(|name| scratch.path(name));
        let flags = format!("{} --force", chain.genesis());
        for (store, out) in [(store, &again), (&whole, &first)] {
            succeed(&mut convert(store, out, &flags));
        }
        assert_eq!(fs::read(&again).expect("a file"), fs::read(&first).expect("a file"));
        let unwind = |to| {
            let mut command = blockmill("unwind --to");
            command.arg(to).arg(store);
            command
        };
        succeed(&mut unwind("17"));
        misunderstand(&mut unwind("16"), &["expected", "found --to 16"]);
    }
}

#[test]
fn a_snapshot_goes_into_a_state_on_disk() {
    let scratch = Scratch::new("snapshots-on-disk");
    let chain = Chain::made(&scratch);
    let [whole, snapshot] = ["whole", "snapshot"].map(|name| scratch.path(name));
    let expected = succeed_json(&mut chain.import(&whole, ""));
    let flags = format!("{} --until 17", chain.genesis());
    succeed(&mut convert(&whole, &snapshot, &flags));
    for state in ["pages", "flat+trie"] {
        let store = scratch.path(state);
        succeed(&mut chain.import(&store, "--until 17 --level bodies"));
        let with = format!("--with state={state} --cache 1");
        let words = format!("import {with} --data");
        let adopted = succeed_json(blockmill(&words).arg(&store).arg(&snapshot));
        assert_eq!((&adopted["state"], &adopted["block"]), (&state.into(), &17.into()));
        assert!(succeed(blockmill("check").arg(&store)).contains("No corruption: "));
        let record = succeed_json(&mut chain.import(&store, &with));
        assert_eq!((state_root(&record), tip_of(&store)), (state_root(&expected), Some(30)));
        // what a store knows of a state whose first block it did not execute
        let proof = |store: &Path| {
            let account = "0x0000000000000000000000000000000000000001";
            let words = format!("prove --account {account} --block 30");
            succeed(blockmill(&words).arg(store))
        };
        assert_eq!(proof(&store), proof(&whole), "{state}");
        succeed(blockmill("unwind --to 17").arg(&store));
        let record = succeed_json(&mut chain.import(&store, &with));
        assert_eq!(state_root(&record), state_root(&expected), "{state}");
    }
}

#[test]
fn a_snapshot_that_does_not_fit_changes_nothing() {
    let scratch = Scratch::new("snapshots-unfit");
    let chain = Chain::made(&scratch);
    let [whole, store, snapshot, empty] =
        ["whole", "store", "snapshot", "empty"].map(|name| scratch.path(name));
    succeed(&mut chain.import(&whole, ""));
    succeed(&mut convert(&whole, &snapshot, &format!("{} --until 17", chain.genesis())));
    succeed(&mut chain.import(&store, "--until 16 --level bodies"));
    let adopt = |store: &Path| {
        let mut command = blockmill("import --data");
        command.arg(store).arg(&snapshot);
        command
    };
    misunderstand(&mut adopt(&store), &["ends with block 17 0x", "found block 16 0x"]);
    misunderstand(&mut adopt(&empty), &["expected a store of blocks", "found none"]);
    assert!(!empty.exists());
    misunderstand(adopt(&store).args(["--level", "bodies"]), &["found others"]);
    succeed(&mut chain.import(&store, "--until 17 --level bodies"));
    let mut bytes = fs::read(&snapshot).expect("a snapshot");
    let at = bytes.len() - 60;
    bytes[at] ^= 1;
    fs::write(&snapshot, &bytes).expect("a file");
    let ended = run(&mut adopt(&store));
    assert!(ended.code == Some(4) && ended.stderr.contains("at offset"), "{}", ended.stderr);
    // it is a store of blocks as before
    let record = succeed_json(&mut chain.import(&store, "--level bodies"));
    assert_eq!((&record["level"], tip_of(&store)), (&"bodies".into(), Some(30)));
}

#[test]
fn a_store_without_a_state_has_no_snapshot() {
    let scratch = Scratch::new("snapshots-none");
    let (chain, store) = (scratch.path("chain.rlp"), scratch.path("store"));
    succeed(blockmill("generate ethereum --headers 20 --format rlp --out").arg(&chain));
    let words = "import --seal off --level bodies --data";
    succeed(blockmill(words).arg(&store).arg(&chain));
    let out = scratch.path("out");
    misunderstand(&mut convert(&store, &out, ""), &["expected a store with a state"]);
    assert!(!out.exists());
}
