//! Verifies the scripts of many transactions in batches.

use super::library::Library;
use super::templates::{Checks, Indexes, Templates};
use super::{Flags, Form, Reason, Spend, SpentCoin};
use crate::types::Block;
use blockmill_signatures::Signatures;
use std::fmt;
use std::ops::Range;

/// Signatures in a batch: enough to fill all lanes, few enough to stay in the second-level cache
/// (160 bytes each).
const BATCH: usize = 1024;

blockmill_pipeline::named_option! {
    /// How scripts are verified.
    pub enum Scripts: "scripts", level Execution {
        /// Every script is run by Bitcoin Core's library.
        Library = "library",
        /// Standard forms are reduced to their signatures, which are verified in batches; the
        /// library runs the others.
        Templates = "templates",
    }
}

/// Consecutive transactions of one block, with the coins that they spend.
#[derive(Clone, Debug)]
pub struct BlockScripts<'a> {
    /// The block.
    pub block: &'a Block,
    /// Its transactions to verify. The coinbase, number 0, is skipped.
    pub transactions: Range<usize>,
    /// The coins that the block spends: one for each input, except that of the coinbase.
    pub coins: &'a [SpentCoin],
    /// The buffer with the scripts of the coins.
    pub scripts: &'a [u8],
    /// The rules in force for the block.
    pub flags: Flags,
}

impl<'a> BlockScripts<'a> {
    fn spend(&self, transaction: usize) -> Result<Spend<'a>, Reason> {
        let transactions = &self.block.transactions;
        let inputs = &transactions.get(transaction).ok_or(Reason::Absent)?.inputs;
        let coinbase = transactions.first().map_or(0, |coinbase| coinbase.inputs.end);
        let index = |input: u32| input.saturating_sub(coinbase) as usize;
        self.coins
            .get(index(inputs.start)..index(inputs.end))
            .and_then(|coins| Spend::new(self.block, transaction, coins, self.scripts))
            .ok_or(Reason::Coins {
                expected: index(self.block.inputs.len() as u32),
                found: self.coins.len(),
            })
    }
}

/// The first input whose script fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptFault {
    /// The index among the verified parts.
    pub part: usize,
    /// The transaction's number in its block.
    pub transaction: usize,
    /// The input's number in its transaction.
    pub input: usize,
    /// The reason.
    pub reason: Reason,
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "script of transaction {}, input {}: {}",
            self.transaction, self.input, self.reason
        )
    }
}

impl std::error::Error for ScriptFault {}

/// Counts of inputs by their verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All inputs.
    pub inputs: u64,
    /// Inputs recognised as each form of [`Form::ALL`].
    pub forms: [u64; Form::ALL.len()],
    /// Inputs that the library verified: all that are not recognised, and those with an invalid
    /// signature.
    pub library: u64,
    /// Bytes of the transactions that the library read for them, each once.
    pub library_bytes: u64,
}

/// An input of the current batch.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    part: usize,
    transaction: usize,
    input: usize,
    /// Its checks. `None`: the library verifies it.
    indexes: Option<Indexes>,
}

/// The last transaction that the library read, with part and number. It is kept for the next batch,
/// so that no transaction is read twice.
type LastRead = Option<((usize, usize), Library)>;

/// Verifies scripts. Keeps its buffers for the next call.
#[derive(Debug, Default)]
pub struct ScriptBatch {
    templates: Templates,
    checks: Checks,
    waiting: Vec<Waiting>,
    ecdsa: Vec<bool>,
    schnorr: Vec<bool>,
    tweaks: Vec<bool>,
    counts: Counts,
}

impl ScriptBatch {
    /// Counts over all calls.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Verifies the scripts of all inputs of `parts`.
    ///
    /// # Errors
    /// Returns the first input, in order, that fails.
    pub fn verify(
        &mut self,
        parts: &[BlockScripts],
        scripts: Scripts,
        signatures: &Signatures,
    ) -> Result<(), ScriptFault> {
        self.clear();
        let mut library = None;
        for (part, each) in parts.iter().enumerate() {
            let end = each.transactions.end.min(each.block.transactions.len());
            for transaction in each.transactions.start.max(1)..end {
                let spend = match each.spend(transaction) {
                    Ok(spend) => spend,
                    Err(reason) => {
                        self.decide(parts, signatures, &mut library)?;
                        return Err(ScriptFault { part, transaction, input: 0, reason });
                    }
                };
                self.templates.reset();
                self.counts.inputs += spend.inputs().len() as u64;
                for input in 0..spend.inputs().len() {
                    let indexes = match scripts {
                        Scripts::Library => None,
                        Scripts::Templates => self.recognise(&spend, input, each.flags),
                    };
                    self.waiting.push(Waiting { part, transaction, input, indexes });
                    if self.is_full() {
                        self.decide(parts, signatures, &mut library)?;
                    }
                }
            }
        }
        self.decide(parts, signatures, &mut library)
    }

    fn recognise(&mut self, spend: &Spend, input: usize, flags: Flags) -> Option<Indexes> {
        let found = self.templates.recognise(spend, input, flags, &mut self.checks);
        let (form, indexes) = found?;
        self.counts.forms[form as usize] += 1;
        Some(indexes)
    }

    fn is_full(&self) -> bool {
        // each tweak has a Schnorr signature
        let Checks { ecdsa, schnorr, tweaks: _, multisigs } = &self.checks;
        self.waiting.len() >= 4 * BATCH
            || ecdsa.len() >= BATCH
            || schnorr.len() >= BATCH
            || multisigs.len() >= BATCH
    }

    /// Verifies the batch: all signatures, then the other inputs by the library.
    fn decide(
        &mut self,
        parts: &[BlockScripts],
        signatures: &Signatures,
        library: &mut LastRead,
    ) -> Result<(), ScriptFault> {
        self.ecdsa.resize(self.checks.ecdsa.len(), false);
        self.schnorr.resize(self.checks.schnorr.len(), false);
        self.tweaks.resize(self.checks.tweaks.len(), false);
        signatures.ecdsa(&self.checks.ecdsa, &mut self.ecdsa);
        signatures.schnorr(&self.checks.schnorr, &mut self.schnorr);
        signatures.tweaks(&self.checks.tweaks, &mut self.tweaks);
        self.checks.multisigs.solve(signatures);
        let result = self.ask_library(parts, library);
        self.clear();
        result
    }

    fn clear(&mut self) {
        self.checks.ecdsa.clear();
        self.checks.schnorr.clear();
        self.checks.tweaks.clear();
        self.checks.multisigs.clear();
        self.waiting.clear();
        self.ecdsa.clear();
        self.schnorr.clear();
        self.tweaks.clear();
    }

    fn holds(&self, indexes: Indexes) -> bool {
        let held = |valid: Option<&bool>| valid.is_some_and(|valid| *valid);
        match indexes {
            Indexes::Ecdsa(at) => held(self.ecdsa.get(at)),
            Indexes::Schnorr(at) => held(self.schnorr.get(at)),
            Indexes::Tapscript { signature, commitment } => {
                held(self.schnorr.get(signature)) && held(self.tweaks.get(commitment))
            }
            Indexes::Multisig(at) => self.checks.multisigs.accepts(at),
        }
    }

    fn ask_library(
        &mut self,
        parts: &[BlockScripts],
        library: &mut LastRead,
    ) -> Result<(), ScriptFault> {
        for at in 0..self.waiting.len() {
            let Waiting { part, transaction, input, indexes } = self.waiting[at];
            if indexes.is_some_and(|indexes| self.holds(indexes)) {
                continue;
            }
            self.counts.library += 1;
            let fault = |reason| ScriptFault { part, transaction, input, reason };
            let each = parts.get(part).ok_or_else(|| fault(Reason::Absent))?;
            let read = match library.take() {
                Some((of, read)) if of == (part, transaction) => read,
                _ => {
                    let spend = each.spend(transaction).map_err(fault)?;
                    self.counts.library_bytes += spend.encoding().len() as u64;
                    Library::read(&spend).map_err(fault)?
                }
            };
            let (_, read) = library.insert(((part, transaction), read));
            read.verify(input, each.flags).map_err(fault)?;
        }
        Ok(())
    }
}
