//! Values of contract storage.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Values up to this length, such as balances, are stored inline.
const SHORT: usize = 22;

/// A value in contract storage. Copies of a long value share its bytes.
#[derive(Clone)]
pub struct Value(Bytes);

#[derive(Clone)]
enum Bytes {
    /// Length and bytes.
    Short(u8, [u8; SHORT]),
    Long(Arc<[u8]>),
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short(length, bytes) => &bytes[..usize::from(*length)],
            Bytes::Long(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        if value.len() > SHORT {
            return Self(Bytes::Long(value.into()));
        }
        let mut bytes = [0; SHORT];
        bytes[..value.len()].copy_from_slice(value);
        Self(Bytes::Short(value.len() as u8, bytes))
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        value.as_slice().into()
    }
}

impl<const N: usize> From<[u8; N]> for Value {
    fn from(value: [u8; N]) -> Self {
        value.as_slice().into()
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Bytes::Long(one), Bytes::Long(other)) if Arc::ptr_eq(one, other) => true,
            _ => **self == **other,
        }
    }
}

impl Eq for Value {}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        blockmill_verdict::Digits(self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_length_come_back() {
        for length in 0..60_u8 {
            let bytes: Vec<u8> = (0..length).collect();
            let value = Value::from(bytes.clone());
            assert_eq!(*value, *bytes);
            assert_eq!((value.clone(), value == Value::from([7; 23])), (bytes.into(), false));
        }
    }
}
