//! A store keeps the chain that it is of and where its state is: no command asks for either again,
//! another chain is refused, and the store gives back the archive that it was imported from.

use crate::program::{
    Scratch, blockmill, copy, document, fixtures, misunderstand, run, succeed, succeed_json, tip_of,
};
use blockmill_bitcoin::params::Params;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A chain of its own, its archive in a folder without the genesis.json.
struct Own {
    archive: PathBuf,
    genesis: PathBuf,
}

impl Own {
    fn new(scratch: &Scratch) -> Self {
        let from = fixtures().join("chains/execution-apis");
        let [archive, genesis] =
            ["archive/chain.rlp", "own/genesis.json"].map(|name| scratch.path(name));
        for (to, name) in [(&archive, "chain.rlp"), (&genesis, "genesis.json")] {
            fs::create_dir(to.parent().expect("a folder")).expect("a folder");
            fs::write(to, fs::read(from.join(name)).expect("a file")).expect("a file");
        }
        Self { archive, genesis }
    }

    fn import(&self, store: &Path, flags: &str) -> Command {
        let mut command = blockmill(&format!("import --seal off {flags} --data"));
        command.arg(store).arg(&self.archive);
        command
    }

    fn named(&self, store: &Path, flags: &str) -> Command {
        let mut command = self.import(store, flags);
        command.arg("--chain").arg(&self.genesis);
        command
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn no_command_asks_again_for_the_chain_or_the_kind_of_state() {
    let scratch = Scratch::new("kept-chain");
    let own = Own::new(&scratch);
    let plain = scratch.path("plain");
    succeed(&mut own.named(&plain, ""));
    let expected = |words: &str, out: &str| {
        let out = scratch.path(out);
        succeed(blockmill(words).arg(&out).arg(&plain));
        fs::read(out).expect("an output")
    };
    let snapshot = expected("convert --to snapshot --until 40 --out", "plain.snapshot");
    let witness = expected("witness --block 41 --out", "plain.witness");
    for kind in ["memory", "pages", "flat+trie"] {
        let store = scratch.path(kind);
        succeed(&mut own.named(&store, &format!("--until 20 --with state={kind}")));
        // neither the chain nor the kind is said again
        let resumed = succeed_json(&mut own.import(&store, "--until 50 --cache 8"));
        assert_eq!(
            (&resumed["data"]["chain"], tip_of(&store)),
            (&"custom".into(), Some(50)),
            "{resumed}"
        );
        succeed(blockmill("unwind --to 41").arg(&store));
        succeed(&mut own.import(&store, ""));
        let other = if kind == "pages" { "memory" } else { "pages" };
        let named = format!("expected state={kind}, as this store keeps it");
        misunderstand(&mut own.import(&store, &format!("--with state={other}")), &[&named]);
        let out = scratch.path("out");
        for (words, expected) in [
            ("convert --to snapshot --until 40 --out", &snapshot),
            ("witness --block 41 --out", &witness),
        ] {
            succeed(blockmill(words).arg(&out).arg(&store));
            assert!(fs::read(&out).expect("an output") == *expected, "{kind}: {words}");
            fs::remove_file(&out).expect("an output");
        }
        succeed(blockmill("convert --to rlp --out").arg(&out).arg(&store));
        assert!(fs::read(&out).expect("blocks") == fs::read(&own.archive).expect("blocks"));
        fs::remove_file(&out).expect("an output");
        let account = format!("0x{}", "11".repeat(20));
        succeed(blockmill(&format!("prove --account {account} --block 30")).arg(&store));
        succeed(blockmill("verify --seal off").arg(&store));
        let tables = "export --seal off --tables blocks,balance_diffs --to";
        succeed(blockmill(tables).arg(scratch.path(&format!("{kind}-tables"))).arg(&store));
        let again = scratch.path(&format!("{kind}-again"));
        succeed(blockmill("import --seal off --data").arg(&again).arg(&store));
        assert_eq!(tip_of(&again), Some(54));
        succeed(blockmill("check").arg(&store));
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_whose_state_was_given_up_has_the_same_kind_of_state_again() {
    let scratch = Scratch::new("kept-kind");
    let own = Own::new(&scratch);
    for kind in ["memory", "pages", "flat+trie"] {
        let store = scratch.path(kind);
        succeed(&mut own.named(&store, &format!("--until 20 --with state={kind}")));
        let log = store.join("state-log-0.00000");
        let mut bytes = fs::read(&log).expect("a log of the state");
        bytes[30] ^= 1;
        fs::write(&log, bytes).expect("a damaged log");
        let repaired = succeed_json(blockmill("check --repair").arg(&store));
        assert!(repaired["repair"].to_string().contains("state was given up"), "{repaired}");
        // whatever comes before that import
        succeed(blockmill("unwind --to 15").arg(&store));
        succeed(&mut own.import(&store, "--until 30 --cache 8"));
        let other = if kind == "pages" { "memory" } else { "pages" };
        let named = format!("expected state={kind}, as this store keeps it");
        misunderstand(&mut own.import(&store, &format!("--with state={other}")), &[&named]);
        succeed(&mut own.import(&store, ""));
        assert_eq!(tip_of(&store), Some(54));
        let checked = succeed(blockmill("check").arg(&store));
        assert!(checked.contains("state after block 54"), "{checked}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_lost_file_of_a_store_is_noticed_or_changes_nothing_of_the_archive() {
    let scratch = Scratch::new("kept-files");
    let own = Own::new(&scratch);
    let [store, corrupt, out] = ["store", "damaged", "out.rlp"].map(|name| scratch.path(name));
    // the archive begins with block 1
    succeed(&mut own.named(&store, "--level bodies"));
    fs::remove_dir_all(store.join("records")).expect("run records");
    let (mut noticed, mut harmless) = (vec![], vec![]);
    for entry in fs::read_dir(&store).expect("a store") {
        let name = entry.expect("an entry of a store").file_name();
        copy(&store, &corrupt);
        fs::remove_file(corrupt.join(&name)).expect("a file to remove");
        match run(blockmill("check").arg(&corrupt)).code {
            Some(0) => {
                succeed(blockmill("convert --to rlp --force --out").arg(&out).arg(&corrupt));
                let (found, archive) = (fs::read(&out), fs::read(&own.archive));
                assert!(found.expect("an export") == archive.expect("an archive"), "{name:?}");
                harmless.push(name);
            }
            code => {
                assert_eq!(code, Some(4), "{name:?}");
                noticed.push(name);
            }
        }
        fs::remove_dir_all(&corrupt).expect("a store to remove");
    }
    assert!(noticed.len() > 8 && harmless.iter().any(|name| name == "lock"), "{harmless:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_upgraded_store_of_headers_keeps_its_chain() {
    let scratch = Scratch::new("kept-chain-upgraded");
    let own = Own::new(&scratch);
    let store = scratch.path("store");
    succeed(&mut own.named(&store, "--level headers --until 20"));
    succeed(&mut own.import(&store, "--level bodies"));
    assert!(!scratch.path("store.upgrading").exists());
    succeed(&mut own.import(&store, "--level execution"));
    assert_eq!(tip_of(&store), Some(54));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn another_chain_is_refused_but_for_forks_that_are_still_to_come() {
    let scratch = Scratch::new("kept-chain-other");
    let own = Own::new(&scratch);
    let store = scratch.path("store");
    succeed(&mut own.named(&store, "--until 30"));
    let text = fs::read_to_string(&own.genesis).expect("a genesis.json");
    let other = scratch.path("other.json");
    let replaced = |from: &str, to: &str| {
        let text = text.replacen(from, to, 1);
        assert!(text.contains(to), "{to}");
        fs::write(&other, text).expect("a file");
    };
    let out = scratch.path("out");
    let with_other = |words: &str, path: &Path| {
        let mut command = blockmill(words);
        command.arg(path).arg("--chain").arg(&other).arg(&store);
        command
    };
    // a fork that the stored blocks have passed
    replaced("\"londonBlock\": 27", "\"londonBlock\": 28");
    let words = ["londonBlock: expected 27, as the store keeps it, found 28", "other.json"];
    let mut import = own.import(&store, "");
    misunderstand(import.arg("--chain").arg(&other), &words);
    for command in ["witness --block 20 --out", "convert --to snapshot --out"] {
        misunderstand(&mut with_other(command, &out), &words);
    }
    misunderstand(&mut with_other("convert --to rlp --out", &out), &words);
    assert!(!out.exists());
    misunderstand(&mut with_other("export --seal off --tables blocks --to", &out), &words);
    misunderstand(blockmill("verify --seal off").arg("--chain").arg(&other).arg(&store), &words);
    replaced("\"chainId\": 3503995874084926", "\"chainId\": 7");
    let mut import = own.import(&store, "");
    misunderstand(import.arg("--chain").arg(&other), &["chainId: expected 3503995874084926"]);
    // another genesis block
    replaced("\"gasLimit\": \"0x", "\"gasLimit\": \"0x1");
    let ended = run(own.import(&store, "").arg("--chain").arg(&other));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(tip_of(&store), Some(30));
    // what is still to come may be scheduled, and is kept
    replaced("\"bpo2Time\": 540", "\"bpo2Time\": 541");
    succeed(own.import(&store, "--until 40").arg("--chain").arg(&other));
    let kept = fs::read(store.join("chain.json")).expect("what the store keeps");
    assert_eq!(kept, fs::read(&other).expect("a genesis.json"));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn corruption_of_the_stored_chain_is_found_and_repaired_as_the_check_says() {
    let scratch = Scratch::new("kept-chain-damage");
    let own = Own::new(&scratch);
    let store = scratch.path("store");
    succeed(&mut own.named(&store, "--until 30"));
    let path = store.join("chain.json");
    let whole = fs::read(&path).expect("what the store keeps");
    let flipped: Vec<u8> = whole.iter().enumerate().map(|(i, b)| b ^ u8::from(i == 900)).collect();
    for (name, bytes) in
        [("chain.json", vec![]), ("chain.json", flipped), ("chain.json.sha256", vec![48])]
    {
        fs::write(store.join(name), bytes).expect("a file");
        for flags in ["check --json", "check --repair --json"] {
            let found = document(&run(blockmill(flags).arg(&store)));
            assert_eq!(found["status"], "corrupt", "{found}");
            assert!(found["result"]["repair"].to_string().contains("--chain genesis.json"));
        }
        let ended = run(&mut own.import(&store, ""));
        assert_eq!(ended.code, Some(4), "{}", ended.stderr);
        succeed(&mut own.named(&store, "--until 30"));
        succeed(blockmill("check").arg(&store));
        assert_eq!(fs::read(&path).expect("a file"), whole);
    }
    fs::remove_file(store.join("chain.json.sha256")).expect("the sum");
    let found = document(&run(blockmill("check --json").arg(&store)));
    assert_eq!(found["status"], "corrupt", "{found}");
    succeed(&mut own.named(&store, "--until 30"));
    succeed(blockmill("check").arg(&store));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_era1_file_from_the_middle_of_a_chain_comes_back_byte_for_byte() {
    let scratch = Scratch::new("kept-totals");
    let files = fs::read_dir(fixtures().join("era1")).expect("era1 files");
    let paths = files.map(|file| file.expect("a file").path());
    let is_later = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        name.ends_with(".era1") && !name.contains("-00000-")
    };
    let mut later: Vec<PathBuf> = paths.filter(is_later).collect();
    later.sort_by_key(|path| fs::metadata(path).expect("a file").len());
    let file = later.first().expect("an era1 file from the middle of a chain");
    let (store, out) = (scratch.path("store"), scratch.path("out"));
    succeed(blockmill("import --seal off --level bodies --data").arg(&store).arg(file));
    let convert = || {
        let mut command = blockmill("convert --to era1 --force --out");
        command.arg(&out).arg(&store);
        command
    };
    succeed(&mut convert());
    let name = file.file_name().expect("a name");
    assert!(fs::read(out.join(name)).expect("an era1 file") == fs::read(file).expect("a file"));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_snapshot_of_another_chain_is_refused() {
    let scratch = Scratch::new("kept-snapshot");
    let own = Own::new(&scratch);
    let [store, blocks, snapshot] = ["store", "blocks", "snapshot"].map(|name| scratch.path(name));
    succeed(&mut own.named(&store, "--until 30"));
    succeed(&mut own.named(&blocks, "--until 30 --level bodies"));
    succeed(blockmill("convert --to snapshot --out").arg(&snapshot).arg(&store));
    let bytes = fs::read(&snapshot).expect("a snapshot");
    // magic, number of the chain, genesis block, number, hash, state root, sum
    let forge = |at: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        let sum = crc32fast::hash(&bytes[..120]);
        bytes[120..124].copy_from_slice(&sum.to_le_bytes());
        fs::write(&snapshot, bytes).expect("a file");
    };
    let adopt = || run(blockmill("import --data").arg(&blocks).arg(&snapshot));
    let refused = |words: &str| {
        let ended = adopt();
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    };
    forge(8, &7_u64.to_le_bytes());
    refused("found one of chain 7");
    forge(16, &[7; 32]);
    refused("found one of 0x0707");
    // a network that is built in has another number
    let mainnet = blockmill_testkit::hex::decode(
        "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
    );
    forge(16, &mainnet);
    let ended = adopt();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    let ended = run(blockmill("check").arg(&snapshot));
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("expected chain 1, as mainnet"), "{}", ended.stderr);
    forge(8, &bytes[8..16]);
    succeed(blockmill("import --data").arg(&blocks).arg(&snapshot));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_command_takes_folders_of_names_that_are_not_utf_8() {
    let scratch = Scratch::new("kept-names");
    let own = Own::new(&scratch);
    let store = scratch.path("").join(OsStr::from_bytes(b"st\xff\xfere"));
    succeed_json(&mut own.named(&store, ""));
    let whole = succeed_json(blockmill("check").arg(&store));
    assert_eq!(whole["tip"], 54);
    let out = scratch.path("").join(OsStr::from_bytes(b"o\xfft"));
    let account = format!("prove --account 0x{}", "11".repeat(20));
    for words in ["inspect", "inspect --deep", "verify --seal off", "unwind --to 50", &account] {
        succeed_json(blockmill(words).arg(&store));
    }
    for words in ["rlp", "snapshot", "headers"] {
        let words = format!("convert --force --to {words} --out");
        succeed_json(blockmill(&words).arg(&out).arg(&store));
    }
    succeed_json(blockmill("witness --force --block 20 --out").arg(&out).arg(&store));
    succeed_json(blockmill("witness --chain").arg(&own.genesis).arg(&out));
    let tables = scratch.path("").join(OsStr::from_bytes(b"\xfftables"));
    succeed_json(blockmill("export --seal off --tables blocks --to").arg(&tables).arg(&store));
    let corrupt = store.join("headers.00000");
    let mut bytes = fs::read(&corrupt).expect("headers");
    bytes[2000] ^= 1;
    fs::write(&corrupt, bytes).expect("headers");
    let found = document(&run(blockmill("check --json").arg(&store)));
    assert_eq!(found["status"], "corrupt", "{found}");
    assert!(found["result"]["corruption"][0]["file"].as_str().expect("a file").ends_with(".00000"));
}

/// The genesis block of a signet, and a header after it with the work that signets ask for.
fn first_blocks(params: &Params) -> Vec<u8> {
    let mut next = 0x2000_0000_u32.to_le_bytes().to_vec();
    next.extend(params.genesis_hash.0);
    next.extend([0; 32]);
    for field in [1_598_919_000_u32, 0x1e03_77ae, 2_877_809] {
        next.extend(field.to_le_bytes());
    }
    next.push(0);
    let mut bytes = vec![];
    for block in [&params.genesis, &next] {
        bytes.extend(params.magic);
        bytes.extend((block.len() as u32).to_le_bytes());
        bytes.extend(block);
    }
    bytes
}

#[test]
fn a_signet_of_its_own_is_named_once() {
    let scratch = Scratch::new("kept-signet");
    let [folder, store] = ["blocks", "store"].map(|name| scratch.path(name));
    fs::create_dir(&folder).expect("a folder");
    let blocks = folder.join("blk00000.dat");
    fs::write(&blocks, first_blocks(&Params::signet_with(vec![0x51]))).expect("a file");
    let import = |flags: &str| {
        let mut command = blockmill(&format!("import --level headers {flags} --data"));
        command.arg(&store).arg(&blocks);
        command
    };
    succeed(&mut import("--chain signet:51"));
    succeed(&mut import(""));
    succeed(blockmill("check").arg(&store));
    succeed(blockmill("verify --level headers").arg(&store));
    let ended = run(&mut import("--chain signet:52"));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    // the public signet has the same first block
    let public = scratch.path("blk00001.dat");
    fs::write(&public, first_blocks(&Params::signet())).expect("a file");
    let ended = run(blockmill("import --level headers --data").arg(&store).arg(&public));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("signet of its own"), "{}", ended.stderr);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_network_of_neo_is_named_once() {
    let scratch = Scratch::new("kept-neo");
    let (dump, store) = (scratch.path("chain.acc"), scratch.path("store"));
    let from = blockmill_testkit::fixture("neo/chain50x2.acc");
    fs::copy(&from, &dump).expect("a dump");
    let configuration = scratch.path("own.yml");
    let text = fs::read_to_string(from.with_extension("yml")).expect("a configuration");
    fs::write(&configuration, &text).expect("a file");
    let import = |flags: &str| {
        let mut command = blockmill(&format!("import {flags} --data"));
        command.arg(&store).arg(&dump);
        command
    };
    misunderstand(&mut import(""), &["--chain protocol.yml"]);
    succeed(import("--until 20").arg("--chain").arg(&configuration));
    succeed(&mut import("--until 40"));
    succeed(blockmill("unwind --to 30").arg(&store));
    succeed(&mut import(""));
    assert_eq!(tip_of(&store), Some(50));
    succeed(blockmill("check").arg(&store));
    let account = format!("inspect --account 0x{}", "11".repeat(20));
    succeed(blockmill(&account).arg(&store));
    let other = scratch.path("other.yml");
    let changed = text.replacen("Magic: ", "Magic: 1", 1);
    assert_ne!(changed, text);
    fs::write(&other, changed).expect("a file");
    let ended = run(import("").arg("--chain").arg(&other));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("Magic: expected"), "{}", ended.stderr);
}
