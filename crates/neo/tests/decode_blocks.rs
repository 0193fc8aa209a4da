//! Blocks of neo-go, taken apart: hashes, merkle roots, signers, witnesses.

use crate::dumps::{Dump, blocks};
use blockmill_neo::types::{Block, Error};
use crypto::ManySha256;

#[testkit::needs(fixtures)]
#[test]
fn the_hashes_of_a_chain_are_those_that_its_blocks_name() {
    for dump in [Dump::CHAIN50, Dump::EMPTY, Dump::MIXED] {
        let blocks = blocks(dump);
        assert_eq!(blocks.len(), dump.blocks);
        for pair in blocks.windows(2) {
            assert_eq!(pair[1].header.previous, pair[0].hash, "{}", pair[1].header.index);
            assert_eq!(pair[1].header.index, pair[0].header.index + 1);
            assert!(pair[1].header.timestamp > pair[0].header.timestamp);
        }
        let count: usize = blocks.iter().map(|block| block.transactions.len()).sum();
        assert_eq!(count, dump.transactions, "{}", dump.name);
    }
}

#[testkit::needs(fixtures)]
#[test]
fn every_transaction_has_a_witness_for_each_signer() {
    let mut contracts = 0;
    for block in blocks(Dump::MIXED).iter().chain(&blocks(Dump::CHAIN50)) {
        for transaction in block.transactions() {
            assert_eq!(transaction.signers().len(), transaction.witnesses().len());
            assert_eq!(transaction.signers().next().unwrap().account(), transaction.sender());
            for (signer, witness) in transaction.signers().zip(transaction.witnesses()) {
                match witness.verification {
                    [] => contracts += 1,
                    // the genesis block's transaction is not signed
                    [0x11] => assert_eq!(block.header.index, 0),
                    _ => assert_eq!(witness.script_hash(), signer.account()),
                }
            }
            assert_eq!(transaction.size(), transaction.bytes().len());
            assert!(transaction.bytes().starts_with(transaction.signed_bytes()));
        }
    }
    println!("{contracts} witnesses of contracts");
}

#[testkit::needs(fixtures)]
#[test]
fn a_block_of_the_main_network_has_its_hash() {
    let text = testkit::fixture("neo/mainnet/mainnet_block_1000.hex");
    let raw = testkit::hex::decode(std::fs::read_to_string(text).unwrap().trim());
    let mut block = Block { raw, ..Block::default() };
    block.decode(false, &ManySha256::detect()).unwrap();
    assert_eq!(block.header.index, 1000);
    assert!(block.hash.to_string().starts_with("0xe31ad938"), "{}", block.hash);
}

#[testkit::needs(fixtures)]
#[test]
fn a_block_that_is_cut_anywhere_is_refused_where_it_ends() {
    let whole = blocks(Dump::CHAIN50).iter().max_by_key(|block| block.raw.len()).unwrap().clone();
    let hasher = ManySha256::detect();
    let mut block = Block::default();
    for length in 0..whole.raw.len() {
        block.raw = whole.raw[..length].to_vec();
        let error = block.decode(false, &hasher).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{length}: {error}");
        assert!(block.transactions.is_empty());
    }
    block.raw = whole.raw.clone();
    block.raw.push(0);
    let length = whole.raw.len() as u32;
    let error = Error::Trailing { expected: length, found: length + 1 };
    assert_eq!(block.decode(false, &hasher), Err(error));
}
