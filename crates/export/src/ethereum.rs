//! Ethereum: verified blocks become rows where they are verified, on any thread.

pub mod blocks;
mod changes;
pub mod read;
mod receipts;
mod rows;
pub mod tables;

use crate::encode::Piece;
use crate::error::{Error, not_made};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::{Form, Table};
use blockmill_archive::{Format, Part};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::commit::{BlockSink, Commit, MadeTask, Making, Verified};
use blockmill_ethereum::fault::Error as ImportError;
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::{Made, NotMade};
use rows::Tables;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Writes tables of verified blocks.
pub struct Sink {
    export: Export,
    rows: RowMaker,
}

/// Makes rows of blocks.
#[derive(Clone)]
struct RowMaker {
    tables: Vec<&'static Table>,
    form: Form,
    /// Is each file of the source a partition?
    by_file: bool,
    hasher: ManyKeccak,
}

impl Sink {
    /// For blocks of an archive of this format.
    #[must_use]
    pub fn new(export: Export, tables: &[&'static Table], format: Format) -> Self {
        let by_file = matches!(format, Format::Era1 | Format::RlpExport);
        let form = export.facts().form;
        let hasher = ManyKeccak::detect();
        let rows = RowMaker { tables: tables.to_vec(), form, by_file, hasher };
        Self { export, rows }
    }
}

impl BlockSink for Sink {
    fn write(&mut self, _: &Commit, blocks: &Verified<'_>) -> Result<(), ImportError> {
        if let Some(made) = blocks.made()? {
            pieces(made).iter().try_for_each(|piece| self.export.write(piece)).map_err(not_made)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), ImportError> {
        // a file is synced when it is complete
        Ok(())
    }

    fn making(&mut self) -> Option<Making> {
        let rows = self.rows.clone();
        let make = move |blocks: &Verified<'_>| -> Result<Made, NotMade> {
            Ok(Box::new(rows.pieces(blocks).map_err(not_made)?))
        };
        let task = |encoder: crate::Encoder| -> MadeTask {
            Box::new(move |made: &Made| {
                pieces(made).iter().try_for_each(|piece| encoder.take(piece)).map_err(not_made)
            })
        };
        let tasks = self.export.encoders().into_iter().map(task).collect();
        Some(Making { make: Arc::new(make), tasks })
    }
}

/// What [`RowMaker::pieces`] made.
fn pieces(made: &Made) -> &[Piece] {
    made.downcast_ref::<Vec<Piece>>().map_or(&[], Vec::as_slice)
}

impl RowMaker {
    /// The new blocks, cut where partitions end.
    fn pieces(&self, blocks: &Verified<'_>) -> Result<Vec<Piece>, Error> {
        let Range { start, end } = blocks.range();
        let mut skip = (0..start).map(|at| transactions(blocks, at)).sum();
        let mut pieces = vec![];
        let mut from = start;
        while from < end {
            let partition = self.partition(blocks, from);
            // a partition's blocks stand together
            let is_in = |at: usize| self.partition(blocks, at) == partition;
            let to = if is_in(end - 1) { end } else { first_not(from..end, is_in) };
            let mut tables = Tables::new(&self.tables, self.form, self.hasher);
            skip = tables.add(blocks, from..to, skip)?;
            let range = (blocks.number(from), blocks.number(to - 1));
            pieces.push(Piece { partition, range, tables: tables.finish()? });
            from = to;
        }
        Ok(pieces)
    }

    fn partition(&self, blocks: &Verified<'_>, at: usize) -> Partition {
        let location = self.by_file.then(|| blocks.location(Part::Header, at)).flatten();
        match location {
            Some(location) if !blockmill_archive::is_pipe(&location.file) => {
                Partition::File(Path::new(&location.file).into())
            }
            _ => Partition::span_of(blocks.number(at)),
        }
    }
}

/// How many transactions block `at` has.
fn transactions(blocks: &Verified<'_>, at: usize) -> usize {
    let body = blocks.body(at).and_then(|raw| BodyView::decode(raw).ok());
    body.map_or(0, |body| body.transaction_count())
}

/// The first of `range` for which this is not so, where it is so for all before it.
fn first_not(range: Range<usize>, is: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
