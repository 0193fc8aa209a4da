//! JSON values of witness documents: bytes, numbers, lists and headers in the shapes that clients
//! write.

use super::header::JsonHeader;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
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

/// A list of bytes, or a map with bytes as values.
pub(super) struct Items(pub Vec<Vec<u8>>);

visited! { Items, "a list of bytes, or a map with bytes as values",
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Items, A::Error> {
        let mut items = vec![];
        while let Some(Bytes(item)) = list.next_element()? {
            items.push(item);
        }
        Ok(Items(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Items, A::Error> {
        let mut items = vec![];
        while let Some((IgnoredAny, Bytes(item))) = map.next_entry()? {
            items.push(item);
        }
        Ok(Items(items))
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

/// Bytes as 0x and hexadecimal digits.
#[derive(Debug, Default)]
pub(super) struct Bytes(pub Vec<u8>);

visited! { Bytes, "bytes as 0x and hexadecimal digits",
    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        decode(text).map(Bytes).ok_or_else(|| E::custom("expected 0x and hexadecimal digits"))
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
    let digits = text.strip_prefix("0x")?.as_bytes();
    if digits.len() % 2 == 1 {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16);
    digits.chunks(2).map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}
