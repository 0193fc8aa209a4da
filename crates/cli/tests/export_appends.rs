//! `export --append`: the rows of one export, whatever it was written in, and an export that stays
//! as it was until the new files are complete.

use crate::exported::{assert_same_rows, files, manifest};
use crate::program::{Scratch, blockmill, document, misunderstand, run, succeed, succeed_json};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// An archive of a chain, the flags that it needs, and numbers of two of its blocks.
struct Chain {
    archive: PathBuf,
    words: String,
    until: [u64; 2],
}

impl Chain {
    fn ethereum() -> Self {
        let archive = blockmill_testkit::fixture("ethereum/chains/hive-sync/chain.rlp");
        Self { archive, words: "--seal off".into(), until: [1_234, 2_000] }
    }

    fn bitcoin() -> Self {
        let archive = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
        Self { archive, words: "--partial --tables all".into(), until: [123, 250] }
    }

    fn neo() -> Self {
        let archive = blockmill_testkit::fixture("neo/chain50x2.acc");
        let protocol = blockmill_testkit::fixture("neo/chain50x2.yml");
        let words = format!("--tables all --chain {}", protocol.display());
        Self { archive, words, until: [17, 30] }
    }

    fn export(&self, to: &Path, words: &str) -> Command {
        let mut command = blockmill(&format!("export {} {words}", self.words));
        command.arg(&self.archive).arg("--to").arg(to);
        command
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_export_in_three_parts_has_the_rows_of_one() {
    let scratch = Scratch::new("appends");
    for (name, chain) in [("e", Chain::ethereum()), ("b", Chain::bitcoin()), ("n", Chain::neo())] {
        for (at, words) in
            ["", "--partition blocks=100 --hex", "--partition date"].iter().enumerate()
        {
            let [whole, parts] =
                ["whole", "parts"].map(|of| scratch.path(&format!("{name}{at}{of}")));
            let all = succeed_json(&mut chain.export(&whole, words));
            let [first, second] = chain.until;
            succeed_json(&mut chain.export(&parts, &format!("{words} --until {first}")));
            let more = format!("{words} --append");
            let answer =
                succeed_json(&mut chain.export(&parts, &format!("{more} --until {second}")));
            let new = answer["files"].as_array().unwrap();
            assert!(new.iter().all(|file| file["first"].as_u64().unwrap() > first), "{answer}");
            let answer = succeed_json(&mut chain.export(&parts, &more));
            assert_eq!(answer["verified"], all["verified"]);
            assert_same_rows(&whole, &parts);
            let [mut a, mut b] = [&whole, &parts].map(|folder| manifest(folder));
            for manifest in [&mut a, &mut b] {
                assert_eq!(manifest["first"], manifest["files"][0]["first"], "{name}");
                manifest.as_object_mut().unwrap().remove("files");
            }
            assert_eq!(a, b);

            let before = files(&parts);
            let answer = succeed_json(&mut chain.export(&parts, &more));
            assert_eq!(answer["files"], Value::Array(vec![]));
            assert!(files(&parts) == before, "{name} {words}: nothing is new");
        }
    }
}

/// The last note of an answer.
fn last_note(command: &mut Command) -> String {
    let answer = document(&run(command.arg("--json")));
    assert_eq!(answer["exit_code"], 0, "{answer}");
    let note = answer["notes"].as_array().unwrap().last();
    note.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_that_are_verified_again_are_named() {
    let scratch = Scratch::new("appends_again");
    let chain = Chain::ethereum();
    let [by_all, by_rest, executed] = ["all", "rest", "executed"].map(|name| scratch.path(name));
    for to in [&by_all, &by_rest] {
        succeed_json(&mut chain.export(to, "--level bodies --until 1000"));
    }
    let words = "--level bodies --append";
    let again = "Blocks 1 to 1,000 of the export were verified again";
    let note = last_note(&mut chain.export(&by_all, words));
    assert_eq!(note, format!("{again}: --from 1001 begins after them, and relies on the export."));
    // the level is that of the export
    let note = last_note(&mut chain.export(&by_rest, "--append --from 1001"));
    assert!(!note.contains("again"), "{note}");
    let manifests = [&by_all, &by_rest].map(|folder| manifest(folder));
    for name in ["verified", "level", "first", "last", "tip", "anchor"] {
        assert_eq!(manifests[0][name], manifests[1][name], "{name}");
    }
    succeed_json(&mut chain.export(&executed, "--until 1000"));
    let note = last_note(&mut chain.export(&executed, "--append --until 1100"));
    assert!(note.starts_with(again) && note.contains("level execution needs"), "{note}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_does_not_continue_an_export_is_refused_and_changes_nothing() {
    let scratch = Scratch::new("appends_refused");
    let chain = Chain::ethereum();
    let to = scratch.path("out");
    let words = "--level bodies --append";
    misunderstand(&mut chain.export(&to, words), &["an export with manifest.json to continue"]);
    succeed_json(&mut chain.export(&to, "--level bodies --until 1000"));
    let before = files(&to);
    for (more, expected) in [
        ("--tables blocks", "expected tables blocks, transactions, found tables blocks"),
        ("--hex", "--hex or --names differs"),
        ("--names cryo", "--hex or --names differs"),
        ("--level headers --tables blocks", "level"),
        ("--partition date", "expected partitions by source, found partitions by date"),
        ("--from 1002", "expected block 1,001"),
        ("--until 999", "expected an archive with block 1000"),
        ("--force", "--force"),
    ] {
        misunderstand(&mut chain.export(&to, &format!("{words} {more}")), &[expected]);
        assert!(files(&to) == before, "{more}");
    }
    let other = blockmill_testkit::fixture("ethereum/chains/hive-engine/chain.rlp");
    let other = Chain { archive: other, ..chain };
    misunderstand(&mut other.export(&to, words), &["genesis"]);

    // a chain with another block in its place
    let path = to.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let tip = manifest(&to)["tip"].as_str().unwrap().to_owned();
    fs::write(&path, text.replace(&tip, &tip.replace(['1', '2', '3'], "0"))).unwrap();
    let chain = Chain::ethereum();
    let ended =
        ["", "--from 1001"].map(|more| run(&mut chain.export(&to, &format!("{words} {more}"))));
    for ended in ended {
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("as block 1000, the last one"), "{}", ended.stderr);
    }
    let names = |files: std::collections::BTreeMap<String, Vec<u8>>| -> Vec<String> {
        files.into_keys().collect()
    };
    assert_eq!(names(files(&to)), names(before));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_fault_leaves_the_export_as_it_was() {
    let scratch = Scratch::new("appends_faulty");
    let mut chain = Chain::ethereum();
    let genesis = chain.archive.with_file_name("genesis.json");
    chain.words += &format!(" --level bodies --partition blocks=500 --chain {}", genesis.display());
    let to = scratch.path("out");
    succeed_json(&mut chain.export(&to, "--until 1000"));
    let before = files(&to);
    let mut bytes = fs::read(&chain.archive).unwrap();
    bytes[1_000_000] ^= 1;
    chain.archive = scratch.path("damaged.rlp");
    fs::write(&chain.archive, &bytes).unwrap();
    let ended = run(chain.export(&to, "--append").arg("--json"));
    let answer = document(&ended);
    assert_eq!(answer["exit_code"], 1, "{answer}");
    assert!(answer["kept"].as_str().unwrap().ends_with("still ends with block 1,000"), "{answer}");
    assert!(files(&to) == before);
    assert!(!scratch.path("out.blockmill.part").exists());
}

#[test]
fn a_kill_leaves_the_export_as_it_was() {
    let scratch = Scratch::new("appends_killed");
    let [archive, to, whole] = ["chain", "out", "whole"].map(|name| scratch.path(name));
    succeed(blockmill("generate ethereum --headers 40000 --out").arg(&archive));
    let words = "--seal off --level headers --tables blocks --partition blocks=5000".into();
    let chain = Chain { archive, words, until: [10_000, 20_000] };
    succeed_json(&mut chain.export(&to, "--until 10000"));
    succeed_json(&mut chain.export(&whole, ""));
    let before = files(&to);

    // the rest of the archive never comes
    let mut command = blockmill(&format!("export {} - --append", chain.words));
    let mut child = command.arg("--to").arg(&to).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = fs::read(&chain.archive).unwrap();
    input.write_all(&bytes[..bytes.len() * 9 / 10]).unwrap();
    let aside = scratch.path("out.blockmill.part");
    let first = "blocks/block_range=000010000-000014999/mainnet-blocks-000010001-000014999.parquet";
    while !aside.join(first).is_file() {
        assert!(child.try_wait().unwrap().is_none(), "it waits for more");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(aside.is_dir() && files(&to) == before);

    // what a run leaves that dies between its files and the manifest
    let later = "blocks/block_range=000015000-000019999/mainnet-blocks-000015000-000019999.parquet";
    fs::create_dir_all(to.join(later).parent().unwrap()).unwrap();
    fs::copy(whole.join(later), to.join(later)).unwrap();
    fs::write(to.join("notes.parquet"), "mine").unwrap();
    let ended = run(&mut chain.export(&to, "--append"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("which an interrupted run had left").count(), 2);
    assert!(to.join("notes.parquet").is_file() && !aside.exists());
    assert_same_rows(&whole, &to);
}
