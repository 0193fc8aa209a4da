//! The columns of all tables, encoded side by side.
//!
//! A task has some of the columns and takes every piece of the chain in order; several tasks have a
//! piece at the same time. So the pages of a row group are made by as many threads as there are
//! tasks, and the writer only strings them together. All of them go by the same [`Cuts`].

use crate::error::Error;
use crate::partition::Partition;
use crate::rows::Batches;
use crate::schema::{Form, Table};
use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of values that a row group has, about.
pub const ROW_GROUP: usize = 128 << 20;

/// Rows that are encoded at once, at most, and about how many bytes. Pages and row groups end only
/// where these do. So they do not depend on the pieces in which rows arrive, which depend on
/// threads and time.
const ROWS: usize = 1024;
const BYTES: usize = 8 << 20;

/// Blocks of one partition, as columns.
#[derive(Debug)]
pub struct Piece {
    /// The partition.
    pub partition: Partition,
    /// First and last block.
    pub range: (u64, u64),
    /// The rows of each table that is written.
    pub tables: Vec<Batches>,
}

/// Where partitions and row groups end, by what came before.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
    partition: Option<Partition>,
    sums: Vec<Sums>,
    row_group: usize,
}

/// What a table has since the last cuts.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Bytes of the row group.
    row_group: usize,
    /// Rows that are not encoded yet, and their bytes.
    waiting: (usize, usize),
}

/// A place after which rows are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// How many rows of the piece come before it.
    rows: usize,
    /// Whether a row group ends there.
    pub ends_row_group: bool,
}

impl Sums {
    /// Takes a row of so many bytes. Returns whether rows are encoded after it, and then whether a
    /// row group ends.
    fn take(&mut self, bytes: usize, row_group: usize) -> Option<bool> {
        self.row_group += bytes;
        self.waiting = (self.waiting.0 + 1, self.waiting.1 + bytes);
        if self.waiting.0 < ROWS && self.waiting.1 < BYTES {
            return None;
        }
        self.waiting = (0, 0);
        let is_full = self.row_group >= row_group;
        if is_full {
            self.row_group = 0;
        }
        Some(is_full)
    }
}

impl Cuts {
    pub fn new(tables: usize, row_group: usize) -> Self {
        Self { partition: None, sums: vec![Sums::default(); tables], row_group }
    }

    /// Does another partition end before this piece?
    pub fn ends_before(&self, piece: &Piece) -> bool {
        self.partition.as_ref().is_some_and(|partition| *partition != piece.partition)
    }

    /// Takes the piece. Returns the cuts of each table.
    pub fn take(&mut self, piece: &Piece) -> Vec<Vec<Cut>> {
        if self.partition.as_ref() != Some(&piece.partition) {
            self.partition = Some(piece.partition.clone());
            self.sums.fill(Sums::default());
        }
        let of_table = |(sums, rows): (&mut Sums, &Batches)| {
            let rows = (1..).zip(&rows.sizes);
            let cut = |(rows, bytes): (usize, &usize)| {
                let ends_row_group = sums.take(*bytes, self.row_group)?;
                Some(Cut { rows, ends_row_group })
            };
            rows.filter_map(cut).collect()
        };
        self.sums.iter_mut().zip(&piece.tables).map(of_table).collect()
    }
}

/// A table that is written, and what its files have in common.
pub(crate) struct Written {
    pub table: &'static Table,
    pub schema: SchemaRef,
    pub root: TypePtr,
    pub properties: WriterPropertiesPtr,
    factory: ArrowRowGroupWriterFactory,
    /// Which of Parquet's columns each column is: a structure has one for each of its own.
    leaves: Vec<Range<usize>>,
    /// Those of Parquet's columns whose row group is complete, for each of them in order.
    chunks: Vec<Mutex<VecDeque<ArrowColumnChunk>>>,
}

impl Written {
    pub fn new(table: &'static Table, form: Form) -> Result<Self, Error> {
        let (schema, properties) = (table.schema(form), Arc::new(table.properties(form)));
        let root = ArrowSchemaConverter::new().convert(&schema)?.root_schema_ptr();
        // only a writer makes a factory; this one writes nothing
        let nowhere = SerializedFileWriter::new(io::sink(), root.clone(), properties.clone())?;
        let factory = ArrowRowGroupWriterFactory::new(&nowhere, schema.clone());
        let (mut leaves, mut count) = (vec![], 0);
        for column in table.columns {
            let start = count;
            count += column.kind.leaves();
            leaves.push(start..count);
        }
        let chunks = (0..count).map(|_| Mutex::default()).collect();
        Ok(Self { table, schema, root, properties, factory, leaves, chunks })
    }

    fn queue(&self, leaf: usize) -> MutexGuard<'_, VecDeque<ArrowColumnChunk>> {
        self.chunks[leaf].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns of the next row group that is complete; `None` if it has no rows.
    pub fn row_group(&self) -> Option<Vec<ArrowColumnChunk>> {
        (0..self.chunks.len()).map(|leaf| self.queue(leaf).pop_front()).collect()
    }
}

/// Some of the columns of all tables.
pub(crate) struct Task {
    tables: Arc<[Written]>,
    cuts: Cuts,
    /// For each table which of its columns.
    own: Vec<Vec<usize>>,
    /// For each table the writers of their leaves, where its row group has rows.
    writers: Vec<Vec<ArrowColumnWriter>>,
    /// For each table the parts of its columns that are not encoded yet.
    waiting: Vec<Vec<Vec<ArrayRef>>>,
}

impl Task {
    /// Every column of `tables`, in `count` parts.
    pub fn all(tables: &Arc<[Written]>, count: usize, cuts: &Cuts) -> Vec<Self> {
        let mut tasks: Vec<_> = (0..count.max(1)).map(|_| Self::of(tables, cuts)).collect();
        let mut next = 0;
        for (table, written) in tables.iter().enumerate() {
            for column in 0..written.schema.fields().len() {
                let at = next % tasks.len();
                tasks[at].own[table].push(column);
                next += 1;
            }
        }
        tasks
    }

    fn of(tables: &Arc<[Written]>, cuts: &Cuts) -> Self {
        Self {
            tables: tables.clone(),
            cuts: cuts.clone(),
            own: vec![vec![]; tables.len()],
            writers: tables.iter().map(|_| vec![]).collect(),
            waiting: vec![vec![]; tables.len()],
        }
    }

    /// Encodes a piece.
    pub fn take(&mut self, piece: &Piece) -> Result<(), Error> {
        if self.cuts.ends_before(piece) {
            self.end()?;
        }
        let cuts = self.cuts.take(piece);
        for (table, (rows, cuts)) in piece.tables.iter().zip(cuts).enumerate() {
            self.add(table, rows, cuts)?;
        }
        Ok(())
    }

    /// Adds rows of a table, and encodes those before each cut.
    fn add(&mut self, table: usize, rows: &Batches, cuts: Vec<Cut>) -> Result<(), Error> {
        let (mut cuts, mut seen) = (cuts.into_iter().peekable(), 0);
        for batch in &rows.batches {
            let mut at = 0;
            while at < batch.num_rows() {
                let to_cut = cuts.peek().map_or(usize::MAX, |cut| cut.rows - seen);
                let count = to_cut.min(batch.num_rows() - at);
                let (own, waiting) = (&self.own[table], &mut self.waiting[table]);
                waiting.resize_with(own.len(), Vec::new);
                for (parts, column) in waiting.iter_mut().zip(own) {
                    parts.push(batch.column(*column).slice(at, count));
                }
                (at, seen) = (at + count, seen + count);
                let Some(cut) = cuts.next_if(|cut| cut.rows == seen) else { continue };
                self.encode(table)?;
                if cut.ends_row_group {
                    self.end_row_group(table)?;
                }
            }
        }
        Ok(())
    }

    /// Encodes the rows that wait.
    fn encode(&mut self, table: usize) -> Result<(), Error> {
        let (written, own) = (&self.tables[table], &self.own[table]);
        let waiting = std::mem::take(&mut self.waiting[table]);
        if waiting.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let writers = &mut self.writers[table];
        if writers.is_empty() {
            let is_own = |leaf| own.iter().any(|column| written.leaves[*column].contains(&leaf));
            let all = written.factory.create_column_writers(0)?.into_iter().enumerate();
            writers.extend(all.filter(|(leaf, _)| is_own(*leaf)).map(|(_, writer)| writer));
        }
        let mut writers = writers.iter_mut();
        for (column, parts) in own.iter().zip(&waiting) {
            let whole = match &parts[..] {
                [one] => one.clone(),
                parts => concat(&parts.iter().map(|part| &**part).collect::<Vec<_>>())?,
            };
            let leaves = compute_leaves(written.schema.field(*column), &whole)?;
            for (leaf, writer) in leaves.iter().zip(&mut writers) {
                writer.write(leaf)?;
            }
        }
        Ok(())
    }

    /// Every row group ends here.
    pub fn end(&mut self) -> Result<(), Error> {
        (0..self.tables.len()).try_for_each(|table| self.end_row_group(table))
    }

    fn end_row_group(&mut self, table: usize) -> Result<(), Error> {
        self.encode(table)?;
        let writers = std::mem::take(&mut self.writers[table]);
        let written = &self.tables[table];
        let leaves = self.own[table].iter().flat_map(|column| written.leaves[*column].clone());
        for (leaf, writer) in leaves.zip(writers) {
            let chunk = writer.close()?;
            written.queue(leaf).push_back(chunk);
        }
        Ok(())
    }
}
