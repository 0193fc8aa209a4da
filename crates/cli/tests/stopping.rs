//! SIGINT and SIGTERM end every command within a second with 130, whatever it waits for, and what
//! is left is what it says.

#![cfg(target_os = "linux")]

use crate::program::signals::{self, LIMIT, send};
use crate::program::{Ended, Scratch, Snapshot, blockmill, fixtures, run, succeed, wait};
use blockmill_store::{Blocks, ChainStore, Items};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// See [`signals::stopped`].
fn stopped(words: &str, after: Duration, signals: &[&str]) -> Option<Ended> {
    signals::stopped(&|| blockmill(words), after, signals)
}

/// See [`signals::stop`].
fn stop(words: &str, check: impl Fn(&Ended)) {
    signals::stop(&|| blockmill(words), check);
}

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn conversions_and_generators_stop_and_leave_nothing_half_written() {
    let scratch = Scratch::new("stop-convert");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (source, blocks) = (path("source"), path("blocks"));
    succeed(&mut blockmill(&format!(
        "generate ethereum --headers 30000 --format freezer --out {source}"
    )));
    succeed(&mut blockmill(&format!(
        "generate bitcoin --inputs 0 --blocks 3000 --padding 60000 --out {blocks}"
    )));
    let out = scratch.path("out");
    fs::create_dir(&out).expect("a folder");
    let to = out.join("x").display().to_string();
    let lines = [
        format!("convert --to rlp-gz {source} --out {to}"),
        format!("convert --to freezer {source} --out {to}"),
        format!("convert --to blk {blocks} --out {to}"),
        format!("generate ethereum --headers 10000000 --out {to}"),
        format!("generate ethereum --transfers 1000000 --out {to}"),
        format!("generate bitcoin --inputs 1000000 --out {to}"),
    ];
    for line in lines {
        stop(&line, |ended| {
            assert!(ended.stderr.contains("nothing was written"), "{line}: {}", ended.stderr);
            assert_eq!(entries(&out), [""; 0], "{line}");
        });
        // one that ended in time is not in the way of the next
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).expect("a folder");
    }
    // complete eras stay, and the rest follows
    let line = format!("convert --to era1 {source} --out {to}");
    stop(&line, |ended| {
        assert!(ended.stderr.contains("are complete"), "{}", ended.stderr);
        for name in entries(&out.join("x")) {
            assert!(name.ends_with(".era1"), "{name}");
            succeed(&mut blockmill(&format!("inspect --deep {to}/{name}")));
        }
        let _ = fs::remove_dir_all(out.join("x"));
    });
}

#[test]
fn reading_and_verifying_stop() {
    let scratch = Scratch::new("stop-read");
    let path = |name: &str| scratch.path(name).display().to_string();
    let source = path("source");
    succeed(&mut blockmill(&format!(
        "generate ethereum --headers 40000 --format freezer --out {source}"
    )));
    // one chain under many names
    let many: Vec<String> = (0..40).map(|i| path(&format!("link-{i}"))).collect();
    for link in &many {
        std::os::unix::fs::symlink(&source, link).expect("a link");
    }
    let lines = [
        format!("inspect --deep {}", many.join(" ")),
        format!("verify --seal off --level bodies --threads 1 {source}"),
        format!("demo --headers 3000000 --out {}", path("demo")),
    ];
    for line in lines {
        stop(&line, |ended| {
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!line.starts_with("verify") || !said.contains("resumes"), "{line}: {said}");
        });
    }
}

#[test]
fn a_stopped_export_says_only_what_it_leaves() {
    let scratch = Scratch::new("stop-export");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (chain, dump) = (path("chain"), path("dump"));
    succeed(&mut blockmill(&format!("generate ethereum --transfers 30000 --out {chain}")));
    succeed(&mut blockmill(&format!(
        "generate neo --blocks 40 --txs 100 --accounts 100 --out {dump}"
    )));
    for archive in [
        format!("{chain}/chain.rlp --seal off --level bodies"),
        format!("{dump}/chain.acc --chain {dump}/chain.yml"),
    ] {
        let to = scratch.path("to");
        let line = format!("export {archive} --force --to {}", to.display());
        stop(&line, |ended| {
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!said.contains("resumes"), "{line}: {said}");
            let (nothing, files) = ("nothing was written", format!("files in {}", to.display()));
            assert!(said.contains(nothing) || said.contains(&files), "{line}: {said}");
            assert!(!said.contains(nothing) || entries(&to).is_empty(), "{line}: {said}");
        });
        let _ = fs::remove_dir_all(&to);
    }
}

#[test]
fn a_stopped_import_keeps_what_it_says_and_a_second_one_goes_on() {
    let scratch = Scratch::new("stop-import");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (chain, blocks) = (path("chain"), path("blocks"));
    succeed(&mut blockmill(&format!(
        "generate ethereum --headers 40000 --format freezer --out {chain}"
    )));
    succeed(&mut blockmill(&format!("generate bitcoin --inputs 20000 --out {blocks}")));
    for (line, name) in [(format!("{chain} --seal off --level bodies"), "a"), (blocks, "b")] {
        let data = path(name);
        stop(&format!("import {line} --data {data}"), |ended| {
            let kept = ended.stderr.contains("committed");
            assert!(kept, "{line}: {}", ended.stderr);
        });
        let ended = run(&mut blockmill(&format!("import {line} --data {data}")));
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_check_stops_and_says_that_it_changed_nothing() {
    let scratch = Scratch::new("stop-check");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (chain, blocks) = (path("chain"), path("blocks"));
    succeed(&mut blockmill(&format!(
        "generate ethereum --headers 60000 --format freezer --out {chain}"
    )));
    // blocks by the thousand: a check of few is over in five milliseconds
    succeed(&mut blockmill(&format!(
        "generate bitcoin --inputs 20000 --blocks 60000 --out {blocks}"
    )));
    for (line, name) in [(format!("{chain} --seal off --level bodies"), "a"), (blocks, "b")] {
        let data = path(name);
        succeed(&mut blockmill(&format!("import {line} --data {data}")));
        let before = folder(Path::new(&data));
        stop(&format!("check {data}"), |ended| {
            assert!(ended.stderr.contains("stopped: check changes nothing"), "{}", ended.stderr);
        });
        assert!(folder(Path::new(&data)) == before, "{data} has changed");
        let ended = run(&mut blockmill(&format!("check {data}")));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

/// The files in a folder and below, with their bytes.
fn folder(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    for name in entries(path) {
        let path = path.join(name);
        match path.is_dir() {
            true => found.extend(folder(&path)),
            false => found.push((path.clone(), fs::read(&path).expect("a file"))),
        }
    }
    found
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_making_of_an_ethash_cache_stops_and_leaves_no_part_of_one() {
    let scratch = Scratch::new("stop-ethash");
    // any headers of a late epoch, whose cache takes its time; the seals are never come to
    let headers = scratch.path("headers");
    let era1 = fixtures().join("era1/mainnet-00000-5ec1ffb8.era1");
    let mut convert = blockmill("convert --to headers --until 50 --out");
    succeed(convert.arg(&headers).arg(era1));
    let (caches, headers) = (scratch.path("caches"), headers.display());
    let line = format!("verify --seal all --ethash-cache {} {headers}", caches.display());
    let mut cut_short = 0;
    // a second signal does not wait for a cache that is almost made
    for (i, millis) in [0, 5, 5, 20, 20, 60, 60, 150, 150, 300].into_iter().enumerate() {
        let _ = fs::remove_dir_all(&caches);
        let signals = [&["INT", "TERM"][..], &["TERM"]][i % 2];
        let Some(ended) = stopped(&line, Duration::from_millis(millis), signals) else { continue };
        assert!(ended.stderr.contains("verify keeps nothing"), "{}", ended.stderr);
        let left = entries(&caches);
        assert!(left.iter().all(|name| name == "ethash-00000.cache"), "{left:?}");
        cut_short += u32::from(left.is_empty());
    }
    assert!(cut_short > 0, "the cache was always made before the end");
    // one that was stopped is not in the way of the next
    succeed(&mut blockmill(&line));
    assert_eq!(entries(&caches), ["ethash-00000.cache"]);
}

/// A store whose hash index has very many runs, so that making it takes its time.
fn with_small_runs(from: &Path, to: &Path) {
    let (source, _) = ChainStore::open_read_only(from).expect("a store");
    let options = blockmill_store::Options { run_items: 16, ..blockmill_store::Options::default() };
    let (mut copy, _) = ChainStore::open(to, &options).expect("a new store");
    let tip = source.tip().expect("blocks");
    for first in (0..=tip.number).step_by(4_096) {
        let count = (tip.number + 1 - first).min(4_096);
        let mut hashes = vec![];
        source.hashes(first, count, &mut hashes).expect("hashes");
        let headers = source.items(blockmill_store::BlockPart::Headers, first, count);
        let headers = headers.expect("headers").expect("stored headers");
        let headers = Items { bytes: &headers.bytes, ends: &headers.ends };
        let (bodies, receipts) = (None, None);
        copy.append(&Blocks { first, hashes: &hashes, headers, bodies, receipts }).expect("room");
    }
    copy.commit(&tip).expect("a commit");
    copy.sync().expect("a sync");
}

#[test]
fn a_rebuild_of_the_hash_index_stops_and_begins_again() {
    let scratch = Scratch::new("stop-index");
    let [chain, made, data] = ["chain", "made", "data"].map(|name| scratch.path(name));
    succeed(blockmill("generate ethereum --headers 100000 --out").arg(&chain));
    succeed(blockmill("import --seal off --data").arg(&made).arg(&chain));
    with_small_runs(&made, &data);
    let whole = Snapshot::of(&data);
    let line = format!("import --seal off --data {} {}", data.display(), chain.display());
    let small = data.join("index-small.00000");
    let length = || fs::metadata(&small).map_or(0, |meta| meta.len());
    let all = length();
    let mut met = 0;
    for signal in ["INT", "TERM"].into_iter().cycle().take(10) {
        let _ = fs::remove_file(&small);
        let mut child = blockmill(&line).spawn().expect("the program starts");
        while child.try_wait().expect("a child").is_none() && length() == 0 {
            sleep(Duration::from_micros(100));
        }
        if child.try_wait().expect("a child").is_some() {
            continue;
        }
        send(signal, &child);
        let (sent, reached) = (Instant::now(), length());
        let ended = wait(child, &line);
        let took = sent.elapsed();
        if reached < all && took < LIMIT {
            assert_eq!(ended.code, Some(130), "{}{}", ended.stdout, ended.stderr);
            met += 1;
        }
    }
    println!("{met} of 10 rebuilds were stopped");
    assert!(met > 0, "the index was always whole before the signal, or the machine too busy");
    succeed(&mut blockmill(&line));
    whole.assert_same(&data);
}

#[test]
fn a_pipe_that_says_nothing_keeps_nobody() {
    let scratch = Scratch::new("stop-pipe");
    let pipe = scratch.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let (pipe, data) = (pipe.display(), scratch.path("data"));
    let (data, out) = (data.display(), scratch.path("out"));
    let out = out.display();
    let lines = [
        format!("inspect {pipe}"),
        format!("verify {pipe}"),
        format!("import {pipe} --data {data}"),
        format!("convert --to headers {pipe} --out {out}"),
        format!("report {pipe} --out {out}"),
    ];
    for line in lines {
        for signal in ["INT", "TERM"] {
            // where a pipe is refused, it is refused at once
            let _ = stopped(&line, Duration::from_millis(300), &[signal]);
        }
    }
}

#[test]
fn a_stopped_command_prints_its_document() {
    let scratch = Scratch::new("stop-json");
    let out = scratch.path("x");
    let line = format!("generate ethereum --headers 14000000 --json --out {}", out.display());
    let ended = stopped(&line, Duration::from_millis(500), &["INT"]).expect("a long run");
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a document");
    assert_eq!(document["status"], "interrupted");
    assert_eq!(document["exit_code"], 130);
    assert_eq!(document["command"], "generate");
}
