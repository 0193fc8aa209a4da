//! Bytes that are no object: the error and its place.

use crate::generated::{LATER_FIELDS, Parts};
use blockmill_rlp::ethereum::{
    AccessListEntry, Authorization, Block, Body, Header, Transaction, TransactionType, Withdrawal,
};
use blockmill_rlp::{Decode, Encode, Error, ErrorKind, OnePass, Reader, Write};

/// The type of a field.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// So many bytes.
    Fixed(usize),
    /// A number of at most so many bytes.
    Number(usize),
    Bytes,
    List,
}
use Field::{Bytes, Fixed, List, Number};

const WORD: Field = Fixed(32);
const ADDRESS: Field = Fixed(20);
const U64: Field = Number(8);
const U256: Field = Number(32);

const HEADER: [Field; 23] = [
    WORD,
    WORD,
    ADDRESS,
    WORD,
    WORD,
    WORD,
    Fixed(256),
    U256,
    U64,
    U64,
    U64,
    U64,
    Bytes,
    WORD,
    Fixed(8),
    U256,
    WORD,
    U64,
    U64,
    WORD,
    WORD,
    WORD,
    U64,
];
const AUTHORIZATION: [Field; 6] = [U256, ADDRESS, U64, Number(1), U256, U256];

/// The fields of a transaction.
fn transaction(kind: TransactionType) -> Vec<Field> {
    let call = [U64, ADDRESS, U256, Bytes];
    let signature = [U64, U256, U256];
    match kind {
        TransactionType::Legacy => [&[U64, U256][..], &call, &[U256, U256, U256]].concat(),
        TransactionType::AccessList => {
            [&[U256, U64, U256][..], &call, &[List], &signature].concat()
        }
        TransactionType::DynamicFee => {
            [&[U256, U64, U256, U256][..], &call, &[List], &signature].concat()
        }
        TransactionType::Blob => {
            [&[U256, U64, U256, U256][..], &call, &[List, U256, List], &signature].concat()
        }
        TransactionType::SetCode => {
            [&[U256, U64, U256, U256][..], &call, &[List, List], &signature].concat()
        }
    }
}

/// Items that are invalid for a field, and the reason.
fn wrong_items(field: Field) -> Vec<(Vec<u8>, ErrorKind)> {
    let encoded = |length| vec![0xffu8; length].encode();
    let list = (vec![0xc0], ErrorKind::ExpectedBytes);
    match field {
        Fixed(expected) => {
            let wrong = |found| (encoded(found), ErrorKind::WrongLength { expected, found });
            vec![wrong(expected - 1), wrong(expected + 1), list]
        }
        Number(max) => {
            let long = (encoded(max + 1), ErrorKind::TooLarge { max, found: max + 1 });
            vec![long, (vec![0], ErrorKind::LeadingZero), list]
        }
        Bytes => vec![list],
        List => vec![(vec![0x80], ErrorKind::ExpectedList)],
    }
}

/// Replaces each field of an object, an encoded list after `lead` other bytes, by invalid ones.
fn refuses_wrong_fields<'a, T>(
    object: &[u8],
    lead: usize,
    fields: &[Field],
    decode: impl Fn(&'a [u8]) -> Result<T, Error>,
) {
    let (before, list) = object.split_at(lead);
    let mut reader = Reader::new(list).list().unwrap();
    let items: Vec<_> = fields.iter().map(|_| reader.item().unwrap().raw.to_vec()).collect();
    reader.finish().unwrap();
    for (i, field) in fields.iter().enumerate() {
        for (item, kind) in wrong_items(*field) {
            let mut changed = items.clone();
            changed[i] = item;
            let (bytes, offset) = join(before, &changed, i);
            let error = decode(bytes.leak()).err();
            assert_eq!(error, Some(Error { offset, kind }), "field {i}, {field:?}");
        }
    }
    let mut longer = items.clone();
    longer.push(vec![0xc0]);
    let (bytes, offset) = join(before, &longer, fields.len());
    let error = decode(bytes.leak()).err();
    assert_eq!(error, Some(Error { offset, kind: ErrorKind::TrailingBytes { count: 1 } }));
}

/// The list of these items after `before`, and the offset of item `i`.
fn join(before: &[u8], items: &[Vec<u8>], i: usize) -> (Vec<u8>, usize) {
    let mut out = OnePass::default();
    out.raw(before);
    out.list(|out| items.iter().for_each(|item| out.raw(item)));
    let bytes = out.into_bytes();
    let behind: usize = items[i..].iter().map(Vec::len).sum();
    let offset = bytes.len() - behind;
    (bytes, offset)
}

/// Checks the bytes of an object that are cut off anywhere, or too many.
fn refuses_other_lengths<'a, T>(bytes: &'a [u8], decode: impl Fn(&'a [u8]) -> Result<T, Error>) {
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
    }
    let longer = [bytes, &[0x80, 0x80]].concat().leak();
    let kind = ErrorKind::TrailingBytes { count: 2 };
    assert_eq!(decode(longer).err(), Some(Error { offset: bytes.len(), kind }));
}

#[test]
fn truncation_and_trailing_bytes_are_errors() {
    let mut parts = Parts::new(11);
    for later in LATER_FIELDS {
        refuses_other_lengths(parts.header(later).encode().leak(), Header::decode);
        refuses_other_lengths(parts.body(later).encode().leak(), Body::decode);
        refuses_other_lengths(parts.block(later).encode().leak(), Block::decode);
    }
    for kind in TransactionType::ALL {
        let transaction = parts.transaction(kind);
        refuses_other_lengths(transaction.encode().leak(), Transaction::decode);
        let canonical = transaction.canonical().encode().leak();
        refuses_other_lengths(canonical, Transaction::decode_canonical);
    }
    refuses_other_lengths(parts.access_list_entry().encode().leak(), AccessListEntry::decode);
    refuses_other_lengths(parts.authorization().encode().leak(), Authorization::decode);
    refuses_other_lengths(parts.withdrawal().encode().leak(), Withdrawal::decode);
}

#[test]
fn wrong_fields_are_named_with_their_places() {
    let mut parts = Parts::new(12);
    let header = parts.header(8).encode();
    refuses_wrong_fields(&header, 0, &HEADER, Header::decode);
    for kind in TransactionType::ALL {
        let canonical = parts.transaction(kind).canonical().encode();
        let typed = usize::from(kind != TransactionType::Legacy);
        let fields = transaction(kind);
        refuses_wrong_fields(&canonical, typed, &fields, Transaction::decode_canonical);
    }
    let entry = parts.access_list_entry().encode();
    refuses_wrong_fields(&entry, 0, &[ADDRESS, List], AccessListEntry::decode);
    let authorization = parts.authorization().encode();
    refuses_wrong_fields(&authorization, 0, &AUTHORIZATION, Authorization::decode);
    let withdrawal = parts.withdrawal().encode();
    refuses_wrong_fields(&withdrawal, 0, &[U64, U64, ADDRESS, U64], Withdrawal::decode);
    let body = parts.body(2).encode();
    refuses_wrong_fields(&body, 0, &[List, List, List], Body::decode);
}

#[test]
fn a_field_that_is_missing_is_named_with_its_place() {
    let mut parts = Parts::new(13);
    for kind in TransactionType::ALL {
        let canonical = parts.transaction(kind).canonical().encode();
        let typed = usize::from(kind != TransactionType::Legacy);
        let mut reader = Reader::new(&canonical[typed..]).list().unwrap();
        let fields = transaction(kind);
        let left = fields[1..].iter();
        let items: Vec<_> = left.map(|_| reader.item().unwrap().raw.to_vec()).collect();
        let (bytes, offset) = join(&canonical[..typed], &items, fields.len() - 1);
        let kind = ErrorKind::Truncated { needed: 1, available: 0 };
        assert_eq!(Transaction::decode_canonical(&bytes), Err(Error { offset, kind }));
    }
}

#[test]
fn what_stands_in_a_list_is_checked_and_named() {
    let mut parts = Parts::new(14);
    let key = [vec![0xa0], vec![1; 32]].concat();
    let short = [vec![0x9f], vec![1; 31]].concat();
    let address = [vec![0x94], vec![2; 20]].concat();
    let (keys, at) = join(&[], &[key, short], 1);
    let (entry, keys_at) = join(&[], &[address, keys], 1);
    let kind = ErrorKind::WrongLength { expected: 32, found: 31 };
    let error = Error { offset: keys_at + at, kind };
    assert_eq!(AccessListEntry::decode(&entry).err(), Some(error));

    let transaction = parts.transaction(TransactionType::AccessList).encode();
    let (body, at) = join(&[], &[transaction, vec![0x82, 5, 0xc0]], 1);
    let (body, outer) = join(&[], &[body, vec![0xc0]], 0);
    let error = Error { offset: outer + at + 1, kind: ErrorKind::UnknownType { found: 5 } };
    assert_eq!(Body::decode(&body).err(), Some(error));
}

#[test]
fn unknown_and_missing_types_are_named() {
    let unknown = |offset, found| Some(Error { offset, kind: ErrorKind::UnknownType { found } });
    for found in [0x00, 0x05, 0x7f] {
        assert_eq!(Transaction::decode(&[0x82, found, 0xc0]).err(), unknown(1, found));
        assert_eq!(Transaction::decode_canonical(&[found, 0xc0]).err(), unknown(0, found));
    }
    let missing = |offset| {
        let kind = ErrorKind::Truncated { needed: 1, available: 0 };
        Some(Error { offset, kind })
    };
    assert_eq!(Transaction::decode(&[0x80]).err(), missing(1));
    assert_eq!(Transaction::decode(&[1]).err(), missing(1));
    assert_eq!(Transaction::decode_canonical(&[]).err(), missing(0));
    // a typed transaction is no list in a byte string, and a legacy one is no byte string
    assert_eq!(Transaction::decode_canonical(&[0x82, 1, 0xc0]).err(), unknown(0, 0x82));
    assert_eq!(Transaction::decode(&[0x81, 0xc9]).err(), unknown(1, 0xc9));
}

#[test]
fn only_types_without_blobs_and_delegations_create_contracts() {
    let mut parts = Parts::new(15);
    for kind in TransactionType::ALL {
        let creation = Transaction { to: None, ..parts.transaction(kind) };
        let bytes = creation.encode().leak();
        match Transaction::decode(bytes) {
            Ok(decoded) => {
                assert!(kind < TransactionType::Blob, "{kind:?}");
                assert_eq!(decoded, creation);
            }
            Err(error) => {
                assert!(kind >= TransactionType::Blob, "{kind:?}");
                assert_eq!(error.kind, ErrorKind::WrongLength { expected: 20, found: 0 });
            }
        }
    }
}
