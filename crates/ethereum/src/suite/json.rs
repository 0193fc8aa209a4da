//! Fields of a test.

use super::SuiteError;
use crate::{Address, Hash, U256};
use serde_json::Value;

/// The error for a field with an unexpected value.
pub(super) fn wrong(field: &str, expected: &'static str) -> SuiteError {
    SuiteError::Field { field: field.into(), expected }
}

/// A text.
pub(super) fn text<'v>(object: &'v Value, field: &str) -> Result<&'v str, SuiteError> {
    object[field].as_str().ok_or_else(|| wrong(field, "a text"))
}

/// Bytes in hexadecimal digits.
pub(super) fn bytes(object: &Value, field: &str) -> Result<Vec<u8>, SuiteError> {
    decode(text(object, field)?).ok_or_else(|| wrong(field, "0x and hexadecimal digits"))
}

/// Bytes of a fixed length.
pub(super) fn fixed<const N: usize>(object: &Value, field: &str) -> Result<[u8; N], SuiteError> {
    bytes(object, field)?.try_into().map_err(|_| wrong(field, "another number of bytes"))
}

/// A hash.
pub(super) fn hash(object: &Value, field: &str) -> Result<Hash, SuiteError> {
    fixed(object, field)
}

/// An address.
pub(super) fn address(object: &Value, field: &str) -> Result<Address, SuiteError> {
    fixed(object, field)
}

/// A number of up to 256 bits: hexadecimal digits after 0x, decimal ones otherwise, with quotes or
/// without, as go-ethereum reads them.
pub(super) fn number(object: &Value, field: &str) -> Result<U256, SuiteError> {
    number_of(&object[field]).ok_or_else(|| wrong(field, "a number of 256 bits"))
}

/// The same; `None` if the field is missing or null.
pub(super) fn maybe_number(object: &Value, field: &str) -> Result<Option<U256>, SuiteError> {
    if object[field].is_null() { Ok(None) } else { number(object, field).map(Some) }
}

/// A number as [`number`] reads it.
pub(super) fn number_of(value: &Value) -> Option<U256> {
    let Some(text) = value.as_str() else { return value.as_u64().map(U256::from) };
    match text.strip_prefix("0x") {
        Some("") => Some(U256::ZERO),
        Some(digits) => U256::from_str_radix(digits, 16).ok(),
        None if text.is_empty() => Some(U256::ZERO),
        None => U256::from_str_radix(text, 10).ok(),
    }
}

/// A number of up to 64 bits.
pub(super) fn small(object: &Value, field: &str) -> Result<u64, SuiteError> {
    number(object, field)?.try_into().map_err(|_| wrong(field, "a number of 64 bits"))
}

/// The bytes of a text of hexadecimal digits, with or without 0x.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    const_hex::decode(text).ok()
}
