//! Coins spent and created, in chain order: the one part that cannot be done by several threads,
//! and so nothing else is done here.

use crate::Rule;
use crate::coins::{PackedCoin, key};
use crate::error::Violation;
use crate::execute::batch::{Context, Verdict};
use crate::execute::list::ByteStrings;
use crate::execute::prepare::Prepared;
use crate::execute::read::Blocks;
use crate::execute::unwind::unwind;
use crate::fault::Cause;
use crate::params::Rules;
use crate::types::{Block, Coin, OutPoint};
use blockmill_store::Table;

/// What a batch of a MiB can add to the coins: 30,000 outputs of 80 bytes, and room to find them.
const NEXT_BATCH: usize = 4 << 20;
/// Keys that are touched ahead of their use; more would push each other out of the cache.
const TOUCHED: usize = 64;

/// Where the lists of a batch stand for a block: its first output and its first input.
#[derive(Clone, Copy, Default)]
struct At {
    output: usize,
    input: usize,
}

/// What a block did to the coins before it could go no further.
enum Stopped {
    Violation(Violation),
    Store(blockmill_store::Error),
}

impl From<blockmill_store::Error> for Stopped {
    fn from(error: blockmill_store::Error) -> Self {
        Self::Store(error)
    }
}

/// The third phase: what the blocks have done to the coins.
#[derive(Default)]
pub(super) struct Connected {
    /// The coins that all inputs spend, encoded.
    spent: ByteStrings,
    /// Blocks that are connected to the coins.
    blocks: usize,
    /// The coins are to be written to disk when this batch is finished.
    flush: bool,
}

/// What connecting a block reads.
#[derive(Clone, Copy)]
struct Source<'a> {
    block: &'a Block,
    prepared: &'a Prepared,
    at: At,
}

impl Connected {
    pub fn clear(&mut self) {
        self.spent.clear();
        self.blocks = 0;
        self.flush = false;
    }

    /// Spends and creates the coins of each block. A block that spends what is not there is taken
    /// back, and nothing after it is connected.
    pub fn connect(
        &mut self,
        blocks: &Blocks,
        prepared: &Prepared,
        context: &Context,
        coins: &mut Table,
        verdict: &mut Verdict,
    ) {
        let mut at = At::default();
        while self.blocks < verdict.good() {
            let (block, place) = (blocks.get(self.blocks), blocks.place(self.blocks));
            let source = Source { block, prepared, at };
            match self.connect_block(source, &place.rules, context, coins) {
                Ok(()) => self.blocks += 1,
                Err(Stopped::Violation(violation)) => {
                    verdict.refuse(self.blocks, Cause::Rule(violation));
                }
                Err(Stopped::Store(error)) => verdict.fail(self.blocks, error.into()),
            }
            at.output += block.outputs.len();
            at.input = self.spent.len();
        }
        let due = coins.changes() > 0 && context.clock.is_due();
        self.flush = due || coins.wants_flush() || is_short(coins, context);
    }

    /// Lets `blocks` pass, where coins do not matter.
    pub fn pass(&mut self, blocks: usize) {
        self.blocks = blocks;
    }

    fn connect_block(
        &mut self,
        source: Source<'_>,
        rules: &Rules,
        context: &Context,
        coins: &mut Table,
    ) -> Result<(), Stopped> {
        let Source { block, prepared, at } = source;
        if rules.bip30 {
            source.check_no_duplicates(coins)?;
        }
        // before BIP34 only the two blocks that are excepted from BIP30 come here without it
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
                    self.take_back(block, at, number, coins)?;
                    return Err(Stopped::Violation(missing));
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

    /// Spends the coin of input `index` of the batch. Returns whether it was there.
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

    /// Takes back what a block has done so far: all of the transactions before `number`, and the
    /// inputs of that one that were spent.
    fn take_back(
        &mut self,
        block: &Block,
        at: At,
        number: usize,
        coins: &mut Table,
    ) -> Result<(), blockmill_store::Error> {
        let spent = self.spent.len() - at.input;
        unwind(coins, block, number, spent, |input| self.spent.get(at.input + input))?;
        self.spent.truncate(at.input);
        Ok(())
    }

    /// Takes back the blocks that are connected but not finished, the last one first.
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

    /// The coin that an input of the batch spends, encoded; those of coinbases are not counted.
    pub fn spent(&self, input: usize) -> &[u8] {
        self.spent.get(input)
    }

    /// How many inputs have a coin so far.
    pub fn spent_len(&self) -> usize {
        self.spent.len()
    }

    /// The coin of the next input, which undo data tells.
    pub fn push_spent(&mut self, coin: &Coin) {
        PackedCoin::pack(coin, self.spent.tail());
        self.spent.end();
    }

    /// Are the coins to be written to disk when this batch is finished?
    pub fn flushes(&self) -> bool {
        self.flush
    }
}

impl Source<'_> {
    /// BIP30: no transaction of the block may have the id of one that has unspent outputs.
    fn check_no_duplicates(&self, coins: &Table) -> Result<(), Stopped> {
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
                    return Err(Stopped::Violation(violation));
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

/// Could the next batch bring the coins over the memory that they may have?
fn is_short(coins: &Table, context: &Context) -> bool {
    let memory = usize::try_from(context.options.memory).unwrap_or(usize::MAX);
    let reserve = NEXT_BATCH.min(memory / 4);
    coins.changes() > 0 && coins.memory().saturating_add(reserve) > memory
}
