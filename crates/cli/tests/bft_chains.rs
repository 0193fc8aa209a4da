//! Chains of validators (IBFT 2.0, QBFT), as a user meets them: verified, imported, checked,
//! converted, exported and in shards.

use crate::program::{Scratch, blockmill, document, run, succeed, succeed_json};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const ENGINES: [(&str, &str); 2] = [("ibft2", "IBFT 2.0"), ("qbft", "QBFT")];

fn folder(engine: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ethereum/tests/bft-chains").join(engine)
}

/// The answer to a command on an archive of this engine.
fn answer(words: &str, engine: &str, archive: &Path) -> Value {
    let mut command = blockmill(words);
    let genesis = folder(engine).join("genesis.json");
    document(&run(command.arg(archive).arg("--chain").arg(genesis).arg("--json")))
}

/// The text of all notes.
fn notes(answer: &Value) -> String {
    let notes = answer["notes"].as_array().unwrap();
    notes.iter().map(|note| note.as_str().unwrap().to_owned() + "\n").collect()
}

fn last_hash(engine: &str) -> String {
    let hashes = fs::read_to_string(folder(engine).join("hashes.txt")).unwrap();
    hashes.lines().last().unwrap().into()
}

#[test]
fn what_is_not_checked_of_validators_is_said() {
    for (engine, name) in ENGINES {
        let archive = folder(engine).join("chain.rlp");
        for level in ["headers", "bodies", "execution"] {
            for (seal, left) in [("", false), ("--seal all", false), ("--seal off", true)] {
                let answer = answer(&format!("verify {seal} --level {level}"), engine, &archive);
                assert_eq!(answer["status"], "verified", "{engine} {level}: {answer}");
                let said = answer["result"]["result"]["unchecked"].to_string();
                let expected = "whether votes made the validators that 28 blocks name";
                assert!(said.contains(&format!("{expected} ({name})")), "{level}: {said}");
                assert_eq!(said.contains("28 seals"), left, "{level} {seal}: {said}");
                // rules fix mix hash and nonce, so they rest on no seal
                let notes = notes(&answer);
                assert!(notes.contains("time and extra data"), "{notes}");
                assert!(!notes.contains("mix hash") && !notes.contains("nonce"), "{notes}");
                assert!(answer.to_string().contains(&last_hash(engine)), "{answer}");
            }
        }
    }
}

#[test]
fn malformed_extra_data_and_wrong_seals_are_faults_of_their_block() {
    let scratch = Scratch::new("bft_faults");
    for (engine, _) in ENGINES {
        let good = fs::read(folder(engine).join("chain.rlp")).unwrap();
        let path = scratch.path("changed.rlp");
        // the vanity of the last block begins with these words
        let vanity = b"blockmill test chain";
        let at = good.windows(vanity.len()).rposition(|bytes| bytes == vanity).unwrap();
        // the item is a list of another size, or not the one that was sealed
        for (place, byte, rule) in
            [(at - 1, 0x9f, "extra data of validators"), (at, b'B', "committed seal")]
        {
            let mut changed = good.clone();
            changed[place] = byte;
            fs::write(&path, &changed).unwrap();
            let answer = answer("verify --level headers", engine, &path);
            assert_eq!((&answer["status"], &answer["exit_code"]), (&"invalid".into(), &1.into()));
            let said = answer.to_string();
            assert!(said.contains("block 28") && said.contains(rule), "{engine}: {said}");
        }
    }
}

#[test]
fn a_store_of_validators_blocks_is_checked_and_imported_into_again() {
    let scratch = Scratch::new("bft_store");
    for (engine, _) in ENGINES {
        let data = scratch.path(engine);
        let import = || {
            let mut command = blockmill("import --level execution");
            command.arg(folder(engine).join("chain.rlp")).arg("--data").arg(&data);
            command
        };
        let genesis = folder(engine).join("genesis.json");
        succeed(import().arg("--chain").arg(&genesis));
        succeed(blockmill("check").arg(&data));
        // the store keeps the genesis.json
        let again = succeed_json(&mut import());
        assert!(notes(&again).contains("none of the archive's blocks is new"), "{again}");
        succeed(blockmill("check").arg(&data));
    }
}

#[test]
fn a_conversion_there_and_back_gives_the_same_bytes() {
    let scratch = Scratch::new("bft_conversion");
    for (engine, _) in ENGINES {
        let (ere, back) = (scratch.path(engine), scratch.path(&format!("{engine}.rlp")));
        let export = folder(engine).join("chain.rlp");
        succeed(blockmill("convert --to ere").arg(&export).arg("--out").arg(&ere));
        // the name has the first digits of the last block's hash
        let names = fs::read_dir(&ere).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        assert!(names[0].contains(&last_hash(engine)[..8]), "{names:?}");
        assert_eq!(answer("verify --level bodies", engine, &ere)["status"], "verified");
        succeed(blockmill("inspect --deep").arg(&ere));
        succeed(blockmill("convert --to rlp").arg(&ere).arg("--out").arg(&back));
        assert_eq!(fs::read(&back).unwrap(), fs::read(&export).unwrap(), "{engine}");
    }
}

#[test]
fn shards_of_validators_blocks_are_merged() {
    let scratch = Scratch::new("bft_shards");
    for (engine, _) in ENGINES {
        let genesis = folder(engine).join("genesis.json");
        let mut merge = blockmill("verify --merge");
        for range in ["--until 12", "--from 13"] {
            let mut shard = blockmill(&format!("verify --shard --level bodies {range}"));
            shard.arg(folder(engine).join("chain.rlp")).arg("--chain").arg(&genesis);
            let path = scratch.path(&format!("{engine}{range}.json"));
            fs::write(&path, succeed(&mut shard)).unwrap();
            merge.arg(path);
        }
        let merged = run(merge.arg("--chain").arg(&genesis));
        assert!(merged.stderr.contains("2 shards, blocks 0 to 28"), "{engine}: {merged:?}");
    }
}
