//! Ethereum: verified blocks as rows.

mod access_lists;
pub mod blocks;
mod changes;
pub mod read;
mod receipts;
mod rows;
pub mod tables;

use crate::consumer::{self, Order, cut};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::Table;
use blockmill_archive::{Format, Part};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::commit::{Consumer, Derive, Verified};
use blockmill_hashes::ManyKeccak;
use rows::Tables;
use std::path::Path;
use std::sync::Arc;

/// A consumer that writes these tables of the verified blocks of an archive of this format. The
/// caller ends `export`.
#[must_use]
pub fn consumer(export: Export, tables: &[&'static Table], format: Format) -> Consumer {
    let is_partition_a_file =
        matches!(format, Format::Era1 | Format::Ere | Format::Era | Format::RlpExport);
    let (tables, form, hasher) = (tables.to_vec(), export.facts().form, ManyKeccak::detect());
    let derive: Arc<Derive> = Arc::new(move |blocks| {
        let mut skip = (0..blocks.range().start).map(|at| transactions(blocks, at)).sum();
        let partition =
            |at| if is_partition_a_file { file_of(blocks, at) } else { span_of(blocks, at) };
        cut(
            blocks.range(),
            |at| blocks.number(at),
            partition,
            |range| {
                let mut rows = Tables::new(&tables, form, hasher);
                skip = rows.add(blocks, range, skip)?;
                rows.finish()
            },
        )
    });
    consumer::consumer(export, Order::Consecutive, derive)
}

fn span_of(blocks: &Verified<'_>, at: usize) -> Partition {
    Partition::span_of(blocks.number(at))
}

/// The file of block `at`; a pipe is no file that can be named.
fn file_of(blocks: &Verified<'_>, at: usize) -> Partition {
    match blocks.location(Part::Header, at) {
        Some(location) if !blockmill_archive::is_pipe(&location.file) => {
            Partition::File(Path::new(&location.file).into())
        }
        _ => span_of(blocks, at),
    }
}

/// How many transactions block `at` has.
fn transactions(blocks: &Verified<'_>, at: usize) -> usize {
    let body = blocks.body(at).and_then(|raw| BodyView::decode(raw).ok());
    body.map_or(0, |body| body.transaction_count())
}
