//! Text methods of StdLib: encodings, search, split.

use super::{
    base64::{self, Alphabet, STANDARD, URL},
    std_lib::{MAX_INPUT, TOO_BIG, limited, limited_text},
};
use crate::execute::{
    engine::Engine,
    vm::{Fault, Item},
};
use blockmill_hashes::sha256d;

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const CHECKSUM: usize = 4;

type Answer = Result<Option<Item>, Fault>;

fn text(text: &str) -> Answer {
    Ok(Some(Item::bytes(text.as_bytes())))
}

/// Removes spaces and tabs.
fn squeezed(item: &Item) -> Result<Vec<u8>, Fault> {
    let mut text = limited_text(item)?.into_bytes();
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    if text.iter().any(is_space) {
        text.retain(|byte| !is_space(byte));
    }
    Ok(text)
}

fn encode64(item: &Item, alphabet: &Alphabet) -> Answer {
    let bytes = item.with_bytes(|bytes| match bytes.len() {
        0..=MAX_INPUT => Ok(base64::encode(bytes, alphabet)),
        _ => Err(TOO_BIG),
    })??;
    Ok(Some(Item::bytes(&bytes)))
}

pub(super) fn base64_encode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    encode64(&arguments[0], &STANDARD)
}

pub(super) fn base64_decode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = base64::decode(&squeezed(&arguments[0])?, &STANDARD);
    Ok(Some(Item::bytes(&bytes.ok_or(Fault::Rule("no base 64"))?)))
}

pub(super) fn url_encode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    encode64(&arguments[0], &URL)
}

pub(super) fn url_decode(_: &mut Engine<'_>, arguments: &[Item]) -> Answer {
    let bytes = base64::decode(&squeezed(&arguments[0])?, &URL);
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

/// Digits that are written at once, and bytes that are read at once.
const WRITTEN: (u32, usize) = (5, 4);
/// Digits that are read at once: 58^10 is below 2^59.
const READ: usize = 10;

fn encode58(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let base = 58_u64.pow(WRITTEN.0);
    // the least first, each of five digits
    let mut limbs: Vec<u64> = Vec::with_capacity(bytes.len() / 3 + 1);
    for chunk in bytes[zeros..].chunks(WRITTEN.1) {
        let bits = 8 * chunk.len();
        let mut carry = chunk.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        for limb in &mut limbs {
            carry += *limb << bits;
            *limb = carry % base;
            carry /= base;
        }
        while carry > 0 {
            limbs.push(carry % base);
            carry /= base;
        }
    }
    let mut digits: Vec<u8> = Vec::with_capacity(5 * limbs.len() + zeros);
    for mut limb in limbs {
        for _ in 0..WRITTEN.0 {
            digits.push(BASE58[(limb % 58) as usize]);
            limb /= 58;
        }
    }
    while digits.last() == Some(&BASE58[0]) {
        digits.pop();
    }
    digits.extend(std::iter::repeat_n(BASE58[0], zeros));
    digits.into_iter().rev().map(char::from).collect()
}

/// The digit value of each byte; 58 and more: no digit.
static DIGITS: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut digit = 0;
    while digit < BASE58.len() {
        digits[BASE58[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

/// Decodes a text. The empty text is an error, as in the Go library (`mr-tron/base58`).
fn decode58(text: &str) -> Option<Vec<u8>> {
    let zeros = text.bytes().take_while(|byte| *byte == BASE58[0]).count();
    // the least first
    let mut limbs: Vec<u64> = Vec::with_capacity(text.len() / READ + 1);
    for chunk in text.as_bytes()[zeros..].chunks(READ) {
        let (mut carry, mut factor) = (0_u128, 1_u64);
        for byte in chunk {
            let digit = DIGITS[usize::from(*byte)];
            if digit >= 58 {
                return None;
            }
            carry = carry * 58 + u128::from(digit);
            factor *= 58;
        }
        for limb in &mut limbs {
            carry += u128::from(*limb) * u128::from(factor);
            *limb = carry as u64;
            carry >>= 64;
        }
        if carry > 0 {
            limbs.push(carry as u64);
        }
    }
    let mut bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes.extend(std::iter::repeat_n(0, zeros));
    bytes.reverse();
    (!text.is_empty()).then_some(bytes)
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
    // neo-go requires a byte before the checksum, the C# node does not
    let end = bytes.len().checked_sub(CHECKSUM).filter(|end| *end > 0);
    let end = end.ok_or(Fault::Rule("invalid base-58 check string: missing checksum"))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_testkit::Random;

    /// Byte by byte, and digit by digit.
    fn naive(bytes: &[u8]) -> String {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let mut number = num_bigint::BigUint::from_bytes_be(bytes);
        let mut digits = vec![];
        while number.bits() > 0 {
            digits.push(BASE58[usize::try_from(&number % 58_u32).unwrap()]);
            number /= 58_u32;
        }
        digits.extend(std::iter::repeat_n(b'1', zeros));
        digits.into_iter().rev().map(char::from).collect()
    }

    #[test]
    fn base_58_of_any_length_is_written_and_read_as_digit_by_digit() {
        let mut random = Random::new(58);
        for length in (0..80).chain([255, 256, 700, 1_024]) {
            for zeros in [0, 1, 5] {
                let mut bytes = vec![0; zeros];
                bytes.extend((0..length).map(|_| random.below(256) as u8));
                let text = naive(&bytes);
                assert_eq!(encode58(&bytes), text);
                assert_eq!(decode58(&text), Some(bytes).filter(|bytes| !bytes.is_empty()));
            }
        }
        for bad in ["", "0", "1l", "2\u{e9}", "22222222222I"] {
            assert_eq!(decode58(bad), None, "{bad}");
        }
    }
}
