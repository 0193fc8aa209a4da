//! Tables read again: the values of their columns, in whichever form they were written.

use crate::error::Error;
use crate::schema::{Form, Kind, LARGE, Names, Table};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Schema};
use blockmill_rlp::U256;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Rows that are read at once.
const ROWS: usize = 8192;

/// The rows of one file, batch by batch.
pub struct TableReader {
    file: String,
    table: &'static Table,
    facts: BTreeMap<String, String>,
    batches: ParquetRecordBatchReader,
}

impl TableReader {
    /// Opens a file of `table`.
    ///
    /// # Errors
    /// When it cannot be read, or is one of another table.
    pub fn open(path: &Path, table: &'static Table) -> Result<Self, Error> {
        let name = path.display().to_string();
        let error = |error| Error::Source { file: name.clone(), error };
        let file = File::open(path).map_err(error)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
        if form_of(table, builder.schema()).is_none() {
            let columns: Vec<_> = builder.schema().fields().iter().map(|f| f.name()).collect();
            return Err(Error::Column {
                file: name,
                expected: format!("the columns of {}", table.name),
                found: format!("{columns:?}"),
            });
        }
        let pairs = builder.metadata().file_metadata().key_value_metadata();
        let ours = pairs.into_iter().flatten().filter_map(|pair| {
            let key = pair.key.strip_prefix("blockmill.")?.to_owned();
            Some((key, pair.value.clone()?))
        });
        let facts = ours.collect();
        let batches = builder.with_batch_size(ROWS).build()?;
        Ok(Self { file: name, table, facts, batches })
    }

    /// What the footer says of the file: `chain`, `level`, `first`, `last` and more.
    #[must_use]
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }
}

impl Iterator for TableReader {
    type Item = Result<Cells, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        let (file, table) = (self.file.clone(), self.table);
        Some(batch.map(|batch| Cells { file, table, batch }).map_err(Error::from))
    }
}

/// The form in which a file with this schema was written.
fn form_of(table: &Table, found: &Schema) -> Option<Form> {
    let forms = [Names::Etl, Names::Cryo].into_iter();
    let mut forms = forms.flat_map(|names| [false, true].map(|hex| Form { hex, names }));
    forms.find(|form| {
        let expected = table.schema(*form);
        let is_before = table.columns.last().is_some_and(|column| column.name == LARGE.name);
        // files of earlier versions do not have the last column
        let count = expected.fields().len() - usize::from(is_before);
        let same = |(a, b): (&arrow_schema::FieldRef, &arrow_schema::FieldRef)| {
            a.name() == b.name() && a.data_type() == b.data_type()
        };
        (count..=expected.fields().len()).contains(&found.fields().len())
            && expected.fields().iter().zip(found.fields()).all(same)
    })
}

/// Some rows of a table. Columns are named as in ethereum-etl or bitcoin-etl, however the file
/// names them.
pub struct Cells {
    file: String,
    table: &'static Table,
    batch: RecordBatch,
}

impl Cells {
    /// How many rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The value of a column in a row is not what it must be.
    pub(crate) fn wrong(&self, row: usize, expected: &str, found: &str) -> Error {
        let file = format!("{}, row {row} of a batch", self.file);
        Error::Column { file, expected: expected.into(), found: found.into() }
    }

    /// The column, where this row has a value in it.
    fn column(&self, name: &str, row: usize) -> Result<Option<&dyn Array>, Error> {
        let at = self.table.columns.iter().position(|column| column.name == name);
        let at = at.ok_or_else(|| self.wrong(row, "a column of the table", name))?;
        let column = self.batch.columns().get(at);
        Ok(column.filter(|column| !column.is_null(row)).map(|column| &**column))
    }

    /// The number that a column has no room for, where the row has one.
    fn large(&self, name: &str, row: usize) -> Result<Option<U256>, Error> {
        if !self.table.columns.iter().any(|column| column.name == LARGE.name) {
            return Ok(None);
        }
        let Some(cells) = self.structs(LARGE.name, row)? else { return Ok(None) };
        let cryo = self.table.columns.iter().find(|column| column.name == name);
        let names = [Some(name), cryo.map(|column| column.cryo)];
        for at in 0..cells.rows() {
            let column = cells.column("column", at)?;
            let column = column.and_then(|column| column.as_string_opt::<i32>());
            if names.contains(&column.map(|column| column.value(at))) {
                let bytes = cells.bytes("number", at)?;
                let number = U256::try_from_be_slice(&bytes);
                return number.map(Some).ok_or_else(|| self.wrong(row, name, "more than 256 bits"));
            }
        }
        Ok(None)
    }

    /// A byte string, or none.
    ///
    /// # Errors
    /// When the column has no byte strings.
    pub fn maybe_bytes(&self, name: &str, row: usize) -> Result<Option<Cow<'_, [u8]>>, Error> {
        let Some(column) = self.column(name, row)? else { return Ok(None) };
        self.bytes_in(column, row).map(Some)
    }

    fn bytes_in<'c>(&self, column: &'c dyn Array, row: usize) -> Result<Cow<'c, [u8]>, Error> {
        if let Some(values) = column.as_fixed_size_binary_opt() {
            return Ok(Cow::Borrowed(values.value(row)));
        }
        if let Some(values) = column.as_binary_opt::<i32>() {
            return Ok(Cow::Borrowed(values.value(row)));
        }
        let text = column.as_string_opt::<i32>().map(|values| values.value(row));
        let bytes = text.and_then(bytes_of);
        bytes.map(Cow::Owned).ok_or_else(|| self.wrong(row, "bytes, or 0x and digits", "others"))
    }

    /// A byte string.
    ///
    /// # Errors
    /// When there is none.
    pub fn bytes(&self, name: &str, row: usize) -> Result<Cow<'_, [u8]>, Error> {
        self.maybe_bytes(name, row)?.ok_or_else(|| self.wrong(row, name, "no value"))
    }

    /// A word.
    ///
    /// # Errors
    /// When there is none.
    pub fn text(&self, name: &str, row: usize) -> Result<&str, Error> {
        let column = self.column(name, row)?.and_then(|column| column.as_string_opt::<i32>());
        column.map(|column| column.value(row)).ok_or_else(|| self.wrong(row, name, "no text"))
    }

    /// A byte string of a fixed length.
    ///
    /// # Errors
    /// When there is none of that length.
    pub fn fixed<const N: usize>(&self, name: &str, row: usize) -> Result<[u8; N], Error> {
        self.maybe_fixed(name, row)?.ok_or_else(|| self.wrong(row, name, "no value"))
    }

    /// A byte string of a fixed length, or none.
    ///
    /// # Errors
    /// When it has another length.
    pub fn maybe_fixed<const N: usize>(
        &self,
        name: &str,
        row: usize,
    ) -> Result<Option<[u8; N]>, Error> {
        let Some(bytes) = self.maybe_bytes(name, row)? else { return Ok(None) };
        let fixed = (*bytes).try_into();
        fixed.map(Some).map_err(|_| self.wrong(row, name, "bytes of another length"))
    }

    /// The byte strings of a list; `None` if there is no list.
    ///
    /// # Errors
    /// When the column has no lists of byte strings.
    pub fn list(&self, name: &str, row: usize) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let Some(column) = self.column(name, row)? else { return Ok(None) };
        let list = column.as_list_opt::<i32>().map(|lists| lists.value(row));
        let list = list.ok_or_else(|| self.wrong(row, name, "no list"))?;
        let bytes = |at| self.bytes_in(&*list, at).map(Cow::into_owned);
        (0..list.len()).map(bytes).collect::<Result<_, _>>().map(Some)
    }

    /// The structures of a list, as rows of their own; `None` if there is no list.
    ///
    /// # Errors
    /// When the column has no lists of structures.
    pub fn structs(&self, name: &str, row: usize) -> Result<Option<Self>, Error> {
        let Some(column) = self.column(name, row)? else { return Ok(None) };
        let table = self.table.columns.iter().find_map(|column| match column.kind {
            Kind::Structs(table) if column.name == name => Some(table),
            _ => None,
        });
        let list = column.as_list_opt::<i32>().map(|lists| lists.value(row));
        let structs = list.as_ref().and_then(|list| list.as_struct_opt());
        match (table, structs) {
            (Some(table), Some(structs)) if structs.null_count() == 0 => {
                let (file, batch) = (self.file.clone(), RecordBatch::from(structs));
                Ok(Some(Self { file, table, batch }))
            }
            _ => Err(self.wrong(row, name, "no list of structures")),
        }
    }

    /// A whole number; `None` if there is no value.
    ///
    /// # Errors
    /// Returns an error if the column has other values, or the number has more than 64 bits.
    pub fn maybe_int(&self, name: &str, row: usize) -> Result<Option<u64>, Error> {
        let Some(number) = self.maybe_micros(name, row)? else { return Ok(None) };
        let number = u64::try_from(number);
        number.map(Some).map_err(|_| self.wrong(row, name, "more than 64 bits"))
    }

    /// A whole number, or the microseconds of a moment; `None` if there is no value.
    fn maybe_micros(&self, name: &str, row: usize) -> Result<Option<u128>, Error> {
        let Some(column) = self.column(name, row)? else {
            let Some(number) = self.large(name, row)? else { return Ok(None) };
            let number = u128::try_from(number);
            return number.map(Some).map_err(|_| self.wrong(row, name, "more than 128 bits"));
        };
        let value = match column.data_type() {
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row),
            DataType::Timestamp(..) => column.as_primitive::<TimestampMicrosecondType>().value(row),
            _ => return Err(self.wrong(row, name, "another type")),
        };
        u128::try_from(value).map(Some).map_err(|_| self.wrong(row, name, "less than 0"))
    }

    /// A moment in units of so many microseconds.
    ///
    /// # Errors
    /// Returns an error if there is none, or it has more than 64 bits.
    pub fn time(&self, name: &str, row: usize, unit: u128) -> Result<u64, Error> {
        let micros = self.maybe_micros(name, row)?;
        let micros = micros.ok_or_else(|| self.wrong(row, name, "no value"))?;
        u64::try_from(micros / unit).map_err(|_| self.wrong(row, name, "more than 64 bits"))
    }

    /// A whole number with its sign.
    ///
    /// # Errors
    /// When there is none.
    pub fn signed(&self, name: &str, row: usize) -> Result<i64, Error> {
        let column = self.column(name, row)?;
        let values = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
        values.map(|values| values.value(row)).ok_or_else(|| self.wrong(row, name, "no number"))
    }

    /// True or false.
    ///
    /// # Errors
    /// When it is neither.
    pub fn is(&self, name: &str, row: usize) -> Result<bool, Error> {
        let column = self.column(name, row)?;
        let values = column.and_then(|column| column.as_boolean_opt());
        values.map(|values| values.value(row)).ok_or_else(|| self.wrong(row, name, "neither"))
    }

    /// A whole number, or the microseconds of a moment.
    ///
    /// # Errors
    /// When there is neither.
    pub fn int(&self, name: &str, row: usize) -> Result<u64, Error> {
        self.maybe_int(name, row)?.ok_or_else(|| self.wrong(row, name, "no value"))
    }

    /// A whole number of up to 256 bits.
    ///
    /// # Errors
    /// When there is none.
    pub fn wide_int(&self, name: &str, row: usize) -> Result<U256, Error> {
        if self.column(name, row)?.is_some() {
            return self.int(name, row).map(U256::from);
        }
        self.large(name, row)?.ok_or_else(|| self.wrong(row, name, "no value"))
    }

    /// A number of many digits; `None` if there is no value.
    ///
    /// # Errors
    /// When the column has none.
    pub fn maybe_wei(&self, name: &str, row: usize) -> Result<Option<U256>, Error> {
        let Some(column) = self.column(name, row)? else { return self.large(name, row) };
        let values = column.as_primitive_opt::<Decimal128Type>();
        let value = values.and_then(|values| u128::try_from(values.value(row)).ok());
        value.map(U256::from).map(Some).ok_or_else(|| self.wrong(row, name, "no number"))
    }

    /// A number of many digits.
    ///
    /// # Errors
    /// When there is none.
    pub fn wei(&self, name: &str, row: usize) -> Result<U256, Error> {
        self.maybe_wei(name, row)?.ok_or_else(|| self.wrong(row, name, "no value"))
    }
}

/// The rows of a file, one after the other.
pub(crate) struct Cursor {
    reader: TableReader,
    cells: Cells,
    /// The row at hand; the rows of `cells` where there is none yet.
    at: usize,
}

impl Cursor {
    /// Before the first row.
    pub fn open(path: &Path, table: &'static Table) -> Result<Self, Error> {
        let reader = TableReader::open(path, table)?;
        let schema = reader.batches.schema();
        let file = reader.file.clone();
        let cells = Cells { file, table, batch: RecordBatch::new_empty(schema) };
        Ok(Self { reader, cells, at: 0 })
    }

    /// Goes to the next row; false when there is none.
    pub fn advance(&mut self) -> Result<bool, Error> {
        self.at += 1;
        while self.at >= self.cells.rows() {
            let Some(cells) = self.reader.next() else { return Ok(false) };
            (self.cells, self.at) = (cells?, 0);
        }
        Ok(true)
    }

    /// The row at hand.
    pub fn row(&self) -> (&Cells, usize) {
        (&self.cells, self.at)
    }

    /// The next row, which must be there.
    pub fn expect(&mut self) -> Result<(&Cells, usize), Error> {
        match self.advance()? {
            true => Ok(self.row()),
            false => Err(self.cells.wrong(0, "another row", "the end of the file")),
        }
    }
}

/// The bytes after `0x`.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => u8::try_from(16 * digit(high)? + digit(low)?).ok(),
        _ => None,
    };
    text.strip_prefix("0x")?.as_bytes().chunks(2).map(pair).collect()
}
