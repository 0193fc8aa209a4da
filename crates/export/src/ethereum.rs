//! Ethereum: verified blocks as rows.

mod access_lists;
pub mod blocks;
mod changes;
pub mod read;
mod receipts;
mod rows;
pub mod tables;

use crate::consumer::{self, Order, VerifiedChunk};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::Table;
use blockmill_archive::{Chunk, Format, Part};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::commit::{Consumer, Derive, Verified};
use blockmill_hashes::ManyKeccak;
use blockmill_verdict::Hex;
use receipts::ReceiptView;
use rows::Tables;
use std::path::Path;
use std::sync::Arc;

/// The rows that some blocks have in the tables that need no execution.
pub fn count(chunk: &Chunk) -> impl Iterator<Item = (&'static str, usize)> {
    let bodies = chunk.bodies.iter().filter_map(|body| BodyView::decode(body).ok());
    let of_bodies = bodies.flat_map(|body| {
        let withdrawals = body.withdrawals().into_iter().flatten().count();
        [
            ("transactions", body.transaction_count()),
            ("ommers", body.ommers().count()),
            ("withdrawals", withdrawals),
        ]
    });
    let lists = chunk.receipts.iter();
    let lists = lists.filter_map(|list| ReceiptView::list(list, chunk.receipt_encoding));
    let of_receipts = lists.flat_map(|list| {
        let logs = list.iter().map(ReceiptView::logs).sum();
        [("receipts", list.len()), ("logs", logs)]
    });
    of_bodies.chain(of_receipts)
}

/// A consumer that writes these tables of the verified blocks of an archive of this format. The
/// caller ends `export`.
#[must_use]
pub fn consumer(export: Export, tables: &[&'static Table], format: Format) -> Consumer {
    let is_partition_a_file = is_partition_a_file(format);
    let (tables, form, hasher) = (tables.to_vec(), export.facts().form, ManyKeccak::detect());
    let (by, after) = (export.facts().partition, export.facts().after.clone());
    let derive: Arc<Derive> = Arc::new(move |blocks| {
        let source =
            |at| if is_partition_a_file { file_of(blocks, at) } else { span_of(blocks, at) };
        let chunk = VerifiedChunk {
            blocks: blocks.range(),
            number: |at| blocks.number(at),
            hashes: |at| {
                let hashes = [blocks.hash(at), blocks.fields(at).parent_hash];
                let [hash, parent] = hashes.map(|hash| Hex(hash).to_string());
                (hash, parent)
            },
            partition: |at| by.of(blocks.number(at), || blocks.fields(at).timestamp, || source(at)),
        };
        let (mut next, mut skip) = (0, 0);
        chunk.cut(after.as_ref(), |range| {
            skip += (next..range.start).map(|at| transactions(blocks, at)).sum::<usize>();
            next = range.end;
            let mut rows = Tables::new(&tables, form, hasher);
            skip = rows.add(blocks, range, skip)?;
            rows.finish()
        })
    });
    consumer::consumer(export, Order::Consecutive, derive)
}

/// Whether each file of an archive of this format is a partition.
#[must_use]
pub fn is_partition_a_file(format: Format) -> bool {
    matches!(format, Format::Era1 | Format::Ere | Format::Era | Format::RlpExport)
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
