//! Neo: verified blocks as rows.

pub mod read;
mod rows;
pub mod tables;

use crate::consumer::{self, Order, VerifiedChunk};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::Table;
use blockmill_neo::import::{Consumer, Verified};
use rows::Tables;
use std::sync::Arc;

/// A consumer that writes these tables of verified blocks. The caller ends `export`.
#[must_use]
pub fn consumer(export: Export, tables: &[&'static Table]) -> Consumer {
    let (tables, form) = (tables.to_vec(), export.facts().form);
    let (by, after) = (export.facts().partition, export.facts().after.clone());
    let derive = move |blocks: &Verified<'_>| {
        let header = |at: usize| &blocks.blocks()[at].header;
        let number = |at: usize| header(at).index.into();
        let chunk = VerifiedChunk {
            blocks: 0..blocks.blocks().len(),
            number,
            hashes: |at: usize| {
                (blocks.blocks()[at].hash.to_string(), header(at).previous.to_string())
            },
            partition: |at: usize| {
                let seconds = || header(at).timestamp / 1000;
                by.of(number(at), seconds, || Partition::span_of(number(at)))
            },
        };
        chunk.cut(after.as_ref(), |range| {
            let mut rows = Tables::new(&tables, form);
            rows.add(blocks, range)?;
            rows.finish()
        })
    };
    consumer::consumer(export, Order::Consecutive, Arc::new(derive))
}
