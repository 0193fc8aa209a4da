//! StdLib: serialization, numbers and texts.

use super::{Definition, Method, no_state, nothing, std_json, std_text};
use crate::execute::{
    contract::ParamType,
    engine::{Engine, flags::NONE},
    vm::{Fault, Integer, Item, serialize},
};
use crate::params::Hardfork;
use num_bigint::BigInt;

const ID: i32 = -2;
/// Length limit of the arguments of most methods.
pub(super) const MAX_INPUT: usize = 1_024;
/// The fault for longer arguments.
pub(super) const TOO_BIG: Fault = Fault::Rule("input is too big");

use Hardfork::{Echidna, Faun};
use ParamType::{Any, Array, Boolean, ByteArray, Integer as Number, String as Text};

type Parameters = &'static [(&'static str, ParamType)];

const ITEM: Parameters = &[("item", Any)];
const DATA: Parameters = &[("data", ByteArray)];
const S: Parameters = &[("s", Text)];
const JSON: Parameters = &[("json", ByteArray)];
const ITOA: [(&str, ParamType); 2] = [("value", Number), ("base", Number)];
const ATOI: [(&str, ParamType); 2] = [("value", Text), ("base", Number)];
const SEARCH: [(&str, ParamType); 4] =
    [("mem", ByteArray), ("value", ByteArray), ("start", Number), ("backward", Boolean)];
const SPLIT: [(&str, ParamType); 3] =
    [("str", Text), ("separator", Text), ("removeEmptyEntries", Boolean)];
const COMPARE: Parameters = &[("str1", ByteArray), ("str2", ByteArray)];

static METHODS: [Method; 25] = [
    Method::new("serialize", ITEM, ByteArray, 1 << 12, NONE, serialize_item),
    Method::new("deserialize", DATA, Any, 1 << 14, NONE, deserialize_item),
    Method::new("jsonSerialize", ITEM, ByteArray, 1 << 12, NONE, std_json::serialize),
    Method::new("jsonDeserialize", JSON, Any, 1 << 14, NONE, std_json::deserialize),
    Method::new("itoa", &ITOA, Text, 1 << 12, NONE, itoa),
    Method::new("itoa", ITOA.split_at(1).0, Text, 1 << 12, NONE, itoa),
    Method::new("atoi", &ATOI, Number, 1 << 6, NONE, atoi),
    Method::new("atoi", ATOI.split_at(1).0, Number, 1 << 6, NONE, atoi),
    Method::new("base64Encode", DATA, Text, 1 << 5, NONE, std_text::base64_encode),
    Method::new("base64Decode", S, ByteArray, 1 << 5, NONE, std_text::base64_decode),
    Method::new("base64UrlEncode", &[("data", Text)], Text, 1 << 5, NONE, std_text::url_encode)
        .from(Echidna),
    Method::new("base64UrlDecode", S, Text, 1 << 5, NONE, std_text::url_decode).from(Echidna),
    Method::new("base58Encode", DATA, Text, 1 << 13, NONE, std_text::base58_encode),
    Method::new("base58Decode", S, ByteArray, 1 << 10, NONE, std_text::base58_decode),
    Method::new("base58CheckEncode", DATA, Text, 1 << 16, NONE, std_text::check_encode),
    Method::new("base58CheckDecode", S, ByteArray, 1 << 16, NONE, std_text::check_decode),
    Method::new("memoryCompare", COMPARE, Number, 1 << 5, NONE, std_text::compare),
    Method::new("memorySearch", SEARCH.split_at(2).0, Number, 1 << 6, NONE, std_text::search),
    Method::new("memorySearch", SEARCH.split_at(3).0, Number, 1 << 6, NONE, std_text::search),
    Method::new("memorySearch", &SEARCH, Number, 1 << 6, NONE, std_text::search),
    Method::new("stringSplit", SPLIT.split_at(2).0, Array, 1 << 8, NONE, std_text::split),
    Method::new("stringSplit", &SPLIT, Array, 1 << 8, NONE, std_text::split),
    Method::new("strLen", SPLIT.split_at(1).0, Number, 1 << 8, NONE, std_text::length),
    Method::new("hexEncode", &[("bytes", ByteArray)], Text, 1 << 5, NONE, std_text::hex_encode)
        .from(Faun),
    Method::new("hexDecode", &[("str", Text)], ByteArray, 1 << 5, NONE, std_text::hex_decode)
        .from(Faun),
];

pub(super) static DEFINITION: Definition = Definition {
    name: "StdLib",
    id: ID,
    active_in: None,
    methods: &[&METHODS],
    events: &[],
    standards: &[],
    initialize: no_state,
    on_persist: nothing,
    post_persist: nothing,
};

/// Bytes of limited length.
pub(super) fn limited(item: &Item) -> Result<Vec<u8>, Fault> {
    let bytes = item.to_bytes()?;
    if bytes.len() > MAX_INPUT { Err(TOO_BIG) } else { Ok(bytes) }
}

/// Text of limited length.
pub(super) fn limited_text(item: &Item) -> Result<String, Fault> {
    let text = item.to_text()?;
    if text.len() > MAX_INPUT { Err(TOO_BIG) } else { Ok(text) }
}

fn serialize_item(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let bytes = serialize::serialize(&engine.vm.heap, &arguments[0])?;
    Ok(Some(Item::bytes(&bytes)))
}

fn deserialize_item(engine: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let bytes = arguments[0].to_bytes()?;
    serialize::deserialize(&mut engine.vm.heap, &bytes).map(Some)
}

/// The base of a number: 10 unless another is given.
fn base(arguments: &[Item]) -> Result<i64, Fault> {
    match arguments.get(1) {
        Some(base) => base.to_i64().map_err(|_| Fault::Rule("invalid base")),
        None => Ok(10),
    }
}

fn itoa(_: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let number = arguments[0].to_integer()?;
    let text = match base(arguments)? {
        10 => number.to_string(),
        16 if number.is_zero() => "0".into(),
        16 => {
            let mut bytes = number.to_bytes();
            bytes.reverse();
            let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            // drop a first digit that only carries the sign
            match bytes[0] & 0xf8 {
                0 | 0xf8 => text[1..].to_string(),
                _ => text,
            }
        }
        _ => return Err(Fault::Rule("invalid base")),
    };
    Ok(Some(Item::bytes(text.as_bytes())))
}

fn atoi(_: &mut Engine<'_>, arguments: &[Item]) -> Result<Option<Item>, Fault> {
    let text = limited_text(&arguments[0])?;
    let invalid = Fault::Rule("invalid format");
    match base(arguments)? {
        10 => {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
            if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return Err(invalid);
            }
            Item::integer(text.parse::<BigInt>().map_err(|_| invalid)?).map(Some)
        }
        16 => {
            let odd = !text.len().is_multiple_of(2);
            let text = if odd { format!("0{text}") } else { text };
            let mut bytes =
                std_text::hex(&text).filter(|bytes| !bytes.is_empty()).ok_or(invalid)?;
            if odd && bytes[0] & 8 != 0 {
                bytes[0] |= 0xf0;
            }
            bytes.reverse();
            let number = BigInt::from_signed_bytes_le(&bytes);
            Integer::checked(number).map(|number| Some(number.into()))
        }
        _ => Err(Fault::Rule("invalid base")),
    }
}
