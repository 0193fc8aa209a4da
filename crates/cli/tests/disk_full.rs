//! The disk is full at any moment of an import, a conversion or a report: the program
//! says what is committed and what is missing, half an output never counts as whole, and the same
//! command ends right as soon as there is room.
//!
//! The disk is a `tmpfs` in a mount namespace of its own, which needs no privileges where user
//! namespaces are allowed. Where they are not, a limit of file sizes replaces it, which
//! stops the same writes; where tests must run (`BLOCKMILL_REQUIRE`), that is a failure.

#![cfg(target_os = "linux")]

use crate::program;
use crate::program::{Ended, Scratch, blockmill, run, succeed};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Sizes at which each command meets a full disk.
const SIZES: u64 = 20;
/// Exit codes: done, and trouble of this machine.
const GOOD: i32 = 0;
const ENVIRONMENT: i32 = 5;
/// Room for everything.
const LARGE: u64 = 1 << 30;

/// A disk of a size that can be changed.
enum Disk {
    /// A `tmpfs`, alive as long as the process in whose namespace it is mounted.
    Namespace { holder: Child, folder: PathBuf },
    /// A folder in which no file may grow above a limit.
    Limit { folder: PathBuf, bytes: u64 },
}

impl Disk {
    fn new(folder: &Path) -> Self {
        fs::create_dir_all(folder).expect("a folder");
        let folder = folder.to_path_buf();
        let script = format!("mount -t tmpfs none '{}' && echo ready && cat", folder.display());
        let mut holder = Command::new("unshare")
            .args(["-rm", "sh", "-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("unshare");
        let mut line = String::new();
        let out = holder.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("a line");
        if line == "ready\n" {
            return Self::Namespace { holder, folder };
        }
        let _ = holder.wait();
        assert!(!blockmill_testkit::must_run(), "no tmpfs can be mounted here, and tests must run");
        Self::Limit { folder, bytes: LARGE }
    }

    /// A command that sees the disk.
    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command;
        match self {
            Self::Namespace { holder, .. } => {
                command = Command::new("nsenter");
                let id = holder.id().to_string();
                command.args(["-t", &id, "-U", "-m", "--preserve-credentials", program]);
            }
            Self::Limit { bytes, .. } => {
                command = Command::new("sh");
                let limit = format!("ulimit -f {}; exec \"$@\"", bytes / 512);
                command.args(["-c", &limit, "sh", program]);
            }
        }
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn resize(&mut self, bytes: u64) {
        match self {
            Self::Namespace { folder, .. } => {
                let size = format!("remount,size={bytes}");
                let folder = folder.display().to_string();
                // what was removed a moment ago may still be counted
                let mut tries = 0..50;
                let ended = loop {
                    let ended = run(&mut self.command("mount", &["-o", &size, &folder]));
                    if ended.code == Some(0) || tries.next().is_none() {
                        break ended;
                    }
                    sleep(Duration::from_millis(20));
                };
                assert_eq!(ended.code, Some(0), "{bytes} bytes: {}", ended.stderr);
            }
            Self::Limit { bytes: limit, .. } => *limit = bytes,
        }
    }

    /// Removes everything.
    fn clear(&self) {
        let script = format!("find '{}' -mindepth 1 -delete", self.folder().display());
        assert_eq!(run(&mut self.command("sh", &["-c", &script])).code, Some(0));
    }

    /// Bytes in use: of the disk, or of the largest file.
    fn used(&self) -> u64 {
        let folder = self.folder().display();
        let script = match self {
            Self::Namespace { .. } => format!("df --output=used -B1 '{folder}' | tail -1"),
            Self::Limit { .. } => {
                format!("find '{folder}' -type f -printf '%s\\n' | sort -n | tail -1")
            }
        };
        let ended = run(&mut self.command("sh", &["-c", &script]));
        ended.stdout.trim().parse().expect("a number of bytes")
    }

    fn folder(&self) -> &Path {
        match self {
            Self::Namespace { folder, .. } | Self::Limit { folder, .. } => folder,
        }
    }

    /// Runs the program.
    fn blockmill(&self, line: &str) -> Ended {
        let words: Vec<&str> = line.split_whitespace().collect();
        run(&mut self.command(env!("CARGO_BIN_EXE_blockmill"), &words))
    }

    /// What a script prints that looks at the disk.
    fn script(&self, script: &str) -> String {
        run(&mut self.command("sh", &["-c", script])).stdout
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Self::Namespace { holder, .. } = self {
            // it ends when nobody writes to it any more
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
}

/// Runs `line`, in which `@` is a folder on the disk, at each size; then again with room. `state`
/// is what must be the same in the end as without trouble.
fn each_size(scratch: &Scratch, line: &str, state: impl Fn(&Disk) -> String, names: &[&str]) {
    let mut disk = Disk::new(&scratch.path("disk"));
    let line = line.replace('@', &disk.folder().display().to_string());
    disk.resize(LARGE);
    let before = disk.used();
    let whole = disk.blockmill(&line);
    assert_eq!(whole.code, Some(GOOD), "{line}: {}", whole.stderr);
    let (needed, expected) = (disk.used() - before, state(&disk));
    assert!(!expected.is_empty(), "{line}: nothing to compare");
    let mut full = 0;
    for i in 0..SIZES {
        disk.clear();
        disk.resize((needed * i / SIZES).next_multiple_of(4096).max(4096));
        let ended = disk.blockmill(&line);
        let text = format!("{line} at size {i}: {}{}", ended.stdout, ended.stderr);
        assert!(!text.contains("panicked"), "{text}");
        if ended.code != Some(GOOD) {
            assert_eq!(ended.code, Some(ENVIRONMENT), "{text}");
            full += 1;
            for name in names {
                assert!(ended.stderr.contains(name), "no {name:?} in {text}");
            }
            let errors = ended.stderr.lines().filter(|line| line.starts_with("error: "));
            assert_eq!(errors.count(), 1, "{text}");
            assert_eq!(ended.stderr.matches("make room").count(), 1, "{text}");
        }
        disk.resize(LARGE);
        let again = if ended.code == Some(GOOD) { ended } else { disk.blockmill(&line) };
        assert_eq!(again.code, Some(GOOD), "again after {text}: {}", again.stderr);
        assert_eq!(state(&disk), expected, "after {text}");
    }
    println!("{line}: {full} of {SIZES} sizes were too small, {needed} bytes needed");
    assert!(full >= SIZES / 2, "{line}: only {full} of {SIZES} sizes were too small");
}

/// Hashes of all files in a folder on the disk, without those whose names match.
fn digest<'a>(name: &'a str, but: &'a str) -> impl Fn(&Disk) -> String + 'a {
    move |disk| {
        let folder = disk.folder().join(name);
        let folder = folder.display();
        disk.script(&format!(
            "cd '{folder}' && find . -type f | grep -v -e '{but}' | sort | xargs sha256sum"
        ))
    }
}

fn ethereum(scratch: &Scratch) -> String {
    let chain = scratch.path("chain").display().to_string();
    let line = format!("generate ethereum --headers 3000 --format freezer --out {chain}");
    succeed(&mut blockmill(&line));
    chain
}

fn bitcoin(scratch: &Scratch) -> String {
    let blocks = scratch.path("blocks").display().to_string();
    succeed(&mut blockmill(&format!(
        "generate bitcoin --inputs 4000 --block-inputs 200 --out {blocks}"
    )));
    blocks
}

#[test]
fn an_ethereum_import_goes_on_when_there_is_room() {
    let scratch = Scratch::new("full-ethereum-import");
    let chain = ethereum(&scratch);
    let line = format!("import {chain} --seal off --level bodies --data @/data --chunk 128");
    each_size(&scratch, &line, digest("data", "records\\|manifest\\|light\\|lock"), &["stays"]);
}

/// Blocks, log and checkpoint of an executed chain.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_execution_goes_on_when_there_is_room() {
    let scratch = Scratch::new("full-execution");
    let chain = program::fixtures().join("chains/geth-ethtest/chain.rlp");
    let flags = "--seal off --chunk 16 --unwind-depth 50";
    let line = format!("import {} {flags} --data @/data", chain.display());
    // parts of the checkpoint are as large as there was room for
    let state = |disk: &Disk| {
        let data = disk.folder().join("data");
        for line in ["check DATA", "unwind DATA --to 560"] {
            let ended = disk.blockmill(&line.replace("DATA", &data.display().to_string()));
            assert_eq!(ended.code, Some(GOOD), "{line}: {}{}", ended.stdout, ended.stderr);
        }
        digest("data", "records\\|manifest\\|light\\|lock\\|state")(disk)
    };
    each_size(&scratch, &line, state, &["stays"]);
}

#[test]
fn a_bitcoin_import_goes_on_when_there_is_room() {
    let scratch = Scratch::new("full-bitcoin-import");
    let blocks = bitcoin(&scratch);
    let line = format!("import {blocks} --data @/data --cache 1");
    let coins = |disk: &Disk| {
        let data = disk.folder().join("data");
        let ended = disk.blockmill(&format!("inspect {} --json", data.display()));
        assert_eq!(ended.code, Some(GOOD), "{}", ended.stderr);
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let found = &document["result"];
        format!("{} {} {}", found["tip"], found["height"], found["hash_serialized"])
    };
    each_size(&scratch, &line, coins, &["stays"]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_neo_import_goes_on_when_there_is_room() {
    let scratch = Scratch::new("full-neo-import");
    let dump = blockmill_testkit::fixture("neo/gen/empty2000-sr.acc.zst");
    let line = format!("import {} --data @/data --cache 1", dump.display());
    let root = |disk: &Disk| {
        let data = disk.folder().join("data");
        let ended = disk.blockmill(&format!("inspect {} --json", data.display()));
        assert_eq!(ended.code, Some(GOOD), "{}", ended.stderr);
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let found = &document["result"];
        format!("{} {}", found["height"], found["state_root"])
    };
    each_size(&scratch, &line, root, &["stays"]);
}

#[test]
fn ethereum_conversions_begin_again_when_there_is_room() {
    let scratch = Scratch::new("full-ethereum-convert");
    let chain = ethereum(&scratch);
    for (to, name) in [("rlp", "out"), ("freezer", "out"), ("rlp-gz", "out")] {
        let line = format!("convert {chain} --to {to} --no-space-check --out @/d/{name}");
        let line = line.replace("@/d/", "@/");
        let state = |disk: &Disk| {
            let left = disk.script(&format!("ls -A '{}'", disk.folder().display()));
            assert_eq!(left.trim(), name, "something was left");
            digest("", "nothing")(disk)
        };
        each_size(&scratch, &line, state, &["nothing was written"]);
    }
}

#[test]
fn an_export_begins_again_with_force_as_its_advice_says() {
    let scratch = Scratch::new("full-export");
    let chain = ethereum(&scratch);
    let parts = scratch.path("parts");
    fs::create_dir(&parts).expect("a folder");
    for (from, until) in [(0, 999), (1000, 1999), (2000, 3000)] {
        let out = parts.join(format!("{from}.rlp"));
        let words = format!("convert --to rlp --from {from} --until {until} --out");
        succeed(blockmill(&words).arg(out).arg(&chain));
    }
    let mut disk = Disk::new(&scratch.path("disk"));
    let (to, parts) = (disk.folder().join("out"), parts.display().to_string());
    let to = to.display();
    let line = format!("export {parts} --seal off --level headers --tables blocks --to {to}");
    disk.resize(LARGE);
    let before = disk.used();
    assert_eq!(disk.blockmill(&line).code, Some(GOOD));
    let needed = disk.used() - before;
    disk.clear();
    // room for some of the files
    disk.resize((needed / 3 * 2).next_multiple_of(4096));
    let ended = disk.blockmill(&line);
    assert_eq!(ended.code, Some(ENVIRONMENT), "{}", ended.stderr);
    assert!(ended.stderr.contains("the same command again with --force"), "{}", ended.stderr);
    assert!(disk.script(&format!("ls {to}")).contains(".parquet"), "no file is complete");
    disk.resize(LARGE);
    let again = disk.blockmill(&format!("{line} --force"));
    assert_eq!(again.code, Some(GOOD), "{}", again.stderr);
}

#[test]
fn bitcoin_conversions_begin_again_when_there_is_room() {
    let scratch = Scratch::new("full-bitcoin-convert");
    let blocks = bitcoin(&scratch);
    let line = format!("convert {blocks} --to blk --no-space-check --out @/out");
    each_size(&scratch, &line, digest("out", "nothing"), &["nothing was written"]);
}

#[test]
fn a_hand_over_begins_again_when_there_is_room() {
    let scratch = Scratch::new("full-export");
    let blocks = bitcoin(&scratch);
    let data = scratch.path("data").display().to_string();
    succeed(&mut blockmill(&format!("import {blocks} --data {data}")));
    let line = format!("convert {blocks} --to core --data {data} --no-space-check --out @/out");
    // the files are hidden with random keys
    let state = |disk: &Disk| {
        let out = disk.folder().join("out/regtest");
        let ended = disk.blockmill(&format!("inspect {} --json", out.display()));
        assert_eq!(ended.code, Some(GOOD), "{}", ended.stderr);
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let found = &document["result"];
        format!("{} {}", found["tip"], found["hash_serialized"])
    };
    each_size(&scratch, &line, state, &["nothing was written"]);
}

#[test]
fn reports_are_drawn_again_when_there_is_room() {
    let scratch = Scratch::new("full-report");
    let (chain, blocks) = (ethereum(&scratch), bitcoin(&scratch));
    for (name, source) in
        [("ethereum", format!("{chain} --seal off --level bodies")), ("bitcoin", blocks)]
    {
        let record = scratch.path(name).display().to_string() + ".json";
        succeed(&mut blockmill(&format!("verify {source} --record {record}")));
        let line = format!("report {record} --out @/report");
        each_size(&scratch, &line, digest("report", "nothing"), &["may lack files"]);
    }
}

#[test]
fn too_little_room_is_known_before_the_start() {
    let scratch = Scratch::new("full-known");
    let blocks = bitcoin(&scratch);
    let data = scratch.path("data").display().to_string();
    succeed(&mut blockmill(&format!("import {blocks} --data {data}")));
    let mut disk = Disk::new(&scratch.path("disk"));
    // a limit of file sizes is met when it is reached, and not known before
    let is_known = matches!(disk, Disk::Namespace { .. });
    disk.resize(256 << 10);
    let out = disk.folder().join("out").display().to_string();
    let chain = ethereum(&scratch);
    for line in [
        format!("convert {blocks} --to blk --out {out}"),
        format!("convert {blocks} --to core --data {data} --out {out}"),
        format!("convert {chain} --to rlp --out {out}"),
        format!("generate ethereum --headers 1000000 --out {out}"),
        format!("generate ethereum --transfers 1000000 --out {out}"),
        format!("generate bitcoin --inputs 1000000 --out {out}"),
    ] {
        let ended = disk.blockmill(&line);
        assert_eq!(ended.code, Some(ENVIRONMENT), "{line}: {}", ended.stderr);
        let reported = ended.stderr.contains("bytes are missing");
        assert!(reported || !is_known, "{line}: {}", ended.stderr);
        let left = disk.script(&format!("ls -A '{}'", disk.folder().display()));
        assert_eq!(left, "", "{line}: something was begun");
    }
}
