//! Block access lists (EIP-7928) through the program: verified, stored, converted, exported.

use crate::program::{Scratch, blockmill, fault_text, refuse, run, succeed, succeed_json};
use blockmill_rlp::Reader;
use blockmill_testkit::Random;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Archives with one list mutated, that `verify` refuses.
const MUTATIONS: usize = 200;

fn chain(name: &str) -> PathBuf {
    blockmill_testkit::fixture("ethereum/bal-chains").join(name)
}

/// A command at level bodies for the chain with this genesis.
fn command(words: &str, chain: &Path) -> Command {
    let mut command = blockmill(words);
    command.args(["--level", "bodies", "--chain"]).arg(chain.join("genesis.json"));
    command
}

/// Where each block of an export begins and ends, and where its fifth item begins, if it has one.
fn places(export: &[u8]) -> Vec<(usize, usize, Option<usize>)> {
    let (mut blocks, mut all) = (Reader::new(export), vec![]);
    while !blocks.is_empty() {
        let start = blocks.offset();
        let mut items = blocks.list().unwrap();
        for _ in 0..4 {
            if !items.is_empty() {
                items.item().unwrap();
            }
        }
        let list = (!items.is_empty()).then(|| items.offset());
        all.push((start, blocks.offset(), list));
    }
    all
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn lists_are_checked_without_execution_and_come_back_from_a_store() {
    let scratch = Scratch::new("access-lists");
    for (name, blocks, lists) in [("amsterdam-250", 250, 249), ("transition-240", 240, 120)] {
        let chain = chain(name);
        let archive = chain.join("chain-with-bal.rlp");
        let text = succeed(command("verify", &chain).arg(&archive));
        assert!(text.starts_with(&format!("Verified {blocks} blocks at level bodies")), "{text}");
        let text = succeed(blockmill("inspect").arg(&archive));
        assert!(text.contains(&format!("{lists} block access lists (EIP-7928)")), "{text}");

        let (store, back) = (scratch.path(&format!("{name}-store")), scratch.path(name));
        succeed(command("import", &chain).arg(&archive).arg("--data").arg(&store));
        let text = succeed(blockmill("check").arg(&store));
        assert!(text.contains("No corruption: every byte is as it was written."), "{text}");
        let text = succeed(blockmill("inspect").arg(&store));
        assert!(text.contains("with block access lists"), "{text}");
        succeed(blockmill("convert --to rlp --out").arg(&back).arg(&store));
        assert!(fs::read(&back).unwrap() == fs::read(&archive).unwrap(), "{name}");

        // the same blocks without lists are verified, and it is said what they lack
        let answer = succeed_json(command("verify", &chain).arg(chain.join("chain.rlp")));
        let note = format!("{lists} block access lists, as the archive has none");
        assert!(answer.to_string().contains(&note), "{answer}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_list_that_is_not_the_one_of_the_header_is_refused_with_its_block() {
    let scratch = Scratch::new("mutated-lists");
    let chain = chain("amsterdam-250");
    let export = fs::read(chain.join("chain-with-bal.rlp")).unwrap();
    let places = places(&export);
    let mut random = Random::new_each_run("mutated lists in an export");
    let path = scratch.path("mutated.rlp");
    for i in 0..MUTATIONS {
        let number = 1 + random.below(places.len() - 1);
        let (_, end, Some(list)) = places[number] else { panic!("block {number} has no list") };
        let mut mutated = export.clone();
        let at = list + random.below(end - list);
        mutated[at] ^= 1 << random.below(8_u32);
        fs::write(&path, &mutated).unwrap();
        let ended = run(command("verify", &chain).arg(&path));
        let text = fault_text(&ended, &format!("mutation {i}: byte {at} of block {number}"));
        assert!(text.contains(&format!("block {number}")), "mutation {i}: {text}");
    }
    // a list of another block
    let (_, end, Some(list)) = places[3] else { panic!("block 3 has no list") };
    let (_, other_end, Some(other)) = places[4] else { panic!("block 4 has no list") };
    let mut items = Reader::new(&export[places[3].0..end]).list().unwrap().rest().to_vec();
    items.truncate(items.len() - (end - list));
    items.extend_from_slice(&export[other..other_end]);
    let block = blockmill_rlp::Encode::encode(&blockmill_rlp::RawList(&[&items]));
    fs::write(&path, [&export[..places[3].0], &block, &export[end..]].concat()).unwrap();
    let text = refuse(command("verify", &chain).arg(&path), &["block 3", "block access list"]);
    assert!(text.contains("EIP-7928"), "{text}");
}
