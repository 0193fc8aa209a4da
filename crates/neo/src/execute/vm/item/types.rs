//! The types of stack items.

/// The type of a stack item, with its number (`stackitem.Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Type {
    Any = 0x00,
    Pointer = 0x10,
    Boolean = 0x20,
    Integer = 0x21,
    ByteString = 0x28,
    Buffer = 0x30,
    Array = 0x40,
    Struct = 0x41,
    Map = 0x48,
    Interop = 0x60,
}

impl Type {
    /// The type with this number.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x00 => Self::Any,
            0x10 => Self::Pointer,
            0x20 => Self::Boolean,
            0x21 => Self::Integer,
            0x28 => Self::ByteString,
            0x30 => Self::Buffer,
            0x40 => Self::Array,
            0x41 => Self::Struct,
            0x48 => Self::Map,
            0x60 => Self::Interop,
            _ => return None,
        })
    }

    /// Its name in application logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "Any",
            Self::Pointer => "Pointer",
            Self::Boolean => "Boolean",
            Self::Integer => "Integer",
            Self::ByteString => "ByteString",
            Self::Buffer => "Buffer",
            Self::Array => "Array",
            Self::Struct => "Struct",
            Self::Map => "Map",
            Self::Interop => "InteropInterface",
        }
    }
}
