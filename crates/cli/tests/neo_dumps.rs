//! Dumps of Neo: generated, imported, and converted from dumps and stores.

use crate::program::{Scratch, blockmill, document, run, succeed, succeed_json};
use blockmill_neo::body::rules::NOTARY;
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::types::Attribute;
use std::fs;
use std::path::{Path, PathBuf};

/// Exit code of an incomplete archive.
const INCOMPLETE: i32 = 3;

fn generate(folder: &Path, seed: u32) -> serde_json::Value {
    let recipe = format!("--blocks 12 --txs 15 --accounts 30 --mixed --state-roots --seed {seed}");
    let mut command = blockmill("generate neo");
    succeed_json(command.args(recipe.split(' ')).arg("--out").arg(folder))
}

/// Converts `from`, and returns what was written.
fn convert(from: &Path, words: &str, out: &Path) -> Vec<u8> {
    let mut command = blockmill("convert");
    succeed(command.arg(from).args(words.split(' ')).arg("--out").arg(out));
    fs::read(out).expect("a file")
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let scratch = Scratch::new("neo-seeds");
    let made = ["a", "b", "c"].map(|name| scratch.path(name));
    let reported: Vec<_> =
        made.iter().zip([5, 5, 6]).map(|(path, seed)| generate(path, seed)).collect();
    let bytes = made.map(|path| fs::read(path.join("chain.acc")).expect("a dump"));
    assert_eq!(bytes[0], bytes[1]);
    assert_ne!(bytes[0], bytes[2]);
    assert_eq!(reported[0]["root"], reported[1]["root"]);
    assert_eq!(reported[0]["last"], 16);
    assert!(
        reported[0]["faults"].as_u64() > Some(0)
            && reported[0]["transactions"].as_u64() > Some(180)
    );
}

#[test]
fn notaries_complete_transactions_of_a_mixed_chain_and_some_are_paid_from_deposits() {
    let scratch = Scratch::new("neo-notaries");
    let (chain, store) = (scratch.path("chain"), scratch.path("store"));
    let flags = "generate neo --blocks 40 --txs 60 --accounts 30 --mixed --seed 3 --out";
    succeed(blockmill(flags).arg(&chain));
    succeed(blockmill("import --data").arg(&store).arg(chain.join("chain.acc")));
    let stored = StoreReader::open(&store).expect("a store");
    // paid by the sender, paid from a deposit, and a fallback transaction
    let mut counts = [0; 3];
    let last = stored.tip().expect("a block").number as u32;
    for height in 0..=last {
        let block = stored.block(height).expect("a block").expect("its body");
        let executions = stored.executions(height).expect("a log").expect("executions");
        for (each, execution) in block.transactions().zip(executions.iter().skip(1)) {
            let is_assisted = |each| matches!(each, Attribute::NotaryAssisted(_));
            if !each.attributes().any(is_assisted) {
                continue;
            }
            assert_eq!(execution.fault, None, "block {height}");
            let is_paid = each.sender() == NOTARY;
            let stands_in = each.attributes().len() == 3;
            counts[0] += u32::from(!is_paid);
            counts[1] += u32::from(is_paid);
            counts[2] += u32::from(stands_in);
        }
    }
    assert!(counts.iter().all(|count| *count > 3), "{counts:?}");
}

#[test]
fn a_generated_chain_is_executed_to_the_reported_root() {
    let scratch = Scratch::new("neo-generated");
    let (chain, store) = (scratch.path("chain"), scratch.path("store"));
    let reported = generate(&chain, 7);
    let mut command = blockmill("import --threads 2");
    let record = succeed_json(command.arg(chain.join("chain.acc")).arg("--data").arg(&store));
    assert_eq!(record["answer"]["root"], reported["root"], "{record}");
    assert_eq!(record["result"]["tip_hash"], reported["tip"]);
    // assumed valid, it has the same state
    let tip = reported["tip"].as_str().expect("a hash");
    let mut command = blockmill("verify --assume-valid");
    let record = succeed_json(command.arg(tip).arg(chain.join("chain.acc")));
    assert_eq!(record["answer"]["root"], reported["root"]);
    let mut command = blockmill("verify --assume-valid");
    let other = "11".repeat(32);
    let ended = run(command.arg(&other).arg(chain.join("chain.acc")));
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("no new block with this hash"), "{}", ended.stderr);
}

#[test]
fn any_range_of_a_dump_or_a_store_is_converted() {
    let scratch = Scratch::new("neo-conversions");
    let (chain, store) = (scratch.path("chain"), scratch.path("store"));
    generate(&chain, 8);
    let dump = chain.join("chain.acc");
    let whole = fs::read(&dump).expect("a dump");
    succeed(blockmill("import --data").arg(&store).arg(&dump));
    for source in [&dump, &store] {
        let out = |name: &str| scratch.path(name);
        assert_eq!(convert(source, "--to acc --force", &out("whole.acc")), whole);
        let packed = convert(source, "--to acc-gz --force", &out("packed.acc.gz"));
        assert!(packed.len() < whole.len());
        let unpacked = convert(&out("packed.acc.gz"), "--to acc --force", &out("unpacked.acc"));
        assert_eq!(unpacked, whole);
        // both halves together are the chain again
        let first = convert(source, "--to acc --until 9 --force", &out("first.acc"));
        assert_eq!(first[..4], 10_u32.to_le_bytes());
        let rest = convert(source, "--to acc --from 10 --force", &out("rest.acc"));
        assert_eq!((&rest[..4], &rest[4..8]), (&[10, 0, 0, 0][..], &[7, 0, 0, 0][..]));
        assert_eq!([&first[4..], &rest[8..]].concat(), whole[4..]);
    }
}

#[test]
fn a_truncated_dump_is_converted_only_with_partial() {
    let scratch = Scratch::new("neo-cut-dump");
    let chain = scratch.path("chain");
    generate(&chain, 9);
    let dump = chain.join("chain.acc");
    let whole = fs::read(&dump).expect("a dump");
    fs::write(&dump, &whole[..whole.len() - 100]).expect("a dump that is cut");
    let inspected = run(blockmill("inspect").arg(&dump));
    assert_eq!(inspected.code, Some(INCOMPLETE), "{inspected:?}");
    assert!(inspected.stdout.contains("  INCOMPLETE: "), "{inspected:?}");
    let out = scratch.path("out.acc");
    let command = || {
        let mut command = blockmill("convert --to acc");
        command.arg(&dump).arg("--out").arg(&out);
        command
    };
    assert_eq!(run(&mut command()).code, Some(INCOMPLETE));
    assert!(!out.exists());
    assert_eq!(run(command().arg("--partial")).code, Some(0));
    let written = fs::read(&out).expect("a dump");
    assert_eq!(written[..4], 16_u32.to_le_bytes());
    assert_eq!(written[4..], whole[4..written.len()]);
}

#[test]
fn a_store_is_converted_for_neo_go_and_other_input_is_rejected() {
    let scratch = Scratch::new("neo-go-database");
    let (chain, store, out) = (scratch.path("chain"), scratch.path("store"), scratch.path("out"));
    generate(&chain, 7);
    let dump = chain.join("chain.acc");
    succeed(blockmill("import --data").arg(&store).arg(&dump));
    let convert = |from: &Path, flags: &str| {
        let mut command = blockmill(&format!("convert --to neo-go {flags} --out"));
        command.arg(&out).arg(from);
        command
    };
    let bodies = scratch.path("bodies");
    succeed(blockmill("import --level bodies --data").arg(&bodies).arg(&dump));
    for (from, flags, words) in [
        (&dump, "", "expected a store of executed blocks"),
        (&bodies, "", "expected a store of level execution, found bodies"),
        (&scratch.path("absent"), "", "expected"),
        (&store, "--until 5", "expected all blocks"),
    ] {
        let ended = run(&mut convert(from, flags));
        assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
        let reported = ended.stdout + &ended.stderr;
        assert!(reported.contains(words), "{reported}");
        assert!(!out.exists());
    }
    let text = succeed(&mut convert(&store, ""));
    assert!(text.contains("KeepOnlyLatestState: true"), "{text}");
    assert!(!run(&mut convert(&store, "")).stderr.is_empty(), "the folder is taken");
    let reported = succeed_json(&mut convert(&store, "--force"));
    assert_eq!(
        (&reported["height"], &reported["keep_only_latest_state"]),
        (&16.into(), &true.into())
    );

    let history = scratch.path("history");
    succeed(blockmill("import --history --data").arg(&history).arg(&dump));
    let whole = succeed_json(&mut convert(&history, "--force"));
    assert_eq!(whole["keep_only_latest_state"], false);
    assert_eq!(whole["root"], reported["root"]);
    assert!(whole["entries"].as_u64() > reported["entries"].as_u64());
}

/// Two dumps of a chain; the second repeats some blocks of the first. `change` modifies the bytes
/// of the second.
fn overlapping(scratch: &Scratch, change: impl FnOnce(&mut Vec<u8>)) -> [PathBuf; 2] {
    let chain = scratch.path("chain");
    generate(&chain, 5);
    let [a, b] = ["a.acc", "b.acc"].map(|name| scratch.path("dumps").join(name));
    fs::create_dir(scratch.path("dumps")).expect("a folder");
    convert(&chain, "--to acc --until 10", &a);
    let mut bytes = convert(&chain, "--to acc --from 6", &b);
    change(&mut bytes);
    fs::write(&b, bytes).expect("a file");
    fs::copy(chain.join("chain.yml"), a.with_extension("yml")).expect("a file");
    [a, b]
}

#[test]
fn equal_repeated_blocks_are_converted_once_and_verify_notes_them() {
    let scratch = Scratch::new("neo-repeated");
    let [a, b] = overlapping(&scratch, |_| {});
    let whole = fs::read(scratch.path("chain/chain.acc")).expect("a dump");
    assert_eq!(convert(&scratch.path("dumps"), "--to acc", &scratch.path("out.acc")), whole);
    let answer = document(&run(blockmill("verify --json").arg(&a).arg(&b)));
    assert!(answer["notes"].to_string().contains("5 repeated blocks equal"), "{answer}");
}

#[test]
fn different_blocks_of_known_heights_are_rejected_by_every_command_that_reads_dumps() {
    let scratch = Scratch::new("neo-repeated-others");
    // the time of the second block, of height 7
    let [a, b] = overlapping(&scratch, |bytes| {
        let length = u32::from_le_bytes(bytes[8..12].try_into().expect("4 bytes")) as usize;
        bytes[12 + length + 4 + 68] ^= 1;
    });
    let out = |words: &str, name: &str| {
        let mut command = blockmill(words);
        command.arg(scratch.path(name)).arg(&a).arg(&b);
        command
    };
    let mut verify = blockmill("verify");
    verify.arg(&a).arg(&b);
    let import = out("import --data", "store");
    let dump = out("convert --to acc --out", "out.acc");
    let tables = out("export --tables blocks --to", "tables");
    for mut command in [verify, import, dump, tables] {
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(1), "{command:?}: {}", ended.stderr);
        for part in ["block 7 ", "b.acc", "at byte", "expected 0x", "found 0x"] {
            let text = [&ended.stdout[..], &ended.stderr].concat();
            assert!(text.contains(part), "{command:?}: no {part} in {text}");
        }
    }
    assert!(!scratch.path("out.acc").exists());
}

#[test]
fn a_truncated_dump_of_repeated_blocks_makes_a_conversion_incomplete() {
    let scratch = Scratch::new("neo-repeated-cut");
    let [a, b] = overlapping(&scratch, |bytes| bytes.truncate(bytes.len() - 9));
    let (out, whole) = (scratch.path("out.acc"), scratch.path("chain/chain.acc"));
    let mut command = blockmill("convert --to acc --out");
    let ended = run(command.arg(&out).arg(&whole).arg(&a).arg(&b));
    assert_eq!(ended.code, Some(INCOMPLETE), "{}", ended.stderr);
    assert_eq!(fs::read(&out).expect("a dump"), fs::read(&whole).expect("a dump"));
}
