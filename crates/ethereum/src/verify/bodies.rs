//! The bodies of a chunk: compared with their headers, and transactions with their rules.

use super::{Checked, Checks, Verdict};
use crate::access_list::{self, ListLimits};
use crate::body::receipts;
use crate::body::senders::{KeyBatch, Senders, Signed};
use crate::body::transaction_rules::TransactionRules;
use crate::body::transaction_rules::block::BlockTerms;
use crate::body::{BodyView, verify_body, verify_hash_of_access_list};
use crate::encoding::body_cause;
use crate::execute::evm::recover_authorities;
use crate::execute::{PreparedBlock, PreparedTransaction};
use crate::fault::Cause;
use crate::header::HeaderView;
use crate::rule::{Rule, Violation};
use crate::settings::SenderBatches;
use crate::{Address, Hash, Level};
use blockmill_archive::Part;
use blockmill_trie::RootBuilder;
use std::time::Duration;

/// What the checks of bodies and seals leave. It keeps its memory from batch to batch.
#[derive(Default)]
pub(crate) struct Content {
    /// The block of each seal that was checked: its own one, or that of an ommer.
    pub sealed: Vec<usize>,
    /// The blocks whose seals were not checked.
    pub unsealed: Vec<usize>,
    /// Transactions in the bodies that were checked.
    pub transactions: u64,
    /// Senders that were recovered.
    pub senders: u64,
    /// The senders of the transactions, if a sink asks for them.
    pub signers: Vec<Address>,
    /// At level execution, the blocks that are executed: at least the good ones.
    pub prepared: Vec<PreparedBlock>,
    /// At level execution, the first block with an access list that is not the header's: the
    /// archive is wrong, and execution finds in which entry.
    pub other_list: Option<(usize, Violation)>,
    buffers: Buffers,
}

impl Content {
    /// Forgets what was found in the batch before.
    pub(super) fn clear(&mut self) {
        self.other_list = None;
        self.sealed.clear();
        self.unsealed.clear();
        (self.transactions, self.senders) = (0, 0);
    }
}

/// Buffers of the checks of bodies.
#[derive(Default)]
struct Buffers {
    roots: RootBuilder,
    keys: KeyBatch,
    /// The hashes of the block access lists, if the chunk has any.
    list_hashes: Vec<Hash>,
}

impl Checks<'_> {
    /// Compares transactions, ommers, withdrawals and receipts with their roots, and transactions
    /// with their rules. Returns the time that it took to recover senders.
    pub(super) fn check_bodies(
        &self,
        checked: Checked<'_>,
        content: &mut Content,
        verdict: &mut Verdict,
    ) -> Duration {
        let Content { buffers, signers, other_list, .. } = content;
        let executes = self.level >= Level::Execution && !self.known;
        let mut prepared = vec![];
        signers.clear();
        let mut add = |signed: &Signed<'_>, sender| {
            let Signed { transaction, form } = signed;
            if executes {
                prepared.push(PreparedTransaction::new(transaction, sender, form.protected));
            }
            signers.push(sender);
        };
        let mut senders = Senders::new(self.signatures, self.hasher, &mut buffers.keys);
        if executes || self.keep_signers {
            senders.each = Some(&mut add);
        }
        let lists = &checked.blocks.chunk.access_lists;
        buffers.list_hashes.resize(lists.len(), Hash::default());
        self.hasher.keccak256_column(&lists.bytes, &lists.ends, &mut buffers.list_hashes);
        let mut transactions = 0;
        let mut failure = None;
        for i in 0..verdict.good {
            let buffers = (&mut buffers.roots, &buffers.list_hashes[..]);
            match self.check_body(checked, i, buffers, &mut senders, other_list) {
                Ok(count) => transactions += count,
                Err(fault) => {
                    failure = Some(*fault);
                    break;
                }
            }
        }
        // signatures that were not verified yet are of blocks before the fault
        if let Err(refused) = senders.recover() {
            failure = Some((refused.block, Part::Body, refused.cause()));
        }
        let (recovered, busy) = (senders.recovered, senders.busy);
        if let Some((i, part, cause)) = failure {
            verdict.refuse(checked.blocks, i, part, cause);
        }
        if executes {
            recover_authorities(self.signatures, prepared.iter_mut());
            content.prepared = self.prepare(checked, verdict.good, prepared);
        }
        (content.transactions, content.senders) = (transactions, recovered);
        busy
    }

    /// Prepares the first `good` blocks, which have these transactions, for execution.
    fn prepare(
        &self,
        checked: Checked<'_>,
        good: usize,
        transactions: Vec<PreparedTransaction>,
    ) -> Vec<PreparedBlock> {
        let mut prepared = Vec::with_capacity(good);
        let mut transactions = transactions.into_iter();
        for i in 0..good {
            // every good body was decoded before
            let Ok(body) = BodyView::decode(checked.blocks.chunk.bodies.get(i)) else { break };
            let own = transactions.by_ref().take(body.transaction_count()).collect();
            let (hash, header) = (checked.blocks.hashes[i], checked.header(i));
            prepared.push(PreparedBlock::from_parts(self.spec, hash, &header, &body, own));
        }
        prepared
    }

    /// Checks the block access list of a block, if the archive has it, by the rules that need no
    /// execution: a fault in its form is named, and then that of its hash. `hash` is `None` if
    /// there is no list.
    fn check_access_list(
        &self,
        header: &HeaderView<'_>,
        list: &[u8],
        hash: Option<&Hash>,
        transactions: usize,
    ) -> Result<(), Violation> {
        let Some(hash) = hash else { return Ok(()) };
        let fork = self.spec.rules_of(header).fork;
        let code = self.spec.code_size.at(fork, header.number, header.timestamp).code;
        let code = code.max(access_list::MAX_CODE_SIZE);
        let limits = ListLimits { gas_limit: header.gas_limit, transactions, code };
        if header.block_access_list_hash.is_some() {
            access_list::check(list, &limits)?;
        }
        verify_hash_of_access_list(header, hash)
    }

    /// Checks the body and the receipts of block `i`, and adds its transactions to those of which
    /// the senders are recovered. Returns the number of its transactions, or the fault of this
    /// block or one before it.
    fn check_body<'a>(
        &self,
        checked: Checked<'a>,
        i: usize,
        (roots, list_hashes): (&mut RootBuilder, &[Hash]),
        senders: &mut Senders<'_, 'a>,
        other_list: &mut Option<(usize, Violation)>,
    ) -> Result<u64, Box<(usize, Part, Cause)>> {
        let chunk = &checked.blocks.chunk;
        let in_body = |cause: Cause| Box::new((i, Part::Body, cause));
        if i >= chunk.bodies.len() {
            let violation = Violation::new(Rule::BodyMissing, "a body", "none in the archive");
            return Err(in_body(Cause::Rule(violation)));
        }
        let header = checked.header(i);
        let raw = chunk.bodies.get(i);
        let fork_rules = self.spec.rules_of(&header);
        let body = BodyView::decode(raw)
            .map_err(|error| in_body(body_cause(raw, error, fork_rules.fork)))?;
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
        let list = chunk.access_list(i);
        let hash = list_hashes.get(i).filter(|_| !list.is_empty());
        let list = self.check_access_list(&header, list, hash, body.transaction_count());
        if let Err(violation) = list {
            // the genesis block is not executed
            let executes = self.level >= Level::Execution && !self.known && header.number > 0;
            if !executes || violation.rule != Rule::BodyAccessList {
                return Err(Box::new((i, Part::AccessList, Cause::Rule(violation))));
            }
            other_list.get_or_insert((i, violation));
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
