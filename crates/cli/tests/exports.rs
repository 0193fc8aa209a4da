//! `export` as its users meet it: names, manifest, what is replaced, and what corruption leaves.

use crate::program::{Scratch, blockmill, copy, document, misunderstand, run, succeed_json};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

fn export(archive: &Path, to: &Path, words: &str) -> Command {
    let mut command = blockmill(&format!("export --seal off --level bodies {words}"));
    command.arg(archive).arg("--to").arg(to);
    command
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_export_names_its_files_by_what_they_hold_and_a_second_one_gives_the_same() {
    let scratch = Scratch::new("exports_by_name");
    let archive = blockmill_testkit::fixture("ethereum/chains/hive-engine/chain.rlp");
    let to = scratch.path("out");
    let answer = succeed_json(&mut export(&archive, &to, "--tables blocks,transactions"));
    let found = names(&to);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].ends_with("-blocks-000000001-000001024.parquet"), "{found:?}");
    assert!(found[1].ends_with("-transactions-000000001-000001024.parquet"), "{found:?}");
    let all = manifest(&to);
    assert_eq!((&all["verified"], &all["level"]), (&"chain".into(), &"bodies".into()));
    assert_eq!((&all["first"], &all["last"]), (&1.into(), &1024.into()));
    assert_eq!(all["files"], answer["files"]);
    assert_eq!(all["files"][1]["rows"], 11_264);

    // the same with one thread, and another random seed; nothing is replaced unless that is said
    let bytes = |folder: &Path| {
        let rows = names(folder).into_iter().filter(|name| name.ends_with(".parquet"));
        rows.map(|name| fs::read(folder.join(name)).unwrap()).collect::<Vec<_>>()
    };
    let again = scratch.path("again");
    succeed_json(&mut export(&archive, &again, "--tables blocks,transactions --threads 1"));
    assert_eq!(names(&again), found);
    assert!(bytes(&again) == bytes(&to), "other bytes");
    let words = "--tables blocks,transactions";
    misunderstand(&mut export(&archive, &to, words), &["manifest.json", "--force"]);
    fs::remove_file(to.join("manifest.json")).unwrap();
    misunderstand(&mut export(&archive, &to, words), &["parquet"]);
    succeed_json(&mut export(&archive, &to, &format!("{words} --force")));
    assert_eq!(names(&to), found);

    let cryo = scratch.path("cryo");
    succeed_json(&mut export(&archive, &cryo, "--tables blocks --names cryo"));
    assert!(names(&cryo)[0].ends_with("__blocks__00000001_to_00001024.parquet"));
}

/// The tables of an export, in order.
fn tables_of(answer: &Value) -> Vec<&str> {
    let files = answer["files"].as_array().unwrap();
    files.iter().map(|file| file["table"].as_str().unwrap()).collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn all_tables_are_those_that_level_and_archive_give() {
    let scratch = Scratch::new("exports_all");
    let chain = blockmill_testkit::fixture("ethereum/chains/hive-sync/chain.rlp");
    let era1 = blockmill_testkit::fixture("ethereum/era1/mainnet-00000-5ec1ffb8.era1");
    let of_bodies = ["blocks", "ommers", "transactions", "withdrawals", "block_access_list"];
    for (name, archive, words, expected) in [
        ("default", &chain, "", "blocks transactions".into()),
        ("bodies", &chain, "--tables all", of_bodies.join(" ")),
        (
            "receipts",
            &era1,
            "--tables all",
            "blocks ommers transactions receipts logs withdrawals block_access_list".into(),
        ),
        ("headers", &chain, "--tables all --level headers", "blocks".into()),
        ("named", &chain, "--tables all,ommers --level bodies", of_bodies.join(" ")),
    ] {
        let answer = succeed_json(&mut export(archive, &scratch.path(name), words));
        assert_eq!(tables_of(&answer).join(" "), expected, "{name}");
    }
    let answer =
        succeed_json(&mut export(&chain, &scratch.path("x"), "--tables all --level execution"));
    assert_eq!(tables_of(&answer).len(), 11);

    let neo = blockmill_testkit::fixture("neo/chain50x2.acc");
    let protocol = blockmill_testkit::fixture("neo/chain50x2.yml");
    let bitcoin = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    for (archive, words, default, all) in [
        (neo, format!("--chain {}", protocol.display()), 2, 4),
        (bitcoin, "--partial".into(), 2, 4),
    ] {
        for (tables, count) in [("", default), ("--tables all", all)] {
            let mut command = blockmill(&format!("export {words} {tables}"));
            let to = scratch.path(&format!("{}-{count}", archive.file_name().unwrap().display()));
            let answer = succeed_json(command.arg(&archive).arg("--to").arg(to));
            assert_eq!(tables_of(&answer).len(), count, "{words} {tables}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_written() {
    let scratch = Scratch::new("exports_refused");
    let archive = blockmill_testkit::fixture("ethereum/chains/hive-engine/chain.rlp");
    let to = scratch.path("out");
    let words = ["--tables", "blocks, ommers, transactions, receipts, logs, withdrawals", "traces"];
    misunderstand(&mut export(&archive, &to, "--tables blocks,traces"), &words);
    let words = ["found transactionz; did you mean transactions?"];
    misunderstand(&mut export(&archive, &to, "--tables blocks,transactionz"), &words);
    misunderstand(&mut export(&archive, &to, "--tables al"), &["did you mean all?"]);
    misunderstand(&mut export(&archive, &to, "--tables inputs"), &["inputs, a table of bitcoin"]);
    assert!(!to.exists());
    let own = scratch.path("own");
    fs::create_dir_all(&own).unwrap();
    copy(&archive, &own.join("chain.rlp"));
    let inside = own.join("tables");
    misunderstand(&mut export(&own, &inside, "--tables blocks"), &["inside the input"]);
    assert!(!inside.exists());
    // this level has no receipts, and says so with the first transaction
    let ended = run(&mut export(&archive, &to, "--tables logs"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("receipts, found block 1"), "{}", ended.stderr);
    // nor has a level without bodies, where nobody knows whether there are any
    for words in ["logs --level headers", "receipts --level headers", "logs --dry-run"] {
        misunderstand(&mut export(&archive, &to, &format!("--tables {words}")), &["--tables "]);
    }
    // no partition is complete
    assert!(!to.exists() && !ended.stderr.contains("partitions"), "{}", ended.stderr);
    // tables of these chains have no rows of headers
    let protocol = blockmill_testkit::fixture("neo/chain50x2.yml");
    for (archive, chain) in [
        ("neo/chain50x2.acc", format!("--chain {}", protocol.display())),
        ("bitcoin/testnet3-0-400.dat", "--partial".into()),
    ] {
        let archive = blockmill_testkit::fixture(archive);
        for more in ["", "--dry-run"] {
            let mut command = blockmill(&format!("export {chain} {more} --level headers"));
            let command = command.arg(&archive).arg("--to").arg(&to);
            misunderstand(command, &["need level bodies or execution, found level headers"]);
        }
    }
    let ended = run(&mut export(&archive, Path::new("/proc/x"), ""));
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn corruption_leaves_complete_partitions_and_no_word_of_a_chain() {
    let scratch = Scratch::new("exports_damage");
    let folder = scratch.path("era1");
    fs::create_dir_all(&folder).unwrap();
    for name in ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"] {
        copy(&blockmill_testkit::fixture(format!("ethereum/era1/{name}")), &folder.join(name));
    }
    let to = scratch.path("out");
    succeed_json(&mut export(&folder, &to, "--tables blocks"));
    assert_eq!(manifest(&to)["verified"], "chain");
    assert_eq!(names(&to).len(), 3);

    let second = folder.join("mainnet-00001-a5364e9a.era1");
    let mut bytes = fs::read(&second).unwrap();
    let middle = bytes.len() / 2;
    for at in [middle, bytes.len() - middle / 2] {
        bytes[at] ^= 0x40;
        fs::write(&second, &bytes).unwrap();
        bytes[at] ^= 0x40;
        let other = scratch.path(&format!("at-{at}"));
        copy(&to, &other);
        let ended = run(export(&folder, &other, "--tables blocks --force").arg("--json"));
        let answer = document(&ended);
        assert!([1, 4].contains(&answer["exit_code"].as_i64().unwrap()), "{answer}");
        assert_eq!(answer["result"]["verified"], "partition");
        assert!(answer["kept"].as_str().unwrap().contains("no manifest.json"), "{answer}");
        // the manifest of the run before spoke of files that are replaced
        assert!(!other.join("manifest.json").exists());
        let found = names(&other);
        assert!(found.iter().all(|name| name.ends_with(".parquet")), "{found:?}");
        assert!(found.contains(&"mainnet-blocks-000000000-000008191.parquet".into()));

        let fresh = scratch.path(&format!("fresh-{at}"));
        let ended = run(&mut export(&folder, &fresh, "--tables blocks"));
        assert!([Some(1), Some(4)].contains(&ended.code), "{}", ended.stderr);
        assert_eq!(names(&fresh), ["mainnet-blocks-000000000-000008191.parquet"]);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn block_files_that_are_cut_are_a_part_only_where_that_is_said() {
    let scratch = Scratch::new("exports_cut");
    let archive = blockmill_testkit::fixture("bitcoin/testnet3-0-400.dat");
    let export = |to: &Path, words: &str| {
        let mut command = blockmill(&format!("export --tables blocks,outputs {words}"));
        command.arg(&archive).arg("--to").arg(to);
        command
    };
    let to = scratch.path("out");
    let ended = run(export(&to, "").arg("--json"));
    let answer = document(&ended);
    let verified = &answer["result"]["verified"];
    assert_eq!((&answer["exit_code"], verified), (&3.into(), &"partition".into()));
    assert!(!to.join("manifest.json").exists());
    let answer = succeed_json(&mut export(&to, "--partial"));
    assert_eq!(answer["verified"], "partial");
    assert_eq!(manifest(&to)["verified"], "partial");
    assert_eq!(names(&to)[1], "testnet3-blocks-000000000-000000400.parquet");
}
