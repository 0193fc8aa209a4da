//! What a connected batch has yet to prove: amounts, maturity, lock times, costs, scripts. Many
//! batches are checked at once.

use crate::coin::Coin;
use crate::coins::PackedCoin;
use crate::decode::{Block, Span};
use crate::error::{Rule, Violation};
use crate::execute::batch::{Batch, Context};
use crate::fault::{Cause, Error};
use crate::locks::SequenceLock;
use crate::params::{COINBASE_MATURITY, MAX_MONEY};
use crate::script::{Flags, Part, SpentCoin};
use crate::sigops::{MAX_SIGOP_COST, spent_cost};
use crate::undo;
use std::time::Instant;

impl Batch {
    /// Checks what spending and making coins must keep, runs the scripts, and encodes undo data.
    pub fn check(&mut self, context: &Context) {
        // a request to stop: the batch is taken back
        if !context.connects() || context.options.cancel.is_cancelled() {
            return;
        }
        let clock = Instant::now();
        let mut start = 0;
        for i in 0..self.good {
            let inputs = self.inputs_of_block(i);
            if let Err(error) = self.decode_spent(i, start) {
                self.good = i;
                self.error = Some(error);
                break;
            }
            if let Err(violation) = self.check_block(i, start, context) {
                let fault = context.fault(self.height(i), Cause::Rule(violation));
                self.cut(i, fault);
                break;
            }
            start += inputs;
        }
        self.run_scripts(context);
        self.encode_undo();
        self.times.check = clock.elapsed();
    }

    /// Inputs of block `i` that spend coins.
    fn inputs_of_block(&self, i: usize) -> usize {
        self.blocks[i].inputs.len() - 1
    }

    fn check_block(&mut self, i: usize, start: usize, context: &Context) -> Result<(), Violation> {
        let height = self.height(i);
        let block = &self.blocks[i];
        let rules = context.rules(height);
        let spent = &self.spent[start..];
        // counted by the flags that scripts run with, as in Core
        let flags = Flags::of(&rules);
        let (p2sh, witness) = (flags.has(Flags::P2SH), flags.has(Flags::WITNESS));
        let mut cost = self.sigop_costs[i];
        let (mut fees, mut at) = (0, 0);
        for (number, transaction) in block.transactions.iter().enumerate().skip(1) {
            let inputs = transaction.inputs.len();
            let coins = &spent[at..at + inputs];
            at += inputs;
            fees += fee(block, number, coins, height)?;
            check_fees(number, fees)?;
            if rules.csv && transaction.version as u32 >= 2 {
                check_locks(block, number, coins, height, context)?;
            }
            for (input, coin) in block.inputs_of(transaction).iter().zip(coins) {
                let script = coin.script.of(&self.scripts);
                let own = input.script.of(&block.raw);
                cost += spent_cost(own, block.witness(input), script, p2sh, witness);
            }
            if cost > MAX_SIGOP_COST {
                let expected = format_args!("a cost of at most {MAX_SIGOP_COST}");
                return Err(Violation::of_transaction(Rule::SigopCost, number, expected, cost));
            }
        }
        let paid = block.value_out(&block.transactions[0]);
        if paid > rules.subsidy + fees {
            let (subsidy, rule) = (rules.subsidy, Rule::CoinbaseValue);
            let expected = format_args!("at most {subsidy} of subsidy and {fees} of fees");
            return Err(Violation::of_transaction(rule, 0, expected, paid));
        }
        Ok(())
    }

    /// Decodes the coins that block `i` spends; the first of them is coin `start` of the batch.
    fn decode_spent(&mut self, i: usize, start: usize) -> Result<(), Error> {
        let mut from = start.checked_sub(1).map_or(0, |before| self.taken_ends[before] as usize);
        for end in &self.taken_ends[start..start + self.inputs_of_block(i)] {
            let encoded = &self.taken[from..*end as usize];
            let coin = PackedCoin::unpack(encoded).ok_or_else(|| {
                Error::Damaged(format!("expected a coin, found {} other bytes", encoded.len()))
            })?;
            let begin = self.scripts.len() as u32;
            coin.script.write_to(&mut self.scripts);
            let script = Span { start: begin, end: self.scripts.len() as u32 };
            let PackedCoin { value, height, coinbase, .. } = coin;
            self.spent.push(SpentCoin { value, height, coinbase, script });
            from = *end as usize;
        }
        Ok(())
    }

    /// Runs the scripts of all blocks above the height up to which they are assumed valid.
    fn run_scripts(&mut self, context: &Context) {
        let skipped = (context.assumed_valid + 1).saturating_sub(self.first) as usize;
        let mut at = 0;
        let mut parts = Vec::with_capacity(self.good);
        for i in 0..self.good {
            let block = &self.blocks[i];
            let inputs = block.inputs.len() - 1;
            if i >= skipped && inputs > 0 {
                let flags = Flags::of(&context.rules(self.height(i)));
                let coins = &self.spent[at..at + inputs];
                let transactions = 1..block.transactions.len();
                self.scripts_run += inputs as u64;
                parts.push((i, Part { block, transactions, coins, scripts: &self.scripts, flags }));
            }
            at += inputs;
        }
        let (numbers, parts): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let before = self.checks.counts().library;
        let outcome = self.checks.verify(&parts, context.scripts, &context.signatures);
        self.by_library = self.checks.counts().library - before;
        if let Err(fault) = outcome {
            let i = numbers.get(fault.part).copied().unwrap_or_default();
            let fault = context.fault(self.height(i), Cause::Script(fault));
            self.cut(i, fault);
        }
    }

    fn encode_undo(&mut self) {
        let mut at = 0;
        for i in 0..self.good {
            let block = &self.blocks[i];
            let inputs = block.inputs.len() - 1;
            let coins = self.spent[at..at + inputs].iter().map(|spent| Coin {
                height: spent.height,
                coinbase: spent.coinbase,
                value: spent.value,
                script: spent.script.of(&self.scripts),
            });
            let counts = block.transactions[1..].iter().map(|each| each.inputs.len());
            // there is one coin for each input
            let encoded = undo::encode(counts, coins, &mut self.undo);
            debug_assert!(encoded.is_ok());
            self.undo_ends.push(self.undo.len());
            at += inputs;
        }
    }
}

/// What transaction `number` pays to the miner, if the coins that it spends are ripe and suffice.
fn fee(block: &Block, number: usize, coins: &[SpentCoin], height: u32) -> Result<u64, Violation> {
    let mut sum = 0u64;
    for coin in coins {
        if coin.coinbase && height - coin.height < COINBASE_MATURITY {
            let expected = format_args!("coins {COINBASE_MATURITY} blocks after their coinbase");
            let found = format_args!("one of height {}", coin.height);
            let rule = Rule::CoinbaseImmature;
            return Err(Violation::of_transaction(rule, number, expected, found));
        }
        sum = sum.saturating_add(coin.value);
        if coin.value > MAX_MONEY || sum > MAX_MONEY {
            let expected = format_args!("inputs of at most {MAX_MONEY}");
            return Err(Violation::of_transaction(Rule::InputValues, number, expected, sum));
        }
    }
    let paid = block.value_out(&block.transactions[number]);
    sum.checked_sub(paid).ok_or_else(|| {
        let (expected, found) = (format_args!("outputs of at most {sum}").to_string(), paid);
        Violation::of_transaction(Rule::Inflation, number, expected, found)
    })
}

fn check_fees(number: usize, fees: u64) -> Result<(), Violation> {
    if fees <= MAX_MONEY {
        return Ok(());
    }
    let expected = format_args!("fees of at most {MAX_MONEY}");
    Err(Violation::of_transaction(Rule::Fees, number, expected, fees))
}

/// Relative lock times (BIP68).
fn check_locks(
    block: &Block,
    number: usize,
    coins: &[SpentCoin],
    height: u32,
    context: &Context,
) -> Result<(), Violation> {
    let transaction = &block.transactions[number];
    let sequences = block.inputs_of(transaction).iter().map(|input| input.sequence);
    let median = |height: u32| Ok(context.path.median_times[height as usize]);
    let heights = coins.iter().map(|coin| coin.height);
    let lock = SequenceLock::of(transaction.version, sequences.zip(heights), median)?;
    let past = context.path.median_times[height as usize - 1];
    if lock.allows(height, past) {
        return Ok(());
    }
    let expected = format_args!("a height above {} and a time after {}", lock.height, lock.time);
    let found = format_args!("height {height}, time {past}");
    Err(Violation::of_transaction(Rule::SequenceLock, number, expected, found))
}
