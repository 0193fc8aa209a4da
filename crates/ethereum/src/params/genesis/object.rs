//! JSON objects as the clients read them: numbers as decimal or 0x text, quoted or not; unknown
//! fields are passed over.

use crate::params::SpecError;
use crate::{Hash, U256};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A JSON object with values that are not parsed yet.
pub(super) struct Object<'a> {
    /// Its name in the file.
    pub name: &'a str,
    fields: Fields<'a>,
}

/// Names and values in the order of the names; the last one of equal names counts. The storage of
/// an account may have many millions of values, so each is only a reference into the file.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        let at = self.0.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        Some(self.0[at].1)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = vec![];
                while let Some(Name(name)) = map.next_key()? {
                    fields.push((name, map.next_value()?));
                }
                fields.sort_by(|(a, _): &(Cow<'_, str>, _), (b, _)| a.cmp(b));
                // the later one of two comes first and is kept
                fields.reverse();
                fields.dedup_by(|(a, _), (b, _)| a == b);
                fields.reverse();
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// A name, which stands in the file as it is unless it has escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl<'de> Visitor<'de> for One {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(text.into())))
            }
        }
        deserializer.deserialize_str(One)
    }
}

pub(super) fn missing(field: &'static str) -> SpecError {
    SpecError::Missing { field }
}

pub(super) fn malformed(field: &str, expected: &'static str, found: &str) -> SpecError {
    SpecError::Field { field: field.into(), expected, found: found.chars().take(80).collect() }
}

impl<'a> Object<'a> {
    pub fn parse(name: &'a str, text: &'a str) -> Result<Self, SpecError> {
        match serde_json::from_str(text) {
            Ok(fields) => Ok(Self { name, fields }),
            Err(problem) => {
                Err(SpecError::Json { field: name.into(), problem: problem.to_string() })
            }
        }
    }

    /// The text of a field, unless it is missing or null. As in the clients, letters of a name may
    /// be large or small; one that is written exactly so comes first.
    pub fn text(&self, field: &str) -> Option<&'a str> {
        let alike = || self.fields.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(field));
        let value = self.fields.get(field).or_else(|| alike().map(|(_, value)| *value));
        value.map(|value| value.get()).filter(|text| *text != "null")
    }

    /// All names, in order, with the texts of their values.
    pub fn all(&self) -> impl ExactSizeIterator<Item = (&str, &'a str)> {
        self.fields.0.iter().map(|(name, value)| (&**name, value.get()))
    }

    /// Is there such a field, and does it hold anything?
    pub fn has(&self, field: &str) -> bool {
        self.text(field).is_some()
    }

    pub fn object(&self, field: &'a str) -> Result<Option<Object<'a>>, SpecError> {
        self.text(field).map(|text| Object::parse(field, text)).transpose()
    }

    /// A field through `read`, which gets its text without quotes.
    pub fn read<T>(
        &self,
        field: &str,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, SpecError> {
        let Some(text) = self.text(field) else { return Ok(None) };
        let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        let name = || format!("{} in {}", field, self.name);
        read(bare).map(Some).ok_or_else(|| malformed(&name(), expected, text))
    }

    pub fn u256(&self, field: &str) -> Result<Option<U256>, SpecError> {
        self.read(field, "a number of at most 256 bits", number)
    }

    pub fn u64(&self, field: &str) -> Result<Option<u64>, SpecError> {
        let read = |text: &str| number(text).and_then(|number| u64::try_from(number).ok());
        self.read(field, "a number of at most 64 bits", read)
    }

    pub fn flag(&self, field: &str) -> Result<bool, SpecError> {
        let flag = self.read(field, "true or false", |text| text.parse().ok())?;
        Ok(flag.unwrap_or(false))
    }

    /// Bytes of a fixed length, 0 when the field is missing.
    pub fn fixed<const N: usize>(&self, field: &str) -> Result<[u8; N], SpecError> {
        let read = |text: &str| bytes(text.strip_prefix("0x")?)?.try_into().ok();
        let expected = "0x and the right number of hexadecimal digits";
        Ok(self.read(field, expected, read)?.unwrap_or([0; N]))
    }

    /// Bytes of any length, none when the field is missing.
    pub fn bytes(&self, field: &str) -> Result<Vec<u8>, SpecError> {
        let read = |text: &str| if text.is_empty() { Some(vec![]) } else { prefixed(text) };
        Ok(self.read(field, "0x and hexadecimal digits", read)?.unwrap_or_default())
    }
}

/// A number as geth writes it: decimal, or 0x and hexadecimal; nothing is 0.
pub(super) fn number(text: &str) -> Option<U256> {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.is_empty() => return Some(U256::ZERO),
        None => (text, 10),
    };
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    valid.then(|| U256::from_str_radix(digits, u64::from(radix)).ok()).flatten()
}

fn prefixed(text: &str) -> Option<Vec<u8>> {
    bytes(text.strip_prefix("0x")?)
}

pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// Up to 32 bytes, filled with zeros from the left, as geth takes storage keys and values.
pub(super) fn word(text: &str) -> Option<Hash> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let bytes = bytes(digits)?;
    let mut word = [0; 32];
    word.get_mut(32usize.checked_sub(bytes.len())?..)?.copy_from_slice(&bytes);
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_in_any_order_with_escapes_and_twice() {
        let text = r#"{"b": 1, "a": 2, "\u0062": 3, "c": null, "a": "0x4", "B": 5}"#;
        let object = Object::parse("file", text).unwrap();
        let all: Vec<_> = object.all().collect();
        assert_eq!(all, [("B", "5"), ("a", "\"0x4\""), ("b", "3"), ("c", "null")]);
        assert_eq!(object.u64("A").unwrap(), Some(4));
        assert_eq!(object.u64("b").unwrap(), Some(3));
        assert!(!object.has("c") && !object.has("d"));
        for bad in ["[]", "{1: 2}", r#"{"a"}"#, r#"{"a": }"#, "{"] {
            assert!(matches!(Object::parse("file", bad), Err(SpecError::Json { .. })), "{bad}");
        }
    }
}
