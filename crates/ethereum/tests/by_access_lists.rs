//! Concurrent execution by block access lists (EIP-7928): the result of every block that
//! go-ethereum made is that of execution in order.

use crate::amsterdam::files;
use crate::execution::imports::{options, run};
use crate::networks;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::settings::Settings;
use blockmill_pipeline::options::OptionSet;
use blockmill_rlp::{Encode, RawList, Reader};
use blockmill_testkit::hex;
use blockmill_verdict::Hex;
use serde_json::Value;

/// A block with its access list, if it has one, as a fifth item.
fn with_list(block: &Value) -> Vec<u8> {
    let raw = hex::decode(block["rlp"].as_str().unwrap());
    let list = block["blockAccessListRlp"].as_str().map(hex::decode).unwrap_or_default();
    let mut reader = Reader::new(&raw).list().unwrap();
    let mut parts: Vec<&[u8]> = std::iter::from_fn(|| Some(reader.item().ok()?.raw)).collect();
    parts.extend((!list.is_empty()).then_some(&list[..]));
    RawList(&parts).encode()
}

/// Imports the blocks of each test of an archive up to the first one that must be refused. Returns
/// how many blocks were executed by their lists.
fn by_lists(name: &str) -> u64 {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("chain.rlp");
    let settings = Settings::default().with(&["access-lists=parallel"]).unwrap();
    let mut count = 0;
    for (file, text) in files(name) {
        let tests: Value = serde_json::from_str(&text).unwrap();
        for (name, test) in tests.as_object().unwrap() {
            let network = test["network"].as_str().unwrap();
            let spec = networks::spec(network, &test["genesisBlockHeader"], &test["pre"]);
            let blocks = test["blocks"].as_array().unwrap().iter();
            let blocks: Vec<_> =
                blocks.take_while(|block| block["expectException"].is_null()).collect();
            let Some(last) = blocks.last() else { continue };
            let mut chain = hex::decode(test["genesisRLP"].as_str().unwrap());
            blocks.iter().for_each(|block| chain.extend(with_list(block)));
            std::fs::write(&path, &chain).unwrap();
            let options = options(spec, settings);
            let (done, error) = run(path.clone(), &options, &mut Sink::Discard);
            assert_eq!(error, None, "{file} {name}");
            let tip = Hex(&done.tip.unwrap().id.hash).to_string();
            assert_eq!(tip, last["blockHeader"]["hash"], "{file} {name}");
            count += done.by_access_list;
        }
    }
    count
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_of_tests_are_executed_on_their_part_of_the_state() {
    let archives = ["blockchain_tests", "gas-edges", "random"];
    let counts = archives.map(by_lists);
    println!("{counts:?}");
    assert!(counts.iter().sum::<u64>() > 4_000, "{counts:?}");
}
