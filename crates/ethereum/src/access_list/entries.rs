//! The entries of an encoded block access list, one after the other, each with its name.

use crate::{Address, U256};
use blockmill_rlp::List;
use blockmill_rlp::ethereum::{
    AccountChanges, BalanceChange, CodeChange, NonceChange, SlotChanges, StorageChange,
};
use blockmill_verdict::Hex;
use std::fmt;

/// What an entry says. The order is that of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// The account was accessed.
    Account,
    /// A transaction changed a storage slot.
    Storage,
    /// A storage slot was read and not changed.
    StorageRead,
    /// A transaction changed the balance.
    Balance,
    /// A transaction changed the nonce.
    Nonce,
    /// A transaction changed the code.
    Code,
}

impl EntryKind {
    /// The name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Storage => "storage",
            Self::StorageRead => "storage_read",
            Self::Balance => "balance",
            Self::Nonce => "nonce",
            Self::Code => "code",
        }
    }
}

/// The name of an entry. Names are ordered as the entries of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryKey {
    /// The account.
    pub address: Address,
    /// What the entry says.
    pub kind: EntryKind,
    /// The storage slot of [`EntryKind::Storage`] and [`EntryKind::StorageRead`].
    pub slot: Option<U256>,
    /// When a change was made: 0 before the first transaction, 1 by the first one, ..., and the
    /// number of transactions plus 1 after the last one. `None` if nothing changed.
    pub index: Option<u32>,
}

impl EntryKey {
    /// The transaction that made a change, from 0; `None` before the first of `transactions` and
    /// after the last.
    #[must_use]
    pub fn transaction(&self, transactions: usize) -> Option<u32> {
        let transaction = self.index?.checked_sub(1)?;
        (u64::from(transaction) < transactions as u64).then_some(transaction)
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Hex(&self.address);
        match (self.kind, self.slot) {
            (EntryKind::Account, _) => write!(f, "account {address}")?,
            (EntryKind::Storage, slot) => write!(f, "slot {} of {address}", Slot(slot))?,
            (EntryKind::StorageRead, slot) => {
                write!(f, "read of slot {} of {address}", Slot(slot))?
            }
            (EntryKind::Balance, _) => write!(f, "balance of {address}")?,
            (EntryKind::Nonce, _) => write!(f, "nonce of {address}")?,
            (EntryKind::Code, _) => write!(f, "code of {address}")?,
        }
        self.index.map_or(Ok(()), |index| write!(f, " at index {index}"))
    }
}

/// Shows the number of a slot.
struct Slot(Option<U256>);

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0.unwrap_or_default())
    }
}

/// What an entry says of the state after the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing: the account or the slot was accessed.
    Accessed,
    /// The value of the slot.
    Word(U256),
    /// The balance in wei.
    Wei(U256),
    /// The nonce.
    Nonce(u64),
    /// The code.
    Code(&'a [u8]),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Bytes of a code that are shown.
        const SHOWN: usize = 32;
        match self {
            Self::Accessed => f.write_str("an entry"),
            Self::Word(word) => write!(f, "{word:#x}"),
            Self::Wei(wei) => write!(f, "{wei}"),
            Self::Nonce(nonce) => write!(f, "{nonce}"),
            Self::Code(code) if code.len() <= SHOWN => Hex(code).fmt(f),
            Self::Code(code) => write!(f, "{}... ({} bytes)", Hex(&code[..SHOWN]), code.len()),
        }
    }
}

/// One entry of a block access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name of the entry.
    pub key: EntryKey,
    /// What it says.
    pub value: Value<'a>,
}

/// The entries of a list, in its order. Each account has an entry of its own before its others.
pub fn entries<'a>(
    list: &List<'a, AccountChanges<'a>>,
) -> impl Iterator<Item = Entry<'a>> + use<'a> {
    list.iter().flat_map(of_account)
}

fn of_account<'a>(account: AccountChanges<'a>) -> impl Iterator<Item = Entry<'a>> {
    let address = *account.address;
    let entry = move |kind, slot, index, value| Entry {
        key: EntryKey { address, kind, slot, index },
        value,
    };
    let written = account.storage_changes.iter().flat_map(move |SlotChanges { slot, changes }| {
        changes.iter().map(move |StorageChange { index, value }| {
            entry(EntryKind::Storage, Some(slot), Some(index), Value::Word(value))
        })
    });
    let read = account.storage_reads.iter();
    let balances = account.balance_changes.iter();
    let nonces = account.nonce_changes.iter();
    let codes = account.code_changes.iter();
    std::iter::once(entry(EntryKind::Account, None, None, Value::Accessed))
        .chain(written)
        .chain(
            read.map(move |slot| entry(EntryKind::StorageRead, Some(slot), None, Value::Accessed)),
        )
        .chain(balances.map(move |BalanceChange { index, balance }| {
            entry(EntryKind::Balance, None, Some(index), Value::Wei(balance))
        }))
        .chain(nonces.map(move |NonceChange { index, nonce }| {
            entry(EntryKind::Nonce, None, Some(index), Value::Nonce(nonce))
        }))
        .chain(codes.map(move |CodeChange { index, code }| {
            entry(EntryKind::Code, None, Some(index), Value::Code(code))
        }))
}
