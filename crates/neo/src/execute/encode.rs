//! Encodes values of native contracts in the binary form of stack items, without creating items.

use super::vm::{Integer, Type, serialize::write_size};
use num_bigint::BigInt;

/// Writes values in order.
#[derive(Debug, Default)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// Starts a struct; the next `count` values are its fields.
    #[must_use]
    pub fn structure(mut self, count: usize) -> Self {
        self.start(Type::Struct, count);
        self
    }

    /// Starts an array; the next `count` values are its elements.
    #[must_use]
    pub fn array(mut self, count: usize) -> Self {
        self.start(Type::Array, count);
        self
    }

    /// An empty map.
    #[must_use]
    pub fn empty_map(mut self) -> Self {
        self.start(Type::Map, 0);
        self
    }

    fn start(&mut self, kind: Type, count: usize) {
        self.0.push(kind as u8);
        write_size(&mut self.0, count);
    }

    /// Null.
    #[must_use]
    pub fn null(mut self) -> Self {
        self.0.push(Type::Any as u8);
        self
    }

    /// A boolean.
    #[must_use]
    pub fn boolean(mut self, value: bool) -> Self {
        self.0.extend([Type::Boolean as u8, u8::from(value)]);
        self
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.start(Type::ByteString, bytes.len());
        self.0.extend_from_slice(bytes);
        self
    }

    /// Bytes or null.
    #[must_use]
    pub fn option(self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.bytes(bytes),
            None => self.null(),
        }
    }

    /// An integer.
    #[must_use]
    pub fn integer(mut self, value: &BigInt) -> Self {
        let bytes = integer_bytes(value);
        self.start(Type::Integer, bytes.len());
        self.0.extend_from_slice(&bytes);
        self
    }

    /// A small integer.
    #[must_use]
    pub fn number(self, value: impl Into<BigInt>) -> Self {
        self.integer(&value.into())
    }

    /// An array with one value for each element of a list.
    #[must_use]
    pub fn each<T>(self, list: &[T], mut write: impl FnMut(Self, &T) -> Self) -> Self {
        let this = self.array(list.len());
        list.iter().fold(this, &mut write)
    }

    /// The bytes.
    #[must_use]
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// The shortest little-endian two's complement; empty for zero.
#[must_use]
pub fn integer_bytes(value: &BigInt) -> Vec<u8> {
    Integer::from(value.clone()).to_bytes()
}

/// Decodes an integer in storage.
#[must_use]
pub fn integer_of(bytes: &[u8]) -> BigInt {
    BigInt::from_signed_bytes_le(bytes)
}
