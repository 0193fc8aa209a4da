//! Rows on their way into columns.

use crate::error::Error;
use crate::schema::{Column, DIGITS, ELEMENT, Form, Kind, Table, UTC};
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Decimal128Builder, FixedSizeBinaryBuilder, Int64Builder,
    ListBuilder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, SchemaRef};
use std::fmt::Display;
use std::sync::Arc;

/// Bytes of a batch after which the next one begins; what a column of one can hold is far above.
const BATCH: usize = 32 << 20;

/// 10^38, which has one digit too many.
const LIMIT: i128 = 10_i128.pow(DIGITS as u32);

/// Has the number at most [`DIGITS`] digits?
pub(crate) fn fits(number: i128) -> bool {
    number.unsigned_abs() < LIMIT.unsigned_abs()
}

/// A number that a column has no room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The column.
    pub column: &'static str,
    /// What it can hold.
    pub expected: String,
    /// What it should.
    pub found: String,
}

/// Rows of one table. The values of a row are added column by column, in the order of the table.
pub struct Rows {
    table: &'static Table,
    schema: SchemaRef,
    columns: Vec<Values>,
    at: usize,
    digits: String,
    bytes: usize,
    rows: usize,
    done: Vec<Vec<ArrayRef>>,
    done_bytes: usize,
}

/// The values of one column.
enum Values {
    Fixed(FixedSizeBinaryBuilder),
    Bytes(BinaryBuilder),
    Hex(StringBuilder),
    Fixeds(ListBuilder<FixedSizeBinaryBuilder>),
    Strings(ListBuilder<BinaryBuilder>),
    Hexes(ListBuilder<StringBuilder>),
    Int(Int64Builder),
    Wei(Decimal128Builder),
    Time(TimestampMicrosecondBuilder),
    Bool(BooleanBuilder),
}

impl Values {
    fn new(column: &Column, form: Form) -> Self {
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
            Kind::Int => Self::Int(Int64Builder::new()),
            Kind::Wei => {
                let values = Decimal128Builder::new();
                Self::Wei(values.with_data_type(form.data_type(Kind::Wei)))
            }
            Kind::Time => Self::Time(TimestampMicrosecondBuilder::new().with_timezone(UTC)),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
        }
    }

    fn none(&mut self) {
        match self {
            Self::Fixed(values) => values.append_null(),
            Self::Bytes(values) => values.append_null(),
            Self::Hex(values) => values.append_null(),
            Self::Fixeds(values) => values.append_null(),
            Self::Strings(values) => values.append_null(),
            Self::Hexes(values) => values.append_null(),
            Self::Int(values) => values.append_null(),
            Self::Wei(values) => values.append_null(),
            Self::Time(values) => values.append_null(),
            Self::Bool(values) => values.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Fixed(values) => Arc::new(values.finish()),
            Self::Bytes(values) => Arc::new(values.finish()),
            Self::Hex(values) => Arc::new(values.finish()),
            Self::Fixeds(values) => Arc::new(values.finish()),
            Self::Strings(values) => Arc::new(values.finish()),
            Self::Hexes(values) => Arc::new(values.finish()),
            Self::Int(values) => Arc::new(values.finish()),
            Self::Wei(values) => Arc::new(values.finish()),
            Self::Time(values) => Arc::new(values.finish()),
            Self::Bool(values) => Arc::new(values.finish()),
        }
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

impl Rows {
    /// None so far.
    #[must_use]
    pub fn new(table: &'static Table, form: Form) -> Self {
        let schema = table.schema(form);
        let columns = table.columns.iter().map(|column| Values::new(column, form)).collect();
        Self {
            table,
            schema,
            columns,
            at: 0,
            digits: String::new(),
            bytes: 0,
            rows: 0,
            done: vec![],
            done_bytes: 0,
        }
    }

    /// The next column of the row, and what it takes a value of so many bytes for.
    fn next(&mut self, bytes: usize) -> (&mut Values, &mut String) {
        let at = self.at;
        self.at += 1;
        self.bytes += bytes;
        (&mut self.columns[at], &mut self.digits)
    }

    /// A byte string; text where the form says so. One of the wrong length is none.
    pub fn bytes(&mut self, value: &[u8]) {
        match self.next(value.len()) {
            (Values::Fixed(values), _) => {
                if values.append_value(value).is_err() {
                    values.append_null();
                }
            }
            (Values::Bytes(values), _) => values.append_value(value),
            (Values::Hex(values), digits) => {
                write_hex(value, digits);
                values.append_value(digits);
            }
            (other, _) => other.none(),
        }
    }

    /// A byte string, or none.
    pub fn maybe_bytes(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.bytes(value),
            None => self.none(),
        }
    }

    /// A list of byte strings, of which those of a fixed length all have it.
    pub fn list<'v>(&mut self, list: impl Iterator<Item = &'v [u8]>) {
        let mut bytes = 0;
        let mut sized = |value: &[u8]| bytes += value.len() + 4;
        match self.next(0) {
            (Values::Fixeds(values), _) => {
                for value in list {
                    sized(value);
                    if values.values().append_value(value).is_err() {
                        values.values().append_null();
                    }
                }
                values.append(true);
            }
            (Values::Strings(values), _) => {
                for value in list {
                    sized(value);
                    values.values().append_value(value);
                }
                values.append(true);
            }
            (Values::Hexes(values), digits) => {
                for value in list {
                    sized(value);
                    write_hex(value, digits);
                    values.values().append_value(&*digits);
                }
                values.append(true);
            }
            (other, _) => other.none(),
        }
        self.bytes += bytes;
    }

    /// A word.
    pub fn text(&mut self, value: &str) {
        match self.next(value.len()) {
            (Values::Hex(values), _) => values.append_value(value),
            (other, _) => other.none(),
        }
    }

    /// True or false.
    pub fn bool(&mut self, value: bool) {
        match self.next(1) {
            (Values::Bool(values), _) => values.append_value(value),
            (other, _) => other.none(),
        }
    }

    /// A whole number.
    ///
    /// # Errors
    /// When the column has no room for it.
    pub fn int(&mut self, value: impl TryInto<i64> + Display + Copy) -> Result<(), Overflow> {
        let Ok(number) = value.try_into() else { return Err(self.overflow("below 2^63", value)) };
        match self.next(8) {
            (Values::Int(values), _) => values.append_value(number),
            (other, _) => other.none(),
        }
        Ok(())
    }

    /// A whole number, or none.
    ///
    /// # Errors
    /// When the column has no room for it.
    pub fn maybe_int(&mut self, value: Option<u64>) -> Result<(), Overflow> {
        match value {
            Some(value) => self.int(value),
            None => {
                self.none();
                Ok(())
            }
        }
    }

    /// A whole number of many digits.
    ///
    /// # Errors
    /// When it has too many.
    pub fn wei(&mut self, value: impl TryInto<i128> + Display + Copy) -> Result<(), Overflow> {
        let number = value.try_into().ok().filter(|number| fits(*number));
        let Some(number) = number else { return Err(self.overflow("at most 38 digits", value)) };
        match self.next(16) {
            (Values::Wei(values), _) => values.append_value(number),
            (other, _) => other.none(),
        }
        Ok(())
    }

    /// The same, or none.
    ///
    /// # Errors
    /// When it has too many.
    pub fn maybe_wei(
        &mut self,
        value: Option<impl TryInto<i128> + Display + Copy>,
    ) -> Result<(), Overflow> {
        match value {
            Some(value) => self.wei(value),
            None => {
                self.none();
                Ok(())
            }
        }
    }

    /// A moment, in microseconds since 1970.
    ///
    /// # Errors
    /// When that is too many.
    pub fn micros(&mut self, micros: u128) -> Result<(), Overflow> {
        let Ok(number) = i64::try_from(micros) else {
            return Err(self.overflow("below 2^63 microseconds", micros));
        };
        match self.next(8) {
            (Values::Time(values), _) => values.append_value(number),
            (other, _) => other.none(),
        }
        Ok(())
    }

    /// A moment, in seconds since 1970.
    ///
    /// # Errors
    /// When that is too many.
    pub fn seconds(&mut self, seconds: u64) -> Result<(), Overflow> {
        self.micros(u128::from(seconds) * 1_000_000)
    }

    /// No value.
    pub fn none(&mut self) {
        self.next(1).0.none();
    }

    /// The next column cannot hold `found`.
    #[cold]
    fn overflow(&self, expected: &str, found: impl Display) -> Overflow {
        let column = self.table.columns[self.at].name;
        Overflow { column, expected: expected.into(), found: found.to_string() }
    }

    /// The row is complete.
    pub fn end(&mut self) {
        debug_assert_eq!(self.at, self.columns.len(), "{}", self.table.name);
        self.at = 0;
        self.rows += 1;
        if self.bytes >= BATCH {
            self.end_batch();
        }
    }

    fn end_batch(&mut self) {
        if self.rows > 0 {
            self.done.push(self.columns.iter_mut().map(Values::finish).collect());
            self.done_bytes += self.bytes;
            (self.bytes, self.rows) = (0, 0);
        }
    }

    /// All rows.
    ///
    /// # Errors
    /// When their values are not those of the table.
    pub fn finish(mut self) -> Result<Batches, Error> {
        self.end_batch();
        let schema = &self.schema;
        let batch = |columns| RecordBatch::try_new(schema.clone(), columns);
        let batches = self.done.into_iter().map(batch).collect::<Result<_, _>>()?;
        Ok(Batches { batches, bytes: self.done_bytes })
    }
}

/// Rows of one table, as columns.
#[derive(Clone, Debug, Default)]
pub struct Batches {
    /// The rows, in order.
    pub batches: Vec<RecordBatch>,
    /// Bytes of their values, about.
    pub bytes: usize,
}

impl Batches {
    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[cfg(test)]
mod tests;
