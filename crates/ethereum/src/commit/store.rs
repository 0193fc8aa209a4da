//! The stores of `blockmill import`.

use super::{BlockSink, Commit, Verified};
use crate::commit::executed_store::ExecutedStore;
use crate::error::Error;
use crate::link::{BlockId, Tip};
use crate::{Level, U256};
use blockmill_archive::{Chunk, Column};
use blockmill_pipeline::Cancel;
use blockmill_store::{Blocks, ChainStore, Items};
use std::ops::Range;

/// What `verify` and `import` write.
pub enum Sink {
    /// Nothing: verify only.
    Discard,
    /// Append-only segments with a manifest: the store of `blockmill import`.
    Segments(Box<ChainStore>),
    /// Segments, with the state after the last block.
    Executed(Box<ExecutedStore>),
}

impl BlockSink for Sink {
    fn write(&mut self, commit: &Commit, blocks: &Verified<'_>) -> Result<(), Error> {
        match self {
            Self::Discard => Ok(()),
            Self::Segments(store) => {
                append(store, blocks, blocks.range())?;
                self::commit(store, commit, blocks)
            }
            Self::Executed(store) => {
                append(&mut store.blocks, blocks, blocks.range())?;
                log(store, blocks)?;
                let writes_state = blocks.executed.writes_state && blocks.is_faultless;
                Ok(store.commit(&tip_of(commit, blocks), writes_state)?)
            }
        }
    }

    fn sync(&mut self) -> Result<(), Error> {
        match self {
            Self::Discard => Ok(()),
            Self::Segments(store) => Ok(store.sync()?),
            Self::Executed(store) => Ok(store.sync()?),
        }
    }

    fn store(&self) -> Option<&ChainStore> {
        match self {
            Self::Discard => None,
            Self::Segments(store) => Some(store),
            Self::Executed(store) => Some(&store.blocks),
        }
    }

    fn store_mut(&mut self) -> Option<&mut ChainStore> {
        match self {
            Self::Discard => None,
            Self::Segments(store) => Some(store),
            Self::Executed(store) => Some(&mut store.blocks),
        }
    }

    fn executed(&mut self) -> Option<&mut ExecutedStore> {
        match self {
            Self::Executed(store) => Some(store),
            Self::Discard | Self::Segments(_) => None,
        }
    }
}

/// Appends some of the new blocks; they count after [`commit`].
///
/// # Errors
/// [`Error::Store`] if they cannot be written.
pub fn append(
    store: &mut ChainStore,
    blocks: &Verified<'_>,
    range: Range<usize>,
) -> Result<(), Error> {
    let Range { start: from, end: to } = range;
    let chunk = &blocks.checked.blocks.chunk;
    let mut ends = [vec![], vec![], vec![]];
    let [headers, bodies, receipts] = &mut ends;
    let empty = Items { bytes: &[], ends: &[] };
    let with_lists = bodies_with_lists(chunk, from..to);
    store.append(&Blocks {
        first: blocks.number(from),
        hashes: &blocks.checked.blocks.hashes[from..to],
        headers: items(&chunk.headers, from, to, headers).unwrap_or(empty),
        bodies: match &with_lists {
            Some(column) => Some(Items { bytes: &column.bytes, ends: &column.ends }),
            None => items(&chunk.bodies, from, to, bodies),
        },
        receipts: items(&chunk.receipts, from, to, receipts),
    })?;
    Ok(())
}

/// Commits what was appended: after it returns, a kill of the process loses none of it.
///
/// # Errors
/// [`Error::Store`] if it cannot be written.
pub fn commit(store: &mut ChainStore, commit: &Commit, blocks: &Verified<'_>) -> Result<(), Error> {
    store.commit(&tip_of(commit, blocks))?;
    Ok(())
}

/// The tip that a store records when these blocks are its last ones.
fn tip_of(commit: &Commit, blocks: &Verified<'_>) -> blockmill_store::Tip {
    let anchor = blocks.anchor().unwrap_or(BlockId { number: 0, hash: commit.chain });
    let last = blocks.range().end - 1;
    blockmill_store::Tip {
        number: blocks.number(last),
        hash: *blocks.hash(last),
        total_difficulty: blocks.total_difficulty(last).to_be_bytes(),
        anchor_number: anchor.number,
        anchor_hash: anchor.hash,
        chain: commit.chain,
        level: commit.level as u8,
    }
}

/// Appends the records of the new blocks to the log of the state. The genesis block's is there.
fn log(store: &mut ExecutedStore, blocks: &Verified<'_>) -> Result<(), Error> {
    for (at, done) in blocks.range().zip(&blocks.executed.blocks) {
        if !done.record.is_empty() {
            store.log(blocks.number(at), *blocks.hash(at), &done.record)?;
        }
    }
    Ok(())
}

/// Number of the last committed block; `None` if the sink has no store.
pub(crate) fn committed(sink: &dyn BlockSink) -> Option<u64> {
    sink.store()?.tip().map(|tip| tip.number)
}

/// Removes the last committed block, which is `tip`, unless it is the only one, or the rollback log
/// does not reach the block before it.
///
/// # Errors
/// [`Error::Store`] and [`Error::State`] of the store.
pub(crate) fn remove_tip(
    sink: &mut dyn BlockSink,
    tip: &Tip,
    cancel: &Cancel,
) -> Result<(), Error> {
    let Some(store) = sink.store() else { return Ok(()) };
    let (Some(first), Some(stored)) = (store.first(), store.tip()) else { return Ok(()) };
    if stored.hash != tip.id.hash || first == stored.number {
        return Ok(());
    }
    let number = stored.number - 1;
    let Some(hash) = store.hash_of(number)? else { return Ok(()) };
    // one difficulty less: `check::tip_at` would add them all up from the genesis block
    let difficulty = tip.header.view().difficulty;
    let total = U256::from_be_bytes(stored.total_difficulty).saturating_sub(difficulty);
    let total_difficulty = total.to_be_bytes();
    if let Some(store) = sink.executed() {
        match store.unwind(number, cancel) {
            Err(Error::Unwind { .. }) => {}
            other => drop(other?),
        }
    } else if let Some(store) = sink.store_mut() {
        let tip = blockmill_store::Tip { number, hash, total_difficulty, ..stored };
        store.truncate_after(&tip)?;
    }
    Ok(())
}

/// Number of the last committed block, which is read back and hashed; `None` if the sink has no
/// store.
///
/// # Errors
/// [`Error::StoredBlock`] if the block is not what was written, [`Error::Store`] if it cannot be
/// read.
pub(crate) fn read_back(sink: &dyn BlockSink) -> Result<Option<u64>, Error> {
    let Some(store) = sink.store() else { return Ok(None) };
    let Some(tip) = store.tip() else { return Ok(None) };
    let (number, expected) = (tip.number, tip.hash);
    let damaged = |found| Err(Error::StoredBlock { number, expected, found });
    let Some(header) = store.header(number)? else { return damaged(None) };
    let found = blockmill_rlp::ethereum::block_hash(&header);
    if found != expected {
        return damaged(Some(found));
    }
    if tip.level >= Level::Bodies as u8 && store.body(number)?.is_none() {
        return damaged(None);
    }
    Ok(Some(number))
}

/// The bodies of blocks with their block access lists, as
/// [`split_body`](crate::stored::split_body) cuts them; `None` if no block of the chunk has a list.
fn bodies_with_lists(chunk: &Chunk, range: Range<usize>) -> Option<Column> {
    if chunk.access_lists.is_empty() || chunk.bodies.is_empty() {
        return None;
    }
    let mut column = Column::new();
    for i in range {
        column.bytes.extend_from_slice(chunk.bodies.get(i));
        column.push(chunk.access_list(i));
    }
    Some(column)
}

/// Items `from..to` of a column; `None` when the column is empty.
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
