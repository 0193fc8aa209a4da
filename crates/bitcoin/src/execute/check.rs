//! Checks connected batches in parallel: amounts, maturity, lock times, costs, scripts.

use crate::body::locks::SequenceLock;
use crate::body::sigops::{MAX_SIGOP_COST, spent_cost};
use crate::coins::PackedCoin;
use crate::error::Error;
use crate::execute::batch::Verdict;
use crate::execute::connect::Connected;
use crate::execute::list::ByteStrings;
use crate::execute::place::{Place, Terms};
use crate::execute::prepare::Prepared;
use crate::execute::read::Blocks;
use crate::fault::Cause;
use crate::params::COINBASE_MATURITY;
use crate::rule::{Rule, Violation};
use crate::script::{BlockScripts, Flags, ScriptBatch, SpentCoin};
use crate::types::{Amount, Block, Coin};
use crate::undo;
use crate::verified::{Derive, Spent, VerifiedBlock};
use blockmill_verdict::Span;
use blockmill_verdict::{ConsumerError, DerivedRows};
use std::ops::Range;

/// The fourth phase: the undo data of verified blocks.
#[derive(Default)]
pub(super) struct Checked {
    /// The coins that the inputs of all blocks spend.
    spent: Vec<SpentCoin>,
    /// Their scripts.
    scripts: Vec<u8>,
    /// Script checks of all blocks.
    checks: ScriptBatch,
    /// Undo data of each block.
    undo: ByteStrings,
    /// Number of inputs with verified scripts.
    scripts_run: u64,
    /// How many of them the library verified.
    by_library: u64,
}

impl Checked {
    pub fn clear(&mut self) {
        self.spent.clear();
        self.scripts.clear();
        self.undo.clear();
        self.scripts_run = 0;
        self.by_library = 0;
    }

    /// Checks amounts and locks, verifies the scripts, and encodes undo data.
    pub fn check(
        &mut self,
        blocks: &Blocks,
        prepared: &Prepared,
        connected: &Connected,
        terms: &Terms,
        verdict: &mut Verdict,
    ) {
        let mut start = 0;
        for (i, block) in blocks.all()[..verdict.good()].iter().enumerate() {
            let (place, cost) = (blocks.place(i), prepared.sigop_cost(i));
            let end = start + inputs_of(block);
            if let Err(error) = self.decode_spent(connected, start..end) {
                verdict.fail(i, error);
                break;
            }
            if let Err(violation) = self.check_block(block, place, cost, start, terms) {
                verdict.refuse(i, Cause::Rule(violation));
                break;
            }
            start = end;
        }
        self.run_scripts(blocks, terms, verdict);
        // coins from undo data need no further undo data
        if terms.multiset.is_none() {
            self.encode_undo(&blocks.all()[..verdict.good()]);
        }
    }

    /// Checks one block. `cost` is the cost of the signature checks in its own scripts; `start` is
    /// the index of the first coin that it spends.
    fn check_block(
        &self,
        block: &Block,
        place: &Place,
        mut cost: u32,
        start: usize,
        terms: &Terms,
    ) -> Result<(), Violation> {
        let rules = &place.rules;
        let spent = &self.spent[start..];
        // counted with the flags of script verification, as in Core
        let flags = Flags::for_rules(rules);
        let (p2sh, witness) = (flags.has(Flags::P2SH), flags.has(Flags::WITNESS));
        let (mut fees, mut at) = (Amount::ZERO, 0);
        for (number, transaction) in block.transactions.iter().enumerate().skip(1) {
            let inputs = transaction.inputs.len();
            let coins = &spent[at..at + inputs];
            at += inputs;
            fees = fees.saturating_add(fee(block, number, coins, rules.height)?);
            check_fees(number, fees)?;
            if rules.csv && transaction.version as u32 >= 2 {
                check_locks(block, number, coins, place, terms)?;
            }
            for (input, coin) in block.inputs_of(transaction).iter().zip(coins) {
                let script = coin.script.slice(&self.scripts);
                let own = input.script.slice(&block.raw);
                cost += spent_cost(own, block.witness(input), script, p2sh, witness);
            }
            if cost > MAX_SIGOP_COST {
                let expected = format_args!("a cost of at most {MAX_SIGOP_COST}");
                return Err(Violation::of_transaction(Rule::SigopCost, number, expected, cost));
            }
        }
        let paid = block.value_out(&block.transactions[0]);
        if paid > rules.subsidy.saturating_add(fees) {
            let (subsidy, rule) = (rules.subsidy, Rule::CoinbaseValue);
            let expected = format_args!("at most {subsidy} of subsidy and {fees} of fees");
            return Err(Violation::of_transaction(rule, 0, expected, paid));
        }
        Ok(())
    }

    /// Decodes the coins that these inputs of the batch spend.
    fn decode_spent(&mut self, connected: &Connected, inputs: Range<usize>) -> Result<(), Error> {
        for input in inputs {
            let coin = PackedCoin::stored(connected.spent(input))?;
            let begin = self.scripts.len() as u32;
            coin.script.write_to(&mut self.scripts);
            let script = Span { start: begin, end: self.scripts.len() as u32 };
            let PackedCoin { value, height, coinbase, .. } = coin;
            self.spent.push(SpentCoin { value, height, coinbase, script });
        }
        Ok(())
    }

    /// Verifies the scripts of all blocks above the assumed-valid height.
    fn run_scripts(&mut self, blocks: &Blocks, terms: &Terms, verdict: &mut Verdict) {
        let mut at = 0;
        let mut parts = Vec::with_capacity(verdict.good());
        for (i, block) in blocks.all()[..verdict.good()].iter().enumerate() {
            let (inputs, rules) = (inputs_of(block), &blocks.place(i).rules);
            if rules.height > terms.assumed_valid && inputs > 0 {
                let flags = Flags::for_rules(rules);
                let coins = &self.spent[at..at + inputs];
                let transactions = 1..block.transactions.len();
                self.scripts_run += inputs as u64;
                parts.push((
                    i,
                    BlockScripts { block, transactions, coins, scripts: &self.scripts, flags },
                ));
            }
            at += inputs;
        }
        let (numbers, parts): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let before = self.checks.counts().library;
        let outcome = self.checks.verify(&parts, terms.scripts, &terms.signatures);
        self.by_library = self.checks.counts().library - before;
        if let Err(fault) = outcome {
            let i = numbers.get(fault.part).copied().unwrap_or_default();
            verdict.refuse(i, Cause::Script(fault));
        }
    }

    fn encode_undo(&mut self, blocks: &[Block]) {
        let mut at = 0;
        for block in blocks {
            let inputs = inputs_of(block);
            let coins = self.spent[at..at + inputs].iter().map(|spent| Coin {
                height: spent.height,
                coinbase: spent.coinbase,
                value: spent.value,
                script: spent.script.slice(&self.scripts),
            });
            let counts = block.transactions[1..].iter().map(|each| each.inputs.len());
            // succeeds, as there is one coin for each input
            let encoded = undo::encode(counts, coins, self.undo.tail());
            debug_assert!(encoded.is_ok());
            self.undo.end();
            at += inputs;
        }
    }

    /// The undo data of block `i`.
    pub fn undo(&self, i: usize) -> &[u8] {
        self.undo.get(i)
    }

    /// The coins that these inputs of the batch spend.
    fn spent(&self, inputs: Range<usize>) -> Spent<'_> {
        Spent { coins: &self.spent[inputs], scripts: &self.scripts }
    }

    /// Derives rows from the good blocks with the given heights, and from the genesis block if the
    /// first of them follows it.
    pub fn derive(
        &self,
        good: &[Block],
        height: impl Fn(usize) -> u32,
        follows_genesis: bool,
        terms: &Terms,
        derive: &Derive,
    ) -> Result<DerivedRows, ConsumerError> {
        let genesis = follows_genesis.then(|| terms.params.genesis_block()).flatten();
        let first = genesis.iter().map(|block| VerifiedBlock { height: 0, block, spent: None });
        let mut at = 0;
        let others = good.iter().enumerate().map(|(i, block)| {
            let (start, inputs) = (at, inputs_of(block));
            at += inputs;
            let spent = terms.connects.then(|| self.spent(start..at));
            VerifiedBlock { height: height(i), block, spent }
        });
        derive(&first.chain(others).collect::<Vec<_>>())
    }

    /// Number of inputs with verified scripts, and how many of them the library verified.
    pub fn scripts_run(&self) -> (u64, u64) {
        (self.scripts_run, self.by_library)
    }
}

/// Number of inputs of a block that spend coins.
fn inputs_of(block: &Block) -> usize {
    block.inputs.len() - 1
}

/// The fee of transaction `number`. Fails if a coin is immature, or the coins do not suffice.
fn fee(
    block: &Block,
    number: usize,
    coins: &[SpentCoin],
    height: u32,
) -> Result<Amount, Violation> {
    let mut sum = Amount::ZERO;
    for coin in coins {
        if coin.coinbase && height - coin.height < COINBASE_MATURITY {
            let expected = format_args!("coins {COINBASE_MATURITY} blocks after their coinbase");
            let found = format_args!("one of height {}", coin.height);
            let rule = Rule::CoinbaseImmature;
            return Err(Violation::of_transaction(rule, number, expected, found));
        }
        sum = sum.saturating_add(coin.value);
        if !sum.is_in_range() {
            let expected = format_args!("inputs of at most {}", Amount::MAX);
            return Err(Violation::of_transaction(Rule::InputValues, number, expected, sum));
        }
    }
    let paid = block.value_out(&block.transactions[number]);
    sum.checked_sub(paid).ok_or_else(|| {
        let (expected, found) = (format_args!("outputs of at most {sum}").to_string(), paid);
        Violation::of_transaction(Rule::Inflation, number, expected, found)
    })
}

fn check_fees(number: usize, fees: Amount) -> Result<(), Violation> {
    if fees.is_in_range() {
        return Ok(());
    }
    let expected = format_args!("fees of at most {}", Amount::MAX);
    Err(Violation::of_transaction(Rule::Fees, number, expected, fees))
}

/// Relative lock times (BIP68).
fn check_locks(
    block: &Block,
    number: usize,
    coins: &[SpentCoin],
    place: &Place,
    terms: &Terms,
) -> Result<(), Violation> {
    let transaction = &block.transactions[number];
    let sequences = block.inputs_of(transaction).iter().map(|input| input.sequence);
    let median = |height: u32| Ok(terms.median_times[height as usize]);
    let heights = coins.iter().map(|coin| coin.height);
    let lock = SequenceLock::new(transaction.version, sequences.zip(heights), median)?;
    let (height, past) = (place.rules.height, place.median_time_past);
    if lock.allows(height, past) {
        return Ok(());
    }
    let expected = format_args!("a height above {} and a time after {}", lock.height, lock.time);
    let found = format_args!("height {height}, time {past}");
    Err(Violation::of_transaction(Rule::SequenceLock, number, expected, found))
}
