//! Rows on their way into columns.

mod values;

use crate::error::Error;
use crate::schema::{DIGITS, Form, Table};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use std::fmt::Display;
use values::Values;

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
    done: Vec<Result<Vec<ArrayRef>, ArrowError>>,
    done_bytes: usize,
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
        let (values, digits) = self.next(value.len());
        values.bytes(value, digits);
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
        let (values, digits) = self.next(0);
        self.bytes += values.list(list, digits);
    }

    /// A list of structures: `each` adds the values of one, column by column.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn structs<T>(
        &mut self,
        list: impl Iterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Result<(), Overflow>,
    ) -> Result<(), Overflow> {
        let bytes = match self.next(4) {
            (Values::Structs(structs), _) => structs.add(list, &mut each)?,
            (other, _) => {
                other.none();
                0
            }
        };
        self.bytes += bytes;
        Ok(())
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

    fn columns(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        self.columns.iter_mut().map(Values::finish).collect()
    }

    fn end_batch(&mut self) {
        if self.rows > 0 {
            let columns = self.columns();
            self.done.push(columns);
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
        let batches = self.done.into_iter().map(|columns| columns.and_then(batch));
        let batches = batches.collect::<Result<_, _>>()?;
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
