//! Bytes, hashes and large numbers as text, for documents.

use crate::{Hash, U256};
use blockmill_verdict::Hex;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes: `0x` and two digits for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub Vec<u8>);

/// A hash: `0x` and 64 digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HashText(pub Hash);

/// A number of up to 256 bits, in decimal digits: JSON numbers are too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Number(pub U256);

/// A text does not have the expected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    expected: &'static str,
    found: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {:?}", self.expected, self.found)
    }
}

impl std::error::Error for TextError {}

/// Decodes the bytes of a text.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => Some((16 * digit(high)? + digit(low)?) as u8),
        _ => None,
    };
    text.strip_prefix("0x")?.as_bytes().chunks(2).map(pair).collect()
}

impl TryFrom<String> for Bytes {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        let expected = "0x and pairs of hexadecimal digits";
        bytes(&text).map(Self).ok_or(TextError { expected, found: text })
    }
}

impl TryFrom<String> for HashText {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        let hash = bytes(&text).and_then(|bytes| bytes.try_into().ok());
        let expected = "0x and 64 hexadecimal digits";
        hash.map(Self).ok_or(TextError { expected, found: text })
    }
}

impl TryFrom<String> for Number {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_decimal.then(|| U256::from_str_radix(&text, 10).ok()).flatten();
        let expected = "a number of at most 256 bits in decimal digits";
        number.map(Self).ok_or(TextError { expected, found: text })
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        Hex(&bytes.0).to_string()
    }
}

impl From<HashText> for String {
    fn from(hash: HashText) -> Self {
        Hex(&hash.0).to_string()
    }
}

impl From<Number> for String {
    fn from(number: Number) -> Self {
        number.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_a_round_trip_through_text() {
        let bytes = Bytes(vec![0, 0xfe]);
        assert_eq!(serde_json::to_string(&bytes).unwrap(), "\"0x00fe\"");
        assert_eq!(serde_json::from_str::<Bytes>("\"0x00fe\"").unwrap(), bytes);
        let number = Number(U256::MAX);
        let text = serde_json::to_string(&number).unwrap();
        assert_eq!(serde_json::from_str::<Number>(&text).unwrap(), number);
        let hash = HashText([7; 32]);
        let text = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<HashText>(&text).unwrap(), hash);
    }

    #[test]
    fn rejects_text_of_another_form() {
        for text in ["", "00", "0x0", "0xgg", "0x+1"] {
            assert!(Bytes::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert!(HashText::try_from("0x00".to_owned()).is_err());
        for text in ["", "0x1", "-1", "+1", "1_0"] {
            assert!(Number::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert!(Number::try_from("9".repeat(78)).is_err(), "more than 256 bits");
    }
}
