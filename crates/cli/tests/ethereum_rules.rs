//! Rules of Ethereum chains that are not the main network's, as a user meets them: settings of
//! genesis files, blocks that come again, numbers of any size, and what is not supported.

use crate::program::{Ended, blockmill, document, run};
use blockmill_testkit::case;
use blockmill_verdict::Status;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs a command on an archive with this chain.
fn with_chain(words: &str, archives: &[PathBuf], genesis: &Path) -> Ended {
    let mut command = blockmill(words);
    run(command.args(archives).arg("--chain").arg(genesis).args(["--json"]))
}

/// The answer to `verify`.
fn verify(archives: &[PathBuf], genesis: &Path) -> Value {
    document(&with_chain("verify --seal off", archives, genesis))
}

/// The text of all notes.
fn notes(answer: &Value) -> String {
    let notes = answer["notes"].as_array().unwrap();
    notes.iter().map(|note| note.as_str().unwrap().to_owned() + "\n").collect()
}

#[blockmill_testkit::needs(cases)]
#[test]
fn a_chain_with_its_own_limit_of_code_is_verified_or_refused_by_name() {
    let folder = case("02-contract-size-limit");
    let mut seen = 0;
    for (name, refused) in [
        ("E_contractSizeLimit", None),
        ("E_cs_mcs", None),
        ("E_csl24577", None),
        ("E_csl64", None),
        ("E_csl_lower", None),
        // of GoQuorum, whose unit is another one
        ("E_mcs64", Some("not supported: maxCodeSize: ")),
    ] {
        let folder = folder.join(name);
        let answer = verify(&[folder.join("chain.rlp")], &folder.join("genesis.json"));
        match refused {
            None => assert_eq!(answer["status"], "verified", "{name}: {answer}"),
            Some(text) => {
                assert_eq!(answer["exit_code"], 2, "{name}: {answer}");
                assert!(answer["error"]["message"].as_str().unwrap().contains(text), "{answer}");
            }
        }
        seen += 1;
    }
    assert_eq!(fs::read_dir(folder).unwrap().flatten().filter(|e| e.path().is_dir()).count(), seen);
}

#[blockmill_testkit::needs(cases)]
#[test]
fn a_limit_of_code_that_is_left_out_or_changed_refuses_the_chain() {
    let folder = case("02-contract-size-limit/E_csl24577");
    let text = fs::read_to_string(folder.join("genesis.json")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let genesis = scratch.path().join("genesis.json");
    // the contract has 24,577 bytes
    for (limit, status) in [("24577", Status::Verified), ("24576", Status::Invalid)] {
        fs::write(&genesis, text.replace("2147483647", limit)).unwrap();
        let answer = verify(&[folder.join("chain.rlp")], &genesis);
        assert_eq!(answer["status"], status.name(), "{limit}: {answer}");
    }
}

#[blockmill_testkit::needs(cases)]
#[test]
fn equal_blocks_that_come_again_are_skipped_with_a_note_by_every_command() {
    let folder = case("05-overlapping-ethereum-exports");
    let genesis = folder.join("genesis.json");
    let paths =
        |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| folder.join(name)).collect() };
    let scratch = tempfile::tempdir().unwrap();
    for (i, names) in
        [&["a01.rlp", "b12.rlp"][..], &["dup.rlp"], &["genesis_twice.rlp"]].iter().enumerate()
    {
        let archives = paths(names);
        for level in ["headers", "bodies", "execution"] {
            let words = format!("verify --seal off --level {level}");
            let answer = document(&with_chain(&words, &archives, &genesis));
            assert_eq!(answer["status"], "verified", "{names:?} {level}: {answer}");
            assert!(notes(&answer).contains("came again"), "{names:?} {level}: {answer}");
            let data = scratch.path().join(format!("{i}-{level}"));
            let words = format!("import --seal off --level {level} --data {}", data.display());
            for _ in 0..2 {
                let answer = document(&with_chain(&words, &archives, &genesis));
                assert_eq!(answer["exit_code"], 0, "{names:?} {level}: {answer}");
                assert!(notes(&answer).contains("came again"), "{names:?} {level}: {answer}");
            }
        }
        let out = scratch.path().join(format!("{i}.rlp"));
        let words = format!("convert --to rlp --out {}", out.display());
        let answer = document(&with_chain(&words, &archives, &genesis));
        assert!(notes(&answer).contains("came again"), "{names:?}: {answer}");
        let answer = verify(&[out], &genesis);
        assert_eq!(answer["status"], "verified", "{names:?}: {answer}");
        assert!(!notes(&answer).contains("came again"), "{names:?}: {answer}");
        let answer = document(&run(blockmill("inspect --deep --json").args(&archives)));
        assert_eq!(answer["exit_code"], 0, "{names:?}: {answer}");
        assert!(answer["result"].to_string().contains("came again"), "{names:?}: {answer}");
    }
}

#[blockmill_testkit::needs(cases)]
#[test]
fn overlapping_neo_dumps_are_verified() {
    let folder = case("05-overlapping-ethereum-exports/neo-control");
    let mut command = blockmill("verify --json");
    let answer =
        document(&run(command.arg(&folder).arg("--chain").arg(folder.join("protocol.yml"))));
    assert_eq!(answer["status"], "verified", "{answer}");
}

#[blockmill_testkit::needs(cases)]
#[test]
fn another_block_of_a_known_number_is_invalid_and_named_with_both_hashes() {
    let folder = case("05-overlapping-ethereum-exports");
    let genesis = folder.join("genesis.json");
    let mut bytes = fs::read(folder.join("b12.rlp")).unwrap();
    // a byte of the first header's state root
    bytes[120] ^= 1;
    let scratch = tempfile::tempdir().unwrap();
    let other = scratch.path().join("b.rlp");
    fs::write(&other, &bytes).unwrap();
    let archives = [folder.join("a01.rlp"), other];
    let data = scratch.path().join("data");
    let import = format!("import --seal off --data {}", data.display());
    let convert = format!("convert --to rlp --out {}", scratch.path().join("out").display());
    for words in ["verify --seal off", &import, &convert] {
        let answer = document(&with_chain(words, &archives, &genesis));
        assert_eq!(answer["exit_code"], 1, "{words}: {answer}");
        let error = &answer["error"];
        assert_eq!(error["rule"], "one block of each number", "{words}: {answer}");
        assert_ne!(error["expected"], error["found"], "{words}");
        for text in [&error["expected"], &error["found"]] {
            assert!(text.as_str().unwrap().starts_with("0x"), "{words}: {answer}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_chain_that_crosses_into_amsterdam_is_verified_with_its_access_lists() {
    let folder = blockmill_testkit::fixture("ethereum/bal-chains/transition-240");
    let genesis = folder.join("genesis.json");
    for (archive, level) in [
        ("chain.rlp", "bodies"),
        ("chain.rlp", "execution"),
        ("chain-with-bal.rlp", "bodies"),
        ("chain-with-bal.rlp", "execution"),
    ] {
        let words = format!("verify --seal off --level {level}");
        let answer = document(&with_chain(&words, &[folder.join(archive)], &genesis));
        assert_eq!(answer["status"], "verified", "{archive} {level}: {answer}");
    }
}

#[test]
fn chains_with_large_fees_and_ids_and_a_fork_of_the_dao_are_verified() {
    let chains = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ethereum/tests/geth-chains");
    let mut seen = 0;
    for name in ["dao", "dao-at-spurious-dragon", "fees", "chain-id", "fixed-difficulty"] {
        let folder = chains.join(name);
        let answer = verify(&[folder.join("chain.rlp")], &folder.join("genesis.json"));
        assert_eq!(answer["status"], "verified", "{name}: {answer}");
        seen += answer["result"]["data"]["blocks"].as_u64().unwrap();
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn who_signs_under_clique_is_said_not_to_be_checked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ethereum/tests/geth-chains/clique");
    let (archive, genesis) = ([folder.join("chain.rlp")], folder.join("genesis.json"));
    for level in ["headers", "bodies", "execution"] {
        for seal in ["", "--seal off"] {
            let words = format!("verify {seal} --level {level}");
            let answer = document(&with_chain(&words, &archive, &genesis));
            assert_eq!(answer["status"], "verified", "{level}: {answer}");
            let said = answer["result"]["result"]["unchecked"].to_string();
            let expected = "whether the signers of 8 blocks were allowed to sign (clique)";
            assert!(said.contains(expected), "{level}: {said}");
        }
    }
    let refused = with_chain("verify --seal all --level headers", &archive, &genesis);
    assert_eq!(document(&refused)["exit_code"], 2, "{}", refused.stdout);
    assert!(refused.stdout.contains("blocks are signed (clique)"), "{}", refused.stdout);
}
