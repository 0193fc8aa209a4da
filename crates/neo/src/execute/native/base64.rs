//! Base 64 with padding (RFC 4648), as Go's `encoding/base64` reads and writes it.

/// The usual alphabet.
pub const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The alphabet for addresses and file names.
pub const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Writes bytes.
#[must_use]
pub fn encode(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let [a, b, c] = group.map(u32::from);
        let bits = a << 16 | b << 8 | c;
        for place in 0..4 {
            let digit = alphabet[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { digit.into() } else { '=' });
        }
    }
    text
}

/// Reads what [`encode`] writes. Line ends anywhere do not matter, nor do the bits of the last
/// digit that no byte uses.
#[must_use]
pub fn decode(text: &str, alphabet: &[u8; 64]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let groups = digits.len() / 4;
    for (index, group) in digits.chunks(4).enumerate() {
        let used = group.iter().position(|digit| *digit == b'=').unwrap_or(4);
        let padded = group[used..].iter().all(|digit| *digit == b'=');
        if used < 2 || !padded || used < 4 && index + 1 < groups {
            return None;
        }
        let mut bits = 0u32;
        for (place, wanted) in group.iter().enumerate() {
            let value = match place < used {
                true => alphabet.iter().position(|digit| digit == wanted)? as u32,
                false => 0,
            };
            bits = bits << 6 | value;
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..used]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_standard_are_written_and_read_back() {
        // RFC 4648, section 10
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes(), STANDARD), text);
            assert_eq!(decode(text, STANDARD).as_deref(), Some(bytes.as_bytes()));
        }
        for bad in ["Z", "Zg", "Zg=", "Z===", "Zg==Zg==", "Zm9v!", "Zm9-"] {
            assert_eq!(decode(bad, STANDARD), None, "{bad}");
        }
    }
}
