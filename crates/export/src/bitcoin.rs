//! Bitcoin: verified blocks as rows.

pub mod read;
mod rows;
mod script;
pub mod tables;

use crate::consumer::{self, Order, cut};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::Table;
use blockmill_bitcoin::verified::{Consumer, Derive, VerifiedBlock};
use rows::Tables;
use std::path::Path;
use std::sync::Arc;

/// A consumer that writes these tables of verified blocks. The caller ends `export`.
#[must_use]
pub fn consumer(export: Export, tables: &[&'static Table]) -> Consumer {
    let derive = derive(&export, tables, |block| Partition::span_of(block.height.into()));
    consumer::consumer(export, Order::Consecutive, derive)
}

/// A consumer that writes these tables of the blocks in one block file.
#[must_use]
pub fn consumer_of_file(export: Export, tables: &[&'static Table], file: &Path) -> Consumer {
    let partition = Partition::File(file.into());
    let derive = derive(&export, tables, move |_| partition.clone());
    consumer::consumer(export, Order::Any, derive)
}

fn derive(
    export: &Export,
    tables: &[&'static Table],
    partition: impl Fn(&VerifiedBlock<'_>) -> Partition + Send + Sync + 'static,
) -> Arc<Derive> {
    let (tables, form) = (tables.to_vec(), export.facts().form);
    let network = script::network(&export.facts().chain);
    Arc::new(move |blocks: &[VerifiedBlock<'_>]| {
        cut(
            0..blocks.len(),
            |at| blocks[at].height.into(),
            |at| partition(&blocks[at]),
            |range| {
                let mut rows = Tables::new(&tables, form, network);
                blocks[range].iter().for_each(|block| rows.add(block));
                rows.finish()
            },
        )
    })
}
