//! What the block access list of a block says (EIP-7928): the accounts that the block accessed, and
//! what each transaction changed in them.
//!
//! The list is an RLP list of [`AccountChanges`]. An index names a transaction: 0 for the system
//! calls before the first one, 1 for the first one, and so on; the number of transactions plus 1
//! for what follows the last one (withdrawals and system calls). Slots and values are numbers
//! without leading zeros, an index has 32 bits, a nonce 64 (go-ethereum 1.17.10, `core/types/bal`).
//! Order and limits of the entries are rules about values, which those who validate blocks check.

use crate::List;
use ruint::aliases::U256;

/// What a block accessed and changed in one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChanges<'a> {
    /// The account.
    pub address: &'a [u8; 20],
    /// The storage slots that were written, in ascending order.
    pub storage_changes: List<'a, SlotChanges<'a>>,
    /// The storage slots that were read only, in ascending order.
    pub storage_reads: List<'a, U256>,
    /// The balance after each transaction that changed it.
    pub balance_changes: List<'a, BalanceChange>,
    /// The nonce after each transaction that changed it.
    pub nonce_changes: List<'a, NonceChange>,
    /// The code after each transaction that changed it.
    pub code_changes: List<'a, CodeChange<'a>>,
}

crate::list!(AccountChanges<'a> {
    address: &'a [u8; 20],
    storage_changes: List<'a, SlotChanges<'a>>,
    storage_reads: List<'a, U256>,
    balance_changes: List<'a, BalanceChange>,
    nonce_changes: List<'a, NonceChange>,
    code_changes: List<'a, CodeChange<'a>>,
});

/// What a block wrote into one storage slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotChanges<'a> {
    /// The slot.
    pub slot: U256,
    /// The value after each transaction that changed it; one at least.
    pub changes: List<'a, StorageChange>,
}

crate::list!(SlotChanges<'a> { slot: U256, changes: List<'a, StorageChange> });

/// The value of a storage slot after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageChange {
    /// The transaction.
    pub index: u32,
    /// The value.
    pub value: U256,
}

crate::list!(StorageChange { index: u32, value: U256 });

/// The balance of an account after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceChange {
    /// The transaction.
    pub index: u32,
    /// The balance, in wei.
    pub balance: U256,
}

crate::list!(BalanceChange { index: u32, balance: U256 });

/// The nonce of an account after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonceChange {
    /// The transaction.
    pub index: u32,
    /// The nonce.
    pub nonce: u64,
}

crate::list!(NonceChange { index: u32, nonce: u64 });

/// The code of an account after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeChange<'a> {
    /// The transaction.
    pub index: u32,
    /// The code; empty when a delegation ended (EIP-7702).
    pub code: &'a [u8],
}

crate::list!(CodeChange<'a> { index: u32, code: &'a [u8] });
