//! The blocks that a sink writes, and what the phases before found out about them.

use crate::commit::executed_store::BlockChanges;
use crate::execute::receipts::Receipts;
use crate::execute::stages::ExecutedChunk;
use crate::header::HeaderView;
use crate::link::{BlockId, Linked};
use crate::verify::{Checked, Content, Verdict};
use crate::{Address, Hash, U256};
use blockmill_archive::{Part, ReceiptEncoding};
use blockmill_hashes::ManyKeccak;
use blockmill_verdict::Location;
use std::borrow::Cow;
use std::ops::Range;

/// New blocks of a batch that passed every check and extend the chain. Only `Linked` names
/// them, which the link phase alone fills.
#[derive(Clone)]
pub struct Verified<'a> {
    pub(super) checked: Checked<'a>,
    pub(super) content: &'a Content,
    pub(super) executed: &'a ExecutedChunk,
    /// Is there no fault after these blocks?
    pub(super) is_faultless: bool,
    linked: &'a Linked,
    range: Range<usize>,
}

impl<'a> Verified<'a> {
    /// The new blocks of `linked` that are good by `verdict`, with what other phases left of
    /// them.
    pub(crate) fn new(
        checked: Checked<'a>,
        content: &'a Content,
        linked: &'a Linked,
        executed: &'a ExecutedChunk,
        verdict: &Verdict,
    ) -> Self {
        let (range, is_faultless) = (linked.range(verdict), verdict.fault.is_none());
        Self { checked, content, executed, is_faultless, linked, range }
    }
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
        self.checked.blocks.number(at)
    }

    /// Hash of block `at` of the batch.
    #[must_use]
    pub fn hash(&self, at: usize) -> &Hash {
        &self.checked.blocks.hashes[at]
    }

    /// Header of block `at` of the batch.
    #[must_use]
    pub fn header(&self, at: usize) -> &[u8] {
        self.checked.blocks.chunk.headers.get(at)
    }

    /// The fields of that header.
    #[must_use]
    pub fn fields(&self, at: usize) -> HeaderView<'_> {
        self.checked.header(at)
    }

    /// Total difficulty after new block `at` of the batch.
    #[must_use]
    pub fn total_difficulty(&self, at: usize) -> U256 {
        self.linked.totals()[at - self.range.start]
    }

    /// The block that was believed without a parent.
    #[must_use]
    pub fn anchor(&self) -> Option<BlockId> {
        self.linked.anchor()
    }

    /// Body of block `at` of the batch, if bodies were verified.
    #[must_use]
    pub fn body(&self, at: usize) -> Option<&[u8]> {
        let bodies = &self.checked.blocks.chunk.bodies;
        (at < bodies.len()).then(|| bodies.get(at))
    }

    /// Block access list of block `at` of the batch (EIP-7928); empty if the archive has none.
    #[must_use]
    pub fn access_list(&self, at: usize) -> &[u8] {
        self.checked.blocks.chunk.access_list(at)
    }

    /// Receipts of new block `at` of the batch, and their encoding: from the archive, else from the
    /// execution.
    #[must_use]
    pub fn receipts(&self, at: usize) -> Option<(Cow<'_, [u8]>, ReceiptEncoding)> {
        let Self { content, executed, .. } = self;
        let chunk = &self.checked.blocks.chunk;
        if at < chunk.receipts.len() {
            return Some((Cow::Borrowed(chunk.receipts.get(at)), chunk.receipt_encoding));
        }
        let done = executed.blocks.get(at - self.range.start)?;
        let mut receipts = Receipts::new(ManyKeccak::detect());
        let list = done.receipts(&mut receipts, content.prepared.get(at)?);
        Some((Cow::Owned(list), ReceiptEncoding::Consensus))
    }

    /// What new block `at` of the batch changed in the state, with old values; `None` if it was not
    /// executed. Block 0 is the state that the chain begins with, and changes nothing.
    #[must_use]
    pub fn changes(&self, at: usize) -> Option<BlockChanges> {
        let done = self.executed.blocks.get(at.checked_sub(self.range.start)?)?;
        Some(done.changes(self.number(at)))
    }

    /// The senders of the transactions of the batch, from its first block on; empty unless the
    /// import has a [`Consumer`](super::Consumer) and verifies bodies.
    #[must_use]
    pub fn signers(&self) -> &[Address] {
        &self.content.signers
    }

    /// Where `part` of block `at` of the batch is in the archive.
    #[must_use]
    pub fn location(&self, part: Part, at: usize) -> Option<Location> {
        self.checked.blocks.chunk.location(part, at)
    }
}
