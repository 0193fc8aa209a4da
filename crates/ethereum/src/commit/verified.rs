//! What a sink reads of verified blocks.

use crate::batch::Batch;
use crate::commit::executed_store::BlockChanges;
use crate::execute::receipts::Receipts;
use crate::fault::Error;
use crate::header::HeaderView;
use crate::link::{BlockId, Verified};
use crate::{Address, Hash, U256};
use blockmill_archive::{Part, ReceiptEncoding};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::{Made, NotMade};
use blockmill_verdict::Location;
use std::borrow::Cow;
use std::ops::Range;

impl Verified<'_> {
    /// Where the new blocks are in their batch.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Number of block `at` of the batch.
    #[must_use]
    pub fn number(&self, at: usize) -> u64 {
        self.batch.blocks.number(at)
    }

    /// Hash of block `at` of the batch.
    #[must_use]
    pub fn hash(&self, at: usize) -> &Hash {
        &self.batch.blocks.hashes[at]
    }

    /// Header of block `at` of the batch.
    #[must_use]
    pub fn header(&self, at: usize) -> &[u8] {
        self.batch.blocks.chunk.headers.get(at)
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
        let bodies = &self.batch.blocks.chunk.bodies;
        (at < bodies.len()).then(|| bodies.get(at))
    }

    /// Receipts of new block `at` of the batch, and how they are written: those of the archive, or
    /// those of its execution.
    #[must_use]
    pub fn receipts(&self, at: usize) -> Option<(Cow<'_, [u8]>, ReceiptEncoding)> {
        let Batch { blocks, content, executed, .. } = self.batch;
        let chunk = &blocks.chunk;
        if at < chunk.receipts.len() {
            return Some((Cow::Borrowed(chunk.receipts.get(at)), chunk.receipt_encoding));
        }
        let done = executed.blocks.get(at - self.range.start)?;
        let mut receipts = Receipts::new(ManyKeccak::detect());
        let list = done.receipts(&mut receipts, content.prepared.get(at)?);
        Some((Cow::Owned(list), ReceiptEncoding::Consensus))
    }

    /// What new block `at` of the batch changed in the state, with old values; none where it was
    /// not executed. Block 0 is the state that the chain begins with, and changes nothing.
    #[must_use]
    pub fn changes(&self, at: usize) -> Option<BlockChanges> {
        let done = self.batch.executed.blocks.get(at.checked_sub(self.range.start)?)?;
        Some(done.changes(self.number(at)))
    }

    /// Who signed the transactions of the batch, from its first block on; only where
    /// [`BlockSink::making`](super::BlockSink::making) was something and bodies are verified.
    #[must_use]
    pub fn signers(&self) -> &[Address] {
        &self.batch.content.signers
    }

    /// Where `part` of block `at` of the batch stands.
    #[must_use]
    pub fn location(&self, part: Part, at: usize) -> Option<Location> {
        self.batch.blocks.chunk.location(part, at)
    }

    /// What was made of these blocks.
    ///
    /// # Errors
    /// When nothing could be made of them.
    pub fn made(&self) -> Result<Option<&Made>, NotMade> {
        self.batch.made.as_ref().map(Result::as_ref).transpose().map_err(Clone::clone)
    }
}
