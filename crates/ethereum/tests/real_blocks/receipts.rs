//! Receipts of real blocks: against their headers, to geth's storage form and back.

use crate::source::{self, RealBlock};
use blockmill_archive::ReceiptEncoding;
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::receipts::{
    ReceiptError, consensus_to_storage, receipts_root, storage_to_consensus, verify_receipts,
};
use blockmill_ethereum::rule::Rule;
use blockmill_ethereum::transactions::TransactionType;
use blockmill_rlp::ethereum::Receipt;
use blockmill_rlp::{Decode, Encode, List};
use blockmill_trie::RootBuilder;

/// What geth v1.17.10 stored for some blocks of two chains when it executed them: a chain,
/// a number and an RLP list in hex on each line.
const STORED: &str = include_str!("stored-receipts.txt");

/// The blocks of [`STORED`], each with its receipts in storage form.
fn stored() -> Vec<RealBlock> {
    let mut chains = std::collections::HashMap::new();
    let mut blocks = vec![];
    for line in STORED.lines() {
        let [name, number, receipts] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("three words on a line");
        };
        if !chains.contains_key(name) {
            chains.insert(name, source::chain(name));
        }
        let number: u64 = number.parse().unwrap();
        let block = chains[name]
            .iter()
            .find(|block| HeaderView::decode(&block.header).unwrap().number == number);
        blocks.push(RealBlock {
            receipts: Some(blockmill_testkit::hex::decode(receipts)),
            ..block.unwrap().clone()
        });
    }
    assert_eq!(blocks.len(), 9);
    blocks
}

fn types(body: &[u8]) -> Vec<TransactionType> {
    BodyView::decode(body).unwrap().transaction_types().collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn stored_receipts_match_the_header_and_survive_the_way_to_consensus_and_back() {
    let blocks = stored();
    let mut roots = RootBuilder::new();
    let (mut receipts, mut logs) = ([0; 5], 0);
    for block in &blocks {
        let header = HeaderView::decode(&block.header).unwrap();
        let body = BodyView::decode(&block.body).unwrap();
        let stored = block.receipts.as_ref().unwrap();
        let (mut consensus, mut again) = (vec![], vec![]);
        storage_to_consensus(stored, body.transaction_types(), &mut consensus).unwrap();
        consensus_to_storage(&consensus, &mut again).unwrap();
        assert_eq!(again, *stored, "{}", block.name);
        assert_eq!(receipts_root(&consensus, &mut roots), Ok(*header.receipts_root));
        for (list, encoding) in
            [(stored, ReceiptEncoding::Storage), (&consensus, ReceiptEncoding::Consensus)]
        {
            let verdict = verify_receipts(&header, &body, list, encoding, &mut roots);
            assert_eq!(verdict, Ok(()), "{}", block.name);
        }
        for receipt in List::<Receipt<'_>>::decode(&consensus).unwrap().iter() {
            receipts[receipt.kind as usize] += 1;
            logs += receipt.logs.len();
        }
    }
    println!("{} blocks: {receipts:?} receipts by type, {logs} logs", blocks.len());
    assert!(receipts.iter().all(|count| *count > 0), "every type occurs");
    assert!(logs > 0);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn receipts_of_era1_files_match_their_headers() {
    let mut roots = RootBuilder::new();
    for name in ["mainnet-00000-5ec1ffb8.era1", "sepolia-00000-643a00f7.era1"] {
        let blocks = source::era1(name);
        for block in &blocks {
            let header = HeaderView::decode(&block.header).unwrap();
            let body = BodyView::decode(&block.body).unwrap();
            let list = block.receipts.as_ref().unwrap();
            let encoding = ReceiptEncoding::Consensus;
            let verdict = verify_receipts(&header, &body, list, encoding, &mut roots);
            assert_eq!(verdict, Ok(()), "{}", block.name);
        }
        println!("{name}: {} lists of receipts", blocks.len());
        assert_eq!(blocks.len(), 8192);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_comparison_of_receipts_names_its_rule() {
    let blocks = stored();
    let block = &blocks[0];
    let original = HeaderView::decode(&block.header).unwrap().to_owned();
    let body = BodyView::decode(&block.body).unwrap();
    let mut roots = RootBuilder::new();
    let mut rule = |list: &[u8], change: &dyn Fn(&mut blockmill_ethereum::header::Header)| {
        let mut header = original.clone();
        change(&mut header);
        let raw = header.encode();
        let view = header.view(&raw);
        let verdict = verify_receipts(&view, &body, list, ReceiptEncoding::Storage, &mut roots);
        verdict.err().map(|violation| violation.rule)
    };
    let list = block.receipts.as_ref().unwrap();
    assert_eq!(rule(list, &|_| ()), None);
    assert_eq!(rule(list, &|h| h.receipts_root[0] ^= 1), Some(Rule::ReceiptsRoot));
    assert_eq!(rule(list, &|h| h.logs_bloom[9] ^= 1), Some(Rule::LogsBloom));
    assert_eq!(rule(list, &|h| h.gas_used += 1), Some(Rule::ReceiptsGas));
    assert_eq!(rule(&[0xc0], &|_| ()), Some(Rule::ReceiptEncoding));
    assert_eq!(rule(&list[..list.len() - 1], &|_| ()), Some(Rule::ReceiptEncoding));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn receipts_and_transactions_must_be_equally_many() {
    let blocks = stored();
    let (list, mut types) = (blocks[0].receipts.as_ref().unwrap(), types(&blocks[0].body));
    let count = types.len();
    let mut out = vec![];
    types.push(TransactionType::Legacy);
    let error = storage_to_consensus(list, types.clone(), &mut out).unwrap_err();
    assert_eq!(error, ReceiptError::Count { transactions: count + 1, receipts: count });
    types.truncate(count - 1);
    let error = storage_to_consensus(list, types, &mut out).unwrap_err();
    assert_eq!(error, ReceiptError::Count { transactions: count - 1, receipts: count });
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn damaged_receipts_are_errors_or_have_another_root() {
    let blocks = stored();
    let mut roots = RootBuilder::new();
    let short = |block: &&RealBlock| block.receipts.as_ref().unwrap().len() < 600;
    assert!(blocks.iter().filter(short).count() >= 4);
    for block in blocks.iter().filter(short).take(4) {
        let (stored, types) = (block.receipts.as_ref().unwrap(), types(&block.body));
        let header = HeaderView::decode(&block.header).unwrap();
        for len in 0..stored.len() {
            assert!(storage_to_consensus(&stored[..len], types.clone(), &mut vec![]).is_err());
        }
        let mut consensus = vec![];
        storage_to_consensus(stored, types.clone(), &mut consensus).unwrap();
        for len in 0..consensus.len() {
            assert!(consensus_to_storage(&consensus[..len], &mut vec![]).is_err());
        }
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut consensus = vec![];
            if storage_to_consensus(&damaged, types.clone(), &mut consensus).is_ok() {
                let root = receipts_root(&consensus, &mut roots).unwrap();
                assert_ne!(root, *header.receipts_root, "{} bit {bit}", block.name);
            }
        }
    }
}
