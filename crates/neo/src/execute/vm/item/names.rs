//! How neo-go names items and their types in the messages of faults.

use super::{Item, Type};
use crate::execute::vm::Fault;

impl Item {
    /// The item's type name in the reference client's messages.
    pub(crate) fn shown(&self) -> &'static str {
        match self {
            Self::Null => "Null",
            Self::Int(_) | Self::Big(_) => "BigInteger",
            other => other.kind().name(),
        }
    }

    /// The fault for a missing conversion.
    pub(crate) fn no_conversion(&self, to: Type) -> Fault {
        Fault::Conversion { from: self.shown(), to: to.name() }
    }

    /// The fault of a failed type assertion in the reference client.
    pub(crate) fn is_no(&self, expected: &'static str) -> Fault {
        let found = match self {
            Self::Null => "stackitem.Null",
            Self::Bool(_) => "stackitem.Bool",
            Self::Int(_) | Self::Big(_) => "*stackitem.BigInteger",
            Self::Short(..) | Self::Bytes(_) => "*stackitem.ByteArray",
            Self::Buffer(_) => "*stackitem.Buffer",
            Self::Array(_) => "*stackitem.Array",
            Self::Struct(_) => "*stackitem.Struct",
            Self::Map(_) => "*stackitem.Map",
            Self::Pointer(_) => "*stackitem.Pointer",
            Self::Interop(_) => "*stackitem.Interop",
        };
        Fault::Assertion { of: "stackitem.Item", found, expected }
    }

    /// The fault of a failed type assertion on the item's value.
    pub(crate) fn value_is_no(&self, expected: &'static str) -> Fault {
        Fault::Assertion { of: "interface {}", found: self.value_type(), expected }
    }

    /// The Go type of the item's value in the reference client's messages.
    pub(crate) fn value_type(&self) -> &'static str {
        match self {
            Self::Null => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Big(_) => "*big.Int",
            Self::Short(..) | Self::Bytes(_) | Self::Buffer(_) => "[]uint8",
            Self::Array(_) | Self::Struct(_) => "[]stackitem.Item",
            Self::Map(_) => "[]stackitem.MapElement",
            Self::Pointer(_) => "int",
            Self::Interop(interop) => interop.go_type(),
        }
    }
}
