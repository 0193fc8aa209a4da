//! Parsed blocks of neo-go: hashes, merkle roots, signers, witnesses.

use crate::dumps::{Dump, blocks};
use blockmill_hashes::{ManySha256, sha256};
use blockmill_neo::types::{Block, Error, SingleTransaction, write};

#[blockmill_testkit::needs(fixtures)]
#[test]
fn each_block_has_the_hash_that_the_next_one_names() {
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

#[blockmill_testkit::needs(fixtures)]
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

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_block_of_the_main_network_has_its_hash() {
    let text = blockmill_testkit::fixture("neo/mainnet/mainnet_block_1000.hex");
    let raw = blockmill_testkit::hex::decode(std::fs::read_to_string(text).unwrap().trim());
    let mut block = Block { raw, ..Block::default() };
    block.decode(false, &ManySha256::detect()).unwrap();
    assert_eq!(block.header.index, 1000);
    assert!(block.hash.to_string().starts_with("0xe31ad938"), "{}", block.hash);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_truncated_block_is_rejected_at_its_end() {
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

/// The block with overlong lengths of scripts and an overlong count of transactions.
fn with_long_lengths(block: &Block) -> Vec<u8> {
    let header = &block.header;
    let witness = header.witness;
    let mut lengths = vec![witness.invocation, witness.verification];
    lengths.extend(block.transactions.parts().iter().map(|parts| parts.script));
    // lengths above one byte are already long
    lengths.retain(|span| span.len() < 0xfd);
    let mut places: Vec<usize> = lengths.iter().map(|span| span.start as usize - 1).collect();
    places.push(header.signed.end as usize);
    places.push(block.header_length());
    places.sort_unstable();
    let mut raw = block.raw.clone();
    for (number, place) in places.into_iter().enumerate().rev() {
        let length = raw[place];
        let form: &[u8] = match number % 3 {
            0 => &[0xfd, length, 0],
            1 => &[0xfe, length, 0, 0, 0],
            _ => &[0xff, length, 0, 0, 0, 0, 0, 0, 0],
        };
        raw.splice(place..=place, form.iter().copied());
    }
    raw
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn overlong_lengths_are_rewritten_in_canonical_form() {
    let hasher = ManySha256::detect();
    let mut seen = 0;
    for block in blocks(Dump::CHAIN50) {
        let raw = with_long_lengths(&block);
        assert!(raw.len() >= block.raw.len() + 8, "{}", block.header.index);
        let mut read = Block { raw: raw.clone(), ..Block::default() };
        read.decode(false, &hasher).unwrap();
        assert_eq!(read.raw, block.raw);
        assert_eq!(read.hash, block.hash);
        assert_eq!(read.transactions.hashes(), block.transactions.hashes());
        read.parse_header(&raw, false).unwrap();
        assert_eq!(read.raw, block.raw[..block.header_length()]);
        seen += block.transactions.len();
        // invalid blocks stay invalid
        read.raw = raw[..raw.len() - 1].to_vec();
        assert!(read.decode(false, &hasher).is_err());
        assert!(read.transactions.is_empty());
    }
    assert_eq!(seen, Dump::CHAIN50.transactions);
}

/// A transaction with one signer and one witness.
fn transaction(scopes: &[u8], script_length: &[u8], script: &[u8]) -> Vec<u8> {
    let mut raw = vec![0; 25];
    raw.push(1);
    raw.extend_from_slice(&[7; 20]);
    raw.extend_from_slice(scopes);
    raw.push(0);
    raw.extend_from_slice(script_length);
    raw.extend_from_slice(script);
    raw.extend_from_slice(&[1, 0, 0]);
    raw
}

#[test]
fn a_script_of_65_535_bytes_has_the_hash_of_its_form() {
    let script = [0x21; 65_535];
    let neo_go = transaction(&[0], &[0xfe, 0xff, 0xff, 0, 0], &script);
    let c_sharp = transaction(&[0], &[0xfd, 0xff, 0xff], &script);
    for raw in [neo_go, c_sharp] {
        let signed = &raw[..raw.len() - 3];
        let read = SingleTransaction::decode(raw.clone()).unwrap();
        assert_eq!(read.get().hash().0, sha256(signed));
        assert_eq!(read.get().script().len(), 65_535);
    }
}

/// A block of one transaction, without a valid witness.
fn block_of(transaction: &[u8]) -> Vec<u8> {
    let mut raw = vec![0; 4 + 32 + 32 + 8 + 8 + 4 + 1 + 20];
    raw.extend_from_slice(&[1, 0, 0]);
    write::number(&mut raw, 1);
    raw.extend_from_slice(transaction);
    raw
}

#[test]
fn keys_and_booleans_are_rewritten_in_canonical_form() {
    // the generator of P-256
    let x = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296";
    let y = "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
    let long = blockmill_testkit::hex::decode(format!("04{x}{y}"));
    let short = blockmill_testkit::hex::decode(format!("03{x}"));
    let groups = |key: &[u8]| [&[0x20, 1], key].concat();
    let rule = |condition: &[u8]| [&[0x40, 1, 1], condition].concat();
    let group = |key: &[u8]| rule(&[&[0x19], key].concat());
    for (given, written) in [
        (groups(&long), groups(&short)),
        (group(&long), group(&short)),
        (rule(&[0, 7]), rule(&[0, 1])),
        (rule(&[1, 0, 0xff]), rule(&[1, 0, 1])),
    ] {
        let [given, written] = [given, written].map(|scopes| transaction(&scopes, &[1], &[0x21]));
        let mut block = Block { raw: block_of(&given), ..Block::default() };
        block.decode(false, &ManySha256::detect()).unwrap();
        assert_eq!(block.raw, block_of(&written));
        let hash = sha256(&written[..written.len() - 3]);
        assert_eq!(block.transactions.hashes()[0].0, hash);
    }
    // an invalid point, an invalid action
    let mut bad = long;
    bad[64] ^= 1;
    for scopes in [groups(&bad), [0x40, 1, 2, 0, 1].to_vec()] {
        let raw = block_of(&transaction(&scopes, &[1], &[0x21]));
        assert!(Block { raw, ..Block::default() }.decode(false, &ManySha256::detect()).is_err());
    }
}
