//! The published RLPTests of ethereum/tests.

use blockmill_rlp::{Encode, Reader, Write, validate};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// The files of RLPTests by name; `None`, with a word about it, without the fixtures.
fn published() -> Option<BTreeMap<String, Value>> {
    let Some(fixtures) = std::env::var_os("BLOCKMILL_FIXTURES") else {
        println!("skipped: BLOCKMILL_FIXTURES is not set");
        return None;
    };
    let path = std::path::Path::new(&fixtures).join("ethereum/eth-tests.tar.zst");
    let file = std::fs::File::open(path).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if path.to_string_lossy().contains("RLPTests/") && path.extension().is_some() {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            files.insert(name, serde_json::from_str(&text).unwrap());
        }
    }
    Some(files)
}

/// Hex with or without 0x.
fn bytes(text: &Value) -> Vec<u8> {
    let hex = text.as_str().unwrap();
    let hex = hex.strip_prefix("0x").unwrap_or(hex);
    let digits: Vec<u8> = hex.bytes().map(|c| (c as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
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

#[test]
fn published_vectors_get_the_expected_verdict() {
    let Some(files) = published() else { return };
    let (mut encoded, mut valid, mut invalid) = (0, 0, 0);
    for (file, tests) in &files {
        for (name, test) in tests.as_object().unwrap() {
            let out = bytes(&test["out"]);
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
                    assert_eq!(value_to_write.hash(), crypto::keccak256(&out), "{file} {name}");
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
