//! Faults, which end an execution.

use super::{MAX_ITEMS, Type, frame::MAX_INVOCATIONS, opcode};

/// Why an instruction failed. The words are those of the reference client where application logs
/// show them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Fault {
    #[error("GAS limit exceeded")]
    Gas,
    #[error("stack is too big: {0} vs {MAX_ITEMS}")]
    TooManyItems(usize),
    #[error("invocation stack is too big: {MAX_INVOCATIONS}")]
    TooManyInvocations,
    #[error("maximum TRY depth exceeded")]
    TryDepth,
    #[error("runtime error: index out of range [-1]")]
    EmptyStack,
    #[error("incorrect opcode {}", opcode::name(*.0))]
    Opcode(u8),
    #[error("failed to read instruction parameter")]
    Operand,
    #[error("invalid offset {offset} ip at {at}")]
    Offset { offset: i64, at: usize },
    #[error("instruction offset is out of range")]
    Jump,
    #[error("invalid conversion: {from}/{to}")]
    Conversion { from: &'static str, to: &'static str },
    #[error("invalid type: {0}")]
    Type(u8),
    #[error("not an int32")]
    NotInt32,
    #[error("invalid value: bigint is not in int64 range")]
    NotInt64,
    #[error("too big: integer")]
    IntegerTooBig,
    #[error("too big: map key")]
    KeyTooBig,
    #[error("invalid type: {} map key", .0.name())]
    KeyType(Type),
    #[error("too big: size")]
    TooBig(usize),
    #[error("too big: many elements")]
    TooManyElements,
    #[error("too big: uncomparable")]
    TooBigToCompare,
    #[error("recursive item")]
    Recursive,
    #[error("unserializable: {}", .0.name())]
    Unserializable(Type),
    #[error("item is read-only")]
    ReadOnly,
    #[error("element is not an array")]
    NotList,
    #[error("not a Map")]
    NotMap,
    #[error("runtime error: index out of range [{index}] with length {len}")]
    Slot { index: usize, len: usize },
    #[error("slot index is out of range: {index} with length {len}")]
    StoreSlot { index: usize, len: usize },
    /// A Go program takes an item for one of another type.
    #[error("interface conversion: {of} is {found}, not {expected}")]
    Assertion { of: &'static str, found: &'static str, expected: &'static str },
    #[error("invalid item type {}", .0.name())]
    ItemType(Type),
    #[error("expected {expected} bytes, found {found}")]
    Length { expected: usize, found: usize },
    #[error("invalid value: not UTF-8")]
    NotUtf8,
    #[error("{0}")]
    Range(&'static str),
    #[error("already initialized")]
    Initialized,
    #[error("slot is not initialized")]
    NoSlot,
    #[error("invalid return values count: expected {expected}, got {found}")]
    Results { expected: i32, found: usize },
    #[error("multiple return values in a cross-contract call")]
    ManyResults,
    #[error("{0}")]
    Unhandled(String),
    #[error("{0}")]
    Message(String),
    /// A native contract of the reference client panics: its log names no system call before it.
    #[error("{0}")]
    Panicked(String),
    #[error("{0}")]
    Rule(&'static str),
}
