//! The derive macros: the list of the fields, in both directions.

use blockmill_rlp::{Decode, Encode, Error, ErrorKind};
use std::fmt::Debug;

#[derive(Debug, PartialEq, Encode, Decode)]
struct Header {
    number: u64,
    extra: Vec<u8>,
    base_fee: Option<u64>,
    root: Option<[u8; 32]>,
}

#[derive(Debug, PartialEq, Encode, Decode)]
struct Borrowed<'a> {
    name: &'a str,
    data: &'a [u8],
}

#[derive(Debug, PartialEq, Encode, Decode)]
struct Pair<A, B>(A, B);

#[derive(Debug, PartialEq, Encode, Decode)]
struct Tagged<'a, T> {
    tag: &'a str,
    values: Vec<T>,
}

#[derive(Debug, PartialEq, Encode, Decode)]
#[rlp(transparent)]
struct Hash([u8; 32]);

#[derive(Debug, PartialEq, Encode, Decode)]
struct Nothing;

#[track_caller]
fn both_ways<'a, T: Encode + Decode<'a> + PartialEq + Debug>(value: &T, bytes: &'a [u8]) {
    assert_eq!(value.encode(), bytes, "{value:?}");
    assert_eq!(T::decode(bytes).as_ref(), Ok(value));
}

#[test]
fn a_struct_is_the_list_of_its_fields() {
    both_ways(&Pair(1u64, true), &[0xc2, 1, 1]);
    both_ways(&Pair(Pair(1u8, 2u16), vec![3u32]), &[0xc5, 0xc2, 1, 2, 0xc1, 3]);
    both_ways(&Borrowed { name: "a", data: &[0, 1] }, &[0xc4, b'a', 0x82, 0, 1]);
    both_ways(&Tagged { tag: "t", values: vec![7u128] }, &[0xc3, b't', 0xc1, 7]);
    both_ways(&Nothing, &[0xc0]);
}

#[test]
fn trailing_options_may_be_absent() {
    let header = Header { number: 1, extra: vec![2], base_fee: None, root: None };
    both_ways(&header, &[0xc2, 1, 2]);
    both_ways(&Header { base_fee: Some(3), ..header }, &[0xc3, 1, 2, 3]);
    let root = [[0xe4, 1, 2, 3, 0xa0].as_slice(), &[9; 32]].concat();
    let header = Header { number: 1, extra: vec![2], base_fee: Some(3), root: Some([9; 32]) };
    both_ways(&header, &root);
    let more = Header::decode(&[0xc5, 1, 2, 3, 0x80, 0x80]).unwrap_err();
    assert_eq!(more.kind, ErrorKind::WrongLength { expected: 32, found: 0 });
}

#[test]
fn a_transparent_struct_has_no_list() {
    let bytes = [[0xa0].as_slice(), &[5; 32]].concat();
    both_ways(&Hash([5; 32]), &bytes);
    assert_eq!(Hash::LISTS, 0);
    assert_eq!(<Pair<Hash, Nothing>>::LISTS, 2);
}

#[test]
fn errors_name_the_offset_in_the_outermost_buffer() {
    let error = <Pair<u64, Pair<u64, u64>>>::decode(&[0xc4, 1, 0xc2, 2, 0]).unwrap_err();
    assert_eq!(error, Error { offset: 4, kind: ErrorKind::LeadingZero });
    let error = <Pair<u64, u64>>::decode(&[0xc3, 1, 2, 3]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TrailingBytes { count: 1 });
}
