//! An export as the consumer of an import: blocks become rows where they are verified, on any
//! thread; columns are encoded by tasks, and files are written in the order of blocks.

use crate::encode::Piece;
use crate::error::Error;
use crate::export::{Export, LastBlock};
use crate::partition::Partition;
use crate::rows::Batches;
use blockmill_verdict::{
    ConsumerError, DerivedRows, ReceiveRows, Status, VerifiedConsumer, grouped,
};
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
    let after = export.facts().after.clone();
    let next = Mutex::new(after.as_ref().map(|after| after.next()));
    let write = move |rows: &DerivedRows| {
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in pieces(rows) {
            let (first, last) = piece.range;
            if order == Order::Consecutive && next.is_some_and(|next| next != first) {
                let is_first = after.as_ref().filter(|after| *next == Some(after.next()));
                return Err(is_first.map_or_else(|| other_chain(first), |after| gap(after, first)));
            }
            *next = Some(last.saturating_add(1));
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

/// Blocks that follow the last one of an export are not the next ones.
fn gap(after: &LastBlock, found: u64) -> ConsumerError {
    let (last, next) = (grouped(after.number), grouped(after.next()));
    let message = format!(
        "--append: expected block {next}, as the export ends with block {last}, found that the \
         archive continues with block {}",
        grouped(found)
    );
    ConsumerError { message, status: Status::Usage }
}

/// Verified blocks of a chain by their place in a chunk.
pub(crate) struct VerifiedChunk<N, L, P> {
    /// The places of the blocks.
    pub blocks: Range<usize>,
    /// The number of a block.
    pub number: N,
    /// The hash of a block and that of its parent, as users of the chain write them.
    pub hashes: L,
    /// The partition of a block.
    pub partition: P,
}

impl<N, L, P> VerifiedChunk<N, L, P>
where
    N: Fn(usize) -> u64,
    L: Fn(usize) -> (String, String),
    P: Fn(usize) -> Partition,
{
    /// The places of the blocks after `after`, of which the first must be its child.
    fn new_blocks(&self, after: Option<&LastBlock>) -> Result<Range<usize>, Error> {
        let Range { mut start, end } = self.blocks;
        let Some(LastBlock { number, hash }) = after else { return Ok(start..end) };
        let expect = |found: &String| match found == hash {
            true => Ok(()),
            false => Err(Error::OtherChain {
                block: *number,
                expected: hash.clone(),
                found: found.clone(),
            }),
        };
        while start < end && (self.number)(start) <= *number {
            if (self.number)(start) == *number {
                expect(&(self.hashes)(start).0)?;
            }
            start += 1;
        }
        if start < end && (self.number)(start) == number.saturating_add(1) {
            expect(&(self.hashes)(start).1)?;
        }
        Ok(start..end)
    }

    /// The rows of the blocks after `after`, cut where partitions end. `rows` builds the tables of
    /// a range.
    pub fn cut(
        &self,
        after: Option<&LastBlock>,
        mut rows: impl FnMut(Range<usize>) -> Result<Vec<Batches>, Error>,
    ) -> Result<DerivedRows, ConsumerError> {
        let Range { start: mut from, end } = self.new_blocks(after)?;
        let mut pieces = vec![];
        while from < end {
            let own = (self.partition)(from);
            // timestamps of neighbours need not be in order: a day may come again
            let to = (from + 1..end).find(|at| (self.partition)(*at) != own).unwrap_or(end);
            let range = ((self.number)(from), (self.number)(to - 1));
            pieces.push(Piece { tables: rows(from..to)?, partition: own, range });
            from = to;
        }
        Ok(Box::new(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [u64; 5] = [99_998, 99_999, 100_000, 100_001, 200_000];

    type Cuts = Vec<Range<usize>>;
    type Ranges = Vec<(u64, u64)>;

    /// Where the blocks after `after` are cut, and their numbers. The number is the hash, too.
    fn cut(blocks: Range<usize>, after: Option<LastBlock>) -> Result<(Cuts, Ranges), String> {
        let chunk = VerifiedChunk {
            blocks,
            number: |at: usize| NUMBERS[at],
            hashes: |at: usize| (NUMBERS[at].to_string(), (NUMBERS[at] - 1).to_string()),
            partition: |at: usize| Partition::span_of(NUMBERS[at]),
        };
        let mut cuts = vec![];
        let rows = chunk.cut(after.as_ref(), |range| {
            cuts.push(range);
            Ok(vec![])
        });
        let rows = rows.map_err(|error| error.message)?;
        Ok((cuts, pieces(&rows).iter().map(|piece| piece.range).collect()))
    }

    fn after(number: u64, hash: u64) -> Option<LastBlock> {
        Some(LastBlock { number, hash: hash.to_string() })
    }

    #[test]
    fn pieces_end_where_partitions_end() {
        let (cuts, ranges) = cut(1..5, None).unwrap();
        assert_eq!(cuts, [1..2, 2..4, 4..5]);
        assert_eq!(ranges, [(99_999, 99_999), (100_000, 100_001), (200_000, 200_000)]);
        assert_eq!(cut(3..3, None), Ok((vec![], vec![])));
    }

    #[test]
    fn only_blocks_after_an_export_give_pieces_and_they_must_follow_it() {
        let of = |number, hash| cut(0..4, after(number, hash)).map(|(cuts, _)| cuts);
        assert_eq!(of(99_999, 99_999), Ok(std::iter::once(2..4).collect()));
        assert_eq!(of(100_000, 100_000), Ok(std::iter::once(3..4).collect()));
        // its last block is before the chunk: the parent of the first one names it
        assert_eq!(of(99_997, 99_997), Ok(vec![0..2, 2..4]));
        assert_eq!(of(100_001, 100_001), Ok(vec![]));
        assert_eq!(of(300_000, 7), Ok(vec![]));
        for number in [99_997, 99_998, 100_001] {
            let error = of(number, 7).unwrap_err();
            assert!(error.contains("expected 7") && error.contains("found"), "{error}");
        }
    }
}
