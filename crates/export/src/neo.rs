//! Neo: verified blocks become rows when nothing can refuse them any more.

pub mod read;
mod rows;
pub mod tables;

use crate::encode::Piece;
use crate::error::{Error, not_made};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::Table;
use blockmill_neo::import::{Take, Verified};
use rows::Tables;
use std::sync::Arc;

/// What writes these tables of verified blocks; the caller ends `export`.
#[must_use]
pub fn take(export: Export, tables: &[&'static Table]) -> Take {
    let tables = tables.to_vec();
    Arc::new(move |blocks: &Verified<'_>| write(&export, &tables, blocks).map_err(not_made))
}

fn write(export: &Export, tables: &[&'static Table], blocks: &Verified<'_>) -> Result<(), Error> {
    let form = export.facts().form;
    let all = blocks.blocks();
    let partition = |at: usize| Partition::span_of(all[at].header.index.into());
    let mut from = 0;
    while from < all.len() {
        let to =
            (from..all.len()).find(|at| partition(*at) != partition(from)).unwrap_or(all.len());
        let mut rows = Tables::new(tables, form);
        rows.add(blocks, from..to)?;
        let range = (all[from].header.index.into(), all[to - 1].header.index.into());
        export.take(&Piece { partition: partition(from), range, tables: rows.finish()? })?;
        from = to;
    }
    Ok(())
}
