//! Where verified blocks go: nowhere, append-only segments, a design that a benchmark measures, or
//! what somebody else makes of them.

mod making;

pub use making::{MadeTask, Make, Making};

use crate::batch::Batch;
use crate::durable::{BlockChanges, ExecutedStore};
use crate::execute::receipts::Receipts;
use crate::fault::Error;
use crate::header::HeaderView;
pub use crate::link::Verified;
use crate::link::{BlockId, Tip};
use crate::{Address, Hash, Level, U256};
use blockmill_archive::{Column, Location, Part, ReceiptEncoding};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::{Cancel, Made, NotMade};
use blockmill_store::{Blocks, ChainStore, Items};
use std::borrow::Cow;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The receiver of an import.
pub enum Sink {
    /// Verify only.
    Discard,
    /// Append-only segments with a manifest: the store of `blockmill import`.
    Segments(Box<ChainStore>),
    /// The same with the state behind the last block.
    Executed(Box<ExecutedStore>),
    /// Another way to store headers, which a benchmark measures beside that, or another use of
    /// blocks.
    Design(Box<dyn Design>),
}

/// A way to store verified headers.
pub trait Design: Send {
    /// Stores the new headers. The time, as this design measures it.
    ///
    /// # Errors
    /// Those of its store.
    fn write(&mut self, commit: &Commit<'_>, blocks: &Verified<'_>) -> Result<Duration, Error>;

    /// Makes everything stored survive a power loss.
    ///
    /// # Errors
    /// Those of its store.
    fn sync(&mut self) -> Result<(), Error>;

    /// What is done with blocks before they are written; [`Verified::made`] has it then. Asked
    /// once.
    fn making(&mut self) -> Option<Making> {
        None
    }
}

/// What stays the same for all commits of one run.
pub struct Commit<'a> {
    /// Hash of the chain's genesis block.
    pub chain: Hash,
    /// How deep blocks were verified.
    pub level: Level,
    /// Whether the user asked to stop.
    pub cancel: &'a Cancel,
}

impl Verified<'_> {
    /// Where the new blocks are in their batch.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Number of block `at` of the batch.
    #[must_use]
    pub fn number(&self, at: usize) -> u64 {
        self.batch.number(at)
    }

    /// Hash of block `at` of the batch.
    #[must_use]
    pub fn hash(&self, at: usize) -> &Hash {
        &self.batch.hashes[at]
    }

    /// Header of block `at` of the batch.
    #[must_use]
    pub fn header(&self, at: usize) -> &[u8] {
        self.batch.chunk.headers.get(at)
    }

    /// The fields of that header.
    ///
    /// # Errors
    /// None of a header that was verified.
    pub fn fields(&self, at: usize) -> Result<HeaderView<'_>, Error> {
        HeaderView::decode(self.header(at)).map_err(|_| Error::StoredBlock {
            number: self.number(at),
            expected: *self.hash(at),
            found: None,
        })
    }

    /// Total difficulty after new block `at` of the batch.
    #[must_use]
    pub fn total_difficulty(&self, at: usize) -> U256 {
        self.totals[at - self.range.start]
    }

    /// The block that was believed without a parent.
    #[must_use]
    pub fn anchor(&self) -> Option<BlockId> {
        self.anchor
    }

    /// Body of block `at` of the batch, where bodies were verified.
    #[must_use]
    pub fn body(&self, at: usize) -> Option<&[u8]> {
        let bodies = &self.batch.chunk.bodies;
        (at < bodies.len()).then(|| bodies.get(at))
    }

    /// Receipts of new block `at` of the batch, and how they are written: those of the archive, or
    /// those of its execution.
    #[must_use]
    pub fn receipts(&self, at: usize) -> Option<(Cow<'_, [u8]>, ReceiptEncoding)> {
        let Batch { chunk, prepared, executed, .. } = self.batch;
        if at < chunk.receipts.len() {
            return Some((Cow::Borrowed(chunk.receipts.get(at)), chunk.receipt_encoding));
        }
        let done = executed.get(at - self.range.start)?;
        let mut receipts = Receipts::new(ManyKeccak::detect());
        let list = done.receipts(&mut receipts, prepared.get(at)?);
        Some((Cow::Owned(list), ReceiptEncoding::Consensus))
    }

    /// What new block `at` of the batch changed in the state, with old values; none where it was
    /// not executed. Block 0 is the state that the chain begins with, and changes nothing.
    #[must_use]
    pub fn changes(&self, at: usize) -> Option<BlockChanges> {
        let done = self.batch.executed.get(at.checked_sub(self.range.start)?)?;
        Some(done.changes(self.number(at)))
    }

    /// Who signed the transactions of the batch, from its first block on; only where
    /// [`Design::making`] was something and bodies are verified.
    #[must_use]
    pub fn signers(&self) -> &[Address] {
        &self.batch.signers
    }

    /// Where `part` of block `at` of the batch stands.
    #[must_use]
    pub fn location(&self, part: Part, at: usize) -> Option<Location> {
        self.batch.chunk.location(part, at)
    }

    /// What was made of these blocks.
    ///
    /// # Errors
    /// When nothing could be made of them.
    pub fn made(&self) -> Result<Option<&Made>, NotMade> {
        self.batch.made.as_ref().map(Result::as_ref).transpose().map_err(Clone::clone)
    }
}

/// Appends some of the new blocks; they count after [`commit`].
///
/// # Errors
/// Those of the store.
pub fn append(
    store: &mut ChainStore,
    blocks: &Verified<'_>,
    range: Range<usize>,
) -> Result<(), Error> {
    let Range { start: from, end: to } = range;
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

/// Commits what was appended: after it returns, the death of the process loses none of it.
///
/// # Errors
/// Those of the store.
pub fn commit(
    store: &mut ChainStore,
    commit: &Commit<'_>,
    blocks: &Verified<'_>,
) -> Result<(), Error> {
    store.commit(&tip_of(commit, blocks))?;
    Ok(())
}

/// What a store says of its last block when these are the last ones.
fn tip_of(commit: &Commit<'_>, blocks: &Verified<'_>) -> blockmill_store::Tip {
    let anchor = blocks.anchor.unwrap_or(BlockId { number: 0, hash: commit.chain });
    let last = blocks.range.end - 1;
    let total = blocks.totals.last().copied().unwrap_or(U256::ZERO);
    blockmill_store::Tip {
        number: blocks.batch.number(last),
        hash: blocks.batch.hashes[last],
        total_difficulty: total.to_be_bytes(),
        anchor_number: anchor.number,
        anchor_hash: anchor.hash,
        chain: commit.chain,
        level: commit.level as u8,
    }
}

/// Appends the records of the new blocks to the log of the state. The genesis block's is there.
fn log(store: &mut ExecutedStore, blocks: &Verified<'_>) -> Result<(), Error> {
    for (at, done) in blocks.range().zip(&blocks.batch.executed) {
        if !done.record.is_empty() {
            store.log(blocks.number(at), *blocks.hash(at), &done.record)?;
        }
    }
    Ok(())
}

impl Sink {
    /// Writes the new blocks and commits them. The time of the write.
    pub(crate) fn write(
        &mut self,
        commit: &Commit<'_>,
        blocks: &Verified<'_>,
    ) -> Result<Duration, Error> {
        let start = Instant::now();
        match self {
            _ if blocks.range.is_empty() => return Ok(Duration::ZERO),
            Self::Discard => {}
            Self::Segments(store) => {
                append(store, blocks, blocks.range())?;
                self::commit(store, commit, blocks)?;
            }
            Self::Executed(store) => {
                append(&mut store.blocks, blocks, blocks.range())?;
                log(store, blocks)?;
                let is_settled = blocks.batch.settles && blocks.batch.fault.is_none();
                store.commit(&tip_of(commit, blocks), is_settled)?;
            }
            Self::Design(design) => return design.write(commit, blocks),
        }
        Ok(start.elapsed())
    }

    /// Number of the last committed block; none where nothing is kept.
    pub(crate) fn committed(&self) -> Option<u64> {
        self.store()?.tip().map(|tip| tip.number)
    }

    /// Takes back the last committed block, which is `tip`, unless it is the only one, or the log
    /// of the state has no way back.
    pub(crate) fn take_back(&mut self, tip: &Tip, cancel: &Cancel) -> Result<(), Error> {
        let Some(store) = self.store() else { return Ok(()) };
        let (Some(first), Some(stored)) = (store.first(), store.tip()) else { return Ok(()) };
        if stored.hash != tip.id.hash || first == stored.number {
            return Ok(());
        }
        let number = stored.number - 1;
        let Some(hash) = store.hash_of(number)? else { return Ok(()) };
        // one difficulty less: `check::tip_at` would add them all up from the genesis block
        let difficulty = HeaderView::decode(&tip.header).map_or(U256::ZERO, |tip| tip.difficulty);
        let total = U256::from_be_bytes(stored.total_difficulty).saturating_sub(difficulty);
        let total_difficulty = total.to_be_bytes();
        match self {
            Self::Segments(store) => {
                store.truncate_after(&blockmill_store::Tip {
                    number,
                    hash,
                    total_difficulty,
                    ..stored
                })?;
            }
            Self::Executed(store) => match store.unwind(number, cancel) {
                Err(Error::Unwind { .. }) => {}
                other => drop(other?),
            },
            Self::Discard | Self::Design(_) => {}
        }
        Ok(())
    }

    /// What is done with blocks before they are written.
    pub(crate) fn making(&mut self) -> Option<Making> {
        match self {
            Self::Design(design) => design.making(),
            _ => None,
        }
    }

    /// The stored blocks, where blocks are kept in a store of ours.
    #[must_use]
    pub fn store(&self) -> Option<&ChainStore> {
        match self {
            Self::Segments(store) => Some(store),
            Self::Executed(store) => Some(&store.blocks),
            Self::Discard | Self::Design(_) => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn store_mut(&mut self) -> Option<&mut ChainStore> {
        match self {
            Self::Segments(store) => Some(store),
            Self::Executed(store) => Some(&mut store.blocks),
            Self::Discard | Self::Design(_) => None,
        }
    }

    /// Number of the last committed block, which is read back and hashed; none where nothing is
    /// kept. An error is for a block that is not what was written.
    pub fn read_back(&self) -> Result<Option<u64>, Error> {
        let Some(store) = self.store() else { return Ok(None) };
        let Some(tip) = store.tip() else { return Ok(None) };
        let (number, expected) = (tip.number, tip.hash);
        let damaged = |found| Err(Error::StoredBlock { number, expected, found });
        let Some(header) = store.header(number)? else { return damaged(None) };
        let found = blockmill_hashes::keccak256(&header);
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
            Self::Executed(store) => store.sync()?,
            Self::Design(design) => design.sync()?,
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
