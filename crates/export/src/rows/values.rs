//! The values of one column on their way into it.

use super::Rows;
use crate::schema::{Column, ELEMENT, Form, Kind, Table, UTC};
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Decimal128Builder, FixedSizeBinaryBuilder, Int64Builder,
    ListBuilder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBufferBuilder};
use arrow_schema::{ArrowError, Field};
use std::sync::Arc;

/// See the module's text.
pub(super) enum Values {
    Fixed(FixedSizeBinaryBuilder),
    Bytes(BinaryBuilder),
    Hex(StringBuilder),
    Fixeds(ListBuilder<FixedSizeBinaryBuilder>),
    Strings(ListBuilder<BinaryBuilder>),
    Hexes(ListBuilder<StringBuilder>),
    Structs(Box<Structs>),
    Int(Int64Builder),
    Wei(Decimal128Builder),
    Time(TimestampMicrosecondBuilder),
    Bool(BooleanBuilder),
}

impl Values {
    pub fn new(column: &Column, form: Form) -> Self {
        let element = |kind| Arc::new(Field::new(ELEMENT, form.data_type(kind), false));
        match column.kind {
            Kind::Text => Self::Hex(StringBuilder::new()),
            Kind::Fixed(_) | Kind::Bytes if form.hex => Self::Hex(StringBuilder::new()),
            Kind::Fixeds(_) | Kind::Strings if form.hex => {
                let list = ListBuilder::new(StringBuilder::new());
                Self::Hexes(list.with_field(element(Kind::Text)))
            }
            Kind::Fixed(width) => Self::Fixed(FixedSizeBinaryBuilder::new(width.into())),
            Kind::Bytes => Self::Bytes(BinaryBuilder::new()),
            Kind::Fixeds(width) => {
                let list = ListBuilder::new(FixedSizeBinaryBuilder::new(width.into()));
                Self::Fixeds(list.with_field(element(Kind::Fixed(width))))
            }
            Kind::Strings => {
                let list = ListBuilder::new(BinaryBuilder::new());
                Self::Strings(list.with_field(element(Kind::Bytes)))
            }
            Kind::Structs(table) => Self::Structs(Box::new(Structs::new(table, form))),
            Kind::Int => Self::Int(Int64Builder::new()),
            Kind::Wei => {
                let values = Decimal128Builder::new();
                Self::Wei(values.with_data_type(form.data_type(Kind::Wei)))
            }
            Kind::Time => Self::Time(TimestampMicrosecondBuilder::new().with_timezone(UTC)),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
        }
    }

    pub fn none(&mut self) {
        match self {
            Self::Fixed(values) => values.append_null(),
            Self::Bytes(values) => values.append_null(),
            Self::Hex(values) => values.append_null(),
            Self::Fixeds(values) => values.append_null(),
            Self::Strings(values) => values.append_null(),
            Self::Hexes(values) => values.append_null(),
            Self::Structs(values) => values.end(0, false),
            Self::Int(values) => values.append_null(),
            Self::Wei(values) => values.append_null(),
            Self::Time(values) => values.append_null(),
            Self::Bool(values) => values.append_null(),
        }
    }

    /// A byte string. One of the wrong length is none.
    pub fn bytes(&mut self, value: &[u8], digits: &mut String) {
        match self {
            Self::Fixed(values) => {
                if values.append_value(value).is_err() {
                    values.append_null();
                }
            }
            Self::Bytes(values) => values.append_value(value),
            Self::Hex(values) => {
                write_hex(value, digits);
                values.append_value(digits);
            }
            other => other.none(),
        }
    }

    /// A list of byte strings; how many bytes they are.
    pub fn list<'v>(&mut self, list: impl Iterator<Item = &'v [u8]>, digits: &mut String) -> usize {
        let mut bytes = 0;
        let list = list.inspect(|value| bytes += value.len() + 4);
        match self {
            Self::Fixeds(values) => {
                for value in list {
                    if values.values().append_value(value).is_err() {
                        values.values().append_null();
                    }
                }
                values.append(true);
            }
            Self::Strings(values) => {
                list.for_each(|value| values.values().append_value(value));
                values.append(true);
            }
            Self::Hexes(values) => {
                for value in list {
                    write_hex(value, digits);
                    values.values().append_value(&*digits);
                }
                values.append(true);
            }
            other => other.none(),
        }
        bytes
    }

    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Fixed(values) => Arc::new(values.finish()),
            Self::Bytes(values) => Arc::new(values.finish()),
            Self::Hex(values) => Arc::new(values.finish()),
            Self::Fixeds(values) => Arc::new(values.finish()),
            Self::Strings(values) => Arc::new(values.finish()),
            Self::Hexes(values) => Arc::new(values.finish()),
            Self::Structs(values) => Arc::new(values.finish()?),
            Self::Int(values) => Arc::new(values.finish()),
            Self::Wei(values) => Arc::new(values.finish()),
            Self::Time(values) => Arc::new(values.finish()),
            Self::Bool(values) => Arc::new(values.finish()),
        })
    }
}

/// Lists of structures: the structures of all lists as rows of their own, and where each list ends.
pub(super) struct Structs {
    rows: Rows,
    ends: OffsetBufferBuilder<i32>,
    valid: NullBufferBuilder,
}

impl Structs {
    fn new(table: &'static Table, form: Form) -> Self {
        let (ends, valid) = (OffsetBufferBuilder::new(0), NullBufferBuilder::new(0));
        Self { rows: Rows::new(table, form), ends, valid }
    }

    /// Adds a list; how many bytes it has.
    pub fn add<T>(
        &mut self,
        list: impl Iterator<Item = T>,
        each: &mut impl FnMut(&mut Rows, T),
    ) -> usize {
        let (mut count, before) = (0, self.rows.bytes);
        for one in list {
            each(&mut self.rows, one);
            self.rows.at = 0;
            count += 1;
        }
        self.end(count, true);
        self.rows.bytes - before
    }

    fn end(&mut self, count: usize, is_list: bool) {
        self.ends.push_length(count);
        self.valid.append(is_list);
    }

    fn finish(&mut self) -> Result<ListArray, ArrowError> {
        let fields = self.rows.schema.fields().clone();
        let structs = StructArray::try_new(fields, self.rows.columns()?, None)?;
        let ends = std::mem::replace(&mut self.ends, OffsetBufferBuilder::new(0)).finish();
        let field = Field::new(ELEMENT, structs.data_type().clone(), false);
        ListArray::try_new(Arc::new(field), ends, Arc::new(structs), self.valid.finish())
    }
}

/// Writes `0x` and the digits of `bytes`.
fn write_hex(bytes: &[u8], to: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    to.clear();
    to.push_str("0x");
    for byte in bytes {
        to.push(DIGITS[usize::from(byte >> 4)].into());
        to.push(DIGITS[usize::from(byte & 15)].into());
    }
}
