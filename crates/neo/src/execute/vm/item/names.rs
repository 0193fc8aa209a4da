//! How neo-go names items and their types in the messages of faults.

use super::{Item, Type};
use crate::execute::vm::Fault;

impl Item {
    /// The name that faults of the reference client show.
    pub(crate) fn shown(&self) -> &'static str {
        match self {
            Self::Null => "Null",
            Self::Int(_) | Self::Big(_) => "BigInteger",
            other => other.kind().name(),
        }
    }

    /// The conversion that is not there.
    pub(crate) fn no_conversion(&self, to: Type) -> Fault {
        Fault::Conversion { from: self.shown(), to: to.name() }
    }

    /// The item is not of the one type that the reference client takes there.
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

    /// As [`Item::is_no`], of what the item holds.
    pub(crate) fn value_is_no(&self, expected: &'static str) -> Fault {
        Fault::Assertion { of: "interface {}", found: self.value_type(), expected }
    }

    /// The type of what the item holds, as faults of the reference client show it.
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
