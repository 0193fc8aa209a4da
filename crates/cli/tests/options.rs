//! `--with` on the command line: the run record names what ran, and what this machine cannot run
//! is refused before anything is read or made.

use crate::program::{Scratch, blockmill, run, succeed, succeed_json};
use blockmill_signatures::{Signatures, Width};
use std::path::PathBuf;
use std::process::Command;

/// A small archive of each chain, and the flags that it needs.
fn archives(scratch: &Scratch) -> [(PathBuf, &'static str); 2] {
    let [headers, blocks] = [scratch.path("headers.rlp"), scratch.path("blocks")];
    succeed(blockmill("generate ethereum --headers 50 --out").arg(&headers));
    succeed(blockmill("generate bitcoin --inputs 50 --blocks 110 --out").arg(&blocks));
    [(headers, "--seal off"), (blocks, "")]
}

/// What a command that must not begin says on standard error.
fn refused(command: &mut Command) -> String {
    let ended = run(command);
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{command:?}: {}", ended.stderr);
    ended.stderr
}

#[test]
fn the_record_names_the_signatures_that_ran_and_others_are_refused() {
    let scratch = Scratch::new("options-signatures");
    let fastest = Signatures::detect().width().name();
    for (archive, flags) in archives(&scratch) {
        let record = succeed_json(blockmill(&format!("verify {flags}")).arg(&archive));
        assert_eq!(record["options"]["signatures"], fastest);
        for variant in Width::ALL.map(Width::name) {
            let words = format!("verify --with signatures={variant} {flags}");
            let mut command = blockmill(&words);
            if Signatures::named(variant).is_some() {
                let record = succeed_json(command.arg(&archive));
                assert_eq!(record["options"]["signatures"], variant);
            } else {
                let reported =
                    format!("this CPU cannot run option 'signatures={variant}'; available: ");
                let error = refused(command.arg(&archive));
                assert!(error.contains(&reported) && error.contains(fastest), "{error}");
            }
        }
    }
}

#[test]
fn a_setting_that_cannot_be_leaves_no_store_behind() {
    let scratch = Scratch::new("options-unknown");
    for (archive, flags) in archives(&scratch) {
        for (setting, there_is) in
            [("signatures=lanes", "signatures=scalar|avx2|ifma"), ("speed=high", "signatures")]
        {
            let store = scratch.path("store");
            let mut command = blockmill(&format!("import --with {setting} {flags}"));
            let error = refused(command.arg("--data").arg(&store).arg(&archive));
            assert!(error.contains(&format!("unknown option '{setting}'")), "{error}");
            assert!(error.contains(there_is), "{error}");
            assert!(!store.exists(), "{error}");
        }
    }
}

#[test]
fn what_this_program_was_built_without_is_refused() {
    let scratch = Scratch::new("options-features");
    let [(headers, _), _] = archives(&scratch);
    let mut command = blockmill("verify --seal off --with flat-store=rocksdb");
    command.arg(&headers);
    if blockmill_ethereum::state::HAS_ROCKSDB {
        assert_eq!(succeed_json(&mut command)["options"]["flat-store"], "rocksdb");
    } else {
        let needs = "needs a program that was built with `--features rocksdb`";
        let error = refused(&mut command);
        let available = "available: flat-store=tables";
        assert!(error.contains(needs) && error.contains(available), "{error}");
    }
}

#[test]
fn the_baselines_of_the_benchmarks_are_no_options() {
    let scratch = Scratch::new("options-storage");
    let [(headers, _), _] = archives(&scratch);
    for setting in ["storage=table", "write=per-header", "clock=per-chunk", "difficulty=bigint"] {
        for words in ["verify --seal off", "import --seal off --data store"] {
            let mut command = blockmill(&format!("{words} --with {setting}"));
            let error = refused(command.current_dir(scratch.path("")).arg(&headers));
            assert!(error.contains(&format!("unknown option '{setting}'")), "{error}");
        }
    }
    assert!(!scratch.path("store").exists());
}

#[test]
fn the_record_tells_the_revision_the_start_and_a_checksum_of_the_blocks() {
    let scratch = Scratch::new("provenance");
    let now = || std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_secs_f64();
    for (archive, flags) in archives(&scratch) {
        let before = now();
        let verify =
            |more: &str| succeed_json(blockmill(&format!("verify {flags} {more}")).arg(&archive));
        let record = verify("");
        let started = record["started_unix"].as_f64().expect("a time");
        assert!(before <= started && started <= now(), "{before} {started}");
        assert_eq!(record["program"]["revision"], blockmill_cli::program::this().revision);

        let number = |part: &str, name: &str| record[part][name].as_u64().expect("a number");
        let (first, last) = (number("data", "first"), number("result", "tip_number"));
        let mut tip =
            blockmill_testkit::hex::decode(record["result"]["tip_hash"].as_str().expect("a hash"));
        // a block of Bitcoin is shown in the reverse of the order in which it is hashed
        if record["data"]["format"] == "blk" {
            tip.reverse();
        }
        assert_eq!((last > 0, tip.len()), (true, 32), "{record}");
        let bytes = [&first.to_be_bytes()[..], &last.to_be_bytes(), &tip].concat();
        let expected = format!(
            "chain-sha256:{}",
            blockmill_testkit::hex::encode(blockmill_hashes::sha256(&bytes))
        );
        assert_eq!(record["data"]["checksum"], expected, "{record}");
        assert_eq!(verify("--threads 1")["data"]["checksum"], expected);
    }
}
