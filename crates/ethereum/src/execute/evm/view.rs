//! The state as the machine reads it.

use super::reads::Reads;
use super::trace::AccessTrace;
use crate::state::{AccountId, EMPTY_CODE, Found, State, StateError};
use crate::{Address, U256};
use revm::bytecode::Bytecode;
use revm::database_interface::{DBErrorMarker, Database};
use revm::primitives::{self, B256};
use revm::state::{self, AccountInfo};

impl DBErrorMarker for StateError {}

/// The state as the machine reads it.
pub(super) struct View<'s> {
    pub state: &'s mut State,
    /// Accounts with storage and nothing else that this transaction read. No contract may be
    /// created there (EIP-7610), a rule that the machine does not implement. The machine gets a
    /// nonce of 1, which prevents the creation; [`super::Evm`] subtracts it again. Such an account
    /// is not empty for the machine either, even with a balance of 0.
    pub storage_only: Vec<Address>,
    pub reads: Reads,
    pub trace: AccessTrace,
}

impl<'s> View<'s> {
    /// A view of `state` without reads so far.
    pub fn new(state: &'s mut State) -> Self {
        let (storage_only, reads, trace) = Default::default();
        Self { state, storage_only, reads, trace }
    }
}

impl Database for View<'_> {
    type Error = StateError;

    #[inline]
    fn basic(&mut self, address: primitives::Address) -> Result<Option<AccountInfo>, StateError> {
        self.reads.accounts += 1;
        let Some(mut info) = self.state.account(&address.0.0)?.map(info_of) else {
            return Ok(None);
        };
        if is_storage_only(self.state, &info) {
            info.nonce = 1;
            self.storage_only.push(address.0.0);
        }
        Ok(Some(info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, StateError> {
        self.state.load_code(&hash.0).map(|code| code.0)
    }

    fn storage(&mut self, address: primitives::Address, slot: U256) -> Result<U256, StateError> {
        self.reads.slots += 1;
        self.trace.count_read(&slot, || (address.0.0, slot));
        match self.state.account(&address.0.0)? {
            Some((id, ..)) => self.state.slot(id, &slot),
            None => Ok(U256::ZERO),
        }
    }

    #[inline]
    fn storage_by_account_id(
        &mut self,
        address: primitives::Address,
        id: state::AccountId,
        slot: U256,
    ) -> Result<U256, StateError> {
        self.reads.slots += 1;
        self.trace.count_read(&slot, || (address.0.0, slot));
        self.state.slot(id.get() as AccountId, &slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        let hash = self.state.ancestors.hash_of(number);
        hash.map(B256::from).ok_or(StateError::MissingBlockHash { number })
    }
}

/// Converts an account to the machine's type.
#[inline]
pub(super) fn info_of((id, account, code): Found<'_>) -> AccountInfo {
    AccountInfo {
        balance: account.balance,
        nonce: account.nonce,
        code_hash: account.code_hash.into(),
        account_id: state::AccountId::new(id as usize),
        code: match code {
            Some(code) => Some(code.0.clone()),
            None if account.code_hash == EMPTY_CODE => Some(Bytecode::default()),
            None => None,
        },
    }
}

/// Returns whether an account has storage and nothing else: see [`View`].
#[inline]
fn is_storage_only(state: &State, info: &AccountInfo) -> bool {
    owns_nothing(info) && info.account_id.is_some_and(|id| state.has_slots(id.get() as AccountId))
}

/// Returns whether an account has neither code nor a nonce.
#[inline]
pub(super) fn owns_nothing(info: &AccountInfo) -> bool {
    info.nonce == 0 && info.code_hash.0 == EMPTY_CODE
}
