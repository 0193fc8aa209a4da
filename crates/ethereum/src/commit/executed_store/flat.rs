//! The checkpoint: accounts, slots and codes as keys and values of a table, in an order in which
//! each is read after what it needs.

use super::block_changes::{Input, put_account, put_word};
use super::facts::Facts;
use super::{BlockChanges, Malformed, log};
use crate::error::Error;
use crate::execute::Code;
use crate::state::{Account, State};
use crate::{Address, Hash, U256};
use blockmill_pipeline::Cancel;
use blockmill_store::{MANIFEST, Segment, Table};
use std::path::Path;

/// What a key begins with.
const CODE: u8 = 0;
const ACCOUNT: u8 = 1;
/// Entries that are read between two looks at whether to stop.
const PATIENCE: u64 = 1 << 14;

/// The key of an account, which is the prefix of the keys of its slots.
fn account_key(address: &Address) -> Vec<u8> {
    [&[ACCOUNT][..], address].concat()
}

fn slot_key(address: &Address, slot: &U256) -> Vec<u8> {
    [&[ACCOUNT][..], address, &slot.to_be_bytes::<32>()].concat()
}

pub(super) fn put_code_in_table(table: &mut Table, hash: &Hash, code: &[u8]) -> Result<(), Error> {
    Ok(table.put(&[&[CODE][..], hash].concat(), code)?)
}

/// Sets an account in the table, or removes it.
pub(super) fn put_in_table(
    table: &mut Table,
    address: &Address,
    account: Option<&Account>,
) -> Result<(), Error> {
    let key = account_key(address);
    let Some(account) = account else { return Ok(table.delete(&key)?) };
    let mut value = vec![];
    put_account(account, &mut value);
    Ok(table.put(&key, &value)?)
}

/// Sets a slot in the table, or removes it if it is 0.
pub(super) fn put_slot_in_table(
    table: &mut Table,
    address: &Address,
    slot: &U256,
    value: U256,
) -> Result<(), Error> {
    let key = slot_key(address, slot);
    if value.is_zero() {
        return Ok(table.delete(&key)?);
    }
    let mut bytes = vec![];
    put_word(value, &mut bytes);
    Ok(table.put(&key, &bytes)?)
}

/// Writes a whole state to the table, on disk, so that the first commit does not take long.
///
/// # Errors
/// Those of the table.
pub(super) fn put_all_in_table(table: &mut Table, state: &State) -> Result<(), Error> {
    for (hash, code) in state.codes() {
        put_code_in_table(table, hash, code.bytes())?;
    }
    for (id, address, account) in state.accounts() {
        put_in_table(table, address, Some(account))?;
        for (slot, value) in state.slots(id) {
            put_slot_in_table(table, address, slot, *value)?;
        }
    }
    Ok(table.spill()?)
}

/// Applies the log since the last checkpoint to the table.
///
/// # Errors
/// Corruption of the log; those of the table.
pub(super) fn checkpoint(table: &mut Table, log: &Segment, facts: &Facts) -> Result<(), Error> {
    let mut at = facts.start;
    while at < log.len() {
        let (block, end) = log::read_from(log, at)?;
        for code in &block.codes {
            put_code_in_table(table, &blockmill_hashes::keccak256(code), code)?;
        }
        for account in &block.accounts {
            put_in_table(table, &account.address, account.after.as_ref())?;
            for slot in &account.slots {
                put_slot_in_table(table, &account.address, &slot.slot, slot.after)?;
            }
        }
        at = end;
    }
    Ok(())
}

/// A key of the table.
enum Key {
    Code(Hash),
    Account(Address),
    Slot(Address, U256),
}

impl Key {
    fn decode(key: &[u8]) -> Option<Self> {
        match key.split_first()? {
            (&CODE, hash) => Some(Self::Code(hash.try_into().ok()?)),
            (&ACCOUNT, rest) => {
                let (address, slot) = rest.split_first_chunk::<20>()?;
                match slot {
                    [] => Some(Self::Account(*address)),
                    slot => {
                        let slot: Hash = slot.try_into().ok()?;
                        Some(Self::Slot(*address, U256::from_be_bytes(slot)))
                    }
                }
            }
            _ => None,
        }
    }
}

/// Loads the table into an empty state. Returns false when cancelled.
///
/// # Errors
/// [`Error::Store`] if the table is corrupt or has invalid entries.
pub(super) fn load(
    table: &Table,
    dir: &Path,
    state: &mut State,
    cancel: &Cancel,
) -> Result<bool, Error> {
    let mut entries = 0u64;
    let mut owner = None;
    let mut scan = table.iter()?;
    while let Some((key, value)) = scan.next()? {
        entries += 1;
        if entries.is_multiple_of(PATIENCE) && cancel.is_cancelled() {
            return Ok(false);
        }
        let unusable = |expected: &'static str| bad_entry(dir, key, expected);
        match Key::decode(key).ok_or_else(|| unusable("the key of a code, an account or a slot"))? {
            Key::Code(hash) => {
                let code = Code::new(value.to_vec());
                if code.hash() != hash {
                    return Err(unusable("a code with the hash of its key"));
                }
                state.restore_code(code);
            }
            Key::Account(address) => {
                let account = whole(value, Input::account).map_err(|_| unusable("an account"))?;
                let id = state.restore_account(&address, Some(account));
                owner = Some((address, id.map_err(|_| unusable("fewer accounts"))?));
            }
            Key::Slot(address, slot) => {
                let word = whole(value, Input::word).map_err(|_| unusable("a slot's value"))?;
                match owner {
                    Some((owner, id)) if owner == address => state.restore_slot(id, slot, word),
                    _ => return Err(unusable("the account of a slot before it")),
                }
            }
        }
    }
    Ok(true)
}

/// Decodes all bytes as one value.
fn whole<'a, T>(
    bytes: &'a [u8],
    read: impl Fn(&mut Input<'a>) -> Result<T, Malformed>,
) -> Result<T, Malformed> {
    let mut input = Input { bytes, offset: 0 };
    let value = read(&mut input)?;
    match input.offset == bytes.len() {
        true => Ok(value),
        false => Err(input.malformed("the end", "more bytes")),
    }
}

/// The error for an invalid entry of the table, whose page has the right checksum.
fn bad_entry(dir: &Path, key: &[u8], expected: &'static str) -> Error {
    Error::Store(blockmill_store::Error::Corrupt {
        path: dir.join(MANIFEST),
        offset: 0,
        what: "table of the state",
        expected: expected.to_owned(),
        found: format!("another entry under {}", blockmill_verdict::Hex(key)),
    })
}

/// Redoes a block in the flat state.
///
/// # Errors
/// More accounts than can be named.
pub(super) fn redo(
    state: &mut State,
    block: &BlockChanges,
) -> Result<(), crate::state::StateError> {
    for code in &block.codes {
        state.restore_code(Code::new(code.clone()));
    }
    for account in &block.accounts {
        let id = state.restore_account(&account.address, account.after)?;
        account.slots.iter().for_each(|slot| state.restore_slot(id, slot.slot, slot.after));
    }
    Ok(())
}

/// Undoes a block in the flat state.
///
/// # Errors
/// More accounts than can be named.
pub(super) fn undo(
    state: &mut State,
    block: &BlockChanges,
) -> Result<(), crate::state::StateError> {
    for account in &block.accounts {
        let id = state.restore_account(&account.address, account.before)?;
        account.slots.iter().for_each(|slot| state.restore_slot(id, slot.slot, slot.before));
    }
    Ok(())
}
