//! One block: executed, and held to what its header says of it.

use super::block::PreparedBlock;
use super::evm::{Evm, Outcome, Reads, Tally};
use super::{dao, requests, rewards, system};
use crate::Hash;
use crate::error::{Rule, Violation};
use crate::params::{ChainSpec, Fork};
use crate::state::{Changes, StateError};

/// What a block did.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    /// What it changed.
    pub changes: Changes,
    /// Before Byzantium, what each transaction changed: its receipt has the state root behind it.
    /// Then `changes` are those after the last transaction.
    pub steps: Vec<Changes>,
    /// What each transaction led to.
    pub outcomes: Vec<Outcome>,
    /// What became of transactions that were executed before their turn.
    pub tally: Tally,
    /// What it read of the state.
    pub reads: Reads,
}

/// Why a block is not executed to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    /// It breaks a rule.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// Not all of the state that it needs is known.
    #[error(transparent)]
    State(#[from] StateError),
}

/// What a header says of its block besides roots and bloom, as execution finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    /// Gas of all transactions.
    pub gas_used: u64,
    /// The hash of the requests (EIP-7685), from Prague on.
    pub requests_hash: Option<Hash>,
}

/// Executes a block on the state behind its parent and compares gas used and requests with the
/// header. The state then is the one behind the block. Receipts and state root are for the caller
/// ([`super::receipts`], [`crate::state::Tries`]).
///
/// # Errors
/// The rule that the block breaks, or what is not known of the state. Then the state holds a part
/// of the block's changes: the steps of `executed`, and behind them what
/// [`crate::state::State::take_changes`] gives.
pub fn execute(
    spec: &ChainSpec,
    evm: &mut Evm<'_>,
    block: &PreparedBlock,
    executed: &mut Executed,
) -> Result<(), ExecutionError> {
    let found = run(spec, evm, block, executed)?;
    executed.reads = evm.take_reads();
    if found.gas_used != block.header.gas_used {
        return Err(Violation::new(Rule::ReceiptsGas, block.header.gas_used, found.gas_used).into());
    }
    if let Some(hash) = &found.requests_hash {
        requests::verify_requests(block.header.requests_hash.as_ref(), hash)?;
    }
    let state = evm.state();
    state.ancestors.push(block.header.number, block.hash);
    executed.changes = state.take_changes();
    Ok(())
}

/// Executes a block: system calls, transactions, requests, withdrawals and rewards, in their order.
/// What its header says of the result is not looked at, and the changes behind the last step are
/// not taken from the state.
///
/// # Errors
/// Those of [`execute`].
pub(super) fn run(
    spec: &ChainSpec,
    evm: &mut Evm<'_>,
    block: &PreparedBlock,
    executed: &mut Executed,
) -> Result<Totals, ExecutionError> {
    let fork = block.terms.fork;
    evm.begin(&block.terms).ok_or_else(|| unknown_rules(block))?;
    refund_and_keep(spec, evm, block)?;
    *executed = Executed::default();
    let mut gas_left = block.header.gas_limit;
    for (index, tx) in block.transactions.iter().enumerate() {
        if tx.gas_limit > gas_left {
            let expected = format!("at most {gas_left}, which earlier transactions left");
            let rule = Rule::BlockGasLimit;
            return Err(Violation::of_transaction(rule, index, expected, tx.gas_limit).into());
        }
        let outcome = match evm.transact(tx) {
            Ok(outcome) => outcome,
            Err(refusal) => return Err(refusal.violation(index, &tx.sender)?.into()),
        };
        gas_left = gas_left.saturating_sub(outcome.gas_used);
        executed.outcomes.push(outcome);
        if fork < Fork::Byzantium {
            executed.steps.push(evm.state().take_changes());
        }
    }
    evm.settle()?;
    executed.tally = evm.take_tally();
    let mut requests_hash = None;
    if fork >= Fork::Prague {
        let deposits = requests::deposits(&spec.deposit_contract, &executed.outcomes)?;
        let mut all: Vec<_> = deposits.into_iter().collect();
        all.extend(system::collect_requests(evm)?);
        requests_hash = Some(requests::requests_hash(&all));
    }
    rewards::pay_withdrawals(evm, block)?;
    rewards::pay_rewards(evm, block)?;
    Ok(Totals { gas_used: block.header.gas_limit - gas_left, requests_hash })
}

/// What a block does before its transactions.
fn refund_and_keep(
    spec: &ChainSpec,
    evm: &mut Evm<'_>,
    block: &PreparedBlock,
) -> Result<(), StateError> {
    dao::refund_dao(evm, spec.dao, block.header.number)?;
    system::keep_roots(evm, block)
}

/// The machine does not know the fork, or cannot count the blob fee of this block.
fn unknown_rules(block: &PreparedBlock) -> ExecutionError {
    let expected = "a fork from Frontier to Osaka, and a blob fee below 2^256 wei";
    let (fork, fee) = (block.terms.fork, block.terms.base_fee);
    let found = format!("{fork:?}, base fee {fee}");
    Violation::new(Rule::ExecutionRules, expected, found).into()
}
