//! Block access lists (EIP-7928): what a block accessed and changed, as a list that owns its
//! entries. Execution builds one; decoding takes one from an archive.
//!
//! The types in [`blockmill_rlp::ethereum`] are the same entries borrowed from an encoding. Access
//! lists of transactions (EIP-2930) are something else. `check` has the rules that need no
//! execution, `entries` the entries with their names, `compare` finds where two lists differ.

mod check;
mod compare;
mod entries;

use crate::{Address, U256};
use blockmill_rlp::{Decode, Encode, Error, Reader, Write};

pub use blockmill_rlp::ethereum::{BalanceChange, NonceChange, StorageChange};
pub use check::{ITEM_COST, ListFault, ListLimits, MAX_CODE_SIZE, check};
pub use compare::{Difference, first_difference};
pub use entries::{Entry, EntryKey, EntryKind, Value, entries};

/// What a block accessed and changed. The encoding is canonical if accounts, slots and indices are
/// in ascending order and each is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockAccessList {
    /// The accounts that were accessed, by their addresses.
    pub accounts: Vec<AccountChanges>,
}

/// What a block accessed and changed in one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChanges {
    /// The account.
    pub address: Address,
    /// The storage slots that were written, in ascending order.
    pub storage_changes: Vec<SlotChanges>,
    /// The storage slots that were read only, in ascending order.
    pub storage_reads: Vec<U256>,
    /// The balance after each transaction that changed it, by index.
    pub balance_changes: Vec<BalanceChange>,
    /// The nonce after each transaction that changed it, by index.
    pub nonce_changes: Vec<NonceChange>,
    /// The code after each transaction that changed it, by index.
    pub code_changes: Vec<CodeChange>,
}

/// What a block wrote into one storage slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotChanges {
    /// The slot.
    pub slot: U256,
    /// The value after each transaction that changed it, by index; one at least.
    pub changes: Vec<StorageChange>,
}

/// The code of an account after a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeChange {
    /// The transaction: 0 for the system calls before the first one, 1 for the first one.
    pub index: u32,
    /// The code; empty when a delegation ended (EIP-7702).
    pub code: Vec<u8>,
}

blockmill_rlp::list!(AccountChanges {
    address: Address,
    storage_changes: Vec<SlotChanges>,
    storage_reads: Vec<U256>,
    balance_changes: Vec<BalanceChange>,
    nonce_changes: Vec<NonceChange>,
    code_changes: Vec<CodeChange>,
});
blockmill_rlp::list!(SlotChanges { slot: U256, changes: Vec<StorageChange> });
blockmill_rlp::list!(CodeChange { index: u32, code: Vec<u8> });

impl Encode for BlockAccessList {
    const LISTS: usize = <Vec<AccountChanges> as Encode>::LISTS;

    #[inline]
    fn write<W: Write>(&self, out: &mut W) {
        self.accounts.write(out);
    }
}

impl<'a> Decode<'a> for BlockAccessList {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self { accounts: Vec::read(reader)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_every_kind_of_entry_as_the_eip_says() {
        let list = BlockAccessList {
            accounts: vec![AccountChanges {
                address: [0x11; 20],
                storage_changes: vec![SlotChanges {
                    slot: U256::ZERO,
                    changes: vec![StorageChange { index: 0, value: U256::from(0x12_3456) }],
                }],
                storage_reads: vec![U256::from(1), U256::from(0x80)],
                balance_changes: vec![BalanceChange { index: 1, balance: U256::ZERO }],
                nonce_changes: vec![NonceChange { index: 1, nonce: 2 }],
                code_changes: vec![CodeChange { index: 1, code: vec![0x60, 0] }],
            }],
        };
        let encoding = [
            &[0xf2, 0xf1, 0x94][..],
            &[0x11; 20],
            &[0xc9, 0xc8, 0x80, 0xc6, 0xc5, 0x80, 0x83, 0x12, 0x34, 0x56], // slots written
            &[0xc3, 0x01, 0x81, 0x80],                                     // slots read
            &[0xc3, 0xc2, 0x01, 0x80],                                     // balances
            &[0xc3, 0xc2, 0x01, 0x02],                                     // nonces
            &[0xc5, 0xc4, 0x01, 0x82, 0x60, 0x00],                         // codes
        ]
        .concat();
        assert_eq!(list.encode(), encoding);
        assert_eq!(BlockAccessList::decode(&encoding), Ok(list));
        assert_eq!(BlockAccessList::default().encode(), [0xc0]);
    }
}
