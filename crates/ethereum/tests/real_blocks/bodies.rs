//! Bodies of real blocks against their headers, and what is left of them after damage.

use crate::source::{self, RealBlock};
use blockmill_ethereum::body::{BodyView, verify_body};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::Fork;
use blockmill_ethereum::rule::Rule;
use blockmill_ethereum::transactions::TransactionType;
use blockmill_rlp::Encode;
use blockmill_trie::RootBuilder;

#[derive(Debug, Default, PartialEq)]
struct Counts {
    blocks: usize,
    transactions: [usize; 5],
    ommers: usize,
    withdrawals: usize,
    blobs: u64,
}

/// Verifies every body; what they hold together.
fn verify_all(blocks: &[RealBlock]) -> Counts {
    let mut roots = RootBuilder::new();
    let mut counts = Counts::default();
    for block in blocks {
        let header = HeaderView::decode(&block.header).unwrap();
        let body = BodyView::decode(&block.body).unwrap();
        if let Err(violation) = verify_body(Fork::Osaka, &header, &body, &mut roots) {
            panic!("{}: {violation}", block.name);
        }
        counts.blocks += 1;
        body.transaction_types().for_each(|kind| counts.transactions[kind as usize] += 1);
        assert_eq!(body.transactions().count(), body.transaction_count(), "{}", block.name);
        assert_eq!(body.ommers().count(), body.ommer_count(), "{}", block.name);
        counts.ommers += body.ommer_count();
        counts.withdrawals += body.withdrawals().map_or(0, Iterator::count);
        counts.blobs += body.blob_count();
    }
    counts
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn bodies_of_exported_chains_match_their_headers() {
    for (name, expected, transactions) in [
        ("hive-sync", 3000, 546),
        ("hive-engine", 1024, 11_264),
        ("geth-ethtest", 600, 603),
        ("execution-apis", 54, 249),
    ] {
        let blocks = source::chain(name);
        let counts = verify_all(&blocks);
        println!("{name}: {counts:?}");
        assert_eq!(counts.blocks, expected, "{name}");
        assert_eq!(counts.transactions.iter().sum::<usize>(), transactions, "{name}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn bodies_of_real_networks_match_their_headers() {
    for (name, expected) in [
        ("mainnet-00000-5ec1ffb8.era1", 8192),
        ("mainnet-00001-a5364e9a.era1", 8192),
        ("sepolia-00000-643a00f7.era1", 8192),
    ] {
        let blocks = source::era1(name);
        let counts = verify_all(&blocks);
        println!("{name}: {counts:?}");
        assert_eq!(counts.blocks, expected, "{name}");
    }
    let blocks = source::witnesses();
    let counts = verify_all(&blocks);
    println!("witnesses: {counts:?}");
    assert_eq!(counts.blocks, 22);
    assert_eq!(counts.transactions.iter().sum::<usize>(), 355);
}

/// The first block that is small and holds a transaction of each wanted type.
fn find(wanted: TransactionType) -> RealBlock {
    let mut blocks = source::chain("geth-ethtest");
    blocks.extend(source::chain("execution-apis"));
    let found = blocks.into_iter().find(|block| {
        let body = BodyView::decode(&block.body).unwrap();
        block.body.len() < 2500 && body.transaction_types().any(|kind| kind == wanted)
    });
    found.unwrap_or_else(|| panic!("no small block with a transaction of type {wanted:?}"))
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn bodies_cut_at_any_byte_are_errors() {
    for kind in TransactionType::ALL {
        let block = find(kind);
        for len in 0..block.body.len() {
            assert!(BodyView::decode(&block.body[..len]).is_err(), "{} at {len}", block.name);
        }
        let longer = [&block.body[..], &[0x80]].concat();
        assert!(BodyView::decode(&longer).is_err());
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn no_flipped_bit_goes_unnoticed() {
    let mut roots = RootBuilder::new();
    for kind in TransactionType::ALL {
        let block = find(kind);
        let header = HeaderView::decode(&block.header).unwrap();
        let (mut malformed, mut mismatched) = (0, 0);
        for bit in 0..block.body.len() * 8 {
            let mut damaged = block.body.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match BodyView::decode(&damaged) {
                Err(_) => malformed += 1,
                Ok(body) => {
                    let verdict = verify_body(Fork::Osaka, &header, &body, &mut roots);
                    assert!(verdict.is_err(), "{} bit {bit}", block.name);
                    mismatched += 1;
                }
            }
        }
        println!("{}: {malformed} malformed, {mismatched} against the header", block.name);
        assert!(malformed > 0 && mismatched > 0);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn each_type_is_refused_in_the_forks_before_its_own() {
    let first = [Fork::Frontier, Fork::Berlin, Fork::London, Fork::Cancun, Fork::Prague];
    let mut roots = RootBuilder::new();
    for kind in TransactionType::ALL {
        let block = find(kind);
        let header = HeaderView::decode(&block.header).unwrap();
        let body = BodyView::decode(&block.body).unwrap();
        let newest = body.transaction_types().max().unwrap();
        for fork in first {
            let refused = verify_body(fork, &header, &body, &mut roots)
                .is_err_and(|violation| violation.rule == Rule::TransactionType);
            assert_eq!(refused, fork < first[newest as usize], "{newest:?} in {fork:?}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_comparison_with_the_header_names_its_rule() {
    let block = find(TransactionType::Blob);
    let original = HeaderView::decode(&block.header).unwrap().to_owned();
    let body = BodyView::decode(&block.body).unwrap();
    let mut roots = RootBuilder::new();
    let mut rule = |change: &dyn Fn(&mut blockmill_ethereum::header::Header)| {
        let mut header = original.clone();
        change(&mut header);
        let raw = header.encode();
        verify_body(Fork::Osaka, &header.view(&raw), &body, &mut roots).err().map(|v| v.rule)
    };
    assert_eq!(rule(&|_| ()), None);
    assert_eq!(rule(&|h| h.transactions_root[0] ^= 1), Some(Rule::TransactionsRoot));
    assert_eq!(rule(&|h| h.ommers_hash[31] ^= 1), Some(Rule::BodyOmmersHash));
    assert_eq!(rule(&|h| h.withdrawals_root = None), Some(Rule::BodyWithdrawalsRoot));
    assert_eq!(rule(&|h| h.withdrawals_root = Some([1; 32])), Some(Rule::BodyWithdrawalsRoot));
    assert_eq!(rule(&|h| h.blob_gas_used = Some(0)), Some(Rule::BodyBlobGas));
    assert_eq!(rule(&|h| h.extra_data = vec![0; 8 << 20]), Some(Rule::BlockSize));
}
