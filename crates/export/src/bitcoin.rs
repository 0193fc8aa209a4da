//! Bitcoin: verified blocks as rows.

pub mod read;
mod rows;
mod script;
pub mod tables;

use crate::consumer::{self, Order, VerifiedChunk};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::Table;
use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::types::Block;
use blockmill_bitcoin::verified::{Consumer, Derive, VerifiedBlock};
use rows::Tables;
use std::path::Path;
use std::sync::Arc;

/// The rows that a block has in the tables.
pub fn count(block: &Block) -> impl Iterator<Item = (&'static str, usize)> {
    let Block { transactions, inputs, outputs, .. } = block;
    let rows = [transactions.len(), inputs.len(), outputs.len()];
    ["transactions", "inputs", "outputs"].into_iter().zip(rows)
}

/// A consumer that writes these tables of verified blocks. The caller ends `export`.
#[must_use]
pub fn consumer(export: Export, tables: &[&'static Table]) -> Consumer {
    let by = export.facts().partition;
    let derive = derive(&export, tables, move |block| {
        by.of(block.height.into(), || block.block.time().into(), || span_of(block))
    });
    consumer::consumer(export, Order::Consecutive, derive)
}

/// A consumer that writes these tables of the blocks in one block file.
#[must_use]
pub fn consumer_of_file(export: Export, tables: &[&'static Table], file: &Path) -> Consumer {
    let (by, partition) = (export.facts().partition, Partition::File(file.into()));
    let derive = derive(&export, tables, move |block| {
        by.of(block.height.into(), || block.block.time().into(), || partition.clone())
    });
    consumer::consumer(export, Order::Any, derive)
}

fn span_of(block: &VerifiedBlock<'_>) -> Partition {
    Partition::span_of(block.height.into())
}

fn derive(
    export: &Export,
    tables: &[&'static Table],
    partition: impl Fn(&VerifiedBlock<'_>) -> Partition + Send + Sync + 'static,
) -> Arc<Derive> {
    let (tables, form) = (tables.to_vec(), export.facts().form);
    let network = script::network(&export.facts().chain);
    let after = export.facts().after.clone();
    Arc::new(move |blocks: &[VerifiedBlock<'_>]| {
        let chunk = VerifiedChunk {
            blocks: 0..blocks.len(),
            number: |at: usize| blocks[at].height.into(),
            hashes: |at: usize| {
                let block = blocks[at].block;
                (block.hash.to_string(), BlockHash(rows::previous(block)).to_string())
            },
            partition: |at: usize| partition(&blocks[at]),
        };
        chunk.cut(after.as_ref(), |range| {
            let mut rows = Tables::new(&tables, form, network);
            blocks[range].iter().for_each(|block| rows.add(block));
            rows.finish()
        })
    })
}
