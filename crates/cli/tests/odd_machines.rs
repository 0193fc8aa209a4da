//! What a machine can do to a program: names that are not UTF-8, no memory, no threads, no room in
//! a file. Never a panic, never an abort, never another path than the one that was meant.

#![cfg(target_os = "linux")]

use crate::program::{Ended, Scratch, blockmill, run, succeed, wait};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Exit code for trouble of this machine.
const ENVIRONMENT: i32 = 5;

/// Runs a line in which `@` begins a name in `folder`, whatever bytes that has.
fn command(line: &str, folder: &Path) -> Command {
    let mut command = blockmill("");
    command.args(line.split_whitespace().map(|word| match word.strip_prefix('@') {
        Some(name) => folder.join(name).into_os_string(),
        None => OsString::from(word),
    }));
    command.current_dir(folder);
    command
}

fn names(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn names_of_any_bytes_are_those_that_were_meant() {
    let scratch = Scratch::new("odd-names");
    let folder = scratch.path("").join(OsStr::from_bytes(b"caf\xe9 \xff\xfe"));
    fs::create_dir(&folder).expect("a folder of that name");
    let lines = [
        "generate ethereum --headers 300 --out @headers.rlp",
        "generate ethereum --headers 300 --format freezer --out @chain",
        "generate ethereum --transfers 20 --out @transfers",
        "generate bitcoin --inputs 300 --out @blocks",
        "inspect @headers.rlp @chain",
        "inspect @blocks",
        "verify @transfers/chain.rlp --chain transfers/genesis.json --seal off --level bodies",
        "verify @headers.rlp --seal off --record @one.json",
        "verify @blocks --record @two.json",
        "import @headers.rlp --seal off --data @store",
        "import @blocks --data @coins",
        "inspect @coins",
        "convert @chain --to rlp --out @rlp",
        "convert @chain --to era1 --chain mainnet --out @era1",
        "convert @blocks --to blk --out @blk",
        "convert @blocks --to core --data @coins --out @core",
        "report @one.json --out @report",
        "report @two.json --out @report",
        "man @man",
        "demo --headers 2000 --out @demo",
    ];
    let before = names(&scratch.path(""));
    for line in lines {
        let ended = run(&mut command(line, &folder));
        let text = format!("{line}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(0), "{text}");
    }
    for line in lines.iter().filter(|line| {
        line.starts_with("inspect") || line.starts_with("verify") || line.starts_with("report")
    }) {
        let force = if line.starts_with("verify") { " --force" } else { "" };
        let line = format!("{line} --json{force}");
        let ended = run(&mut command(&line, &folder));
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        let document: Result<serde_json::Value, _> = serde_json::from_str(&ended.stdout);
        assert!(document.is_ok(), "{line}: {}", ended.stdout);
    }
    // trouble is reported as well, with the path as far as it can be shown
    fs::write(folder.join("bad.rlp"), b"\xf9\x02\x00 no block").expect("a file");
    for line in ["verify @bad.rlp", "inspect @bad.rlp", "verify @missing", "inspect @missing"] {
        for line in [line.to_owned(), format!("{line} --json")] {
            let ended = run(&mut command(&line, &folder));
            assert!(ended.code.is_some_and(|code| (1..=6).contains(&code)), "{line}: {ended:?}");
            assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
        }
    }
    assert_eq!(names(&scratch.path("")), before, "something was written elsewhere");
}

/// A shell that sets limits and then runs the program.
fn limited(limits: &str, line: &str) -> Ended {
    let script = format!("{limits}; exec \"$0\" {line}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_blockmill")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wait(command.spawn().expect("sh"), &script)
}

#[test]
fn a_limit_of_memory_is_trouble_and_no_abort() {
    let scratch = Scratch::new("odd-memory");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (chain, blocks) = (path("chain"), path("blocks"));
    succeed(&mut blockmill(&format!(
        "generate ethereum --headers 3000 --format freezer --out {chain}"
    )));
    succeed(&mut blockmill(&format!("generate bitcoin --inputs 3000 --out {blocks}")));
    let lines = [
        format!("verify --seal off --level bodies {chain}"),
        format!("verify --seal all {chain}"),
        format!("verify {blocks}"),
        format!("inspect --deep {blocks}"),
        format!("convert --to rlp {chain} --out OUT"),
        format!("convert --to blk {blocks} --out OUT"),
        format!("convert --to core {blocks} --data OUT-data --out OUT"),
        format!("import --seal off --level bodies {chain} --data OUT"),
        format!("import {blocks} --data OUT"),
        "generate ethereum --headers 3000 --out OUT".into(),
    ];
    let (mut refused, mut tried) = (0, 0);
    // the program itself must fit
    let enough = |kib: &u64| limited(&format!("ulimit -v {kib}"), "--version").code == Some(0);
    let least = (10_000..).step_by(1_000).find(enough).expect("a limit under which it starts");
    for (i, line) in lines.iter().enumerate() {
        for more in [0, 1_000, 2_000, 4_000, 8_000, 16_000, 40_000, 100_000, 400_000] {
            let kib = least + more;
            let out = scratch.path(&format!("out-{i}-{kib}"));
            let words = line.replace("OUT", &out.display().to_string());
            let ended = limited(&format!("ulimit -v {kib}"), &words);
            let text = format!("{kib} KiB: {line}: {}{}", ended.stdout, ended.stderr);
            assert!(!text.contains("panicked"), "{text}");
            assert!(ended.code.is_some(), "ended by a signal: {text}");
            refused += usize::from(ended.code == Some(ENVIRONMENT));
            let is_whole = ended.code == Some(0);
            assert!(is_whole || line.starts_with("import") || !out.exists(), "{text}");
            tried += 1;
        }
    }
    println!("{refused} of {tried} runs had too little memory");
    assert!(refused > 0, "no run had too little memory");
}

#[test]
fn a_limit_of_threads_only_takes_time() {
    let scratch = Scratch::new("odd-threads");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (chain, blocks) = (path("chain"), path("blocks"));
    succeed(&mut blockmill(&format!(
        "generate ethereum --headers 3000 --format freezer --out {chain}"
    )));
    succeed(&mut blockmill(&format!("generate bitcoin --inputs 3000 --out {blocks}")));
    // each thread's stack takes so much of the address space that few can be had
    for (line, kib) in [
        (format!("verify --seal off --level bodies --threads 8 {chain}"), 1_500_000),
        (format!("verify --threads 8 {blocks}"), 1_500_000),
        (format!("inspect --deep {blocks}"), 1_500_000),
    ] {
        for stack in [200u64 << 20, 400 << 20, 700 << 20] {
            let limits = format!("ulimit -v {kib}; export RUST_MIN_STACK={stack}");
            let ended = limited(&limits, &line);
            assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
            assert!(matches!(ended.code, Some(0 | ENVIRONMENT)), "{line}: {ended:?}");
        }
    }
}

#[test]
fn a_limit_of_open_files_is_raised_or_trouble() {
    let scratch = Scratch::new("odd-files");
    let path = |name: &str| scratch.path(name).display().to_string();
    let blocks = path("blocks");
    succeed(&mut blockmill(&format!("generate bitcoin --inputs 3000 --out {blocks}")));
    let mut refused = 0;
    for most in [5, 8, 12, 16, 24] {
        let import = |limit: &str| {
            let out = path(&format!("out-{limit}-{most}"));
            limited(&format!("ulimit -{limit} {most}"), &format!("import {blocks} --data {out}"))
        };
        // what the process begins with
        let ended = import("Sn");
        assert_eq!(ended.code, Some(0), "{most} files: {}{}", ended.stdout, ended.stderr);
        // what it may have
        let ended = import("n");
        let text = format!("{most} files: {}{}", ended.stdout, ended.stderr);
        assert!(!text.contains("panicked"), "{text}");
        assert!(matches!(ended.code, Some(0 | ENVIRONMENT)), "{:?} {text}", ended.code);
        refused += usize::from(ended.code == Some(ENVIRONMENT));
    }
    assert!(refused > 0, "no run met the limit");
}

#[test]
fn a_limit_of_file_sizes_is_trouble_and_no_signal() {
    let scratch = Scratch::new("odd-sizes");
    let path = |name: &str| scratch.path(name).display().to_string();
    let (chain, blocks, record) = (path("chain"), path("blocks"), path("record.json"));
    succeed(&mut blockmill(&format!(
        "generate ethereum --headers 3000 --format freezer --out {chain}"
    )));
    succeed(&mut blockmill(&format!("generate bitcoin --inputs 3000 --out {blocks}")));
    succeed(&mut blockmill(&format!("verify {blocks} --record {record}")));
    let lines = [
        format!("convert --to rlp {chain} --out OUT"),
        format!("convert --to freezer {chain} --out OUT"),
        format!("convert --to blk {blocks} --out OUT"),
        format!("convert --to core {blocks} --data OUT-data --out OUT"),
        format!("import --seal off --level bodies {chain} --data OUT"),
        format!("import {blocks} --data OUT --cache 1"),
        "generate ethereum --headers 3000 --out OUT".into(),
        "generate bitcoin --inputs 3000 --out OUT".into(),
        format!("report {record} --out OUT"),
    ];
    for (i, line) in lines.iter().enumerate() {
        let mut refused = 0;
        // of 512 bytes each
        for blocks in [0, 1, 8, 40, 100] {
            let out = scratch.path(&format!("out-{i}-{blocks}"));
            let words = line.replace("OUT", &out.display().to_string());
            let ended = limited(&format!("ulimit -f {blocks}"), &words);
            let text = format!("{blocks} blocks: {line}: {}{}", ended.stdout, ended.stderr);
            assert!(!text.contains("panicked"), "{text}");
            assert!(matches!(ended.code, Some(0 | ENVIRONMENT)), "{:?} {text}", ended.code);
            refused += usize::from(ended.code == Some(ENVIRONMENT));
            let again = run(&mut blockmill(&words));
            assert_eq!(again.code, Some(0), "again after {text}: {}", again.stderr);
        }
        assert!(refused > 0, "{line} never met the limit");
    }
}

#[test]
fn a_record_that_cannot_be_saved_hides_no_verdict() {
    let scratch = Scratch::new("odd-record");
    let path = |name: &str| scratch.path(name).display().to_string();
    let headers = path("headers.rlp");
    succeed(&mut blockmill(&format!("generate ethereum --headers 300 --out {headers}")));
    fs::write(scratch.path("file"), "no folder").expect("a file");
    let record = path("file/record.json");
    let line = format!("verify --seal off {headers} --record {record}");
    let ended = run(&mut blockmill(&line));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("Verified"), "{}", ended.stdout);
    assert!(ended.stderr.contains("warning: "), "{}", ended.stderr);
}
