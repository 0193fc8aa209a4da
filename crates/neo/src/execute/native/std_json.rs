//! StdLib's `jsonSerialize` and `jsonDeserialize`. Numbers are whole.

use crate::execute::{
    contract::Json,
    engine::Engine,
    vm::{
        Entries, Fault, Heap, Integer, Item, Key,
        json::{self, ItemFormat},
    },
};
use crate::params::Hardfork;
use num_bigint::{BigInt, BigUint};
use std::fmt::Write;

/// Largest number that `jsonSerialize` writes.
const MAX_NUMBER: i64 = (2 << 53) - 1;
/// Nesting limit of `jsonDeserialize`.
const MAX_DEPTH: usize = 10;
/// Limit of values that `jsonDeserialize` reads.
const MAX_VALUES: usize = 2_048;
/// Bits of a number that are read exactly: the mantissa of a double.
const PRECISION: u64 = 53;

/// `jsonSerialize`.
pub(super) fn serialize(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    write(&engine.vm.heap, &arguments[0]).map(|text| Some(Item::bytes(text.as_bytes())))
}

fn write(heap: &Heap, item: &Item) -> Result<String, Fault> {
    json::write(heap, item, &Plain)
}

/// The form of `jsonSerialize`: values without their types, whole numbers only.
struct Plain;

impl ItemFormat for Plain {
    const REFUSES_CYCLES: bool = false;

    fn scalar(&self, item: &Item, out: &mut String) -> Result<(), Fault> {
        match item {
            Item::Null => out.push_str("null"),
            Item::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Item::Int(number) if number.unsigned_abs() <= MAX_NUMBER.unsigned_abs() => {
                // writing to a String does not fail
                let _ = write!(out, "{number}");
            }
            Item::Int(_) | Item::Big(_) => return Err(Fault::Range("number for JSON")),
            Item::Short(..) | Item::Bytes(_) | Item::Buffer(_) => write_text(item, out)?,
            other => return Err(Fault::Unserializable(other.kind())),
        }
        Ok(())
    }

    fn open(&self, item: &Item, out: &mut String) {
        out.push(if matches!(item, Item::Map(_)) { '{' } else { '[' });
    }

    fn key(&self, key: &Item, out: &mut String) -> Result<(), Fault> {
        write_text(key, out)?;
        out.push(':');
        Ok(())
    }

    fn end_entry(&self, _: &mut String) {}

    fn close(&self, item: &Item, out: &mut String) {
        out.push(if matches!(item, Item::Map(_)) { '}' } else { ']' });
    }
}

/// Writes a string with the escapes of Go's `encoding/json`, and escaped plus signs.
fn write_text(item: &Item, out: &mut String) -> Result<(), Fault> {
    out.push('"');
    item.with_text(|text| {
        // runs without escapes are copied at once
        let mut rest = text;
        while let Some(at) = rest.bytes().position(may_need_escape) {
            let (plain, special) = rest.split_at(at);
            out.push_str(plain);
            let Some(char) = special.chars().next() else { break };
            write_escaped(char, out);
            rest = &special[char.len_utf8()..];
        }
        out.push_str(rest);
    })?;
    out.push('"');
    Ok(())
}

/// Reports whether a character that begins with this byte may need an escape.
fn may_need_escape(byte: u8) -> bool {
    // U+2028 and U+2029 begin with 0xe2
    matches!(byte, 0..=0x1f | b'"' | b'\\' | b'+' | b'<' | b'>' | b'&' | 0xe2)
}

fn write_escaped(char: char, out: &mut String) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '+' => out.push_str("\\u002B"),
        '<' | '>' | '&' | '\u{0}'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
            out.push_str(&format!("\\u{:04x}", char as u32));
        }
        char => out.push(char),
    }
}

/// `jsonDeserialize`.
pub(super) fn deserialize(
    engine: &mut Engine<'_>,
    arguments: &[Item],
) -> Result<Option<Item>, Fault> {
    let bytes = arguments[0].to_bytes()?;
    let json = Json::parse(&bytes).map_err(|error| Fault::Message(error.to_string()))?;
    let exact = engine.is_active(Hardfork::Basilisk);
    read(&mut engine.vm.heap, &json, 0, &mut { MAX_VALUES }, exact).map(Some)
}

/// Converts JSON to an item. The recursion is at most [`MAX_DEPTH`] deep.
fn read(
    heap: &mut Heap,
    json: &Json,
    depth: usize,
    left: &mut usize,
    exact: bool,
) -> Result<Item, Fault> {
    *left = left.checked_sub(1).ok_or(Fault::TooManyElements)?;
    if matches!(json, Json::List(_) | Json::Object(_)) && depth == MAX_DEPTH {
        return Err(Fault::Rule("too deep"));
    }
    Ok(match json {
        Json::Null => Item::Null,
        Json::Bool(value) => Item::Bool(*value),
        Json::Text(text) => Item::bytes(text.as_bytes()),
        Json::Number(digits) => number(digits, exact)?.into(),
        Json::List(list) => {
            let mut items = Vec::with_capacity(list.len());
            for each in list {
                items.push(read(heap, each, depth + 1, left, exact)?);
            }
            heap.new_array(items)
        }
        Json::Object(entries) => {
            let mut map = Entries::with_capacity(entries.len());
            for (key, value) in entries {
                let key = Key(Item::bytes(key.as_bytes()));
                if map.contains_key(&key) {
                    return Err(Fault::Rule("duplicate object property"));
                }
                *left = left.checked_sub(1).ok_or(Fault::TooManyElements)?;
                let value = read(heap, value, depth + 1, left, exact)?;
                key.0.check_key()?;
                map.insert(key, value);
            }
            heap.new_map(map)
        }
    })
}

/// A number rounded to a double, which must be whole. `exact`: since Basilisk the double's shortest
/// decimal form counts, not its bits.
fn number(digits: &str, exact: bool) -> Result<Integer, Fault> {
    let not_whole = Fault::Rule("invalid value (integer)");
    let (mantissa, scale) = decimal(digits).ok_or(not_whole.clone())?;
    // exclude numbers longer than any item, and tiny fractions
    if scale.unsigned_abs() > 2_000 {
        return if mantissa == BigUint::ZERO { Ok(Integer::Small(0)) } else { Err(not_whole) };
    }
    let negative = digits.starts_with('-');
    let double: f64 = digits.parse().map_err(|_| not_whole.clone())?;
    let whole = if exact && double.is_finite() {
        let (mantissa, scale) = decimal(&format!("{double:e}")).ok_or(not_whole.clone())?;
        scaled(&mantissa, scale).ok_or(not_whole)?
    } else {
        rounded(&mantissa, scale).ok_or(not_whole)?
    };
    let number = BigInt::from(whole);
    Integer::checked(if negative { -number } else { number })
}

/// Digits and power of ten of a number without its sign.
fn decimal(digits: &str) -> Option<(BigUint, i64)> {
    let digits = digits.trim_start_matches('-');
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.parse().ok()?;
    let number = BigUint::parse_bytes(format!("{whole}{part}").as_bytes(), 10)?;
    Some((number, exponent.checked_sub(part.len() as i64)?))
}

fn scaled(mantissa: &BigUint, scale: i64) -> Option<BigUint> {
    let power = BigUint::from(10u8).pow(u32::try_from(scale.unsigned_abs()).ok()?);
    if scale >= 0 {
        return Some(mantissa * power);
    }
    let (whole, rest) = (mantissa / &power, mantissa % &power);
    (rest == BigUint::ZERO).then_some(whole)
}

/// The nearest number of 53 bits, even where two are near, if it is whole.
fn rounded(mantissa: &BigUint, scale: i64) -> Option<BigUint> {
    let power = BigUint::from(10u8).pow(u32::try_from(scale.unsigned_abs()).ok()?);
    let (above, below) =
        if scale >= 0 { (mantissa * power, 1u8.into()) } else { (mantissa.clone(), power) };
    // so many bits that 53 of them are whole
    let shift = (PRECISION + 2 + below.bits()).saturating_sub(above.bits());
    let (mut quotient, rest) = ((&above << shift) / &below, (&above << shift) % &below);
    let cut = quotient.bits().saturating_sub(PRECISION);
    let low = &quotient % (BigUint::from(1u8) << cut);
    quotient >>= cut;
    let half = BigUint::from(1u8) << cut.saturating_sub(1);
    let sticky = rest != BigUint::ZERO;
    let up = cut > 0 && (low > half || low == half && (sticky || quotient.bit(0)));
    if up {
        quotient += 1u8;
    }
    let exponent = cut as i64 - shift as i64;
    if exponent >= 0 {
        return Some(quotient << exponent);
    }
    let unit = BigUint::from(1u8) << exponent.unsigned_abs();
    ((&quotient % &unit) == BigUint::ZERO).then(|| quotient / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_maps_and_texts_with_escapes_are_written_in_order() {
        let mut heap = Heap::default();
        let text = Item::bytes("a+\u{2028}\u{20ac}\u{e9}<\n\u{1}\"\\z".as_bytes());
        let inner = heap.new_array(vec![]);
        let list = heap.new_array(vec![Item::Null, inner.clone(), text, Item::Int(-7), inner]);
        let mut entries = Entries::new();
        entries.insert(Key(Item::bytes(b"k&")), list);
        entries.insert(Key(Item::Bool(true)), Item::Bool(false));
        let map = heap.new_map(entries);
        let list = "[null,[],\"a\\u002B\\u2028\u{20ac}\u{e9}\\u003c\\n\\u0001\\\"\\\\z\",-7,[]]";
        let expected = format!("{{\"k\\u0026\":{list},\"\\u0001\":false}}");
        assert_eq!(write(&heap, &map).unwrap(), expected);
    }

    #[test]
    fn a_compound_that_holds_itself_ends_in_too_much_text() {
        let mut heap = Heap::default();
        let list = heap.new_array(vec![Item::Null]);
        heap.list_mut(list.place().unwrap()).unwrap().push(list.clone());
        assert!(matches!(write(&heap, &list), Err(Fault::TooBig(_))));
    }
}
