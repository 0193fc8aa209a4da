//! Coins spent and made, in chain order: the one part that cannot be done by several threads, and
//! so nothing else is done here.

use crate::Rule;
use crate::coin::OutPoint;
use crate::coins::key;
use crate::decode::Block;
use crate::error::Violation;
use crate::execute::batch::{Batch, Context};
use crate::execute::unwind::unwind;
use crate::fault::Cause;
use pipeline::Flow;
use std::time::Instant;
use store::Table;

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
    Store(store::Error),
}

impl From<store::Error> for Stopped {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

impl Batch {
    /// Spends and makes the coins of each block. A block that spends what is not there is taken
    /// back, and nothing after it is connected.
    pub fn connect(&mut self, context: &Context, coins: &mut Table) -> Flow {
        let start = Instant::now();
        let mut at = At::default();
        while self.connected < self.good {
            let i = self.connected;
            match self.connect_block(i, at, context, coins) {
                Ok(()) => self.connected += 1,
                Err(Stopped::Violation(violation)) => {
                    let fault = context.fault(self.height(i), Cause::Rule(violation));
                    self.cut(i, fault);
                }
                Err(Stopped::Store(error)) => {
                    self.error = Some(error.into());
                    self.good = i;
                }
            }
            at.output += self.blocks[i].outputs.len();
            at.input = self.taken_ends.len();
        }
        let due = coins.changes() > 0 && context.clock.is_due();
        self.settle = due || coins.wants_flush() || is_short(coins, context);
        self.times.connect = start.elapsed();
        match (self.fault.is_some() || self.error.is_some(), self.settle) {
            (true, _) => Flow::Stop,
            (false, true) => Flow::Settle,
            (false, false) => Flow::Continue,
        }
    }

    /// Lets the blocks pass, where coins do not matter.
    pub fn pass(&mut self) -> Flow {
        self.connected = self.good;
        if self.fault.is_some() { Flow::Stop } else { Flow::Continue }
    }

    fn connect_block(
        &mut self,
        i: usize,
        at: At,
        context: &Context,
        coins: &mut Table,
    ) -> Result<(), Stopped> {
        let rules = context.rules(self.height(i));
        if rules.bip30 {
            self.check_no_duplicates(i, at, coins)?;
        }
        // before BIP34 only the two blocks that are excepted from BIP30 come here without it
        let repeats = !rules.bip30 && !rules.bip34;
        let (mut input, mut output) = (at.input, at.output);
        let mut touched = input;
        for number in 0..self.blocks[i].transactions.len() {
            let transaction = &self.blocks[i].transactions[number];
            let inputs = if number == 0 { 0 } else { transaction.inputs.len() };
            let outputs = transaction.outputs.len() as u32;
            if input + inputs > touched {
                touched = (input + inputs.max(TOUCHED)).min(self.keys.len());
                coins.touch(&self.keys[input..touched]);
            }
            for (within, place) in (input..input + inputs).enumerate() {
                if !self.spend(place, context, coins)? {
                    let missing = self.missing(i, number, within);
                    self.take_back(i, at, number, coins)?;
                    return Err(Stopped::Violation(missing));
                }
            }
            input += inputs;
            let txid = self.blocks[i].txids[number];
            for vout in 0..outputs {
                let coin = made(&self.made, &self.made_ends, output);
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

    /// Spends the coin of input `place` of the batch. Returns whether it was there.
    fn spend(
        &mut self,
        place: usize,
        context: &Context,
        coins: &mut Table,
    ) -> Result<bool, store::Error> {
        let hint = if context.fetches { self.fetched.hint(place) } else { None };
        let there = coins.take(&self.keys[place], hint, &mut self.taken)?;
        if there {
            self.taken_ends.push(self.taken.len() as u32);
        }
        Ok(there)
    }

    /// BIP30: no transaction of the block may have the id of one that has unspent outputs.
    fn check_no_duplicates(&self, i: usize, at: At, coins: &Table) -> Result<(), Stopped> {
        let block = &self.blocks[i];
        let mut output = at.output;
        for (number, transaction) in block.transactions.iter().enumerate() {
            for vout in 0..transaction.outputs.len() as u32 {
                let coin = made(&self.made, &self.made_ends, output);
                output += 1;
                let key = key(&OutPoint { txid: block.txids[number], vout });
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

    fn missing(&self, i: usize, number: usize, within: usize) -> Violation {
        let block = &self.blocks[i];
        let input = &block.inputs_of(&block.transactions[number])[within];
        let outpoint = block.outpoint(input);
        let (txid, vout) = (crate::Id(&outpoint.txid), outpoint.vout);
        let expected = format_args!("output {vout} of {txid} unspent").to_string();
        Violation::of_transaction(Rule::CoinMissing, number, expected, "none")
    }

    /// Takes back what block `i` has done so far: all of the transactions before `number`, and the
    /// inputs of that one that were spent.
    fn take_back(
        &mut self,
        i: usize,
        at: At,
        number: usize,
        coins: &mut Table,
    ) -> Result<(), store::Error> {
        let spent = self.taken_ends.len() - at.input;
        let taken = Taken { bytes: &self.taken, ends: &self.taken_ends, first: at.input };
        unwind(coins, &self.blocks[i], number, spent, |input| taken.coin(input))?;
        self.taken_ends.truncate(at.input);
        self.taken.truncate(self.taken_ends.last().map_or(0, |end| *end as usize));
        Ok(())
    }

    /// Takes back the blocks that are connected but not finished, the last one first.
    pub fn disconnect(&mut self, coins: &mut Table) -> Result<(), store::Error> {
        let inputs = |block: &Block| block.inputs.len() - 1;
        let mut first: usize = self.blocks[..self.connected].iter().map(inputs).sum();
        while self.connected > self.finished {
            let block = &self.blocks[self.connected - 1];
            first -= inputs(block);
            let taken = Taken { bytes: &self.taken, ends: &self.taken_ends, first };
            let all = block.transactions.len();
            unwind(coins, block, all, inputs(block), |input| taken.coin(input))?;
            self.connected -= 1;
        }
        Ok(())
    }
}

/// Could the next batch bring the coins over the memory that they may have?
fn is_short(coins: &Table, context: &Context) -> bool {
    let memory = usize::try_from(context.options.memory).unwrap_or(usize::MAX);
    let reserve = NEXT_BATCH.min(memory / 4);
    coins.changes() > 0 && coins.memory().saturating_add(reserve) > memory
}

/// The coins that a block took.
struct Taken<'a> {
    bytes: &'a [u8],
    ends: &'a [u32],
    first: usize,
}

impl Taken<'_> {
    fn coin(&self, input: usize) -> &[u8] {
        made(self.bytes, self.ends, self.first + input)
    }
}

/// Entry `index` of encoded coins that stand one after the other.
fn made<'a>(bytes: &'a [u8], ends: &[u32], index: usize) -> &'a [u8] {
    let start = index.checked_sub(1).map_or(0, |before| ends[before] as usize);
    &bytes[start..ends[index] as usize]
}
