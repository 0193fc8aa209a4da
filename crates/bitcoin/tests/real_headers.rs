//! Real blocks through header rules and tree: whole chains, and single blocks.

use crate::generated_headers;
use crate::generated_headers::{Naive, Random};
use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::header::rules::{verify_version, verify_work};
use blockmill_bitcoin::header::{Header, target, work};
use blockmill_bitcoin::index::{Found, Tree};
use blockmill_bitcoin::params::Params;
use std::collections::HashSet;

const MAINNET_TIP: &str = "00000000ac08f7d984f6b36027395e654a5f1e3bb006cd9df9c60b9897ea4c40";
const TESTNET_TIP: &str = "00000000763effc6fcd7f757043a4d7a9262582582d05f1fd9dc6c6c70bfaf0b";

/// Records of a file of frames; stops at the first thing that is none.
fn frames(bytes: &[u8], magic: [u8; 4]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(frame) = bytes.get(at..).filter(|rest| rest.len() >= 88) {
        let size = u32::from_le_bytes(*frame[4..].first_chunk().unwrap());
        if frame[..4] != magic || size < 80 || frame.len() < 8 + size as usize {
            break;
        }
        let header: [u8; 80] = *frame[8..].first_chunk().unwrap();
        let (offset, hash) = (at as u64 + 8, blockmill_hashes::sha256d(&header));
        found.push(Found { file: 0, offset, size, header, hash: BlockHash(hash) });
        at += 8 + size as usize;
    }
    found
}

/// The same records at other places.
fn in_this_order(mut records: Vec<Found>) -> Vec<Found> {
    for (at, record) in records.iter_mut().enumerate() {
        record.offset = at as u64 * 100;
    }
    records
}

fn tip_and_height(tree: &Tree) -> (BlockHash, u32) {
    let tip = tree.best_tip();
    (*tree.hash(tip), tree.height(tip))
}

/// Checks the tree of real records in their order and in others, against the slow index.
fn check_chain(params: &Params, records: &[Found], height: u32, tip: &str) {
    let tree = Tree::build(params, records.to_vec(), Some(1_800_000_000));
    let (found_tip, found_height) = tip_and_height(&tree);
    assert_eq!((found_tip.to_string().as_str(), found_height), (tip, height));
    assert_eq!(tree.refused(), []);
    let naive = Naive::build(params, records);
    let chain: Vec<usize> = tree.best_chain().iter().map(|block| *block as usize).collect();
    assert_eq!(chain, naive.best_chain(&HashSet::new()));
    for block in (0..tree.len()).step_by(7) {
        assert_eq!(i64::from(tree.median_time(block)), naive.median(block as usize));
    }
    let hashes = |tree: &Tree| -> Vec<BlockHash> {
        tree.best_chain().iter().map(|block| *tree.hash(*block)).collect()
    };
    let wanted = hashes(&tree);
    let mut order = records.to_vec();
    order.reverse();
    for seed in 0..5 {
        let tree = Tree::build(params, in_this_order(order.clone()), None);
        assert_eq!(hashes(&tree), wanted);
        assert_eq!(tree.summary().unlinked, 0);
        Random::new(seed).shuffle(&mut order);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn main_network_0_to_4521() {
    let folder = blockmill_testkit::fixture("bitcoin");
    let bytes = std::fs::read(folder.join("mainnet-0-4521.dat")).unwrap();
    let params = Params::mainnet();
    let records = frames(&bytes, params.magic);
    check_chain(&params, &records, 4_521, MAINNET_TIP);
    let tree = Tree::build(&params, records.clone(), None);
    let summary = tree.summary();
    assert_eq!((summary.blocks, summary.branches.len(), summary.gaps.len()), (4_522, 0, 0));
    // minimum difficulty all the way
    assert_eq!(tree.chain_work(tree.best_tip()), 4_522 * 0x1_0001_0001);

    // without one block all after it hang in the air
    let mut cut = records.clone();
    let lost = cut.remove(4_000);
    let summary = Tree::build(&params, cut, None).summary();
    assert_eq!((summary.height, summary.unlinked, summary.gaps.len()), (3_999, 521, 1));
    assert_eq!((summary.gaps[0].missing, summary.gaps[0].records), (lost.hash, 521));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn testnet3_0_to_400() {
    let folder = blockmill_testkit::fixture("bitcoin");
    let bytes = std::fs::read(folder.join("testnet3-0-400.dat")).unwrap();
    let params = Params::testnet3();
    let records = frames(&bytes, params.magic);
    check_chain(&params, &records, 400, TESTNET_TIP);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn regtest_1_to_206_without_the_first_block() {
    let folder = blockmill_testkit::fixture("bitcoin");
    let text = std::fs::read_to_string(folder.join("regtest-1-206.hex.txt")).unwrap();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let header = |line: &str| {
        let bytes: Vec<u8> = line.as_bytes()[..160].chunks(2).map(byte).collect();
        *bytes.first_chunk::<80>().unwrap()
    };
    let headers: Vec<[u8; 80]> = text.lines().map(header).collect();
    let records = generated_headers::found(&headers);
    let params = Params::regtest();
    let tip = records[records.len() - 1].hash.to_string();
    check_chain(&params, &records, 206, &tip);
    let tree = Tree::build(&params, records, None);
    assert_eq!(tree.record(0), None);
    assert_eq!(tree.hash(0), &params.genesis_hash);
}

/// File, network, height, hash.
const SINGLE: [(&str, &str, u32, &str); 9] = [
    (
        "bitcoinj-block227835.dat",
        "mainnet",
        227_835,
        "00000000000001aa077d7aa84c532a4d69bdbff519609d1da0835261b7a74eb6",
    ),
    (
        "bitcoinj-block227836.dat",
        "mainnet",
        227_836,
        "00000000000000d0dfd4c9d588d325dce4f32c1b31b7c0064cba7025a9b9adcc",
    ),
    (
        "bcoin-block300025.raw",
        "mainnet",
        300_025,
        "0000000000000000821c4e0acc40f88bedbce3b73ba2358b5ade58a9022cc78c",
    ),
    (
        "core-bench-block413567.raw",
        "mainnet",
        413_567,
        "0000000000000000025aff8be8a55df8f89c77296db6198f272d6577325d4069",
    ),
    (
        "bitcoinj-block481829.dat",
        "mainnet",
        481_829,
        "000000000000000000917cba69f69b758fe396c8e30ae97bbcf08c4eb975e726",
    ),
    (
        "rustbitcoin-702861.raw",
        "mainnet",
        702_861,
        "000000000000000000000c835b2adcaedc20fdf6ee440009c249452c726dafae",
    ),
    (
        "bcoin-block928816.raw",
        "testnet3",
        928_816,
        "00000000000001c4b87edf974ddc601d88dda332265b9849a944a5ff0141a378",
    ),
    (
        "bitcoinj-block_testnet700000.dat",
        "testnet3",
        700_000,
        "000000000000406178b12a4dea3b27e13b3c4fe4510994fd667d7c1e6a3f4dc1",
    ),
    (
        "electrumx-bitcoin_testnet4_40000.raw",
        "testnet4",
        40_000,
        "000000000000000c1a1fad82b0e133f4772802b6dff7a95990580ae2e15c634f",
    ),
];

#[blockmill_testkit::needs(fixtures)]
#[test]
fn single_blocks_fulfil_the_rules_that_need_no_parent() {
    let folder = blockmill_testkit::fixture("bitcoin");
    for (name, network, height, hash) in SINGLE {
        let bytes = std::fs::read(folder.join("blocks").join(name)).unwrap();
        let params = Params::by_name(network).unwrap();
        let header = Header(bytes.first_chunk().unwrap());
        let found = header.hash();
        assert_eq!(found.to_string(), hash, "{name}");
        assert_eq!(verify_work(&params, header.bits(), &found), Ok(()), "{name}");
        assert_eq!(verify_version(&params, height, header.version()), Ok(()), "{name}");
        assert!(work(target(header.bits()).unwrap()) >= work(params.pow_limit), "{name}");
        // no hash is below a target that is 2^32 times smaller
        let harder = header.bits() - (4 << 24);
        assert!(verify_work(&params, harder, &found).is_err(), "{name}");
    }
    // the pair: the second follows the first, and its version may be higher
    let read = |name| std::fs::read(folder.join("blocks").join(name)).unwrap();
    let second = read(SINGLE[1].0);
    let second = Header(second.first_chunk().unwrap());
    assert_eq!(second.previous().to_string(), SINGLE[0].3);
}
