//! Block access lists (EIP-7928) as rows, and rows as block access lists.

use super::rows::{Block, undecodable};
use super::tables::BLOCK_ACCESS_LIST;
use crate::error::Error;
use crate::read::{Cells, TableReader};
use crate::rows::Rows;
use blockmill_ethereum::U256;
use blockmill_ethereum::access_list::{
    AccountChanges, BalanceChange, BlockAccessList, CodeChange, Entry, EntryKind, NonceChange,
    SlotChanges, StorageChange, Value, entries,
};
use blockmill_ethereum::header::EMPTY_OMMERS;
use blockmill_rlp::{Decode, List};
use std::path::Path;

/// Adds the entries of the list of a block, which is empty if the archive has none.
pub(super) fn add_access_list(
    rows: &mut Rows,
    block: &Block<'_>,
    list: &[u8],
) -> Result<(), Error> {
    let hash = block.header.block_access_list_hash;
    if list.is_empty() {
        // an export leaves out the list of the genesis block: like its ommers, it is empty
        return match hash.filter(|hash| **hash != EMPTY_OMMERS) {
            None => Ok(()),
            Some(_) => Err(Error::Lacks {
                table: BLOCK_ACCESS_LIST.name,
                expected: "block access lists",
                block: block.number,
            }),
        };
    }
    let list = List::decode(list).map_err(|_| undecodable(block.number, "block access list"))?;
    let transactions = block.body.map_or(0, |body| body.transaction_count());
    for entry in entries(&list) {
        add_entry(rows, block, transactions, &entry);
        rows.end();
    }
    Ok(())
}

fn add_entry(rows: &mut Rows, block: &Block<'_>, transactions: usize, entry: &Entry<'_>) {
    rows.int(block.number);
    rows.bytes(block.hash);
    rows.seconds(block.header.timestamp);
    rows.maybe_int(entry.key.index.map(u64::from));
    rows.maybe_int(entry.key.transaction(transactions).map(u64::from));
    rows.bytes(&entry.key.address);
    rows.text(entry.key.kind.name());
    let slot = entry.key.slot.map(|slot| slot.to_be_bytes::<32>());
    rows.maybe_bytes(slot.as_ref().map(|slot| &slot[..]));
    match entry.value {
        Value::Accessed => rows.none(),
        Value::Word(number) | Value::Wei(number) => rows.bytes(&number.to_be_bytes::<32>()),
        Value::Nonce(nonce) => rows.bytes(&nonce.to_be_bytes()),
        Value::Code(code) => rows.bytes(code),
    }
}

/// Calls `each` with the number and the list of every block in a file of block access lists.
///
/// # Errors
/// When the file cannot be read, or a row is no entry of a list in its order.
pub fn access_lists(
    file: &Path,
    mut each: impl FnMut(u64, BlockAccessList) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut open: Option<(u64, BlockAccessList)> = None;
    for cells in TableReader::open(file, &BLOCK_ACCESS_LIST)? {
        let cells = cells?;
        for row in 0..cells.rows() {
            let number = cells.int("block_number", row)?;
            if let Some((number, list)) = open.take_if(|(last, _)| *last != number) {
                each(number, list)?;
            }
            let (_, list) = open.get_or_insert_with(|| (number, BlockAccessList::default()));
            put_entry(&cells, row, list)?;
        }
    }
    open.map_or(Ok(()), |(number, list)| each(number, list))
}

/// Adds the entry of a row to the list of its block.
fn put_entry(cells: &Cells, row: usize, list: &mut BlockAccessList) -> Result<(), Error> {
    let address = cells.fixed("address", row)?;
    let kind = cells.text("kind", row)?;
    if kind == EntryKind::Account.name() {
        list.accounts.push(AccountChanges { address, ..AccountChanges::default() });
        return Ok(());
    }
    let wrong = |expected: &str| cells.wrong(row, expected, kind);
    let account = list.accounts.last_mut().filter(|account| account.address == address);
    let account = account.ok_or_else(|| wrong("the row of the account first"))?;
    let slot = || {
        let slot = cells.maybe_fixed("slot", row)?.ok_or_else(|| wrong("a slot"))?;
        Ok::<_, Error>(U256::from_be_bytes::<32>(slot))
    };
    if kind == EntryKind::StorageRead.name() {
        account.storage_reads.push(slot()?);
        return Ok(());
    }
    let index = cells.maybe_int("access_index", row)?.and_then(|index| u32::try_from(index).ok());
    let index = index.ok_or_else(|| wrong("an index of 32 bits"))?;
    let value = cells.bytes("value", row)?;
    let word = || value[..].try_into().map(U256::from_be_bytes::<32>).ok();
    match kind {
        "storage" => {
            let value = word().ok_or_else(|| wrong("a value of 32 bytes"))?;
            let (slot, change) = (slot()?, StorageChange { index, value });
            match account.storage_changes.last_mut().filter(|last| last.slot == slot) {
                Some(last) => last.changes.push(change),
                None => account.storage_changes.push(SlotChanges { slot, changes: vec![change] }),
            }
        }
        "balance" => {
            let balance = word().ok_or_else(|| wrong("a balance of 32 bytes"))?;
            account.balance_changes.push(BalanceChange { index, balance });
        }
        "nonce" => {
            let nonce = value[..].try_into().map(u64::from_be_bytes);
            let nonce = nonce.map_err(|_| wrong("a nonce of 8 bytes"))?;
            account.nonce_changes.push(NonceChange { index, nonce });
        }
        "code" => account.code_changes.push(CodeChange { index, code: value.into_owned() }),
        _ => return Err(wrong("a kind of entry")),
    }
    Ok(())
}
