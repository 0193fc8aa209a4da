//! The columns of all tables, encoded side by side.
//!
//! A task has some of the columns and takes every piece of the chain in order; several tasks have a
//! piece at the same time. So the pages of a row group are made by as many threads as there are
//! tasks, and the writer only strings them together. All of them go by the same [`Cuts`].

use crate::error::Error;
use crate::partition::Partition;
use crate::rows::Batches;
use crate::schema::{Form, Table};
use arrow_schema::SchemaRef;
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
    bytes: Vec<usize>,
    row_group: usize,
}

impl Cuts {
    pub fn new(tables: usize, row_group: usize) -> Self {
        Self { partition: None, bytes: vec![0; tables], row_group }
    }

    /// Does another partition end before this piece?
    pub fn ends_before(&self, piece: &Piece) -> bool {
        self.partition.as_ref().is_some_and(|partition| *partition != piece.partition)
    }

    /// Takes the piece; the tables whose row groups end behind it.
    pub fn take(&mut self, piece: &Piece) -> Vec<usize> {
        if self.partition.as_ref() != Some(&piece.partition) {
            self.partition = Some(piece.partition.clone());
            self.bytes.fill(0);
        }
        let mut full = vec![];
        for (at, (bytes, rows)) in self.bytes.iter_mut().zip(&piece.tables).enumerate() {
            *bytes += rows.bytes;
            if *bytes >= self.row_group {
                *bytes = 0;
                full.push(at);
            }
        }
        full
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
        }
    }

    /// Encodes a piece.
    pub fn take(&mut self, piece: &Piece) -> Result<(), Error> {
        if self.cuts.ends_before(piece) {
            self.end()?;
        }
        for (table, rows) in piece.tables.iter().enumerate() {
            self.encode(table, rows)?;
        }
        self.cuts.take(piece).into_iter().try_for_each(|table| self.end_row_group(table))
    }

    fn encode(&mut self, table: usize, rows: &Batches) -> Result<(), Error> {
        let (written, own) = (&self.tables[table], &self.own[table]);
        if rows.batches.is_empty() || own.is_empty() {
            return Ok(());
        }
        let writers = &mut self.writers[table];
        if writers.is_empty() {
            let is_own = |leaf| own.iter().any(|column| written.leaves[*column].contains(&leaf));
            let all = written.factory.create_column_writers(0)?.into_iter().enumerate();
            writers.extend(all.filter(|(leaf, _)| is_own(*leaf)).map(|(_, writer)| writer));
        }
        for batch in &rows.batches {
            let mut writers = writers.iter_mut();
            for column in own {
                let leaves = compute_leaves(written.schema.field(*column), batch.column(*column))?;
                for (leaf, writer) in leaves.iter().zip(&mut writers) {
                    writer.write(leaf)?;
                }
            }
        }
        Ok(())
    }

    /// Every row group ends here.
    pub fn end(&mut self) -> Result<(), Error> {
        (0..self.tables.len()).try_for_each(|table| self.end_row_group(table))
    }

    fn end_row_group(&mut self, table: usize) -> Result<(), Error> {
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
