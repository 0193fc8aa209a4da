//! Base 64 with padding (RFC 4648), as Go's `encoding/base64` reads and writes it.

/// An alphabet: the digits, and the digit value of each byte.
pub struct Alphabet {
    digits: [u8; 64],
    values: [u8; 256],
}

/// The value of a byte that is no digit. Digits do not have its high bits.
const NO_DIGIT: u8 = 0xff;

impl Alphabet {
    const fn new(digits: [u8; 64]) -> Self {
        let mut values = [NO_DIGIT; 256];
        let mut value = 0;
        while value < digits.len() {
            values[digits[value] as usize] = value as u8;
            value += 1;
        }
        Self { digits, values }
    }

    fn digit(&self, bits: u32) -> u8 {
        self.digits[bits as usize & 63]
    }

    /// Four digits as 24 bits.
    fn bits(&self, group: [u8; 4]) -> Option<u32> {
        let [a, b, c, d] = group.map(|digit| u32::from(self.values[usize::from(digit)]));
        ((a | b | c | d) < 64).then_some(a << 18 | b << 12 | c << 6 | d)
    }
}

/// The usual alphabet.
pub static STANDARD: Alphabet =
    Alphabet::new(*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
/// The alphabet for addresses and file names.
pub static URL: Alphabet =
    Alphabet::new(*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

/// Writes bytes as text in ASCII.
#[must_use]
pub fn encode(bytes: &[u8], alphabet: &Alphabet) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    let (groups, rest) = bytes.as_chunks::<3>();
    for group in groups {
        text.extend_from_slice(&digits(*group, alphabet));
    }
    if !rest.is_empty() {
        let mut group = [0; 3];
        group[..rest.len()].copy_from_slice(rest);
        let mut last = digits(group, alphabet);
        last[rest.len() + 1..].fill(b'=');
        text.extend_from_slice(&last);
    }
    text
}

fn digits([a, b, c]: [u8; 3], alphabet: &Alphabet) -> [u8; 4] {
    let bits = u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c);
    [bits >> 18, bits >> 12, bits >> 6, bits].map(|bits| alphabet.digit(bits))
}

/// Decodes base 64. Line ends are ignored, and so are the unused bits of the last digit.
#[must_use]
pub fn decode(text: &[u8], alphabet: &Alphabet) -> Option<Vec<u8>> {
    let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    if text.iter().any(is_line_end) {
        let text: Vec<u8> = text.iter().copied().filter(|byte| !is_line_end(byte)).collect();
        return decode(&text, alphabet);
    }
    let (groups, []) = text.as_chunks::<4>() else { return None };
    let Some((last, groups)) = groups.split_last() else { return Some(vec![]) };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in groups {
        bytes.extend_from_slice(&alphabet.bits(*group)?.to_be_bytes()[1..]);
    }
    // only the last group may be padded
    let used = last.iter().position(|digit| *digit == b'=').unwrap_or(4);
    if used < 2 || last[used..].iter().any(|digit| *digit != b'=') {
        return None;
    }
    let mut padded = *last;
    padded[used..].fill(alphabet.digit(0));
    bytes.extend_from_slice(&alphabet.bits(padded)?.to_be_bytes()[1..used]);
    Some(bytes)
}

/// The offset of the error that Go reports for an invalid text: the first byte that is no digit, or
/// the truncated group.
#[must_use]
pub fn fault_at(text: &[u8], alphabet: &Alphabet) -> usize {
    let is_other = |byte: &u8| alphabet.values[usize::from(*byte)] == NO_DIGIT;
    text.iter().position(is_other).unwrap_or(text.len() / 4 * 4)
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
            assert_eq!(encode(bytes.as_bytes(), &STANDARD), text.as_bytes());
            assert_eq!(decode(text.as_bytes(), &STANDARD).as_deref(), Some(bytes.as_bytes()));
        }
        for bad in
            ["Z", "Zg", "Zg=", "Z===", "====", "Zg=v", "Zg==Zg==", "Zm9v!", "Zm9-", "Zm9-Zm9v"]
        {
            assert_eq!(decode(bad.as_bytes(), &STANDARD), None, "{bad}");
        }
    }
    #[test]
    fn line_ends_and_bits_that_no_byte_uses_do_not_matter() {
        for text in ["Zm9vYg==", "Zm9v\r\nYg==", "\nZm9vY\ng==\n", "Zm9vYh==", "Zm9vYv=\n="] {
            assert_eq!(decode(text.as_bytes(), &STANDARD).as_deref(), Some(&b"foob"[..]), "{text}");
        }
        assert_eq!(encode(&[0xfb, 0xff], &URL), b"-_8=");
        assert_eq!(decode(b"-_8=", &URL).as_deref(), Some(&[0xfb, 0xff][..]));
        assert_eq!(decode(b"-_8=", &STANDARD), None);
    }
}
