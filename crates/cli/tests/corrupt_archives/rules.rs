//! Headers that break one rule; those that follow are linked to them again.

use crate::Good;
use crate::blocks::{Blocks, items, list};
use crate::program::{blockmill, misunderstand, refuse, unexecuted};
use blockmill_ethereum::U256;
use blockmill_ethereum::difficulty::Parent;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::params::ChainSpec;
use blockmill_generate::ethereum::HeaderChain;
use std::time::UNIX_EPOCH;

/// Number of the last block, and of the block that is changed.
const LAST: u64 = 200;
const AT: usize = 150;

/// A change of a header, given the parent's, and the rule that it breaks.
type Change = (&'static str, fn(&mut Header, &Header));

const FRONTIER: [Change; 8] = [
    ("difficulty (", |header, _| header.difficulty += U256::ONE),
    ("gas limit bound", |header, parent| header.gas_limit = parent.gas_limit * 1025 / 1024 + 1),
    ("gas limit bound", |header, parent| header.gas_limit = parent.gas_limit * 1023 / 1024 - 1),
    ("gas used within the limit", |header, _| header.gas_used = header.gas_limit + 1),
    ("timestamp later than the parent's", |header, parent| header.timestamp = parent.timestamp),
    ("extra data size", |header, _| header.extra_data = vec![7; 33]),
    ("parent hash", |header, _| header.parent_hash[31] ^= 1),
    ("base fee", |header, _| header.base_fee = Some(U256::from(7))),
];

#[test]
fn headers_that_break_a_rule_are_refused() {
    let blocks = Blocks::generated(LAST);
    for format in ["headers", "rlp", "freezer", "era1"] {
        let mut good = Good::new("rules", format, blocks.clone());
        for (rule, change) in FRONTIER {
            let mut blocks = good.blocks.clone();
            let parent = blocks.header(AT - 1);
            blocks.edit(AT, |header| change(header, &parent));
            let text = good.refuses_blocks(&blocks, AT as u64, rule);
            assert!(text.contains(" at byte "), "{text}");
        }
    }
}

#[test]
fn a_gas_limit_below_the_minimum_is_refused() {
    let mut good = Good::new("gas-minimum", "headers", Blocks::generated(3));
    let mut blocks = good.blocks.clone();
    // the genesis block has the minimum itself, and block 1 may go down by 3
    blocks.edit(1, |header| header.gas_limit = 4_999);
    good.refuses_blocks(&blocks, 1, "gas limit minimum");
}

#[test]
fn a_number_that_does_not_follow_is_refused() {
    for format in ["headers", "rlp"] {
        let mut good = Good::new("number", format, Blocks::generated(LAST));
        let mut blocks = good.blocks.clone();
        blocks.edit(AT, |header| header.number += 1);
        good.refuses_blocks(&blocks, AT as u64, "number (");
    }
}

#[test]
fn a_timestamp_in_the_future_is_refused() {
    let mut good = Good::new("future", "headers", Blocks::generated(LAST));
    let mut blocks = good.blocks.clone();
    let spec = ChainSpec::by_name("mainnet").unwrap();
    let parent = blocks.headers[AT - 1].clone();
    blocks.edit(AT, |header| {
        header.timestamp = UNIX_EPOCH.elapsed().unwrap().as_secs() + 3_600;
        let parent = Parent::from(&HeaderView::decode(&parent).unwrap());
        let formula = spec.rules_at(header.number, 0).difficulty;
        header.difficulty = formula.next(header.timestamp, &parent).unwrap();
    });
    good.refuses_blocks(&blocks, AT as u64, "timestamp not in the future");
}

/// A chain under proof of work that goes over to London at block 5.
const LONDON: &str = r#"{
    "config": {
        "chainId": 1337, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0,
        "eip158Block": 0, "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0,
        "istanbulBlock": 0, "berlinBlock": 0, "londonBlock": 5, "ethash": {}
    },
    "difficulty": "0x20000", "gasLimit": "0x2fefd8", "timestamp": "0x0", "alloc": {}
}"#;

const BASE_FEE: [fn(&mut Header); 3] = [
    |header| header.base_fee = header.base_fee.map(|fee| fee + U256::ONE),
    |header| header.base_fee = Some(U256::ZERO),
    |header| header.base_fee = None,
];

#[test]
fn a_wrong_base_fee_is_refused() {
    let spec = ChainSpec::from_genesis_json(LONDON).unwrap();
    let mut chain = HeaderChain::new(&spec, 1).unwrap();
    let mut headers = vec![chain.tip().to_vec()];
    (0..LAST).for_each(|_| headers.push(chain.next(None).to_vec()));
    let none = vec![vec![]; headers.len()];
    let blocks = Blocks { headers, bodies: none.clone(), receipts: none };
    let mut good = Good::of_chain("base-fee", "headers", blocks, |scratch| {
        let path = scratch.path("genesis.json");
        std::fs::write(&path, LONDON).unwrap();
        path
    });
    for change in BASE_FEE {
        for at in [5, AT] {
            let mut blocks = good.blocks.clone();
            blocks.edit(at, change);
            good.refuses_blocks(&blocks, at as u64, "base fee");
        }
    }
    let mut blocks = good.blocks.clone();
    blocks.edit(4, |header| header.base_fee = Some(U256::from(1_000_000_000)));
    good.refuses_blocks(&blocks, 4, "base fee");
}

/// A header in which item `index` is replaced by other bytes.
fn with_item(header: &[u8], index: usize, item: &[u8]) -> Vec<u8> {
    let mut items = items(header);
    items[index] = item.to_vec();
    list(&items)
}

#[test]
fn rlp_that_is_not_canonical_is_refused() {
    const NUMBER: usize = 8;
    const EXTRA: usize = 12;
    let blocks = Blocks::generated(LAST);
    let header = &blocks.headers[AT];
    // a length of two bytes, written in three
    let long_prefix = [&[0xfa, 0], &header[1..]].concat();
    let changes = [
        with_item(header, NUMBER, &[0x82, 0, AT as u8]),
        with_item(header, NUMBER, &[0x81, 7]),
        with_item(header, EXTRA, &[0xb8, 1, 0x99]),
        long_prefix,
        list(&[items(header), vec![vec![0x80]; 9]].concat()),
        list(&items(header)[..14]),
    ];
    for format in ["headers", "rlp"] {
        let mut good = Good::new("canonical", format, blocks.clone());
        for change in &changes {
            let mut blocks = blocks.clone();
            blocks.headers[AT].clone_from(change);
            let text = good.refuses_blocks(&blocks, AT as u64, "");
            println!("{text}");
        }
    }
}

#[test]
fn a_chain_of_another_network_is_refused() {
    let blocks = Blocks::generated(20);
    for format in crate::blocks::FORMATS {
        let good = Good::new("network", format, blocks.clone());
        let store = good.scratch.path("other");
        let mut command = blockmill("import --chain sepolia --data");
        let path = good.archive.display().to_string();
        command.arg(&store).arg(&good.archive).args(unexecuted(&good.archive));
        let sepolia = "0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9";
        let mainnet = "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3";
        let text = refuse(&mut command, &[&path, "block 0", "genesis", sepolia, mainnet]);
        assert!(text.contains("hint: this may be an archive of another chain"), "{text}");
        assert_eq!(crate::tip_of(&store), None);
        // a store that has a chain does not take another one
        let mut command = blockmill("import --chain sepolia --data");
        command.arg(&good.store).arg(&good.archive).args(unexecuted(&good.archive));
        misunderstand(&mut command, &["a store takes blocks of one chain and one level only"]);
        assert_eq!(crate::tip_of(&good.store), Some(20));
    }
}
