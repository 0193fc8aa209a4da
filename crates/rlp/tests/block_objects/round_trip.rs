//! Written and read again, by every writer.

use crate::generated::{LATER_FIELDS, Parts};
use blockmill_hashes::{ManyKeccak, keccak256};
use blockmill_rlp::ethereum::{Body, Transaction, TransactionType};
use blockmill_rlp::{Decode, Encode, Encoder, List, Reader};
use ruint::aliases::U256;
use std::fmt::Debug;

/// Objects of each kind.
const COUNT: usize = 300;

/// The encoding, on which all writers agree.
fn encode(value: &impl Encode) -> Vec<u8> {
    let bytes = value.encode();
    assert_eq!(value.encode_in_one_pass(), bytes);
    assert_eq!(value.encoded_len(), bytes.len());
    assert_eq!(value.hash(), keccak256(&bytes));
    let mut behind = vec![7];
    value.encode_into(&mut behind);
    assert_eq!(behind[1..], bytes);
    let mut encoder = Encoder::default();
    assert_eq!(encoder.encode(value), bytes);
    assert_eq!(encoder.hash(value), keccak256(&bytes));
    bytes
}

/// The decoded value equals `value`, which has no encoded lists, and has the same encoding.
fn round_trip<'a, T: Encode + Decode<'a> + Debug + PartialEq>(value: &T) {
    let bytes = encode(value).leak();
    let decoded = T::decode(bytes).unwrap();
    assert_eq!(decoded, *value);
    assert_eq!(encode(&decoded), bytes);
}

#[test]
fn headers_of_every_fork() {
    let mut parts = Parts::new(1);
    for later in LATER_FIELDS {
        (0..COUNT).for_each(|_| round_trip(&parts.header(later)));
    }
}

#[test]
fn transactions_of_every_type_and_what_they_hold() {
    let mut parts = Parts::new(2);
    (0..COUNT).for_each(|_| round_trip(&parts.access_list_entry()));
    (0..COUNT).for_each(|_| round_trip(&parts.authorization()));
    for kind in TransactionType::ALL {
        (0..COUNT).for_each(|_| round_trip(&parts.transaction(kind)));
    }
}

#[test]
fn withdrawals_bodies_and_blocks() {
    let mut parts = Parts::new(3);
    (0..COUNT).for_each(|_| round_trip(&parts.withdrawal()));
    for later in LATER_FIELDS {
        for _ in 0..COUNT / 10 {
            round_trip(&parts.body(later));
            round_trip(&parts.block(later));
        }
    }
}

#[test]
fn a_body_of_more_lists_than_are_noted() {
    let mut parts = Parts::new(4);
    let kinds = TransactionType::ALL.into_iter().cycle();
    let transactions: Vec<_> = kinds.take(3000).map(|kind| parts.transaction(kind)).collect();
    let body = Body { transactions: List::Values(transactions.leak()), ..Body::default() };
    round_trip(&body);
}

#[test]
fn all_transactions_are_hashed_like_each_of_them() {
    let mut parts = Parts::new(9);
    for kinds in [&TransactionType::ALL[..], &[TransactionType::Legacy], &[TransactionType::Blob]] {
        let kinds = kinds.iter().cycle().take(200);
        let transactions: Vec<_> = kinds.map(|kind| parts.transaction(*kind)).collect();
        let expected: Vec<_> = transactions.iter().map(|tx| tx.canonical().hash()).collect();
        let given = List::Values(&transactions[..]);
        let bytes = given.encode();
        let decoded = List::<Transaction<'_>>::decode(&bytes).unwrap();
        for hasher in ManyKeccak::all_available() {
            for list in [&given, &decoded] {
                let mut hashes = vec![[0; 32]; transactions.len()];
                list.hashes(&hasher, &mut hashes);
                assert_eq!(hashes, expected, "{}", hasher.name());
            }
        }
    }
}

/// The items of a list, encoded.
fn items(list: &[u8]) -> Vec<&[u8]> {
    let mut reader = Reader::new(list).list().unwrap();
    std::iter::from_fn(|| (!reader.is_empty()).then(|| reader.item().unwrap().raw)).collect()
}

#[test]
fn the_canonical_form_is_what_the_form_in_a_list_wraps() {
    let mut parts = Parts::new(5);
    for kind in TransactionType::ALL {
        for _ in 0..COUNT {
            let transaction = parts.transaction(kind);
            let canonical = encode(&transaction.canonical());
            let in_list = transaction.encode();
            match kind {
                TransactionType::Legacy => assert_eq!(canonical, in_list),
                _ => assert_eq!(Reader::new(&in_list).bytes(), Ok(&canonical[..])),
            }
            assert_eq!(Transaction::decode_canonical(&canonical), Ok(transaction));
        }
    }
}

#[test]
fn what_is_signed_is_all_but_the_signature() {
    let mut parts = Parts::new(6);
    for kind in TransactionType::ALL {
        let transaction = parts.transaction(kind);
        let canonical = transaction.canonical().encode();
        let unsigned = encode(&transaction.signing(None));
        let typed = usize::from(kind != TransactionType::Legacy);
        assert_eq!(unsigned[..typed], canonical[..typed]);
        let fields = items(&canonical[typed..]);
        assert_eq!(items(&unsigned[typed..]), fields[..fields.len() - 3]);
        let for_a_chain = encode(&transaction.signing(Some(U256::ONE)));
        match kind {
            TransactionType::Legacy => {
                let chain: [&[u8]; 3] = [&[1], &[0x80], &[0x80]];
                assert_eq!(items(&for_a_chain), [&fields[..6], &chain].concat());
            }
            _ => assert_eq!(for_a_chain, unsigned),
        }
    }
}

/// A number of 64 hexadecimal digits.
fn hex(digits: &str) -> U256 {
    U256::from_str_radix(digits, 16).unwrap()
}

#[test]
fn the_example_of_eip_155() {
    let transaction = Transaction {
        nonce: 9,
        max_fee: U256::from(20_000_000_000u64),
        gas_limit: 21_000,
        to: Some(&[0x35; 20]),
        value: U256::from(1_000_000_000_000_000_000u64),
        v: U256::from(37),
        r: hex("28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276"),
        s: hex("67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"),
        ..Transaction::new(TransactionType::Legacy)
    };
    let message = hex("daf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53");
    assert_eq!(U256::from_be_bytes(transaction.signing(Some(U256::ONE)).hash()), message);
    let bytes = encode(&transaction);
    assert_eq!((bytes.len(), &bytes[..4]), (0x6e, &[0xf8, 0x6c, 0x09, 0x85][..]));
    assert_eq!(Transaction::decode(&bytes), Ok(transaction));
}

#[test]
fn what_the_seal_signs_is_all_but_mix_hash_and_nonce() {
    let mut parts = Parts::new(7);
    for later in LATER_FIELDS {
        let header = parts.header(later);
        let (whole, unsealed) = (header.encode(), encode(&header.unsealed()));
        let mut fields = items(&whole);
        fields.drain(13..15);
        assert_eq!(items(&unsealed), fields);
    }
}
