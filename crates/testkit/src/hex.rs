//! Bytes as hexadecimal digits. Other text fails the test.

/// The digits of `bytes`, without 0x.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The digits of `bytes` after 0x.
pub fn encode_0x(bytes: impl AsRef<[u8]>) -> String {
    format!("0x{}", encode(bytes))
}

/// The bytes of `text`, with or without 0x.
#[track_caller]
pub fn decode(text: impl AsRef<str>) -> Vec<u8> {
    let text = text.as_ref();
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    assert!(digits.len().is_multiple_of(2), "an odd number of digits: {text:?}");
    let value = |digit: u8| match char::from(digit).to_digit(16) {
        Some(value) => value as u8,
        None => panic!("{:?} is no hexadecimal digit", char::from(digit)),
    };
    digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

/// The `N` bytes of `text`, with or without 0x.
#[track_caller]
pub fn array<const N: usize>(text: impl AsRef<str>) -> [u8; N] {
    let bytes = decode(text.as_ref());
    bytes.try_into().unwrap_or_else(|bytes: Vec<u8>| {
        panic!("{} bytes instead of {N}: {:?}", bytes.len(), text.as_ref())
    })
}
