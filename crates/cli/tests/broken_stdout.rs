//! Nobody reads what is printed: the reader of a pipe has gone, or the disk of standard output
//! is full. Never a panic; the verdict's exit code stays, and what did not arrive is reported.

use crate::program::{Ended, Scratch, blockmill, run, succeed};
use std::fs::File;
use std::io::pipe;
use std::process::{Command, Stdio};

/// Exit code for trouble of this machine.
const ENVIRONMENT: i32 = 5;

/// Every kind of command with the exit code that it ends with when all is read.
fn commands(scratch: &Scratch) -> Vec<(String, i32)> {
    let path = |name: &str| scratch.path(name).display().to_string();
    let (chain, blocks, record) = (path("chain.rlp"), path("blocks"), path("record.json"));
    let headers = path("headers.rlp");
    succeed(&mut blockmill(&format!("generate ethereum --headers 300 --out {headers}")));
    succeed(&mut blockmill(&format!("generate ethereum --headers 300 --format rlp --out {chain}")));
    succeed(&mut blockmill(&format!("generate bitcoin --inputs 0 --blocks 120 --out {blocks}")));
    succeed(&mut blockmill(&format!("verify --seal off --level bodies --record {record} {chain}")));
    let bad = path("bad.rlp");
    let mut bytes = std::fs::read(&chain).expect("a chain");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&bad, bytes).expect("a damaged chain");
    let all: Vec<String> = vec![
        "--help".into(),
        "--version".into(),
        "import --help".into(),
        "completions bash".into(),
        format!("inspect {chain}"),
        format!("inspect {blocks}"),
        format!("inspect --json {blocks}"),
        format!("verify --seal off --level bodies {chain}"),
        format!("verify --seal off --level bodies --json {chain}"),
        format!("verify --seal off --level bodies {bad}"),
        format!("verify {blocks}"),
        format!("import --seal off --level bodies {chain} --data OUT"),
        format!("import {blocks} --data OUT"),
        format!("convert --to headers {chain} --out OUT"),
        format!("convert --to blk {blocks} --out OUT"),
        format!("convert --to core {blocks} --data OUT-data --out OUT"),
        "generate ethereum --headers 50 --out OUT".into(),
        "generate bitcoin --inputs 0 --blocks 5 --out OUT".into(),
        format!("report {record} --out OUT"),
        format!("report {record} --json --out OUT"),
    ];
    let expected = |(i, words): (usize, &String)| {
        let words = words.replace("OUT", &path(&format!("whole-{i}")));
        run(&mut blockmill(&words)).code.expect("an exit code")
    };
    let codes: Vec<i32> = all.iter().enumerate().map(expected).collect();
    assert!(codes.iter().filter(|code| **code == 0).count() >= all.len() - 1, "{codes:?}");
    all.into_iter().zip(codes).collect()
}

/// Runs each command with `change` and hands the ends over, with the exit codes of undisturbed
/// runs.
fn each(
    name: &str,
    change: impl Fn(&mut Command) -> &mut Command,
    check: impl Fn(&str, i32, &Ended),
) {
    let scratch = Scratch::new(name);
    for (i, (words, code)) in commands(&scratch).iter().enumerate() {
        let out = scratch.path(&format!("out-{i}")).display().to_string();
        let mut command = blockmill(&words.replace("OUT", &out));
        change(&mut command);
        let ended = run(&mut command);
        assert!(!ended.stderr.contains("panicked"), "{words}: {}", ended.stderr);
        check(words, *code, &ended);
    }
}

/// A pipe that nobody reads any more.
fn closed_pipe() -> Stdio {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// A device on which nothing has room.
fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a full device").into()
}

#[test]
fn a_reader_that_went_away_changes_no_verdict() {
    each(
        "stdout-closed",
        |command| command.stdout(closed_pipe()),
        |words, code, ended| {
            assert_eq!(ended.code, Some(code), "{words}: {}", ended.stderr);
            assert!(!ended.stderr.contains("standard output"), "{words}: {}", ended.stderr);
        },
    );
}

#[test]
fn a_full_standard_output_is_reported_and_is_no_success() {
    each(
        "stdout-full",
        |command| command.stdout(full()),
        |words, code, ended| {
            let expected = if code == 0 { ENVIRONMENT } else { code };
            assert_eq!(ended.code, Some(expected), "{words}: {}", ended.stderr);
            let reported = ended.stderr.matches("cannot write to standard output").count();
            assert_eq!(reported, 1, "{words}: {}", ended.stderr);
        },
    );
}

#[test]
fn standard_error_that_nobody_reads_changes_no_verdict() {
    for (name, make) in [("stderr-closed", closed_pipe as fn() -> Stdio), ("stderr-full", full)] {
        each(
            name,
            |command| command.stderr(make()),
            |words, code, ended| assert_eq!(ended.code, Some(code), "{name}: {words}"),
        );
    }
}
