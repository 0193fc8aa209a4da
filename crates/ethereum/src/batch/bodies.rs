//! The bodies of a chunk: against their headers, and the transactions against their rules.

use super::{Blocks, Checks, Content, Verdict};
use crate::Level;
use crate::body::receipts;
use crate::body::senders::{KeyBatch, Senders, Signed};
use crate::body::transaction_rules::TransactionRules;
use crate::body::transaction_rules::block::BlockTerms;
use crate::body::{BodyView, verify_access_list, verify_body};
use crate::encoding::{body_cause, header_cause};
use crate::error::{Rule, Violation};
use crate::execute::evm::recover_authorities;
use crate::execute::{PreparedBlock, PreparedTransaction};
use crate::fault::Cause;
use crate::settings::SenderBatches;
use blockmill_archive::Part;
use blockmill_trie::RootBuilder;
use std::time::Duration;

/// What the checks of bodies keep from chunk to chunk.
#[derive(Default)]
pub(super) struct BodyMemory {
    roots: RootBuilder,
    keys: KeyBatch,
}

impl Checks<'_> {
    /// Compares transactions, ommers, withdrawals and receipts with their roots, and holds the
    /// transactions to their rules. The time it took to recover senders.
    pub(super) fn check_bodies(
        &self,
        blocks: &Blocks,
        content: &mut Content,
        verdict: &mut Verdict,
    ) -> Duration {
        let Content { memory, signers, .. } = content;
        let executes = self.level >= Level::Execution && !self.known;
        let mut prepared = vec![];
        signers.clear();
        let mut take = |signed: &Signed<'_>, sender| {
            let Signed { transaction, form } = signed;
            if executes {
                prepared.push(PreparedTransaction::new(transaction, sender, form.protected));
            }
            signers.push(sender);
        };
        let mut senders = Senders::new(self.signatures, self.hasher, &mut memory.keys);
        if executes || self.keep_signers {
            senders.each = Some(&mut take);
        }
        let mut transactions = 0;
        let mut failure = None;
        for i in 0..verdict.good {
            match self.check_body(blocks, i, &mut memory.roots, &mut senders) {
                Ok(count) => transactions += count,
                Err(fault) => {
                    failure = Some(*fault);
                    break;
                }
            }
        }
        // those that wait stand before a fault
        if let Err(refused) = senders.recover() {
            failure = Some((refused.block, Part::Body, refused.cause()));
        }
        let (recovered, busy) = (senders.recovered, senders.busy);
        if let Some((i, part, cause)) = failure {
            verdict.refuse(blocks, i, part, cause);
        }
        if executes {
            recover_authorities(self.signatures, prepared.iter_mut());
            content.prepared = self.prepare(blocks, verdict.good, prepared);
        }
        (content.transactions, content.senders) = (transactions, recovered);
        busy
    }

    /// The first `good` blocks as execution takes them; these are their transactions.
    fn prepare(
        &self,
        blocks: &Blocks,
        good: usize,
        transactions: Vec<PreparedTransaction>,
    ) -> Vec<PreparedBlock> {
        let mut prepared = Vec::with_capacity(good);
        let mut transactions = transactions.into_iter();
        for i in 0..good {
            let (Ok(header), Ok(body)) =
                (blocks.header(i), BodyView::decode(blocks.chunk.bodies.get(i)))
            else {
                break; // they were decoded before
            };
            let own = transactions.by_ref().take(body.transaction_count()).collect();
            prepared.push(PreparedBlock::of(self.spec, blocks.hashes[i], &header, &body, own));
        }
        prepared
    }

    /// Checks the body and the receipts of block `i`, and adds its transactions to those whose
    /// senders are sought; the number of its transactions, or the fault of this block or one
    /// before it.
    fn check_body<'a>(
        &self,
        blocks: &'a Blocks,
        i: usize,
        roots: &mut RootBuilder,
        senders: &mut Senders<'_, 'a>,
    ) -> Result<u64, Box<(usize, Part, Cause)>> {
        let chunk = &blocks.chunk;
        let in_body = |cause: Cause| Box::new((i, Part::Body, cause));
        if i >= chunk.bodies.len() {
            let violation = Violation::new(Rule::BodyMissing, "a body", "none in the archive");
            return Err(in_body(Cause::Rule(violation)));
        }
        let raw = chunk.headers.get(i);
        let in_header = |error| Box::new((i, Part::Header, header_cause(raw, error)));
        let header = blocks.header(i).map_err(in_header)?;
        let raw = chunk.bodies.get(i);
        let body = BodyView::decode(raw).map_err(|error| in_body(body_cause(raw, error)))?;
        let fork_rules = self.spec.rules_of(&header);
        verify_body(fork_rules.fork, &header, &body, roots).map_err(|v| in_body(Cause::Rule(v)))?;
        if i < chunk.receipts.len() {
            let list = chunk.receipts.get(i);
            receipts::verify_receipts(&header, &body, list, chunk.receipt_encoding, roots)
                .map_err(|v| Box::new((i, Part::Receipts, Cause::Rule(v))))?;
        } else if body.transaction_count() == 0 && header.number > 0 {
            // the genesis block is known by its hash, and no rule binds it
            receipts::verify_no_receipts(&header)
                .map_err(|v| Box::new((i, Part::Header, Cause::Rule(v))))?;
        }
        if i < chunk.access_lists.len() {
            verify_access_list(&header, chunk.access_lists.get(i))
                .map_err(|v| Box::new((i, Part::AccessList, Cause::Rule(v))))?;
        }
        if self.known {
            return Ok(0); // the same transactions were verified before
        }
        let rules = TransactionRules::of(self.spec, fork_rules.fork, &header);
        let terms = BlockTerms::new(&header, fork_rules.blobs);
        senders
            .add(i, body.transactions(), &rules, &terms)
            .and_then(|()| match self.sender_batches {
                SenderBatches::Block => senders.recover(),
                SenderBatches::Chunk => Ok(()),
            })
            .map_err(|refused| Box::new((refused.block, Part::Body, refused.cause())))?;
        Ok(body.transaction_count() as u64)
    }
}
