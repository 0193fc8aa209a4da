//! System calls.

use super::Evm;
use crate::Address;
use crate::params::Fork;
use crate::state::StateError;
use revm::ExecuteEvm;
use revm::context::result::{EVMError, ExecutionResult, HaltReason};
use revm::context::{ContextSetters, ContextTr, JournalTr, TxEnv};
use revm::handler::{EvmTr, EvmTrError, FrameResult, FrameTr, Handler};
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{GasTracker, InitialAndFloorGas};
use revm::primitives::{self, Bytes, TxKind};
use revm::state::EvmState;
use std::marker::PhantomData;

/// Sender of system calls (EIP-4788).
const SENDER: primitives::Address =
    primitives::address!("0xfffffffffffffffffffffffffffffffffffffffe");
/// Gas of a system call (EIP-4788, EIP-2935, EIP-7002, EIP-7251).
const GAS: u64 = 30_000_000;
/// Gas of a system call for a larger state, from Amsterdam on: 16 new slots of 64 bytes, 1,530 gas
/// for each byte (EIP-8037). The machine's own system call adds it to the other gas, so that a
/// contract could run longer.
const STATE_GAS: u64 = 16 * 64 * 1_530;

impl Evm<'_> {
    /// Calls a system contract. `None` if it fails; its output otherwise.
    ///
    /// # Errors
    /// [`StateError`] if a part of the state is not known or cannot be read.
    pub fn system_call(
        &mut self,
        contract: &Address,
        input: &[u8],
    ) -> Result<Option<Vec<u8>>, StateError> {
        let state_gas = if self.rules.fork >= Some(Fork::Amsterdam) { STATE_GAS } else { 0 };
        self.machine.ctx.set_tx(TxEnv {
            caller: SENDER,
            data: Bytes::copy_from_slice(input),
            kind: TxKind::Call((*contract).into()),
            gas_limit: GAS + state_gas,
            ..TxEnv::default()
        });
        let mut handler = SystemCall { state_gas, of: PhantomData };
        let result: Result<_, EVMError<StateError>> = handler.run_system_call(&mut self.machine);
        let changed = self.machine.finalize();
        let result = match result {
            Ok(result) => result,
            Err(EVMError::Database(error)) => return Err(error),
            Err(_) => return Ok(None),
        };
        self.commit(changed)?;
        Ok(match result {
            ExecutionResult::Success { output, .. } => Some(output.into_data().to_vec()),
            _ => None,
        })
    }
}

/// A handler that keeps the gas for a larger state apart from the other gas of a system call.
struct SystemCall<M, E> {
    state_gas: u64,
    of: PhantomData<(M, E)>,
}

impl<M, E, F> Handler for SystemCall<M, E>
where
    M: EvmTr<Context: ContextTr<Journal: JournalTr<State = EvmState>>, Frame = F>,
    E: EvmTrError<M>,
    F: FrameTr<FrameResult = FrameResult, FrameInit = FrameInit>,
{
    type Evm = M;
    type Error = E;
    type HaltReason = HaltReason;

    fn tx_gas(&self, _: &mut M, _: &InitialAndFloorGas) -> GasTracker {
        GasTracker::new(GAS + self.state_gas, GAS, self.state_gas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::U256;
    use crate::execute::block::BlockTerms;
    use crate::params::CodeLimits;
    use crate::params::genesis::GenesisAccount;
    use crate::state::State;
    use revm::SystemCallEvm;

    const CONTRACT: Address = [0xc0; 20];

    /// A contract that writes into this many new slots, and returns the gas that is left.
    fn contract(slots: u8) -> State {
        let write = |slot: u8| [0x60, 1, 0x60, slot, 0x55];
        let mut code: Vec<u8> = (1..=slots).flat_map(write).collect();
        // GAS, PUSH0, MSTORE, 32, PUSH0, RETURN
        code.extend([0x5a, 0x5f, 0x52, 0x60, 32, 0x5f, 0xf3]);
        let (balance, storage) = (U256::ZERO, vec![]);
        let account = GenesisAccount { address: CONTRACT, balance, nonce: 1, code, storage };
        State::from_accounts(&[account]).unwrap()
    }

    fn begin(state: &mut State, fork: Fork) -> Evm<'_> {
        let mut evm = Evm::new(state, U256::ONE);
        let terms = BlockTerms {
            fork,
            number: 1,
            beneficiary: [0xbe; 20],
            timestamp: 1,
            gas_limit: 30_000_000,
            base_fee: U256::ZERO,
            difficulty: U256::ZERO,
            mix_hash: [0; 32],
            blob_fee: Some((0, U256::ONE)),
            code: CodeLimits::of(fork),
            slot: 1,
        };
        evm.begin(&terms).unwrap();
        evm
    }

    /// The gas that a system call leaves its contract.
    fn left(fork: Fork, slots: u8) -> u64 {
        let mut state = contract(slots);
        let output = begin(&mut state, fork).system_call(&CONTRACT, &[]).unwrap().unwrap();
        U256::from_be_slice(&output).to()
    }

    #[test]
    fn gas_for_a_larger_state_is_no_gas_for_anything_else() {
        assert_eq!([left(Fork::Osaka, 0), left(Fork::Amsterdam, 0)], [GAS - 2; 2]);
        let write = 3 + 3 + 2_100 + 10_000;
        assert_eq!(left(Fork::Amsterdam, 16), GAS - 2 - 16 * write);
        // the gas for a slot more comes from the other gas
        assert_eq!(left(Fork::Amsterdam, 17), GAS - 2 - 17 * write - 64 * 1_530);
        // the machine's own system call
        let mut state = contract(0);
        let mut evm = begin(&mut state, Fork::Amsterdam);
        let result = evm.machine.system_call_one(CONTRACT.into(), Bytes::new()).unwrap();
        let output = result.into_output().unwrap();
        assert_eq!(U256::from_be_slice(&output), U256::from(GAS + STATE_GAS - 2));
    }
}
