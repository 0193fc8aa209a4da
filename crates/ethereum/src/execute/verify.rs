//! Executes one block and compares the result with its header.

use super::block::PreparedBlock;
use super::block_gas::BlockGas;
use super::evm::{Evm, Outcome, Reads, Tally};
use super::{dao, requests, rewards, system};
use crate::Hash;
use crate::access_list::BlockAccessList;
use crate::params::{ChainSpec, Fork};
use crate::rule::{Rule, Violation};
use crate::state::{Changes, StateError};

/// The result of executing a block.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    /// Its changes.
    pub changes: Changes,
    /// Before Byzantium, the changes of each transaction, since receipts have state roots.
    /// `changes` are those after the last transaction then.
    pub steps: Vec<Changes>,
    /// The outcome of each transaction.
    pub outcomes: Vec<Outcome>,
    /// Committed and aborted speculations.
    pub tally: Tally,
    /// Its state reads.
    pub reads: Reads,
    /// Its accesses and changes (EIP-7928); `None` before Amsterdam.
    pub access_list: Option<BlockAccessList>,
}

/// The reason why the execution of a block fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    /// The block breaks a rule.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// A part of the state is not known or cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Header fields, besides roots and bloom, as execution finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    /// Gas of all transactions.
    pub gas_used: u64,
    /// The hash of the requests (EIP-7685), from Prague on.
    pub requests_hash: Option<Hash>,
}

/// Executes a block on the state after its parent, and compares gas used and requests with the
/// header. The state then is the one after the block. The caller compares receipts, access list and
/// state root ([`super::receipts`], [`Executed::access_list`], [`crate::state::Tries`]).
///
/// # Errors
/// [`ExecutionError`] for an invalid block or an unknown part of the state. The state then has a
/// part of the block's changes: the steps of `executed`, followed by
/// [`crate::state::State::take_changes`].
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

/// Executes a block: system calls, transactions, requests, withdrawals and rewards, in this order.
/// Does not compare the result with the header, and leaves the changes after the last step in the
/// state.
///
/// # Errors
/// [`ExecutionError`] for an invalid transaction or an unknown part of the state.
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
    let mut gas = BlockGas::new(fork, block.header.gas_limit);
    for (index, tx) in block.transactions.iter().enumerate() {
        gas.verify(tx.gas_limit).map_err(|violation| violation.in_transaction(index))?;
        evm.set_access_index(index + 1);
        let outcome = match evm.transact(tx) {
            Ok(outcome) => outcome,
            Err(refusal) => return Err(refusal.violation(index, &tx.sender)?.into()),
        };
        gas.add(&outcome);
        executed.outcomes.push(outcome);
        if fork < Fork::Byzantium {
            executed.steps.push(evm.state().take_changes());
        }
    }
    evm.commit_block()?;
    evm.set_access_index(block.transactions.len() + 1);
    executed.tally = evm.take_tally();
    let mut requests_hash = None;
    if fork >= Fork::Prague {
        let deposits = requests::deposits(&spec.deposit_contract, &executed.outcomes)?;
        let mut all: Vec<_> = deposits.into_iter().collect();
        all.extend(system::collect_requests(evm, fork)?);
        requests_hash = Some(requests::requests_hash(&all));
    }
    rewards::pay_withdrawals(evm, block)?;
    rewards::pay_rewards(evm, block)?;
    executed.access_list = evm.take_access_list();
    Ok(Totals { gas_used: gas.used(), requests_hash })
}

/// The changes of a block before its transactions.
fn refund_and_keep(
    spec: &ChainSpec,
    evm: &mut Evm<'_>,
    block: &PreparedBlock,
) -> Result<(), StateError> {
    dao::refund_dao(evm, spec.dao, block.header.number)?;
    system::keep_roots(evm, block)
}

/// The error for a blob fee beyond 256 bits.
fn unknown_rules(block: &PreparedBlock) -> ExecutionError {
    let expected = "a blob fee below 2^256 wei";
    let (fork, fee) = (block.terms.fork, block.terms.base_fee);
    let found = format!("{fork:?}, base fee {fee}");
    Violation::new(Rule::ExecutionRules, expected, found).into()
}
