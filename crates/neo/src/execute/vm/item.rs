//! Stack items.
//!
//! An item has 24 bytes. Byte strings of up to 22 bytes, such as script hashes, are stored inline;
//! longer ones are shared. Arrays, structs and maps are references into the [`Heap`] of the
//! execution, so dropping cycles costs nothing.

mod names;
mod types;

pub use types::Type;

use std::{cell::RefCell, rc::Rc};

use num_bigint::BigInt;

use super::{Fault, Heap, Integer, integer::small_bytes};
use crate::execute::interop::Interop;

/// Length limit of a byte string or a buffer.
pub const MAX_SIZE: usize = 65_535 * 2;
/// Length limit of a byte string as a map key.
pub const MAX_KEY_SIZE: usize = 64;
/// Byte strings up to this length are stored inline.
pub const INLINE: usize = 22;

/// A reference into the heap of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ref(pub(crate) u32);

/// A position in a script, for `CALLA`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Offset of the instruction.
    pub position: u32,
    /// Hash of the script.
    pub script: [u8; 20],
}

/// A stack item.
#[derive(Clone, Debug)]
pub enum Item {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer that needs more than 64 bits.
    Big(Rc<BigInt>),
    /// A byte string of up to `INLINE` bytes: length and bytes.
    Short(u8, [u8; INLINE]),
    /// A longer byte string.
    Bytes(Rc<[u8]>),
    /// A mutable buffer.
    Buffer(Rc<RefCell<Vec<u8>>>),
    /// An array, compared by reference.
    Array(Ref),
    /// A struct, compared and copied by value.
    Struct(Ref),
    /// A map, in insertion order.
    Map(Ref),
    /// A position in a script.
    Pointer(Rc<Pointer>),
    /// An interop object of the host.
    Interop(Rc<Interop>),
}

impl Item {
    /// A byte string.
    #[must_use]
    pub fn bytes(bytes: &[u8]) -> Self {
        if bytes.len() <= INLINE {
            let mut inline = [0; INLINE];
            inline[..bytes.len()].copy_from_slice(bytes);
            Self::Short(bytes.len() as u8, inline)
        } else {
            Self::Bytes(bytes.into())
        }
    }

    /// A buffer with these bytes.
    #[must_use]
    pub fn buffer(bytes: Vec<u8>) -> Self {
        Self::Buffer(Rc::new(RefCell::new(bytes)))
    }

    /// An interop object of the host.
    #[must_use]
    pub fn interop(interop: Interop) -> Self {
        Self::Interop(Rc::new(interop))
    }

    /// An integer of any size.
    ///
    /// # Errors
    ///
    /// Returns a fault if it needs more than 32 bytes.
    pub fn integer(big: BigInt) -> Result<Self, Fault> {
        Integer::checked(big).map(Self::from)
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> Type {
        match self {
            Self::Null => Type::Any,
            Self::Bool(_) => Type::Boolean,
            Self::Int(_) | Self::Big(_) => Type::Integer,
            Self::Short(..) | Self::Bytes(_) => Type::ByteString,
            Self::Buffer(_) => Type::Buffer,
            Self::Array(_) => Type::Array,
            Self::Struct(_) => Type::Struct,
            Self::Map(_) => Type::Map,
            Self::Pointer(_) => Type::Pointer,
            Self::Interop(_) => Type::Interop,
        }
    }

    /// The heap reference of an array, a struct or a map.
    #[must_use]
    pub fn place(&self) -> Option<Ref> {
        match self {
            Self::Array(place) | Self::Struct(place) | Self::Map(place) => Some(*place),
            _ => None,
        }
    }

    /// The bytes of a byte string.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Short(len, bytes) => Some(&bytes[..usize::from(*len)]),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Calls a function with the bytes of an item.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item does not convert to bytes.
    pub fn with_bytes<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        Ok(match self {
            Self::Short(len, bytes) => read(&bytes[..usize::from(*len)]),
            Self::Bytes(bytes) => read(bytes),
            Self::Buffer(bytes) => read(&bytes.borrow()),
            Self::Bool(value) => read(&[u8::from(*value)]),
            Self::Int(small) => {
                let (bytes, len) = small_bytes(*small);
                read(&bytes[..len])
            }
            Self::Big(big) => read(&big.to_signed_bytes_le()),
            _ => return Err(self.no_conversion(Type::ByteString)),
        })
    }

    /// The bytes of an item.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item does not convert to bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Fault> {
        self.with_bytes(<[u8]>::to_vec)
    }

    /// Exactly `N` bytes.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item does not convert to bytes or has another length.
    pub fn to_array<const N: usize>(&self) -> Result<[u8; N], Fault> {
        self.with_bytes(|bytes| {
            bytes.try_into().map_err(|_| Fault::Length { expected: N, found: bytes.len() })
        })?
    }

    /// As text.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item does not convert to bytes or is not UTF-8.
    pub fn to_text(&self) -> Result<String, Fault> {
        String::from_utf8(self.to_bytes()?).map_err(|_| Fault::NotUtf8)
    }

    /// Calls a function with the text of an item.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item does not convert to bytes or is not UTF-8.
    pub fn with_text<T>(&self, read: impl FnOnce(&str) -> T) -> Result<T, Fault> {
        self.with_bytes(|bytes| std::str::from_utf8(bytes).map(read))?.map_err(|_| Fault::NotUtf8)
    }

    /// As an integer.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item does not convert or is too long.
    #[inline]
    pub fn to_integer(&self) -> Result<Integer, Fault> {
        match self {
            Self::Int(small) => Ok(Integer::Small(*small)),
            Self::Big(big) => Ok(Integer::Big(Rc::clone(big))),
            Self::Bool(value) => Ok(Integer::Small(i64::from(*value))),
            Self::Short(len, bytes) => Integer::from_bytes(&bytes[..usize::from(*len)]),
            Self::Bytes(bytes) => Integer::from_bytes(bytes),
            _ => Err(self.no_conversion(Type::Integer)),
        }
    }

    /// As an integer of 64 bits.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item does not convert or does not fit.
    pub fn to_i64(&self) -> Result<i64, Fault> {
        self.to_integer()?.to_i64().ok_or(Fault::NotInt64)
    }

    /// As a boolean.
    ///
    /// # Errors
    ///
    /// Returns a fault for a byte string of more than 32 bytes.
    pub fn to_bool(&self) -> Result<bool, Fault> {
        Ok(match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(small) => *small != 0,
            Self::Short(len, bytes) => bytes[..usize::from(*len)].iter().any(|byte| *byte != 0),
            Self::Bytes(bytes) if bytes.len() > super::integer::MAX_BYTES => {
                return Err(Fault::IntegerTooBig);
            }
            Self::Bytes(bytes) => bytes.iter().any(|byte| *byte != 0),
            _ => true,
        })
    }

    /// Checks that the item is a valid map key.
    ///
    /// # Errors
    ///
    /// Returns a fault unless it is a boolean, an integer or a byte string of at most
    /// [`MAX_KEY_SIZE`] bytes.
    pub fn check_key(&self) -> Result<(), Fault> {
        match self {
            Self::Bool(_) | Self::Int(_) | Self::Big(_) | Self::Short(..) => Ok(()),
            Self::Bytes(bytes) if bytes.len() <= MAX_KEY_SIZE => Ok(()),
            Self::Bytes(_) => Err(Fault::KeyTooBig),
            _ => Err(Fault::KeyType(self.kind())),
        }
    }

    /// Converts the item to another type, as `CONVERT` does.
    ///
    /// # Errors
    ///
    /// Returns a fault if there is no such conversion.
    pub fn convert(&self, heap: &mut Heap, to: Type) -> Result<Self, Fault> {
        match (self, to) {
            (Self::Null, Type::Any) => Err(self.no_conversion(to)),
            (Self::Null, _) => Ok(Self::Null),
            _ if self.kind() == to => Ok(self.clone()),
            (_, Type::Boolean) => Ok(Self::Bool(self.to_bool()?)),
            (Self::Array(place), Type::Struct) => {
                let items = heap.list(*place).to_vec();
                Ok(heap.new_struct(items))
            }
            (Self::Struct(place), Type::Array) => {
                let items = heap.list(*place).to_vec();
                Ok(heap.new_array(items))
            }
            (Self::Buffer(bytes), Type::Integer) => {
                Integer::from_bytes(&bytes.borrow()).map(Self::from)
            }
            (_, Type::Integer) => self.to_integer().map(Self::from),
            (_, Type::ByteString) => self.with_bytes(Self::bytes),
            (_, Type::Buffer) => Ok(Self::buffer(self.to_bytes()?)),
            _ => Err(self.no_conversion(to)),
        }
    }
}

impl From<bool> for Item {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Item {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}
