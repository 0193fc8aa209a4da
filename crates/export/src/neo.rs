//! Neo: verified blocks as rows.

pub mod read;
mod rows;
pub mod tables;

use crate::consumer::{self, Order, cut};
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
    let derive = move |blocks: &Verified<'_>| {
        let number = |at: usize| blocks.blocks()[at].header.index.into();
        let rows = |range| {
            let mut rows = Tables::new(&tables, form);
            rows.add(blocks, range)?;
            rows.finish()
        };
        cut(0..blocks.blocks().len(), number, |at| Partition::span_of(number(at)), rows)
    };
    consumer::consumer(export, Order::Consecutive, Arc::new(derive))
}
