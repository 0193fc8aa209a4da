//! Blocks that the public tests want refused, imported as a user does it: from an export with the
//! blocks before them. What breaks a rule is *invalid*, never damage.

use crate::execution::imports::options;
use crate::{networks, vectors};
use blockmill_archive::Archive;
use blockmill_ethereum::Hash;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::import::import;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::settings::Settings;
use blockmill_rlp::{Encode, Reader};
use blockmill_verdict::Status;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The status of refused blocks, by the name of the test's exception.
type Counts = BTreeMap<(String, &'static str), usize>;

/// Hash and parent hash of an encoded block; `None` without a header.
fn link(block: &[u8]) -> Option<(Hash, Hash)> {
    let header = Reader::new(block).list().ok()?.item().ok()?;
    let parent = *header.reader().fixed::<32>().ok()?;
    Some((blockmill_hashes::keccak256(header.raw), parent))
}

/// Imports an export of each refused block of a test.
fn run(name: &str, test: &Value, scratch: &Path, counts: &mut Counts) {
    let network = test["network"].as_str().unwrap();
    let spec = networks::spec(network, &test["genesisBlockHeader"], &test["pre"]);
    let options = options(spec, Settings::default());
    let decode = |text: &Value| blockmill_testkit::hex::decode(text.as_str().unwrap());
    let genesis = decode(&test["genesisRLP"]);
    let mut known = HashMap::from([(link(&genesis).unwrap().0, genesis.clone())]);
    for block in test["blocks"].as_array().unwrap() {
        let raw = decode(&block["rlp"]);
        let Some(exception) = block["expectException"].as_str() else {
            known.insert(link(&raw).unwrap().0, raw);
            continue;
        };
        let mut export = vec![raw];
        while let Some(before) = link(&export[0]).and_then(|(_, parent)| known.get(&parent)) {
            export.insert(0, before.clone());
        }
        if export.len() == 1 {
            export.insert(0, genesis.clone());
        }
        let path = scratch.join("blocks.rlp");
        std::fs::write(&path, export.concat()).unwrap();
        let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
        let (_, outcome) = import(&archive, &options, &mut Sink::Discard, |_| {});
        let error = outcome.expect_err(&format!("{name}: {exception} was accepted"));
        let status = error.status();
        assert!(!error.to_string().is_empty());
        if status != Status::Invalid {
            println!("{name}: {exception}: {status:?}: {error}");
        }
        *counts.entry((exception.to_owned(), status.name())).or_default() += 1;
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn refused_blocks_of_the_public_tests_are_invalid_and_not_damaged() {
    let mut counts = Counts::new();
    let scratch = tempfile::tempdir().unwrap();
    let mut of_file = |file: &str, text: &str| {
        // most files have no block that is refused
        let tests: Value = match text.contains("expectException") {
            true => serde_json::from_str(text).unwrap(),
            false => serde_json::json!({}),
        };
        for (name, test) in tests.as_object().unwrap() {
            run(&format!("{file} {name}"), test, scratch.path(), &mut counts);
        }
    };
    vectors::for_each_file(&["BlockchainTests/", "EIPTests/BlockchainTests/"], &mut of_file);
    let official = "ethereum/amsterdam/eels-osaka-bpo.tar.zst";
    for (name, text) in blockmill_testkit::tar_files(official, |name| name.ends_with(".json")) {
        of_file(&name, str::from_utf8(&text).unwrap());
    }
    println!("{counts:#?}");
    let of_status =
        |status: Status| counts.iter().filter(move |((_, own), _)| *own == status.name());
    let all: usize = counts.values().sum();
    // the parent of these blocks is nowhere: something is missing
    let missing: usize = of_status(Status::Incomplete).map(|(_, count)| count).sum();
    let is_missing = |((exception, _), _): (&(String, &str), &usize)| exception.contains("PARENT");
    assert!(of_status(Status::Incomplete).all(is_missing));
    let invalid: usize = of_status(Status::Invalid).map(|(_, count)| count).sum();
    assert_eq!((all, invalid + missing), (290, 290));
}

/// The status of an import of the first block of a chain, and then of these bytes.
fn status_after_genesis(bytes: &[u8]) -> Status {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/geth-chains/chain-id");
    let genesis = std::fs::read_to_string(folder.join("genesis.json")).unwrap();
    let spec = ChainSpec::from_genesis_json(&genesis).unwrap();
    let export = std::fs::read(folder.join("chain.rlp")).unwrap();
    let first = Reader::new(&export).item().unwrap().raw;
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("blocks.rlp");
    std::fs::write(&path, [first, bytes].concat()).unwrap();
    let archive = Archive::open(&[path]).unwrap();
    let options = options(spec, Settings::default());
    let (_, outcome) = import(&archive, &options, &mut Sink::Discard, |_| {});
    outcome.map_or_else(|error| error.status(), |()| Status::Verified)
}

/// Block 1 of that chain with its header, its transactions and its other items changed.
fn changed(change: impl Fn(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/geth-chains/chain-id");
    let export = std::fs::read(folder.join("chain.rlp")).unwrap();
    let mut blocks = Reader::new(&export);
    blocks.item().unwrap();
    let mut items = blocks.list().unwrap();
    let mut parts = vec![];
    while let Ok(item) = items.item() {
        parts.push(item.raw.to_vec());
    }
    change(&mut parts);
    blockmill_rlp::RawList(&[&parts.concat()]).encode()
}

/// A change of a block's items.
type Change = Box<dyn Fn(&mut Vec<Vec<u8>>)>;

#[test]
fn fields_that_break_a_rule_are_invalid_and_what_is_no_block_is_damage() {
    assert_eq!(status_after_genesis(&changed(|_| {})), Status::Verified);
    let cases: [(&str, Change, Status); 7] = [
        ("items too many", Box::new(|p| p.extend([vec![0xc0], vec![0xc0]])), Status::Corrupt),
        ("items too few", Box::new(|p| p.truncate(2)), Status::Corrupt),
        ("a string for ommers", Box::new(|p| p[2] = vec![0x80]), Status::Corrupt),
        ("a withdrawal without fields", Box::new(|p| p[3] = vec![0xc1, 0xc0]), Status::Invalid),
        ("a header without fields", Box::new(|p| p[0] = vec![0xc0]), Status::Invalid),
        (
            // the prefix of its parent's hash, which takes a byte of the next field
            "a header with a wrong prefix",
            Box::new(|p| p[0][3] ^= 1),
            Status::Corrupt,
        ),
        ("a transaction of type 5", Box::new(|p| p[1] = vec![0xc1, 5]), Status::Invalid),
    ];
    for (name, change, expected) in cases {
        assert_eq!(status_after_genesis(&changed(change)), expected, "{name}");
    }
}
