//! An export as the consumer of an import: blocks become rows where they are verified, on any
//! thread; columns are encoded by tasks, and files are written in the order of blocks.

use crate::encode::Piece;
use crate::error::Error;
use crate::export::Export;
use crate::partition::Partition;
use crate::rows::Batches;
use blockmill_verdict::{ConsumerError, DerivedRows, ReceiveRows, Status, VerifiedConsumer};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Which pieces may follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Consecutive blocks of one chain.
    Consecutive,
    /// Some blocks of a chain.
    Any,
}

/// A consumer that writes the pieces which `derive` gives to `export`.
pub(crate) fn consumer<D: ?Sized>(
    export: Export,
    order: Order,
    derive: Arc<D>,
) -> VerifiedConsumer<D> {
    let task = |encoder: crate::Encoder| -> Arc<ReceiveRows> {
        Arc::new(move |rows: &DerivedRows| {
            Ok(pieces(rows).iter().try_for_each(|piece| encoder.take(piece))?)
        })
    };
    let tasks = export.encoders().into_iter().map(task).collect();
    let next = Mutex::new(None);
    let write = move |rows: &DerivedRows| {
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in pieces(rows) {
            let (first, last) = piece.range;
            if order == Order::Consecutive && next.is_some_and(|next| next != first) {
                return Err(other_chain(first));
            }
            *next = Some(last + 1);
            export.write(piece)?;
        }
        Ok(())
    };
    VerifiedConsumer { derive, tasks, write: Arc::new(write) }
}

/// What `derive` gave.
fn pieces(rows: &DerivedRows) -> &[Piece] {
    rows.downcast_ref::<Vec<Piece>>().map_or(&[], Vec::as_slice)
}

/// Blocks that were written turned out not to be in the best chain.
fn other_chain(block: u64) -> ConsumerError {
    let message = format!(
        "the best chain changed while it was written: expected blocks after those before, found \
         another block {block}; verify says what is wrong with these files"
    );
    ConsumerError { message, status: Status::Invalid }
}

/// The rows of `blocks`, cut where partitions end. Block `at` has the number `number(at)` and
/// belongs to `partition(at)`; the blocks of a partition are next to each other. `rows` builds the
/// tables of a range.
pub(crate) fn cut(
    blocks: Range<usize>,
    number: impl Fn(usize) -> u64,
    partition: impl Fn(usize) -> Partition,
    mut rows: impl FnMut(Range<usize>) -> Result<Vec<Batches>, Error>,
) -> Result<DerivedRows, ConsumerError> {
    let Range { start: mut from, end } = blocks;
    let mut pieces = vec![];
    while from < end {
        let own = partition(from);
        let is_in = |at: usize| partition(at) == own;
        let to = if is_in(end - 1) { end } else { first_not(from..end, is_in) };
        let range = (number(from), number(to - 1));
        pieces.push(Piece { tables: rows(from..to)?, partition: own, range });
        from = to;
    }
    Ok(Box::new(pieces))
}

/// The first of `range` for which `is` is false. All before it are true, all after it are false.
fn first_not(range: Range<usize>, is: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_partitions_end() {
        let numbers = [99_998, 99_999, 100_000, 100_001, 200_000];
        let mut cuts = vec![];
        let rows = cut(
            1..5,
            |at| numbers[at],
            |at| Partition::span_of(numbers[at]),
            |range| {
                cuts.push(range);
                Ok(vec![])
            },
        );
        let rows = rows.unwrap();
        let ranges: Vec<_> = pieces(&rows).iter().map(|piece| piece.range).collect();
        assert_eq!(cuts, [1..2, 2..4, 4..5]);
        assert_eq!(ranges, [(99_999, 99_999), (100_000, 100_001), (200_000, 200_000)]);
    }

    #[test]
    fn no_blocks_give_no_pieces() {
        let rows = cut(3..3, |_| 0, |_| Partition::span_of(0), |_| Ok(vec![]));
        assert!(rows.is_ok_and(|rows| pieces(&rows).is_empty()));
    }
}
