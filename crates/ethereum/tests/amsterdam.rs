//! Amsterdam: tests that go-ethereum v1.17.10 made and accepts, chains with block access lists, and
//! blocks that must be refused.

use crate::execution::imports::{Place, options, run};
use crate::{networks, public_suite};
use blockmill_archive::Archive;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::import::import;
use blockmill_ethereum::params::ChainSpec;
use blockmill_rlp::{Encode, RawList, Reader};
use blockmill_testkit::hex;
use blockmill_verdict::{Hex, Status};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The files of an archive of tests.
pub fn files(name: &str) -> Vec<(String, String)> {
    let path = format!("ethereum/amsterdam/{name}.tar.zst");
    let files = blockmill_testkit::tar_files(path, |name| name.ends_with(".json"));
    let text = |(name, bytes)| (name, String::from_utf8(bytes).unwrap());
    files.into_iter().map(text).collect()
}

/// The EIP that a file is about, by the name of its folder.
fn eip(file: &str) -> String {
    let part = file.split('/').find(|part| part.starts_with("eip"));
    part.or(file.split('/').next()).unwrap_or_default().to_owned()
}

/// Runs an archive, and prints its counts by EIP. All cases pass.
fn passes(name: &str, expected: usize) {
    let counts = public_suite::counts(&files(name), |file, _| eip(file));
    let sum = |at: usize| counts.values().map(|counts| counts[at]).sum::<usize>();
    assert_eq!([sum(0), sum(1), sum(2)], [expected, 0, 0], "{name}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blockchain_tests() {
    passes("blockchain_tests", 3_486);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn state_tests() {
    passes("state_tests", 3_365);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn gas_limits_around_each_change_of_the_result() {
    passes("gas-edges", 706);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn random_programs() {
    passes("random", 300);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blob_parameter_forks_before_amsterdam() {
    passes("eels-osaka-bpo", 181);
}

/// Words of go-ethereum's errors, and the beginning of the rule for them.
const REASONS: [(&str, &str); 13] = [
    ("intrinsic gas too low", "gas due before execution"),
    ("insufficient gas for floor data gas cost", "gas due before execution"),
    ("gas limit reached", "gas limit of the transaction in its block"),
    ("insufficient funds", "balance of the sender"),
    ("sender not an eoa", "sender without code"),
    ("exceeds size constraint", "size of the block access list"),
    ("blob gas used", "blob gas used"),
    ("max fee per gas less than", "fee of the transaction"),
    ("max priority fee per gas higher", "priority fee"),
    // of the transaction under Osaka, for what is due before execution under Amsterdam
    ("transaction gas limit too high", "gas "),
    ("nonce too low", "nonce of the sender"),
    ("max initcode size exceeded", "size of creation code"),
    ("TransactionException", "gas "),
];

/// Imports blocks after others, and returns the status and the error.
fn refused(spec: &ChainSpec, blocks: &[Vec<u8>], scratch: &Path) -> (Status, String) {
    let path = scratch.join("blocks.rlp");
    std::fs::write(&path, blocks.concat()).unwrap();
    let archive = Archive::open(std::slice::from_ref(&path)).unwrap();
    let options = options(spec.clone(), Default::default());
    let (_, outcome) = import(&archive, &options, &mut Sink::Discard, |_| {});
    outcome.map_or_else(
        |error| (error.status(), error.to_string()),
        |()| (Status::Verified, "".into()),
    )
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn refused_blocks_break_the_rule_that_go_ethereum_names() {
    let scratch = tempfile::tempdir().unwrap();
    let mut counts = BTreeMap::new();
    let archives = ["blockchain_tests", "gas-edges", "random", "eels-osaka-bpo"];
    let all = archives.into_iter().flat_map(files);
    for (file, text) in all.filter(|(_, text)| text.contains("expectException")) {
        let tests: Value = serde_json::from_str(&text).unwrap();
        for (name, test) in tests.as_object().unwrap() {
            let network = test["network"].as_str().unwrap();
            let spec = networks::spec(network, &test["genesisBlockHeader"], &test["pre"]);
            let mut chain = vec![hex::decode(test["genesisRLP"].as_str().unwrap())];
            for block in test["blocks"].as_array().unwrap() {
                let raw = hex::decode(block["rlp"].as_str().unwrap());
                let Some(exception) = block["expectException"].as_str() else {
                    chain.push(raw);
                    continue;
                };
                let reason = REASONS.iter().find(|(words, _)| exception.contains(words));
                let (_, rule) = reason.unwrap_or_else(|| panic!("{file} {name}: {exception}"));
                let blocks = [&chain[..], &[raw]].concat();
                let (status, error) = refused(&spec, &blocks, scratch.path());
                assert_eq!(status, Status::Invalid, "{file} {name}: {exception}: {error}");
                assert!(error.contains(rule), "{file} {name}: {exception}: {error}");
                *counts.entry(*rule).or_insert(0) += 1;
            }
        }
    }
    println!("{counts:#?}");
    assert_eq!(counts.values().sum::<usize>(), 144);
}

/// The folder of a chain with block access lists, its blocks with their lists, and its rules.
fn chain(name: &str) -> (std::path::PathBuf, ChainSpec) {
    let folder = blockmill_testkit::fixture(format!("ethereum/bal-chains/{name}"));
    let genesis = std::fs::read_to_string(folder.join("genesis.json")).unwrap();
    (folder, ChainSpec::from_genesis_json(&genesis).unwrap())
}

const CHAINS: [(&str, u64); 2] = [("amsterdam-250", 250), ("transition-240", 240)];

#[blockmill_testkit::needs(fixtures)]
#[test]
fn chains_with_and_without_lists_are_executed_with_the_state_in_every_place() {
    for (name, blocks) in CHAINS {
        let (folder, spec) = chain(name);
        let expected = std::fs::read(folder.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        for export in ["chain.rlp", "chain-with-bal.rlp"] {
            for place in Place::all() {
                for speculate in ["speculate=off", "speculate=all"] {
                    let settings = place.with(&[speculate]);
                    let options = options(spec.clone(), settings);
                    let (done, error) = run(folder.join(export), &options, &mut Sink::Discard);
                    let of = format!("{name} {export} {place:?} {speculate}");
                    assert_eq!((done.blocks, error), (blocks, None), "{of}");
                    let tip = done.tip.expect("a last block");
                    assert_eq!(Hex(&tip.id.hash).to_string(), expected["headHash"], "{of}");
                }
            }
        }
    }
}

/// Kinds of lists with one wrong value, and how the fault names the entry.
const ENTRIES: [(&str, &str); 4] = [
    ("balance-value", "balance of 0x"),
    ("nonce-value", "nonce of 0x"),
    ("code-value", "code of 0x"),
    ("storage-value", " slot 0x"),
];

/// The items of an export.
pub fn items(file: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(file);
    std::iter::from_fn(|| Some(reader.item().ok()?.raw.to_vec())).collect()
}

/// The items of a block: header, transactions, ommers, withdrawals, access list.
fn parts(block: &[u8]) -> Vec<&[u8]> {
    let mut list = Reader::new(block).list().unwrap();
    std::iter::from_fn(|| Some(list.item().ok()?.raw)).collect()
}

/// Wrong lists: in a header and its archive, in a header only, in an archive only.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_with_a_wrong_list_are_refused_with_the_list_and_without_it() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut rules, mut named) = (BTreeMap::new(), 0);
    for (name, _) in CHAINS {
        let (folder, spec) = chain(name);
        let blocks = items(&std::fs::read(folder.join("chain-with-bal.rlp")).unwrap());
        let packed = blockmill_testkit::read(folder.join("invalid-bal.json.zst"));
        let wrong: Value = serde_json::from_slice(&packed).unwrap();
        for (i, entry) in wrong["entries"].as_array().unwrap().iter().enumerate() {
            let record = hex::decode(entry["record"].as_str().unwrap());
            let number = entry["number"].as_u64().unwrap() as usize;
            let whole = parts(&record);
            let other = [&parts(&blocks[number])[..4], &whole[4..]].concat();
            for (form, parts) in [("with", &whole[..]), ("without", &whole[..4]), ("other", &other)]
            {
                let all = [&blocks[..number], &[RawList(parts).encode()]].concat();
                let (status, error) = refused(&spec, &all, scratch.path());
                let of = format!("{name} entry {i} {form} its list: {error}");
                assert_eq!(status, Status::Invalid, "{of}");
                assert!(error.starts_with(&format!("block {number} ")), "{of}");
                assert!(error.contains("EIP-7928"), "{of}");
                let kind = entry["kind"].as_str().unwrap();
                if let Some((_, words)) = ENTRIES.iter().find(|(known, _)| *known == kind)
                    && form != "without"
                {
                    assert!(error.contains(words), "{kind}: {of}");
                    named += 1;
                }
                let rule = error.split("EIP-7928").next().unwrap_or_default().len();
                let words = error[..rule].rsplit(": ").next().unwrap_or_default().to_owned();
                *rules.entry(format!("{form} {words}")).or_insert(0) += 1;
            }
        }
    }
    println!("{rules:#?}");
    assert_eq!((rules.values().sum::<usize>(), named), (3 * 754, 2 * 111));
}
