//! Where verified blocks go: nowhere, append-only segments, or a key-value tree.

use crate::fault::Error;
use crate::link::{BlockId, Verified};
use crate::variants::Plan;
use crate::{Hash, Level, U256};
use archive::Column;
use pipeline::Cancel;
use std::time::{Duration, Instant};
use store::{Blocks, ChainStore, HeaderEntry, HeaderTree, Items};

/// The receiver of an import.
pub enum Sink {
    /// Verify only.
    Discard,
    /// Append-only segments with a checkpoint: the store of `blockmill import`.
    Segments(Box<ChainStore>),
    /// A key-value tree with geth's schema, for the ladder's `storage=tree`: headers only.
    Tree(Box<HeaderTree>),
}

/// What stays the same for all commits of one run.
pub(crate) struct Commit<'a> {
    pub chain: Hash,
    pub level: Level,
    pub plan: Plan,
    pub cancel: &'a Cancel,
}

impl Sink {
    /// Writes the new blocks and commits them: after it returns, the death of the process loses
    /// none of them. The time of the write, as the variants measure it.
    pub(crate) fn write(
        &mut self,
        commit: &Commit<'_>,
        blocks: &Verified<'_>,
    ) -> Result<Duration, Error> {
        let start = Instant::now();
        if blocks.range.is_empty() {
            return Ok(Duration::ZERO);
        }
        let mut ticked = Duration::ZERO;
        let mut known = 0;
        for i in blocks.range.clone() {
            if !commit.plan.works_per_header() {
                break;
            }
            let tick = commit.plan.clock_per_header.then(Instant::now);
            if commit.plan.stop_check_per_header {
                // asked at each header, obeyed at the end of the chunk
                std::hint::black_box(commit.cancel.is_cancelled());
            }
            if commit.plan.linkage_twice {
                check_linkage_again(blocks, i)?;
            }
            if commit.plan.known_check && self.knows(&blocks.batch.hashes[i])? {
                known += 1;
            }
            if !commit.plan.batch_write {
                self.append(blocks, i, i + 1)?;
            }
            ticked += tick.map_or(Duration::ZERO, |tick| tick.elapsed());
        }
        debug_assert_eq!(known, 0, "an import goes on after the last stored block");
        let batched = Instant::now();
        if commit.plan.batch_write {
            self.append(blocks, blocks.range.start, blocks.range.end)?;
        }
        self.checkpoint(commit, blocks)?;
        Ok(if commit.plan.clock_per_header { ticked + batched.elapsed() } else { start.elapsed() })
    }

    /// Appends blocks `from..to` of the batch.
    fn append(&mut self, blocks: &Verified<'_>, from: usize, to: usize) -> Result<(), Error> {
        match self {
            Self::Discard => {}
            Self::Segments(store) => append_segments(store, blocks, from, to)?,
            Self::Tree(tree) => append_tree(tree, blocks, from, to)?,
        }
        Ok(())
    }

    fn knows(&self, hash: &Hash) -> Result<bool, Error> {
        Ok(match self {
            Self::Discard => false,
            Self::Segments(store) => store.number_of(hash)?.is_some(),
            Self::Tree(tree) => tree.number_of(hash)?.is_some(),
        })
    }

    fn checkpoint(&mut self, commit: &Commit<'_>, blocks: &Verified<'_>) -> Result<(), Error> {
        let Self::Segments(store) = self else { return Ok(()) };
        let anchor = blocks.anchor.unwrap_or(BlockId { number: 0, hash: commit.chain });
        let last = blocks.range.end - 1;
        let total = blocks.totals.last().copied().unwrap_or(U256::ZERO);
        store.commit(&store::Tip {
            number: blocks.batch.number(last),
            hash: blocks.batch.hashes[last],
            total_difficulty: total.to_be_bytes(),
            anchor_number: anchor.number,
            anchor_hash: anchor.hash,
            chain: commit.chain,
            level: commit.level as u8,
        })?;
        Ok(())
    }

    /// Number of the last committed block; none where nothing is kept.
    pub(crate) fn committed(&self) -> Option<u64> {
        match self {
            Self::Segments(store) => store.tip().map(|tip| tip.number),
            Self::Discard | Self::Tree(_) => None,
        }
    }

    /// Number of the last committed block, which is read back and hashed; none where nothing is
    /// kept. An error is for a block that is not what was written.
    pub fn read_back(&self) -> Result<Option<u64>, Error> {
        let Self::Segments(store) = self else { return Ok(None) };
        let Some(tip) = store.tip() else { return Ok(None) };
        let (number, expected) = (tip.number, tip.hash);
        let damaged = |found| Err(Error::StoredBlock { number, expected, found });
        let Some(header) = store.header(number)? else { return damaged(None) };
        let found = crypto::keccak256(&header);
        if found != expected {
            return damaged(Some(found));
        }
        if tip.level >= Level::Bodies as u8 && store.body(number)?.is_none() {
            return damaged(None);
        }
        Ok(Some(number))
    }

    /// Makes everything committed survive a power loss.
    pub fn sync(&mut self) -> Result<(), Error> {
        match self {
            Self::Discard => {}
            Self::Segments(store) => store.sync()?,
            Self::Tree(tree) => tree.sync()?,
        }
        Ok(())
    }
}

/// Items `from..to` of a column; none when the column is empty.
fn items<'a>(
    column: &'a Column,
    from: usize,
    to: usize,
    ends: &'a mut Vec<u32>,
) -> Option<Items<'a>> {
    if column.is_empty() {
        return None;
    }
    let (start, end) = (column.start(from), column.ends[to - 1] as usize);
    let bytes = &column.bytes[start..end];
    if start == 0 {
        return Some(Items { bytes, ends: &column.ends[..to] });
    }
    ends.extend(column.ends[from..to].iter().map(|end| end - start as u32));
    Some(Items { bytes, ends })
}

fn append_segments(
    store: &mut ChainStore,
    blocks: &Verified<'_>,
    from: usize,
    to: usize,
) -> Result<(), Error> {
    let chunk = &blocks.batch.chunk;
    let mut ends = [vec![], vec![], vec![]];
    let [headers, bodies, receipts] = &mut ends;
    let empty = Items { bytes: &[], ends: &[] };
    store.append(&Blocks {
        first: blocks.batch.number(from),
        hashes: &blocks.batch.hashes[from..to],
        headers: items(&chunk.headers, from, to, headers).unwrap_or(empty),
        bodies: items(&chunk.bodies, from, to, bodies),
        receipts: items(&chunk.receipts, from, to, receipts),
    })?;
    Ok(())
}

/// The second check of linkage that geth made before it wrote a header.
fn check_linkage_again(blocks: &Verified<'_>, i: usize) -> Result<(), Error> {
    if i == blocks.range.start {
        return Ok(());
    }
    let header = blocks.batch.header(i).map_err(|_| Error::Empty)?;
    let linked = header.number == blocks.batch.number(i)
        && *header.parent_hash == blocks.batch.hashes[i - 1];
    if linked { Ok(()) } else { Err(Error::Empty) }
}

/// Headers `from..to` as one batch of the tree.
fn append_tree(
    tree: &HeaderTree,
    blocks: &Verified<'_>,
    from: usize,
    to: usize,
) -> Result<(), Error> {
    let entry = |i: usize| HeaderEntry {
        number: blocks.batch.number(i),
        hash: blocks.batch.hashes[i],
        header: blocks.batch.chunk.headers.get(i),
        total_difficulty: blocks.totals[i - blocks.range.start].to_be_bytes(),
    };
    tree.put(&(from..to).map(entry).collect::<Vec<_>>())?;
    Ok(())
}
