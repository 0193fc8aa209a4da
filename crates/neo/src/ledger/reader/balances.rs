//! Balances of an account: `balanceOf` of NEP-17 contracts, sums of transfers for NEP-11 tokens.

use super::StoreReader;
use crate::execute::block::machine;
use crate::execute::chain_view::ChainView;
use crate::execute::contract::Contract;
use crate::execute::encode::integer_of;
use crate::execute::engine::{Chain, Contracts, Engine, Shared, Trigger};
use crate::execute::interop::syscalls::number;
use crate::execute::native::{Natives, management};
use crate::execute::vm::{Type, opcode};
use crate::logs::{Standard, TransferError};
use crate::params::Protocol;
use crate::state::State;
use crate::types::{Block, UInt160};
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// Gas limit of a `balanceOf` call, in units of 10^-8 GAS.
const GAS: u64 = 10_0000_0000;

/// The balance of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The id of the token's contract.
    pub asset: i32,
    /// Its hash; `None` if the contract was destroyed.
    pub contract: Option<UInt160>,
    /// The name in its manifest.
    pub name: Option<String>,
    /// The token id, for NEP-11.
    pub token: Option<Vec<u8>>,
    /// The balance in the smallest units; `None` if the contract does not return it.
    pub amount: Option<BigInt>,
    /// The last block that changed it.
    pub updated: u32,
}

impl StoreReader {
    /// The balances of an account after the last block. Contracts run under the rules of
    /// `protocol`.
    ///
    /// # Errors
    /// Returns [`TransferError::Store`] if the store cannot be read, [`TransferError::Entry`] if an
    /// entry cannot be decoded.
    pub fn balances(
        &self,
        account: UInt160,
        protocol: &Protocol,
    ) -> Result<Vec<Balance>, TransferError> {
        let mut found = vec![];
        let Some(mut state) = self.state() else { return Ok(found) };
        let mut tokens = self.tokens_of(account)?;
        let height = self.tip().map_or(0, |tip| tip.number as u32);
        let mut query = BalanceQuery { protocol, height, vm: machine() };
        for (asset, updated) in self.updates(account)? {
            let hash = contract_of(&state, asset);
            let name = hash.and_then(|hash| {
                let stored = management::stored(&state, &hash.0)?;
                Some(Contract::decode(&stored).ok()?.manifest.name)
            });
            let of = |token, amount| Balance {
                asset,
                contract: hash,
                name: name.clone(),
                token,
                amount,
                updated,
            };
            match tokens.remove(&asset) {
                Some(sums) => {
                    let sums = sums.into_iter().filter(|(_, sum)| *sum != BigInt::ZERO);
                    found.extend(sums.map(|(token, sum)| of(Some(token), Some(sum))));
                }
                None => {
                    let amount = hash.and_then(|hash| query.balance(&mut state, hash, account));
                    found.push(of(None, amount));
                }
            }
        }
        state.failure()?;
        Ok(found)
    }

    /// Sums of an account's NEP-11 transfers, by contract and token.
    fn tokens_of(
        &self,
        account: UInt160,
    ) -> Result<BTreeMap<i32, BTreeMap<Vec<u8>, BigInt>>, TransferError> {
        let mut sums: BTreeMap<i32, BTreeMap<Vec<u8>, BigInt>> = BTreeMap::new();
        self.transfers(account, 11, |transfer| {
            if let Standard::Nep11(token) = transfer.standard {
                let sum = sums.entry(transfer.asset).or_default().entry(token).or_default();
                let amount = integer_of(&transfer.amount);
                *sum += if transfer.outgoing { -amount } else { amount };
            }
            true
        })?;
        Ok(sums)
    }
}

/// The contract with an id.
fn contract_of(state: &State, id: i32) -> Option<UInt160> {
    management::hash_of(state, id).map(UInt160)
}

/// Calls `balanceOf` of contracts.
struct BalanceQuery<'a> {
    protocol: &'a Protocol,
    height: u32,
    vm: crate::execute::vm::Vm,
}

impl BalanceQuery<'_> {
    /// Calls `balanceOf` as a script of the next block would.
    fn balance(
        &mut self,
        state: &mut State,
        contract: UInt160,
        account: UInt160,
    ) -> Option<BigInt> {
        let (protocol, natives) = (self.protocol.clone(), Natives::default());
        let chain = Chain { protocol, natives, view: ChainView::empty() };
        let mut block = Block::default();
        block.header.index = self.height.saturating_add(1);
        let contracts = &mut Contracts::default();
        let shared = Shared { chain: &chain, state: &mut *state, contracts, block: &block };
        let mut engine = Engine::new(&mut self.vm, shared, Trigger::Application, None, Some(GAS));
        // the first script always loads
        let _ = engine.load_entry(&balance_of(contract, account));
        let execution = engine.run();
        // discard all changes
        state.rollback();
        match (execution.fault, execution.stack.first().map(Vec::as_slice)) {
            (None, Some([kind, length, bytes @ ..]))
                if *kind == Type::Integer as u8 && usize::from(*length) == bytes.len() =>
            {
                Some(integer_of(bytes))
            }
            _ => None,
        }
    }
}

/// A script that calls `balanceOf`: arguments, flags, name, contract.
fn balance_of(contract: UInt160, account: UInt160) -> Vec<u8> {
    let push = |script: &mut Vec<u8>, bytes: &[u8]| {
        script.extend([opcode::PUSHDATA1, bytes.len() as u8]);
        script.extend_from_slice(bytes);
    };
    let mut script = vec![];
    push(&mut script, &account.0);
    // one argument in an array; read and call
    script.extend([opcode::PUSH0 + 1, opcode::PACK, opcode::PUSH0 + 5]);
    push(&mut script, b"balanceOf");
    push(&mut script, &contract.0);
    script.push(opcode::SYSCALL);
    script.extend_from_slice(&number("System.Contract.Call").to_le_bytes());
    script
}
