//! Records what a block accesses and changes (EIP-7928).
//!
//! The machine has a builder of such lists, too. It is not used: of two updates of an account at
//! the same index, the second one loses the first if it changes nothing. A withdrawal to a contract
//! that a system call changed is such a case.

use crate::access_list::{
    AccountChanges, BalanceChange, BlockAccessList, CodeChange, NonceChange, SlotChanges,
    StorageChange,
};
use crate::state::{Account, EMPTY_CODE};
use crate::{Address, Hash, U256};
use hashbrown::HashMap;
use revm::bytecode::Bytecode;
use revm::state::{self, AccountInfo, EvmState};

/// The accesses of a block so far.
#[derive(Debug, Default)]
pub(super) struct AccessRecorder {
    /// Where changes belong: 0 before the transactions, then 1 for the first one, and so on.
    pub index: u32,
    accounts: HashMap<Address, Accesses>,
}

/// The accesses of an account.
#[derive(Debug)]
struct Accesses {
    balance: Values<U256>,
    nonce: Values<u64>,
    code: Values<HashedCode>,
    slots: HashMap<U256, Values<U256>>,
}

/// A code, compared by its hash.
#[derive(Debug)]
struct HashedCode(Hash, Bytecode);

impl PartialEq for HashedCode {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// A value before the block, and after each transaction that changed it.
#[derive(Debug)]
struct Values<T> {
    before: T,
    changes: Vec<(u32, T)>,
}

impl<T: PartialEq> Values<T> {
    fn new(before: T) -> Self {
        Self { before, changes: vec![] }
    }

    /// Sets the value at an index that is not smaller than those before. It is no change if the
    /// value before the index was the same.
    fn set(&mut self, index: u32, value: T) {
        self.changes.pop_if(|(last, _)| *last == index);
        let before = self.changes.last().map_or(&self.before, |(_, value)| value);
        if *before != value {
            self.changes.push((index, value));
        }
    }

    /// Converts the changes.
    fn list<C>(self, change: impl Fn(u32, T) -> C) -> Vec<C> {
        self.changes.into_iter().map(|(index, value)| change(index, value)).collect()
    }
}

impl Accesses {
    fn new(before: Account, code: Bytecode) -> Self {
        Self {
            balance: Values::new(before.balance),
            nonce: Values::new(before.nonce),
            code: Values::new(HashedCode(before.code_hash, code)),
            slots: HashMap::new(),
        }
    }
}

impl AccessRecorder {
    /// Records the accounts that a transaction or a system call accessed. `storage_only` has those
    /// whose nonce the machine sees increased by 1.
    pub fn record(&mut self, accessed: &EvmState, storage_only: &[Address]) {
        for (address, account) in accessed {
            let address = &address.0.0;
            let extra = u64::from(storage_only.contains(address));
            let accesses = self.accounts.entry(*address).or_insert_with(|| {
                let AccountInfo { nonce, balance, code_hash, .. } = account.original_info();
                let nonce = nonce.saturating_sub(extra);
                let before = Account { nonce, balance, code_hash: code_hash.0 };
                Accesses::new(before, Bytecode::default())
            });
            let ended = account.status.contains(state::AccountStatus::SelfDestructedLocal);
            let index = self.index;
            match ended {
                true => {
                    accesses.balance.set(index, U256::ZERO);
                    accesses.nonce.set(index, 0);
                    accesses.code.set(index, HashedCode(EMPTY_CODE, Bytecode::default()));
                }
                false => {
                    let info = &account.info;
                    accesses.balance.set(index, info.balance);
                    accesses.nonce.set(index, info.nonce.saturating_sub(extra));
                    let code = info.code.clone().unwrap_or_default();
                    accesses.code.set(index, HashedCode(info.code_hash.0, code));
                }
            }
            accesses.slots.reserve(account.storage.len());
            for (slot, value) in &account.storage {
                let original = || Values::new(value.original_value);
                let present = if ended { U256::ZERO } else { value.present_value };
                accesses.slots.entry(*slot).or_insert_with(original).set(index, present);
            }
        }
    }

    /// Records an access to an account without the machine, and its balance afterwards. `before` is
    /// the account as the state has it.
    pub fn set_balance(&mut self, address: &Address, before: Account, balance: U256) {
        let new = || Accesses::new(before, Bytecode::default());
        self.accounts.entry(*address).or_insert_with(new).balance.set(self.index, balance);
    }

    /// The list of the block.
    pub fn finish(self) -> BlockAccessList {
        let accounts = self.accounts.into_iter();
        let mut accounts: Vec<_> =
            accounts.map(|(address, accesses)| accesses.finish(address)).collect();
        accounts.sort_unstable_by_key(|account| account.address);
        BlockAccessList { accounts }
    }
}

impl Accesses {
    fn finish(self, address: Address) -> AccountChanges {
        let (mut storage_changes, mut storage_reads) = (vec![], vec![]);
        for (slot, values) in self.slots {
            match values.changes.is_empty() {
                true => storage_reads.push(slot),
                false => {
                    let changes = values.list(|index, value| StorageChange { index, value });
                    storage_changes.push(SlotChanges { slot, changes });
                }
            }
        }
        storage_changes.sort_unstable_by_key(|changes| changes.slot);
        storage_reads.sort_unstable();
        let code = |index, HashedCode(_, code): HashedCode| CodeChange {
            index,
            code: code.original_byte_slice().to_vec(),
        };
        AccountChanges {
            address,
            storage_changes,
            storage_reads,
            balance_changes: self.balance.list(|index, balance| BalanceChange { index, balance }),
            nonce_changes: self.nonce.list(|index, nonce| NonceChange { index, nonce }),
            code_changes: self.code.list(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_set_back_within_an_index_is_no_change() {
        let mut values = Values::new(5);
        values.set(0, 5);
        values.set(1, 6);
        values.set(1, 5);
        assert!(values.changes.is_empty());
        values.set(2, 7);
        // nothing changes, and the change before it stays
        values.set(2, 7);
        values.set(3, 7);
        values.set(4, 5);
        assert_eq!(values.changes, [(2, 7), (4, 5)]);
    }

    #[test]
    fn a_second_access_at_an_index_keeps_the_change_of_the_first() {
        use revm::state::bal::{Bal, BlockAccessIndex};
        let (address, balance) = ([0xaa; 20], |wei: u64| {
            let balance = U256::from(wei);
            state::Account::from(AccountInfo { balance, ..AccountInfo::default() })
        });
        let mut changed = balance(1);
        changed.info.balance = U256::from(5);
        let (mut ours, mut theirs) =
            (AccessRecorder { index: 1, ..Default::default() }, Bal::new());
        for account in [changed, balance(5)] {
            theirs.update_account(BlockAccessIndex::new(1), address.into(), &account);
            ours.record(&EvmState::from_iter([(address.into(), account)]), &[]);
        }
        let ours = ours.finish().accounts.remove(0).balance_changes;
        assert_eq!(ours, [BalanceChange { index: 1, balance: U256::from(5) }]);
        // the change is lost
        let theirs = theirs.accounts.into_values().next().unwrap();
        assert!(theirs.account_info.balance.writes.is_empty());
    }
}
