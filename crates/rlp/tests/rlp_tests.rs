//! The published RLPTests of ethereum/tests.

use blockmill_rlp::{Encode, Reader, Write, validate};
use serde_json::Value;
use std::collections::BTreeMap;

/// The files of RLPTests by name.
fn published() -> BTreeMap<String, Value> {
    let wanted = |path: &str| path.contains("RLPTests/") && path.ends_with(".json");
    let files = blockmill_testkit::tar_files("ethereum/eth-tests.tar.zst", wanted);
    files.into_iter().map(|(path, text)| (path, serde_json::from_slice(&text).unwrap())).collect()
}

/// Big-endian digits with zeros before them.
fn left_padded(digits: &[u8]) -> [u8; 40] {
    let mut number = [0; 40];
    number[40 - digits.len()..].copy_from_slice(digits);
    number
}

/// A decimal number as 40 big-endian bytes.
fn big_endian(decimal: &str) -> [u8; 40] {
    let mut number = [0u8; 40];
    for digit in decimal.chars() {
        let mut carry = digit.to_digit(10).unwrap();
        for byte in number.iter_mut().rev() {
            carry += u32::from(*byte) * 10;
            *byte = carry as u8;
            carry >>= 8;
        }
        assert_eq!(carry, 0, "{decimal} has more than 40 bytes");
    }
    number
}

/// A value of the tests: a list, a string, a number, or a number after #.
struct Published<'a>(&'a Value);

impl Encode for Published<'_> {
    fn write<W: Write>(&self, out: &mut W) {
        match self.0 {
            Value::Array(items) => {
                out.list(|out| items.iter().for_each(|item| Published(item).write(out)));
            }
            Value::String(text) => match text.strip_prefix('#') {
                Some(decimal) => {
                    // one of them has more than 256 bits
                    let number = big_endian(decimal);
                    let zeros = number.iter().take_while(|byte| **byte == 0).count();
                    out.bytes(&number[zeros..]);
                }
                None => out.bytes(text.as_bytes()),
            },
            number => out.u64(number.as_u64().unwrap()),
        }
    }
}

/// Compares the next item with a value of the tests.
fn compare(value: &Value, reader: &mut Reader<'_>) {
    match value {
        Value::Array(items) => {
            let mut list = reader.list().unwrap();
            items.iter().for_each(|item| compare(item, &mut list));
            list.finish().unwrap();
        }
        Value::String(text) => match text.strip_prefix('#') {
            Some(decimal) => {
                assert_eq!(left_padded(reader.digits(40).unwrap()), big_endian(decimal))
            }
            None => assert_eq!(reader.bytes().unwrap(), text.as_bytes()),
        },
        number => assert_eq!(reader.u64().unwrap(), number.as_u64().unwrap()),
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn published_vectors_get_the_expected_verdict() {
    let (mut encoded, mut valid, mut invalid) = (0, 0, 0);
    for (file, tests) in &published() {
        for (name, test) in tests.as_object().unwrap() {
            let out = blockmill_testkit::hex::decode(test["out"].as_str().unwrap());
            match &test["in"] {
                Value::String(word) if word == "INVALID" => {
                    assert!(validate(&out).is_err(), "{file} {name}");
                    invalid += 1;
                }
                Value::String(word) if word == "VALID" => {
                    assert_eq!(validate(&out), Ok(()), "{file} {name}");
                    valid += 1;
                }
                value => {
                    assert_eq!(validate(&out), Ok(()), "{file} {name}");
                    let value_to_write = Published(value);
                    assert_eq!(value_to_write.encode(), out, "{file} {name}");
                    assert_eq!(value_to_write.encode_in_one_pass(), out, "{file} {name}");
                    assert_eq!(
                        value_to_write.hash(),
                        blockmill_hashes::keccak256(&out),
                        "{file} {name}"
                    );
                    let mut reader = Reader::new(&out);
                    compare(value, &mut reader);
                    reader.finish().unwrap();
                    encoded += 1;
                }
            }
        }
    }
    println!("RLPTests: {encoded} encoded and decoded, {valid} valid, {invalid} invalid");
    assert_eq!((encoded, valid, invalid), (28, 1, 26));
}
