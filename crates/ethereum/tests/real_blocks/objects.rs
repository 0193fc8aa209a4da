//! Real blocks as typed objects: decoded, taken apart, put together from the parts, and encoded to
//! the same bytes by every writer.

use crate::source::{self, RealBlock};
use blockmill_ethereum::body::BodyView;
use blockmill_rlp::ethereum::{
    AccessListEntry, Authorization, Block, Body, Header, Transaction, Withdrawal,
};
use blockmill_rlp::{Decode, Encode, Encoder, List, OnePass, Reader, Write};
use std::collections::BTreeMap;

/// What blocks hold.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    /// Headers by the number of their fields.
    headers: BTreeMap<usize, usize>,
    /// Transactions by type.
    transactions: [usize; 5],
    /// Storage keys, blobs, authorizations, ommers, withdrawals.
    others: [usize; 5],
}

impl Counts {
    fn new<const N: usize>(
        headers: [(usize, usize); N],
        transactions: [usize; 5],
        others: [usize; 5],
    ) -> Self {
        Self { headers: headers.into(), transactions, others }
    }

    fn add(&mut self, header: &[u8], body: &Body<'_>) {
        *self.headers.entry(fields(header)).or_default() += 1;
        let [keys, blobs, authorizations, ommers, withdrawals] = &mut self.others;
        for transaction in body.transactions.iter() {
            self.transactions[transaction.kind as usize] += 1;
            let entries = transaction.access_list.iter();
            *keys += entries.map(|entry| entry.storage_keys.len()).sum::<usize>();
            *blobs += transaction.blob_hashes.len();
            *authorizations += transaction.authorizations.len();
        }
        *ommers += body.ommers.len();
        *withdrawals += body.withdrawals.as_ref().map_or(0, List::len);
    }
}

/// How many items an encoded list has.
fn fields(list: &[u8]) -> usize {
    let mut reader = Reader::new(list).list().unwrap();
    let mut count = 0;
    while !reader.is_empty() {
        reader.item().unwrap();
        count += 1;
    }
    count
}

/// Encodes by every writer.
fn assert_encodes_to(value: &impl Encode, bytes: &[u8], encoder: &mut Encoder, name: &str) {
    let hash = blockmill_hashes::keccak256(bytes);
    assert!(value.encode() == bytes, "{name}");
    assert!(value.encode_in_one_pass() == bytes, "{name}");
    assert!(encoder.encode(value) == bytes, "{name}");
    assert_eq!(value.encoded_len(), bytes.len(), "{name}");
    assert_eq!(value.hash(), hash, "{name}");
    assert_eq!(encoder.hash(value), hash, "{name}");
}

/// Gives `check` the same body, in whose lists nothing is encoded.
fn with_parts(body: &Body<'_>, check: impl FnOnce(&Body<'_>)) {
    let decoded: Vec<Transaction<'_>> = body.transactions.iter().collect();
    let keys: Vec<Vec<Vec<[u8; 32]>>> = decoded
        .iter()
        .map(|tx| tx.access_list.iter().map(|e| e.storage_keys.iter().collect()).collect())
        .collect();
    let entries: Vec<Vec<AccessListEntry<'_>>> = decoded
        .iter()
        .zip(&keys)
        .map(|(tx, keys)| {
            let both = tx.access_list.iter().zip(keys);
            both.map(|(entry, keys)| AccessListEntry { storage_keys: List::Values(keys), ..entry })
                .collect()
        })
        .collect();
    let blobs: Vec<Vec<[u8; 32]>> =
        decoded.iter().map(|tx| tx.blob_hashes.iter().collect()).collect();
    let authorizations: Vec<Vec<Authorization<'_>>> =
        decoded.iter().map(|tx| tx.authorizations.iter().collect()).collect();
    let transactions: Vec<Transaction<'_>> = decoded
        .iter()
        .enumerate()
        .map(|(i, tx)| Transaction {
            access_list: List::Values(&entries[i]),
            blob_hashes: List::Values(&blobs[i]),
            authorizations: List::Values(&authorizations[i]),
            ..tx.clone()
        })
        .collect();
    let ommers: Vec<Header<'_>> = body.ommers.iter().collect();
    let withdrawals: Option<Vec<Withdrawal<'_>>> =
        body.withdrawals.as_ref().map(|list| list.iter().collect());
    check(&Body {
        transactions: List::Values(&transactions),
        ommers: List::Values(&ommers),
        withdrawals: withdrawals.as_deref().map(List::Values),
    });
}

/// The block as it is exported.
fn exported(block: &RealBlock) -> Vec<u8> {
    let parts = Reader::new(&block.body).list().unwrap();
    let mut out = OnePass::default();
    out.list(|out| {
        out.raw(&block.header);
        out.raw(parts.rest());
    });
    out.into_bytes()
}

/// Takes all blocks apart and puts them together again.
fn rebuild_all(blocks: &[RealBlock]) -> Counts {
    let mut counts = Counts::default();
    let mut encoder = Encoder::default();
    for real in blocks {
        let name = &real.name;
        let header = Header::decode(&real.header).unwrap();
        assert_encodes_to(&header, &real.header, &mut encoder, name);
        let body = Body::decode(&real.body).unwrap();
        assert_encodes_to(&body, &real.body, &mut encoder, name);
        counts.add(&real.header, &body);
        let exported = exported(real);
        let block = Block::decode(&exported).unwrap();
        with_parts(&body, |parts| {
            assert!(parts == &body, "{name}");
            assert_encodes_to(parts, &real.body, &mut encoder, name);
            let whole = Block::new(header, parts.clone());
            assert!(whole == block, "{name}");
            assert_encodes_to(&whole, &exported, &mut encoder, name);
            let view = BodyView::decode(&real.body).unwrap();
            for (transaction, encoding) in
                parts.transactions.iter().zip(view.transaction_encodings())
            {
                assert_encodes_to(&transaction.canonical(), encoding, &mut encoder, name);
                assert_eq!(Transaction::decode_canonical(encoding), Ok(transaction), "{name}");
            }
        });
    }
    counts
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_of_exported_chains_are_rebuilt_from_their_parts() {
    let forks = [(15, 26), (16, 12), (17, 3), (20, 3), (21, 10)];
    for (name, expected) in [
        ("hive-sync", Counts::new([(20, 3000)], [276, 108, 108, 54, 0], [324, 54, 0, 0, 54])),
        ("hive-engine", Counts::new([(16, 1024)], [11_264, 0, 0, 0, 0], [0; 5])),
        (
            "geth-ethtest",
            Counts::new([(17, 5), (20, 6), (21, 589)], [331, 108, 109, 54, 1], [324, 54, 1, 0, 54]),
        ),
        ("execution-apis", Counts::new(forks, [196, 23, 23, 6, 1], [56, 6, 1, 18, 6])),
    ] {
        let blocks = source::chain(name);
        let counts = rebuild_all(&blocks);
        println!("{name}: {counts:?}");
        assert_eq!(counts, expected, "{name}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_of_real_networks_are_rebuilt_from_their_parts() {
    for (name, fields, ommers) in [
        ("mainnet-00000-5ec1ffb8.era1", 15, 1410),
        ("mainnet-00001-a5364e9a.era1", 15, 562),
        ("sepolia-00000-643a00f7.era1", 16, 0),
    ] {
        let blocks = source::era1(name);
        let counts = rebuild_all(&blocks);
        println!("{name}: {counts:?}");
        let expected = Counts::new([(fields, 8192)], [0; 5], [0, 0, 0, ommers, 0]);
        assert_eq!(counts, expected, "{name}");
    }
    let blocks = source::witnesses();
    let counts = rebuild_all(&blocks);
    println!("witnesses: {counts:?}");
    let forks = [(15, 16), (16, 1), (17, 1), (20, 1), (21, 3)];
    assert_eq!(counts, Counts::new(forks, [227, 1, 125, 2, 0], [265, 2, 0, 2, 80]));
}
