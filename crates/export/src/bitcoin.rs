//! Bitcoin: verified blocks become rows where they are verified, on any thread.

pub mod read;
mod rows;
pub mod tables;

use crate::encode::Piece;
use crate::error::{Error, not_made};
use crate::export::Export;
use crate::partition::Partition;
use crate::schema::Table;
use blockmill_bitcoin::verified::{Make, Making, VerifiedBlock};
use blockmill_pipeline::{Made, NotMade};
use blockmill_verdict::Status;
use rows::Tables;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What writes these tables of verified blocks; the caller ends `export`.
#[must_use]
pub fn making(export: Export, tables: &[&'static Table]) -> Making {
    let make = make(&export, tables, |block| Partition::span_of(block.height.into()));
    let next = Mutex::new(None);
    let keep = move |made: &Made| {
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in of(made) {
            if next.is_some_and(|next| next != piece.range.0) {
                return Err(another_chain(piece.range.0));
            }
            *next = Some(piece.range.1 + 1);
            export.take(piece).map_err(not_made)?;
        }
        Ok(())
    };
    Making { make, keep: Arc::new(keep) }
}

/// Builds the tables of a shard, which is this block file: some blocks of the chain, in its order.
#[must_use]
pub fn making_of_shard(export: Export, tables: &[&'static Table], file: &Path) -> Making {
    let partition = Partition::File(file.into());
    let make = make(&export, tables, move |_| partition.clone());
    let keep = move |made: &Made| {
        of(made).iter().try_for_each(|piece| export.take(piece)).map_err(not_made)
    };
    Making { make, keep: Arc::new(keep) }
}

fn make(
    export: &Export,
    tables: &[&'static Table],
    partition: impl Fn(&VerifiedBlock<'_>) -> Partition + Send + Sync + 'static,
) -> Make {
    let (tables, form) = (tables.to_vec(), export.facts().form);
    Arc::new(move |blocks| {
        let pieces = pieces(blocks, &partition, || Tables::new(&tables, form)).map_err(not_made)?;
        Ok(Box::new(pieces))
    })
}

/// What was made of some blocks.
fn of(made: &Made) -> &[Piece] {
    made.downcast_ref::<Vec<Piece>>().map_or(&[], Vec::as_slice)
}

/// The blocks, cut where partitions end.
fn pieces(
    blocks: &[VerifiedBlock<'_>],
    partition: impl Fn(&VerifiedBlock<'_>) -> Partition,
    rows: impl Fn() -> Tables,
) -> Result<Vec<Piece>, Error> {
    let mut pieces = vec![];
    for blocks in blocks.chunk_by(|a, b| partition(a) == partition(b)) {
        let (first, last) = (&blocks[0], &blocks[blocks.len() - 1]);
        let mut tables = rows();
        blocks.iter().for_each(|block| tables.add(block));
        let range = (first.height.into(), last.height.into());
        pieces.push(Piece { partition: partition(first), range, tables: tables.finish()? });
    }
    Ok(pieces)
}

/// Blocks that were written turned out not to be of the best chain.
fn another_chain(height: u64) -> NotMade {
    let message = format!(
        "the best chain changed while it was written: expected blocks after those before, found \
         another block {height}; verify says what is wrong with these files"
    );
    NotMade { message, status: Status::Invalid }
}
