//! The texts of StdLib: bases, searches, parts.

use super::{
    base64::{self, STANDARD, URL},
    std_lib::{limited, limited_text},
};
use crate::execute::{
    engine::Engine,
    vm::{Fault, Item},
};
use crypto::sha256d;

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const CHECKSUM: usize = 4;

type Answer = Result<Option<Item>, Fault>;

fn text(text: &str) -> Answer {
    Ok(Some(Item::bytes(text.as_bytes())))
}

/// Text without spaces and tabs.
fn squeezed(item: &Item) -> Result<String, Fault> {
    Ok(limited_text(item)?.replace([' ', '\t'], ""))
}

pub(super) fn base64_encode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    text(&base64::encode(&limited(&arguments[0])?, STANDARD))
}

pub(super) fn base64_decode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = base64::decode(&squeezed(&arguments[0])?, STANDARD);
    Ok(Some(Item::bytes(&bytes.ok_or(Fault::Rule("no base 64"))?)))
}

pub(super) fn url_encode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    text(&base64::encode(&limited(&arguments[0])?, URL))
}

pub(super) fn url_decode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = base64::decode(&squeezed(&arguments[0])?, URL);
    Ok(Some(Item::bytes(&bytes.ok_or(Fault::Rule("no base 64"))?)))
}

/// Hexadecimal digits of either case as bytes.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8)).collect()
}

pub(super) fn hex_encode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = limited(&arguments[0])?;
    text(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

pub(super) fn hex_decode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = hex(&limited_text(&arguments[0])?);
    Ok(Some(Item::bytes(&bytes.ok_or(Fault::Rule("hexDecode: invalid hex string"))?)))
}

fn encode58(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut digits: Vec<u8> = Vec::new();
    for byte in &bytes[zeros..] {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let ones = std::iter::repeat_n('1', zeros);
    ones.chain(digits.iter().rev().map(|digit| BASE58[usize::from(*digit)].into())).collect()
}

fn decode58(text: &str) -> Option<Vec<u8>> {
    let zeros = text.bytes().take_while(|byte| *byte == b'1').count();
    let mut bytes: Vec<u8> = Vec::new();
    for digit in text.bytes().skip(zeros) {
        let mut carry = BASE58.iter().position(|known| *known == digit)? as u32;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 58;
            *byte = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(carry as u8);
            carry >>= 8;
        }
    }
    bytes.extend(std::iter::repeat_n(0, zeros));
    bytes.reverse();
    Some(bytes)
}

pub(super) fn base58_encode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    text(&encode58(&limited(&arguments[0])?))
}

pub(super) fn base58_decode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = decode58(&limited_text(&arguments[0])?);
    Ok(Some(Item::bytes(&bytes.ok_or(Fault::Rule("no base 58"))?)))
}

pub(super) fn check_encode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let mut bytes = limited(&arguments[0])?;
    let sum = sha256d(&bytes);
    bytes.extend_from_slice(&sum[..CHECKSUM]);
    text(&encode58(&bytes))
}

pub(super) fn check_decode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = decode58(&limited_text(&arguments[0])?).ok_or(Fault::Rule("no base 58"))?;
    let end = bytes.len().checked_sub(CHECKSUM).ok_or(Fault::Rule("missing checksum"))?;
    let (bytes, sum) = bytes.split_at(end);
    if sha256d(bytes)[..CHECKSUM] != *sum {
        return Err(Fault::Rule("invalid checksum"));
    }
    Ok(Some(Item::bytes(bytes)))
}

pub(super) fn compare(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let order = limited(&arguments[0])?.cmp(&limited(&arguments[1])?);
    Ok(Some(Item::Int(order as i64)))
}

pub(super) fn search(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let (memory, wanted) = (limited(&arguments[0])?, limited(&arguments[1])?);
    let start = match arguments.get(2) {
        Some(start) => start.to_i64()?,
        None => 0,
    };
    let start = usize::try_from(start).ok().filter(|start| *start <= memory.len());
    let start = start.ok_or(Fault::Range("invalid start index"))?;
    let backward = arguments.get(3).map_or(Ok(false), Item::to_bool)?;
    let matches = |bytes: &[u8], at: usize| bytes[at..].starts_with(&wanted);
    let found = match backward {
        true => {
            let part = &memory[..start];
            (0..=part.len()).rev().find(|at| matches(part, *at))
        }
        false => (start..=memory.len()).find(|at| matches(&memory, *at)),
    };
    Ok(Some(Item::Int(found.map_or(-1, |at| at as i64))))
}

pub(super) fn split(engine: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let text = limited_text(&arguments[0])?;
    let separator = arguments[1].to_text()?;
    let no_empty = arguments.get(2).map_or(Ok(false), Item::to_bool)?;
    let parts: Vec<&str> = match separator.is_empty() {
        true => vec![&text],
        false => text.split(&separator).filter(|part| !no_empty || !part.is_empty()).collect(),
    };
    Ok(Some(engine.array_of(&parts)))
}

pub(super) fn length(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let count = limited_text(&arguments[0])?.chars().count();
    Ok(Some(Item::Int(count as i64)))
}
