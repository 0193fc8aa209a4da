//! Level execution as a user meets it: the default where there is a state to begin with, `unwind`,
//! `witness`, `test`, and what is said when a state is missing or corrupt.

use crate::program::{
    Ended, Scratch, blockmill, copy, document, fixtures, misunderstand, refuse, run, succeed,
    succeed_json, tip_of,
};
use blockmill_verdict::Status;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const MAINNET: [&str; 2] = ["era1/mainnet-00000-5ec1ffb8.era1", "era1/mainnet-00001-a5364e9a.era1"];

fn import(store: &Path, flags: &str) -> Command {
    let mut command = blockmill(&format!("import --seal off {flags} --data"));
    command.arg(store);
    command
}

/// Level and notes of a run.
fn level(record: &Value) -> (String, String) {
    (record["level"].as_str().expect("a level").to_owned(), record["notes"].to_string())
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_are_executed_where_there_is_a_state_and_otherwise_it_says_why() {
    let scratch = Scratch::new("execution-default");
    let [first, second] = MAINNET.map(|name| fixtures().join(name));
    let (whole, late, bodies) = (scratch.path("whole"), scratch.path("late"), scratch.path("b"));
    let (found, notes) = level(&succeed_json(import(&whole, "").arg(&first)));
    assert_eq!(found, "execution");
    assert!(!notes.contains("not executed"), "{notes}");
    // the store has the state before the second file
    let record = succeed_json(import(&whole, "").arg(&second));
    assert_eq!((&*level(&record).0, tip_of(&whole)), ("execution", Some(16_383)));
    // by itself there is none
    let (found, notes) = level(&succeed_json(import(&late, "").arg(&second)));
    assert_eq!(found, "bodies");
    let why = "transactions are not executed: the state before block 8,192 is not known";
    assert!(notes.contains(why), "{notes}");
    let words = ["expected the state before block 8192", "--level bodies"];
    let store = scratch.path("never");
    misunderstand(import(&store, "--level execution").arg(&second), &words);
    // nor in a store of blocks without one
    succeed(import(&bodies, "--level bodies").arg(&first));
    let (found, notes) = level(&succeed_json(import(&bodies, "").arg(&second)));
    assert_eq!(found, "bodies");
    assert!(notes.contains("not executed: the store has no state"), "{notes}");
    // which can be made of all blocks
    let record = succeed_json(import(&bodies, "--level execution").args([&first, &second]));
    assert!(record["notes"].to_string().contains("none of the archive's blocks is new"));
    let (found, _) = level(&succeed_json(import(&bodies, "").arg(&second)));
    assert_eq!(found, "execution");
    let mut verify = blockmill("verify --seal off");
    assert_eq!(level(&succeed_json(verify.arg(&first))).0, "execution");
    // a store is an archive from genesis on, whatever it was verified to
    let again = scratch.path("again");
    assert_eq!(level(&succeed_json(import(&again, "").arg(&bodies))).0, "execution");
    assert_eq!(tip_of(&again), Some(16_383));
}

#[test]
fn a_generated_chain_of_headers_has_no_state() {
    let scratch = Scratch::new("execution-generated");
    let path = scratch.path("chain.rlp");
    let mut generate = blockmill("generate ethereum --headers 20 --format rlp --out");
    let said = succeed(generate.arg(&path));
    assert!(said.contains("--level bodies"), "{said}");
    let error = refuse(blockmill("verify --seal off").arg(&path), &["block 1 ", "state root"]);
    assert!(error.contains("hint: --level bodies"), "{error}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_are_taken_back_and_come_again() {
    let scratch = Scratch::new("execution-unwind");
    let folder = fixtures().join("chains/hive-sync");
    let (chain, store) = (folder.join("chain.rlp"), scratch.path("store"));
    succeed(import(&store, "--unwind-depth 1200").arg(&chain));
    let unwind = |to: &str| {
        let mut command = blockmill("unwind --to");
        command.arg(to).arg(&store);
        command
    };
    let done = succeed_json(&mut unwind("2000"));
    assert_eq!((&done["from"], &done["to"]), (&3_000.into(), &2_000.into()));
    assert_eq!((&done["with_state"], tip_of(&store)), (&true.into(), Some(2_000)));
    let text = succeed(&mut unwind("1990"));
    assert!(text.contains("Unwound to block 1,990, from block "), "{text}");
    let record = succeed_json(import(&store, "--unwind-depth 1200").arg(&chain));
    assert_eq!((&*level(&record).0, tip_of(&store)), ("execution", Some(3_000)));
    assert_eq!(record["result"]["status"], "verified");

    misunderstand(
        &mut unwind("3001"),
        &["expected one of the blocks 0 to 3000", "found --to 3001"],
    );
    misunderstand(&mut unwind("5"), &["as the log begins there", "found --to 5"]);
    misunderstand(blockmill("unwind --to 5").arg(scratch.path("none")), &["found none"]);
    assert_eq!(tip_of(&store), Some(3_000));

    // a store without a state goes back as well
    let bodies = scratch.path("bodies");
    succeed(import(&bodies, "--level bodies").arg(&chain));
    let done = succeed_json(blockmill("unwind --to 7").arg(&bodies));
    assert_eq!((&done["with_state"], tip_of(&bodies)), (&false.into(), Some(7)));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_corrupt_log_or_checkpoint_is_reported_with_what_to_do() {
    let scratch = Scratch::new("execution-damage");
    let chain = fixtures().join("chains/hive-sync/chain.rlp");
    let genesis = fixtures().join("chains/hive-sync/genesis.json");
    let good = scratch.path("good");
    succeed(import(&good, "--unwind-depth 500 --until 2900").arg(&chain));
    let mut reported = 0;
    let files = fs::read_dir(&good).expect("a store").map(|entry| entry.expect("a file").path());
    let files = files.filter(|path| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        name.starts_with("state") && fs::metadata(path).is_ok_and(|data| data.len() > 1000)
    });
    for (i, file) in files.enumerate() {
        let store = scratch.path(&format!("damaged-{i}"));
        copy(&good, &store);
        let path = store.join(file.file_name().expect("a name"));
        let mut bytes = fs::read(&path).expect("a file");
        let at = bytes.len() / 2;
        bytes[at] ^= 8;
        fs::write(&path, bytes).expect("a file");
        let ended = run(import(&store, "").arg(&chain));
        let text = format!("{}: {}{}", path.display(), ended.stdout, ended.stderr);
        assert!(!text.contains("panicked"), "{text}");
        let checked = run(blockmill("check").arg(&store));
        if ended.code == Some(0) {
            // a log that was given up, or the part that the checkpoint has
            continue;
        }
        assert_eq!(ended.code, Some(Status::Corrupt.exit_code().into()), "{text}");
        assert!(text.contains("hint: ") && text.contains("blockmill check DATA"), "{text}");
        assert_eq!(checked.code, Some(Status::Corrupt.exit_code().into()), "{text}");
        let said = format!("{}{}", checked.stdout, checked.stderr);
        let again = format!("blockmill import {} --data NEW", store.display());
        assert!(said.contains(&again), "{said}");
        // as it says
        let new = scratch.path(&format!("new-{i}"));
        succeed(import(&new, "").arg("--chain").arg(&genesis).arg(&store));
        assert_eq!(tip_of(&new), Some(2_900));
        reported += 1;
    }
    assert!(reported >= 2, "{reported} reported");
}

/// The text of a witness file.
fn witness_text() -> Value {
    serde_json::from_slice(&blockmill_testkit::read("ethereum/witness/1-46147-nimbus.json.zst"))
        .expect("a witness")
}

fn witness(scratch: &Scratch, text: &str) -> Ended {
    let path = scratch.path("witness.json");
    fs::write(&path, text).expect("a file");
    run(blockmill("witness --json").arg(path))
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn single_blocks_are_executed_with_the_state_that_they_bring() {
    let scratch = Scratch::new("execution-witness");
    // as they lie there, compressed
    let files = ["1-46147-nimbus", "1-4370000-zeth", "560048-1041734-ethrex"];
    let files = files.map(|name| fixtures().join(format!("witness/{name}.json.zst")));
    let text = succeed(blockmill("witness").args(&files));
    for words in ["block          46,147 ", "block          4,370,000 ", "as its header says"] {
        assert!(text.contains(words), "{text}");
    }
    let results = succeed_json(blockmill("witness").args(&files));
    assert_eq!(results.as_array().map(Vec::len), Some(3));
    assert_eq!(results[2]["block"], 1_041_734);

    let good = witness_text();
    let mut less = good.clone();
    less["witness"]["state"].as_array_mut().expect("nodes").remove(0);
    let missing = document(&witness(&scratch, &less.to_string()));
    assert_eq!(missing["status"], "incomplete", "{missing}");
    let message = missing["error"]["message"].as_str().expect("a message");
    assert!(message.contains("the state lacks the trie node 0x"), "{message}");

    let mut wrong = good.clone();
    let block = wrong["block"].as_str().expect("a block").to_owned();
    wrong["block"] = with_another_root(&block).into();
    let fault = document(&witness(&scratch, &wrong.to_string()));
    assert_eq!(fault["status"], "invalid", "{fault}");

    for text in ["", "{", "{}", "[]", "{\"chainId\":1}"] {
        assert_eq!(document(&witness(&scratch, text))["status"], "unrecognised", "{text}");
    }
    let other = good.to_string().replace("\"chainId\":1,", "\"chainId\":123456,");
    let ended = witness(&scratch, &other);
    assert_eq!(document(&ended)["status"], "usage");
    assert!(ended.stdout.contains("name it with --chain genesis.json"), "{}", ended.stdout);
}

/// The block with another state root: 32 bytes after parent, ommers and beneficiary.
fn with_another_root(block: &str) -> String {
    let mut bytes = blockmill_testkit::hex::decode(block);
    // a list of a length of so many bytes begins with 0xf7 and their number
    let skip = |at: usize| at + 1 + usize::from(bytes[at].saturating_sub(0xf7));
    let fields = skip(skip(0));
    bytes[fields + 33 + 33 + 21 + 1] ^= 1;
    blockmill_testkit::hex::encode_0x(bytes)
}

/// The documents of a run in lines: those of the cases, and the answer.
fn lines(ended: &Ended) -> (Vec<Value>, Value) {
    let lines = ended.stdout.lines();
    let mut all: Vec<_> = lines.map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let answer = all.pop().expect("an answer");
    (all, answer)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_public_tests_are_run_and_counted() {
    let scratch = Scratch::new("execution-suite");
    let folder = scratch.path("tests");
    let wanted = |name: &str| {
        name.contains("GeneralStateTests/stExample/")
            || name.contains("BlockchainTests/ValidBlocks/bcStateTests/")
    };
    let mut state_test = None;
    for (name, bytes) in blockmill_testkit::tar_files("ethereum/eth-tests.tar.zst", wanted) {
        let path = folder.join(name.trim_start_matches("./"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        if name.contains("stExample") {
            state_test = Some(path);
        }
    }
    let ended = run(blockmill("test --json").arg(&folder));
    let (cases, found) = lines(&ended);
    let found = &found["result"];
    assert_eq!(ended.code, Some(0), "{found}");
    assert!(found["passed"].as_u64() > Some(20), "{}", found["networks"]);
    assert_eq!(found["failed"], 0);
    assert!(cases.iter().any(|case| case["pass"] == true && case["stateRoot"].is_string()));
    let text = succeed(blockmill("test").arg(&folder));
    assert!(text.contains("pass  ") && text.contains(" 0 failed"), "{text}");

    // another root than the one that comes out
    let path = state_test.expect("a state test");
    let text = fs::read_to_string(&path).expect("a file");
    let at = text.find("\"hash\"").expect("a hash");
    let at = at + text[at..].find("0x").expect("its digits") + 2;
    let digit = if &text[at..=at] == "0" { "1" } else { "0" };
    fs::write(&path, format!("{}{digit}{}", &text[..at], &text[at + 1..])).expect("a file");
    let (_, found) = lines(&run(blockmill("test --json").arg(&path)));
    assert_eq!(found["status"], "invalid", "{found}");
    assert_eq!(found["result"]["failed"], 1, "{found}");
    assert!(found["error"]["message"].as_str().expect("a message").contains("1 of "), "{found}");

    fs::write(&path, "{\"a\": 1}").expect("a file");
    let ended = run(blockmill("test").arg(&path));
    assert_eq!(ended.code, Some(Status::Unrecognised.exit_code().into()), "{}", ended.stderr);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn proofs_and_witnesses_come_from_a_store() {
    let scratch = Scratch::new("execution-proofs");
    let folder = fixtures().join("chains/execution-apis");
    let (chain, genesis) = (folder.join("chain.rlp"), folder.join("genesis.json"));
    let (store, out) = (scratch.path("store"), scratch.path("witness.json"));
    succeed(import(&store, "").arg(&chain));
    let with_chain = |mut command: Command| {
        command.arg("--chain").arg(&genesis);
        command
    };

    let given: Value = serde_json::from_slice(&fs::read(&genesis).unwrap()).unwrap();
    let (account, _) = given["alloc"].as_object().unwrap().iter().next().unwrap();
    let account = format!("0x{}", account.trim_start_matches("0x"));
    let prove = |flags: &str| {
        let mut command = blockmill(&format!("prove --account {account} {flags}"));
        command.arg(&store);
        command
    };
    let first = succeed_json(&mut prove("--block 0 --slot 0x0 --slot 0x10"));
    let proof = &first["proof"];
    assert_eq!((&first["block"], &proof["address"]), (&0.into(), &account.as_str().into()));
    assert!(!proof["accountProof"].as_array().unwrap().is_empty());
    let keys = |at: usize| proof["storageProof"][at]["key"].clone();
    assert_eq!([keys(0), keys(1)], ["0x0", "0x10"]);
    let last = succeed_json(&mut prove(""));
    assert_eq!(last["block"], 54);
    assert_ne!(last["state_root"], first["state_root"]);
    let text: Value = serde_json::from_str(&succeed(&mut prove(""))).unwrap();
    assert_eq!(text, last["proof"]);
    misunderstand(&mut prove("--block 55"), &["expected one of the blocks 0 to 54", "found 55"]);
    misunderstand(&mut prove("--slot 12"), &["expected 0x and up to 64 hexadecimal digits"]);
    misunderstand(blockmill("prove --account 0x12").arg(&store), &["40 hexadecimal digits"]);
    misunderstand(
        blockmill(&format!("prove --account {account}")).arg(scratch.path("none")),
        &["cannot read the store"],
    );

    let make = |block: &str| {
        let mut command = blockmill(&format!("witness --block {block} --out"));
        command.arg(&out).arg(&store);
        with_chain(command)
    };
    let made = succeed_json(&mut make("54"));
    let read = succeed_json(with_chain(blockmill("witness")).arg(&out));
    assert_eq!((&made["hash"], &made["block"]), (&read[0]["hash"], &54.into()));
    assert!(made["nodes"].as_u64().unwrap() > 2);
    // in the shapes of other clients, with the block in a file of its own
    let block = scratch.path("block.rlp");
    for format in ["debug", "rlp"] {
        let mut other = make("54");
        succeed(other.args(["--force", "--format", format, "--block-out"]).arg(&block));
        let read = succeed_json(with_chain(blockmill("witness")).args([&out, &block]));
        assert_eq!(read[0]["hash"], made["hash"], "{format}");
    }
    misunderstand(make("54").args(["--force", "--block-out"]).arg(&out), &["--block-out"]);
    misunderstand(blockmill("witness --format rlp").arg(&out), &["--out"]);
    succeed(make("54").arg("--force"));
    misunderstand(&mut make("54"), &["found a file of that name"]);
    succeed(make("53").arg("--force"));
    misunderstand(make("0").arg("--force"), &["found the genesis block"]);
    misunderstand(make("60").arg("--force"), &["expected one of the blocks 0 to 54"]);
    // the store keeps a chain that is not built in
    let mut unnamed = blockmill("witness --block 53 --force --out");
    succeed(unnamed.arg(&out).arg(&store));
    let mut other = blockmill("witness --block 9 --force --chain mainnet --out");
    misunderstand(other.arg(&out).arg(&store), &["expected genesis block", "found"]);
    // what was there stays
    assert_eq!(succeed_json(with_chain(blockmill("witness")).arg(&out))[0]["block"], 53);
}
