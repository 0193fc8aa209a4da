//! Counts of the instructions and calls of transactions, and the instruction set of a fork.
//! Counting is slower than execution, so only tests and benchmarks use it.

use super::rules::{Machine, Rules, Surroundings, spec_of};
use super::wide::Wide;
use super::{View, refusal};
use crate::execute::block::BlockTerms;
use crate::execute::transaction::{PreparedTransaction, Refusal};
use crate::params::Fork;
use crate::params::genesis::GenesisAccount;
use crate::state::State;
use crate::{Address, U256};
use revm::bytecode::opcode::PUSH1;
use revm::context::result::{ExecutionResult, HaltReason};
use revm::context::{Context, TxEnv};
use revm::handler::EthPrecompiles;
use revm::interpreter::interpreter_types::Jumps;
use revm::interpreter::{CallInputs, CallOutcome, Interpreter};
use revm::primitives::TxKind;
use revm::{ExecuteEvm, InspectEvm, Inspector, MainBuilder, MainContext};
use std::collections::BTreeMap;

/// The most words that an instruction uses of the stack: SWAP16.
const WORDS: usize = 17;

/// Counts of a transaction.
#[derive(Clone, Debug)]
pub struct Census {
    /// Whether it succeeded.
    pub success: bool,
    /// Executions of each instruction, by its byte.
    pub instructions: [u64; 256],
    /// Calls of each account, precompiled contracts included.
    pub calls: BTreeMap<Address, Calls>,
}

/// Calls of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// All calls.
    pub total: u64,
    /// Calls that did not succeed.
    pub failed: u64,
}

impl Default for Census {
    fn default() -> Self {
        Self { success: false, instructions: [0; 256], calls: BTreeMap::new() }
    }
}

impl<C> Inspector<C> for Census {
    fn step(&mut self, interpreter: &mut Interpreter, _: &mut C) {
        self.instructions[usize::from(interpreter.bytecode.opcode())] += 1;
    }

    fn call_end(&mut self, _: &mut C, call: &CallInputs, outcome: &mut CallOutcome) {
        let calls = self.calls.entry(call.bytecode_address.0.0).or_default();
        calls.total += 1;
        calls.failed += u64::from(!outcome.result.is_ok());
    }
}

/// Executes a transaction over `state`, without committing changes, and counts.
///
/// # Errors
/// The [`Refusal`] of a transaction that is not valid; [`Refusal::Other`] for fees that exceed the
/// machine's integers.
pub fn census(
    state: &mut State,
    chain_id: U256,
    terms: &BlockTerms,
    tx: &PreparedTransaction,
) -> Result<Census, Refusal> {
    let mut machine = machine(state, chain_id, terms)?;
    let wide = || Refusal::Other("a fee of more than 128 bits".into());
    let environment = tx.environment.as_ref().ok_or_else(wide)?;
    let result = machine.inspect_one_tx(environment.0.clone()).map_err(refusal)?;
    Ok(Census { success: result.is_success(), ..machine.inspector })
}

/// Returns the instructions of a block's fork, by their bytes, found by executing each byte.
///
/// # Errors
/// [`Refusal::Other`] for fees that exceed the machine's integers.
pub fn instructions(terms: &BlockTerms) -> Result<Vec<u8>, Refusal> {
    const CODE: Address = [0xc0; 20];
    let mut known = vec![];
    for byte in 0..=u8::MAX {
        let mut code = [PUSH1, 0].repeat(WORDS);
        code.push(byte);
        let balance = U256::ZERO;
        let account = GenesisAccount { address: CODE, balance, nonce: 1, code, storage: vec![] };
        let mut state = State::from_accounts(&[account])?;
        // BLOCKHASH of block 0, whose hash only a first block needs
        state.ancestors.push(0, [0; 32]);
        let mut machine = machine(&mut state, U256::ONE, terms)?;
        let kind = TxKind::Call(CODE.into());
        let tx = TxEnv { kind, gas_limit: 1_000_000, ..TxEnv::default() };
        let result = machine.transact_one(tx).map_err(refusal)?;
        let ExecutionResult::Halt { reason, .. } = result else {
            known.push(byte);
            continue;
        };
        if !matches!(reason, HaltReason::OpcodeNotFound | HaltReason::NotActivated) {
            known.push(byte);
        }
    }
    Ok(known)
}

/// Returns the precompiled contracts of a fork, in order.
pub fn precompiles(fork: Fork) -> Vec<Address> {
    let mut all: Vec<Address> = EthPrecompiles::new(spec_of(fork))
        .precompiles
        .addresses()
        .map(|address| address.0.0)
        .collect();
    all.sort_unstable();
    all
}

/// A counting machine under the rules of a block.
fn machine<'s>(
    state: &'s mut State,
    chain_id: U256,
    terms: &BlockTerms,
) -> Result<Machine<View<'s>, Census>, Refusal> {
    let context: Surroundings<View<'s>> =
        Context::mainnet().with_db(View::new(state)).with_chain(Wide::default());
    let mut machine = context.build_mainnet_with_inspector(Census::default());
    super::rules::set_chain(&mut machine, chain_id);
    let wide = || Refusal::Other("a fee that exceeds the machine's integers".into());
    Rules::default().begin(&mut machine, terms).ok_or_else(wide)?;
    Ok(machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::CodeLimits;

    fn terms(fork: Fork) -> BlockTerms {
        BlockTerms {
            fork,
            number: 1,
            beneficiary: [0xbe; 20],
            timestamp: 1,
            gas_limit: 30_000_000,
            base_fee: U256::ZERO,
            difficulty: U256::ONE,
            mix_hash: [0; 32],
            blob_fee: Some((0, U256::ONE)),
            code: CodeLimits::of(fork),
            slot: 7,
        }
    }

    #[test]
    fn forks_have_their_instructions_and_precompiled_contracts() {
        let counts = |fork| (instructions(&terms(fork)).unwrap().len(), precompiles(fork).len());
        // with INVALID
        assert_eq!(counts(Fork::Frontier), (130, 4));
        // DELEGATECALL
        assert_eq!(counts(Fork::Homestead), (131, 4));
        // CLZ; P256VERIFY
        assert_eq!(counts(Fork::Prague).0 + 1, counts(Fork::Osaka).0);
        assert_eq!(precompiles(Fork::Osaka).len(), 18);
        // SLOTNUM, DUPN, SWAPN, EXCHANGE
        assert_eq!(counts(Fork::Osaka).0 + 4, counts(Fork::Amsterdam).0);
        assert_eq!(precompiles(Fork::Amsterdam), precompiles(Fork::Osaka));
    }
}
