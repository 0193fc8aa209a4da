//! Verified blocks as columns: Arrow in memory, Parquet on disk, and back.
//!
//! `schema` has what a table is, `rows` makes columns of rows, `encode` makes pages of columns on
//! any thread, `write` makes files of pages; `export` is the front of that. `outlet` gives the rows
//! to a reader instead. Each chain has a folder
//! with its tables, how verified blocks become rows, and how files become blocks again.

#![forbid(unsafe_code)]

mod append;
#[cfg(feature = "bitcoin")]
pub mod bitcoin;
mod consumer;
mod encode;
mod error;
#[cfg(feature = "ethereum")]
pub mod ethereum;
mod export;
mod manifest;
#[cfg(feature = "neo")]
pub mod neo;
mod outlet;
mod partition;
mod read;
mod rows;
pub mod schema;
mod write;

pub use append::Append;
pub use arrow_array::RecordBatch;
pub use encode::{Piece, ROW_GROUP};
pub use error::Error;
pub use export::{ALL_TABLES, Encoder, Export, Facts, LastBlock, Verdict, tables_named};
pub use manifest::{FileEntry, Manifest, NAME as MANIFEST, remove as remove_manifest};
pub use partition::{Partition, PartitionBy, Place, is_ours, place_of};
pub use read::{Cells, TableReader};
pub use rows::{Batches, Rows};

/// Every table, with the name of its chain.
pub fn all_tables() -> impl Iterator<Item = (&'static str, &'static schema::Table)> {
    let all: &'static [(&'static str, &'static [&'static schema::Table])] = &[
        #[cfg(feature = "ethereum")]
        ("ethereum", &ethereum::tables::ALL),
        #[cfg(feature = "bitcoin")]
        ("bitcoin", &bitcoin::tables::ALL),
        #[cfg(feature = "neo")]
        ("neo", &neo::tables::ALL),
    ];
    all.iter().flat_map(|(chain, tables)| tables.iter().map(move |table| (*chain, *table)))
}
