//! Rows on their way into columns.

mod values;

use crate::error::Error;
use crate::schema::{DIGITS, Form, LARGE, Table};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use blockmill_rlp::U256;
use values::Values;

/// Bytes of a batch after which the next one begins; what a column of one can hold is far above.
const BATCH: usize = 32 << 20;

/// 10^38, which has one digit too many.
const LIMIT: i128 = 10_i128.pow(DIGITS as u32);

/// Has the number at most [`DIGITS`] digits?
pub(crate) fn fits(number: i128) -> bool {
    number.unsigned_abs() < LIMIT.unsigned_abs()
}

/// A number that its column has no room for: the name of the column, and the number without
/// leading zeros, most significant byte first.
type Large = (&'static str, Vec<u8>);

/// Rows of one table. The values of a row are added column by column, in the order of the table.
pub struct Rows {
    table: &'static Table,
    schema: SchemaRef,
    columns: Vec<Values>,
    form: Form,
    at: usize,
    /// Of the row at hand.
    large: Vec<Large>,
    digits: String,
    bytes: usize,
    rows: usize,
    /// Bytes of each complete row.
    sizes: Vec<usize>,
    done: Vec<Result<Vec<ArrayRef>, ArrowError>>,
    /// Bytes of complete rows.
    row_bytes: usize,
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
            form,
            at: 0,
            large: vec![],
            digits: String::new(),
            bytes: 0,
            rows: 0,
            sizes: vec![],
            done: vec![],
            row_bytes: 0,
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

    /// A list of structures: `each` adds the values of one, column by column. Their numbers must
    /// fit into their columns.
    pub fn structs<T>(
        &mut self,
        list: impl Iterator<Item = T>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        let bytes = match self.next(4) {
            (Values::Structs(structs), _) => structs.add(list, &mut each),
            (other, _) => {
                other.none();
                0
            }
        };
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

    /// A whole number. One of 2^63 or more is null, and goes into [`LARGE`].
    pub fn int(&mut self, value: impl Into<i128>) {
        let value = value.into();
        let Ok(number) = i64::try_from(value) else { return self.large(&value.to_be_bytes()) };
        match self.next(8) {
            (Values::Int(values), _) => values.append_value(number),
            (other, _) => other.none(),
        }
    }

    /// A whole number of up to 256 bits. One of 2^63 or more is null, and goes into [`LARGE`].
    pub fn wide_int(&mut self, value: U256) {
        match i64::try_from(value) {
            Ok(number) => self.int(number),
            Err(_) => self.large(&value.to_be_bytes::<32>()),
        }
    }

    /// A whole number as [`Rows::int`] takes it, or none.
    pub fn maybe_int(&mut self, value: Option<u64>) {
        match value {
            Some(value) => self.int(value),
            None => self.none(),
        }
    }

    /// A whole number of many digits. One of more than [`DIGITS`] is null, and goes into [`LARGE`].
    pub fn wei(&mut self, value: U256) {
        match value.try_into() {
            Ok(number) if fits(number) => self.decimal(number),
            _ => self.large(&value.to_be_bytes::<32>()),
        }
    }

    /// A number as [`Rows::wei`] takes it, or none.
    pub fn maybe_wei(&mut self, value: Option<U256>) {
        match value {
            Some(value) => self.wei(value),
            None => self.none(),
        }
    }

    /// A number with a sign, of at most [`DIGITS`] digits.
    pub fn decimal(&mut self, number: i128) {
        match self.next(16) {
            (Values::Wei(values), _) => values.append_value(number),
            (other, _) => other.none(),
        }
    }

    /// A moment, in microseconds since 1970. One of 2^63 or more is null, and goes into [`LARGE`].
    pub fn micros(&mut self, micros: u128) {
        let Ok(number) = i64::try_from(micros) else { return self.large(&micros.to_be_bytes()) };
        match self.next(8) {
            (Values::Time(values), _) => values.append_value(number),
            (other, _) => other.none(),
        }
    }

    /// A moment as [`Rows::micros`] takes it, in seconds since 1970.
    pub fn seconds(&mut self, seconds: u64) {
        self.micros(u128::from(seconds) * 1_000_000);
    }

    /// No value.
    pub fn none(&mut self) {
        self.next(1).0.none();
    }

    /// Leaves the next column empty, which cannot hold the number of these bytes.
    #[cold]
    fn large(&mut self, bytes: &[u8]) {
        let column = self.form.name_of(&self.table.columns[self.at]);
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        self.large.push((column, bytes[zeros..].to_vec()));
        self.none();
    }

    /// The row is complete, but for [`LARGE`] where the table has it.
    pub fn end(&mut self) {
        if self.table.columns.last().is_some_and(|column| column.name == LARGE.name) {
            match std::mem::take(&mut self.large) {
                none if none.is_empty() => self.none(),
                large => self.structs(large.iter(), |rows, (column, number)| {
                    rows.text(column);
                    rows.bytes(number);
                }),
            }
        }
        debug_assert_eq!(
            (self.at, self.large.len()),
            (self.columns.len(), 0),
            "{}",
            self.table.name
        );
        self.at = 0;
        self.rows += 1;
        self.sizes.push(self.bytes - self.row_bytes);
        self.row_bytes = self.bytes;
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
            (self.bytes, self.row_bytes, self.rows) = (0, 0, 0);
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
        Ok(Batches { batches, sizes: self.sizes })
    }
}

/// Rows of one table, as columns.
#[derive(Clone, Debug, Default)]
pub struct Batches {
    /// The rows, in order.
    pub batches: Vec<RecordBatch>,
    /// Bytes of the values of each row, about.
    pub sizes: Vec<usize>,
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
