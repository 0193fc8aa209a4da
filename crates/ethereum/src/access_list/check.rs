//! The rules of a block access list that need no execution (EIP-7928, go-ethereum 1.17.10).
//!
//! The list is read once, from its first byte to its last, and nothing is kept of it: a hostile
//! list costs time that is linear in its bytes, and no memory.

use super::entries::{EntryKey, EntryKind};
use crate::rule::{Rule, Violation};
use crate::{Address, U256};
use blockmill_rlp::ethereum::{BalanceChange, CodeChange, NonceChange, StorageChange};
use blockmill_rlp::{Decode, Reader};
use blockmill_verdict::Hex;
use std::fmt::{self, Display};

/// Gas of the block's limit for each address and each storage slot of a list (EIP-7928,
/// `ITEM_COST`).
pub const ITEM_COST: u64 = 2_000;

/// Most bytes of a contract's code from Amsterdam on (EIP-7954).
pub const MAX_CODE_SIZE: usize = 65_536;

/// What a block allows its list.
#[derive(Clone, Copy, Debug)]
pub struct ListLimits {
    /// The gas limit of the block.
    pub gas_limit: u64,
    /// How many transactions the block has.
    pub transactions: usize,
    /// Most bytes of a contract's code.
    pub code: usize,
}

impl ListLimits {
    /// Most addresses and storage slots.
    fn items(&self) -> u64 {
        self.gas_limit / ITEM_COST
    }

    /// The largest index: what follows the last transaction.
    fn index(&self) -> u64 {
        self.transactions as u64 + 1
    }
}

/// Why bytes are not a valid block access list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFault {
    /// The rule that is broken.
    pub rule: Rule,
    /// The entry that breaks it; `None` if that is not known, or it is the whole list.
    pub entry: Option<EntryKey>,
    /// Where the entry begins, or the field that is no RLP: bytes from the start of the list.
    pub offset: usize,
    /// What a valid list has.
    pub expected: String,
    /// What this list has.
    pub found: String,
}

impl From<blockmill_rlp::Error> for Box<ListFault> {
    #[cold]
    fn from(error: blockmill_rlp::Error) -> Self {
        Self::new(ListFault {
            rule: Rule::AccessListEncoding,
            entry: None,
            offset: error.offset,
            expected: "a block access list".into(),
            found: error.to_string(),
        })
    }
}

impl From<Box<ListFault>> for Violation {
    fn from(fault: Box<ListFault>) -> Self {
        let expected = match fault.entry {
            Some(entry) => format!("{} for {entry}", fault.expected),
            None => fault.expected,
        };
        Self::new(fault.rule, expected, format!("{} at byte {}", fault.found, fault.offset))
    }
}

/// Checks that `raw` is a block access list in canonical order with nothing twice, and within
/// `limits`.
///
/// # Errors
/// [`ListFault`] names the first entry that breaks a rule.
pub fn check(raw: &[u8], limits: &ListLimits) -> Result<(), Box<ListFault>> {
    let mut outer = Reader::new(raw);
    let mut accounts = outer.list()?;
    outer.finish()?;
    let mut check = Check { limits, items: 0 };
    let mut last: Option<&Address> = None;
    while !accounts.is_empty() {
        let offset = accounts.offset();
        let mut account = accounts.list()?;
        let address: &Address = account.fixed()?;
        let at = At { address: *address, kind: EntryKind::Account, slot: None, offset };
        if let Some(last) = last.filter(|last| *last >= address) {
            let expected = format_args!("an address above {}", Hex(last));
            return Err(at.fault(Rule::AccessListOrder, None, expected, Hex(address)));
        }
        last = Some(address);
        check.count(&at)?;
        check.account(&at, account)?;
    }
    Ok(())
}

/// Where the check is.
#[derive(Clone, Copy)]
struct At {
    address: Address,
    kind: EntryKind,
    slot: Option<U256>,
    offset: usize,
}

impl At {
    #[cold]
    fn fault(
        &self,
        rule: Rule,
        index: Option<u32>,
        expected: impl Display,
        found: impl Display,
    ) -> Box<ListFault> {
        let Self { address, kind, slot, offset } = *self;
        let entry = Some(EntryKey { address, kind, slot, index });
        let (expected, found) = (expected.to_string(), found.to_string());
        Box::new(ListFault { rule, entry, offset, expected, found })
    }
}

/// The check of one list.
struct Check<'l> {
    limits: &'l ListLimits,
    /// Addresses and storage slots so far.
    items: u64,
}

impl Check<'_> {
    /// Counts an address or a storage slot.
    fn count(&mut self, at: &At) -> Result<(), Box<ListFault>> {
        self.items += 1;
        let most = self.limits.items();
        if self.items > most {
            let expected = format_args!(
                "at most {most} addresses and slots for a gas limit of {}",
                self.limits.gas_limit
            );
            return Err(at.fault(Rule::AccessListSize, None, expected, "another one"));
        }
        Ok(())
    }

    /// Checks the fields of an account after its address.
    fn account(&mut self, at: &At, mut account: Reader<'_>) -> Result<(), Box<ListFault>> {
        let written = account.list()?;
        self.written_slots(at, written.clone())?;
        self.read_slots(at, account.list()?, written)?;
        let of = |kind| At { kind, ..*at };
        self.changes(&of(EntryKind::Balance), account.list()?, |items| {
            BalanceChange::read(items).map(|change| (change.index, 0))
        })?;
        self.changes(&of(EntryKind::Nonce), account.list()?, |items| {
            NonceChange::read(items).map(|change| (change.index, 0))
        })?;
        self.changes(&of(EntryKind::Code), account.list()?, |items| {
            CodeChange::read(items).map(|change| (change.index, change.code.len()))
        })?;
        Ok(account.finish()?)
    }

    fn written_slots(&mut self, at: &At, mut slots: Reader<'_>) -> Result<(), Box<ListFault>> {
        let mut last = None;
        while !slots.is_empty() {
            let offset = slots.offset();
            let mut fields = slots.list()?;
            let slot = fields.u256()?;
            let at = At { kind: EntryKind::Storage, slot: Some(slot), offset, ..*at };
            self.slot(&at, &mut last, slot)?;
            let changes = fields.list()?;
            fields.finish()?;
            if changes.is_empty() {
                return Err(at.fault(Rule::AccessListEmpty, None, "a change", "none"));
            }
            self.changes(&at, changes, |items| {
                StorageChange::read(items).map(|change| (change.index, 0))
            })?;
        }
        Ok(())
    }

    /// Checks the slots that were read only; those that were `written` are in order.
    fn read_slots(
        &mut self,
        at: &At,
        mut slots: Reader<'_>,
        mut written: Reader<'_>,
    ) -> Result<(), Box<ListFault>> {
        let (mut last, mut next_written) = (None, next_slot(&mut written)?);
        while !slots.is_empty() {
            let offset = slots.offset();
            let slot = slots.u256()?;
            let at = At { kind: EntryKind::StorageRead, slot: Some(slot), offset, ..*at };
            self.slot(&at, &mut last, slot)?;
            while next_written.is_some_and(|written| written < slot) {
                next_written = next_slot(&mut written)?;
            }
            if next_written == Some(slot) {
                let expected = "a slot that is read or written";
                return Err(at.fault(Rule::AccessListSlot, None, expected, "one that is both"));
            }
        }
        Ok(())
    }

    /// Counts a slot, which must be above the last one.
    fn slot(&mut self, at: &At, last: &mut Option<U256>, slot: U256) -> Result<(), Box<ListFault>> {
        if let Some(last) = last.filter(|last| *last >= slot) {
            let expected = format_args!("a slot above {last:#x}");
            return Err(at.fault(Rule::AccessListOrder, None, expected, format_args!("{slot:#x}")));
        }
        *last = Some(slot);
        self.count(at)
    }

    /// Checks the changes of one value; `read` returns the index of a change, and the bytes of the
    /// code.
    fn changes<'a>(
        &self,
        at: &At,
        mut changes: Reader<'a>,
        read: impl Fn(&mut Reader<'a>) -> Result<(u32, usize), blockmill_rlp::Error>,
    ) -> Result<(), Box<ListFault>> {
        let mut last = None;
        while !changes.is_empty() {
            let at = At { offset: changes.offset(), ..*at };
            let (index, code) = read(&mut changes)?;
            let fault = |rule, expected: fmt::Arguments<'_>, found: u64| {
                Err(at.fault(rule, Some(index), expected, found))
            };
            if let Some(last) = last.filter(|last| *last >= index) {
                let expected = format_args!("an index above {last}");
                return fault(Rule::AccessListOrder, expected, index.into());
            }
            last = Some(index);
            let most = self.limits.index();
            if u64::from(index) > most {
                let expected = format_args!("an index of at most {most}");
                return fault(Rule::AccessListIndex, expected, index.into());
            }
            if code > self.limits.code {
                let expected = format_args!("at most {} bytes", self.limits.code);
                return fault(Rule::AccessListCode, expected, code as u64);
            }
        }
        Ok(())
    }
}

/// The slot of the next item of a list of written slots.
fn next_slot(written: &mut Reader<'_>) -> Result<Option<U256>, blockmill_rlp::Error> {
    match written.is_empty() {
        true => Ok(None),
        false => written.list()?.u256().map(Some),
    }
}
