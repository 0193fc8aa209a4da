//! Spends and creates coins in chain order. This is the only serial phase, so it does nothing else.

use crate::Rule;
use crate::coins::{PackedCoin, key};
use crate::execute::batch::{Context, Verdict};
use crate::execute::list::ByteStrings;
use crate::execute::prepare::Prepared;
use crate::execute::read::Blocks;
use crate::execute::unwind::unwind;
use crate::fault::Cause;
use crate::params::Rules;
use crate::rule::Violation;
use crate::types::{Block, Coin, OutPoint};
use blockmill_store::Table;

/// Memory that a batch of 1 MiB can add to the coins: 30,000 outputs of 80 bytes, with their index.
const NEXT_BATCH: usize = 4 << 20;
/// Number of keys that are prefetched; more would evict each other from the cache.
const TOUCHED: usize = 64;

/// Position of a block in the lists of a batch: its first output and its first input.
#[derive(Clone, Copy, Default)]
struct BatchPosition {
    output: usize,
    input: usize,
}

/// Why a block could not be connected.
enum ConnectError {
    Violation(Violation),
    Store(blockmill_store::Error),
}

impl From<blockmill_store::Error> for ConnectError {
    fn from(error: blockmill_store::Error) -> Self {
        Self::Store(error)
    }
}

/// The third phase: the coins that the blocks spend.
#[derive(Default)]
pub(super) struct Connected {
    /// The coins that all inputs spend, encoded.
    spent: ByteStrings,
    /// Number of connected blocks.
    blocks: usize,
    /// Whether to write the coins to disk when this batch is finished.
    flush: bool,
}

/// The input for connecting a block.
#[derive(Clone, Copy)]
struct PreparedBlock<'a> {
    block: &'a Block,
    prepared: &'a Prepared,
    at: BatchPosition,
}

impl Connected {
    pub fn clear(&mut self) {
        self.spent.clear();
        self.blocks = 0;
        self.flush = false;
    }

    /// Spends and creates the coins of each block. A block that spends a missing coin is
    /// disconnected, and no later block is connected.
    pub fn connect(
        &mut self,
        blocks: &Blocks,
        prepared: &Prepared,
        context: &Context,
        coins: &mut Table,
        verdict: &mut Verdict,
    ) {
        let mut at = BatchPosition::default();
        while self.blocks < verdict.good() {
            let (block, place) = (blocks.get(self.blocks), blocks.place(self.blocks));
            let source = PreparedBlock { block, prepared, at };
            match self.connect_block(source, &place.rules, context, coins) {
                Ok(()) => self.blocks += 1,
                Err(ConnectError::Violation(violation)) => {
                    verdict.refuse(self.blocks, Cause::Rule(violation));
                }
                Err(ConnectError::Store(error)) => verdict.fail(self.blocks, error.into()),
            }
            at.output += block.outputs.len();
            at.input = self.spent.len();
        }
        let due = coins.changes() > 0 && context.clock.is_due();
        self.flush = due || coins.wants_flush() || is_short(coins, context);
    }

    /// Passes `blocks` on, at levels without coins.
    pub fn pass(&mut self, blocks: usize) {
        self.blocks = blocks;
    }

    fn connect_block(
        &mut self,
        source: PreparedBlock<'_>,
        rules: &Rules,
        context: &Context,
        coins: &mut Table,
    ) -> Result<(), ConnectError> {
        let PreparedBlock { block, prepared, at } = source;
        if rules.bip30 {
            source.check_no_duplicates(coins)?;
        }
        // before BIP34, only the two exceptions from BIP30 are not checked by it
        let repeats = !rules.bip30 && !rules.bip34;
        let keys = prepared.keys();
        let (mut input, mut output) = (at.input, at.output);
        let mut touched = input;
        for (number, transaction) in block.transactions.iter().enumerate() {
            let inputs = if number == 0 { 0 } else { transaction.inputs.len() };
            if input + inputs > touched {
                touched = (input + inputs.max(TOUCHED)).min(keys.len());
                coins.touch(&keys[input..touched]);
            }
            for (within, index) in (input..input + inputs).enumerate() {
                if !self.spend(index, prepared, context, coins)? {
                    let missing = source.missing(number, within);
                    self.disconnect_part(block, at, number, coins)?;
                    return Err(ConnectError::Violation(missing));
                }
            }
            input += inputs;
            let txid = block.txid(number);
            for vout in 0..transaction.outputs.len() as u32 {
                let coin = prepared.created(output);
                output += 1;
                if coin.is_empty() {
                    continue;
                }
                let key = key(&OutPoint { txid, vout });
                if repeats {
                    coins.replace(&key, coin)?
                } else {
                    coins.insert(&key, coin)?
                };
            }
        }
        Ok(())
    }

    /// Spends the coin of input `index` of the batch. Returns false if it is missing.
    fn spend(
        &mut self,
        index: usize,
        prepared: &Prepared,
        context: &Context,
        coins: &mut Table,
    ) -> Result<bool, blockmill_store::Error> {
        let hint = if context.fetches { prepared.fetched().hint(index) } else { None };
        let there = coins.take(&prepared.keys()[index], hint, self.spent.tail())?;
        if there {
            self.spent.end();
        }
        Ok(there)
    }

    /// Disconnects the transactions of a block before `number`, and the spent inputs of that one.
    fn disconnect_part(
        &mut self,
        block: &Block,
        at: BatchPosition,
        number: usize,
        coins: &mut Table,
    ) -> Result<(), blockmill_store::Error> {
        let spent = self.spent.len() - at.input;
        unwind(coins, block, number, spent, |input| self.spent.get(at.input + input))?;
        self.spent.truncate(at.input);
        Ok(())
    }

    /// Disconnects the blocks that are connected but not finished, in reverse order.
    pub fn disconnect(
        &mut self,
        blocks: &Blocks,
        finished: usize,
        coins: &mut Table,
    ) -> Result<(), blockmill_store::Error> {
        let inputs = |block: &Block| block.inputs.len() - 1;
        let mut first: usize = blocks.all()[..self.blocks].iter().map(inputs).sum();
        while self.blocks > finished {
            let block = blocks.get(self.blocks - 1);
            first -= inputs(block);
            let all = block.transactions.len();
            unwind(coins, block, all, inputs(block), |input| self.spent.get(first + input))?;
            self.blocks -= 1;
        }
        Ok(())
    }

    /// The encoded coin that an input of the batch spends; inputs of coinbases are not counted.
    pub fn spent(&self, input: usize) -> &[u8] {
        self.spent.get(input)
    }

    /// Number of inputs with a coin so far.
    pub fn spent_len(&self) -> usize {
        self.spent.len()
    }

    /// Appends the coin of the next input, from undo data.
    pub fn push_spent(&mut self, coin: &Coin) {
        PackedCoin::pack(coin, self.spent.tail());
        self.spent.end();
    }

    /// Returns whether to write the coins to disk when this batch is finished.
    pub fn flushes(&self) -> bool {
        self.flush
    }
}

impl PreparedBlock<'_> {
    /// BIP30: no transaction of the block may have the id of one that has unspent outputs.
    fn check_no_duplicates(&self, coins: &Table) -> Result<(), ConnectError> {
        let mut output = self.at.output;
        for (number, transaction) in self.block.transactions.iter().enumerate() {
            for vout in 0..transaction.outputs.len() as u32 {
                let coin = self.prepared.created(output);
                output += 1;
                let key = key(&OutPoint { txid: self.block.txid(number), vout });
                if !coin.is_empty() && coins.contains(&key, None)? {
                    let (expected, found) = ("a new transaction id", "one with unspent outputs");
                    let rule = Rule::UnspentDuplicate;
                    let violation = Violation::of_transaction(rule, number, expected, found);
                    return Err(ConnectError::Violation(violation));
                }
            }
        }
        Ok(())
    }

    fn missing(&self, number: usize, within: usize) -> Violation {
        let block = self.block;
        let input = &block.inputs_of(&block.transactions[number])[within];
        let OutPoint { txid, vout } = block.outpoint(input);
        let expected = format_args!("output {vout} of {txid} unspent").to_string();
        Violation::of_transaction(Rule::CoinMissing, number, expected, "none")
    }
}

/// Returns whether the next batch could exceed the memory of the coins.
fn is_short(coins: &Table, context: &Context) -> bool {
    let memory = usize::try_from(context.options.memory).unwrap_or(usize::MAX);
    let reserve = NEXT_BATCH.min(memory / 4);
    coins.changes() > 0 && coins.memory().saturating_add(reserve) > memory
}
