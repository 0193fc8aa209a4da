//! JSON values of witness documents: bytes, numbers, lists and headers in the shapes that clients
//! write.

use super::header::JsonHeader;
use blockmill_archive::Column;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Implements `Deserialize` with a visitor of the given methods.
macro_rules! visited {
    ($of:ty, $expected:literal, $($methods:tt)*) => {
        impl<'de> Deserialize<'de> for $of {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Each;
                impl<'de> Visitor<'de> for Each {
                    type Value = $of;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    $($methods)*
                }
                from.deserialize_any(Each)
            }
        }
    };
}

pub(super) use visited;

/// A list of bytes, or a map with bytes as values, decoded into one buffer.
pub(super) struct Items(pub Column);

visited! { Items, "a list of bytes, or a map with bytes as values",
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Items, A::Error> {
        let mut items = Column::new();
        while list.next_element_seed(Append(&mut items))?.is_some() {}
        Ok(Items(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Items, A::Error> {
        let mut items = Column::new();
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Append(&mut items))?;
        }
        Ok(Items(items))
    }
}

/// Decodes bytes to the end of a column.
pub(super) struct Append<'c>(pub &'c mut Column);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        // digits are ASCII: as bytes they are not checked to be UTF-8 first
        from.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes as 0x and hexadecimal digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.visit_bytes(text.as_bytes())
    }

    fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<(), E> {
        let Self(column) = self;
        if column.bytes.len() + text.len() / 2 > u32::MAX as usize {
            return Err(E::custom("expected less than 4 GiB"));
        }
        let decoded = decode_into(text, &mut column.bytes);
        column.end_item();
        decoded.ok_or_else(|| E::custom("expected 0x and hexadecimal digits"))
    }
}

/// Encoded headers.
pub(super) struct Headers(pub Vec<Vec<u8>>);

visited! { Headers, "a list of headers",
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Headers, A::Error> {
        let mut headers = vec![];
        while let Some(Header(header)) = list.next_element()? {
            headers.push(header);
        }
        Ok(Headers(headers))
    }
}

/// A header: its encoding, or an object.
pub(super) struct Header(pub Vec<u8>);

visited! { Header, "a header as bytes or as an object",
    fn visit_str<E: Error>(self, text: &str) -> Result<Header, E> {
        decode(text).map(Header).ok_or_else(|| E::custom("expected 0x and digits"))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Header, A::Error> {
        let map = serde::de::value::MapAccessDeserializer::new(map);
        let header = JsonHeader::deserialize(map)?;
        header.encode().map(Header).map_err(A::Error::custom)
    }
}

/// Bytes as 0x and hexadecimal digits, or as a list of numbers.
#[derive(Debug, Default)]
pub(super) struct Bytes(pub Vec<u8>);

visited! { Bytes, "bytes as 0x and hexadecimal digits, or as a list of numbers",
    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        decode(text).map(Bytes).ok_or_else(|| E::custom("expected 0x and hexadecimal digits"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Bytes, A::Error> {
        let mut bytes = vec![];
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        Ok(Bytes(bytes))
    }
}

/// Bytes of a fixed length.
#[derive(Debug)]
pub(super) struct Fixed<const N: usize>(pub [u8; N]);

impl<'de, const N: usize> Deserialize<'de> for Fixed<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Bytes::deserialize(from)?.0;
        let fixed = bytes.try_into();
        fixed.map(Fixed).map_err(|_| D::Error::custom(format!("expected {N} bytes")))
    }
}

/// A number below 2^64, as a number or as text with 0x.
#[derive(Debug)]
pub(super) struct Number(pub u64);

visited! { Number, "a number below 2^64",
    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.map(Number).map_err(|_| E::custom("expected a number below 2^64"))
    }
}

/// Decodes hexadecimal digits after `0x`.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    decode_into(text.as_bytes(), &mut bytes).map(|()| bytes)
}

/// Appends what the hexadecimal digits after `0x` say.
fn decode_into(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let digits = text.strip_prefix(b"0x")?;
    let start = bytes.len();
    bytes.resize(start + digits.len() / 2, 0);
    // refuses an odd number of digits, and a second prefix
    const_hex::decode_to_slice(digits, &mut bytes[start..]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes digit by digit.
    fn naive(text: &str) -> Option<Vec<u8>> {
        let digits = text.strip_prefix("0x")?.as_bytes();
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let pair = |pair: &[u8]| match *pair {
            [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
            _ => None,
        };
        digits.chunks(2).map(pair).collect()
    }

    #[test]
    fn digits_are_decoded_as_one_by_one() {
        let mut random = blockmill_testkit::Random::new(40);
        let mut accepted = 0;
        for _ in 0..4000 {
            let alphabet = random.pick(&["0123456789abcdef", "0aF9", "fF0gx ", "0\u{e9}"]);
            let all: Vec<char> = alphabet.chars().collect();
            let length = random.below(90);
            let digits: String = (0..length).map(|_| random.pick(&all)).collect();
            let text = format!("{}{digits}", random.pick(&["0x", "0x", "0x", "", "0X", "0x0x"]));
            let expected = naive(&text);
            accepted += usize::from(expected.is_some());
            assert_eq!(decode(&text), expected, "{text}");
        }
        assert!(accepted > 500, "{accepted}");
    }
}
