//! Tables back to what they were made of: the RLP of headers and transactions.

pub use super::access_lists::access_lists;
use super::tables::{BLOCKS, TRANSACTIONS};
use crate::error::Error;
use crate::read::{Cells, TableReader};
use blockmill_ethereum::transactions::{Transaction, TransactionType};
use blockmill_ethereum::{Address, Hash, U256};
use blockmill_rlp::ethereum::{
    AccessListEntry, Authorization, EditLater, LaterField, OwnedHeader as Header,
};
use blockmill_rlp::{Encode, List};
use std::path::Path;

/// The header of each row of a file of blocks, with its hash, which is that of the row.
///
/// # Errors
/// When the file cannot be read, or a row is not of the block whose hash it has.
pub fn headers(
    file: &Path,
    mut each: impl FnMut(Hash, Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    for cells in TableReader::open(file, &BLOCKS)? {
        let cells = cells?;
        for row in 0..cells.rows() {
            let header = header(&cells, row)?;
            let hash = blockmill_rlp::ethereum::block_hash(&header);
            if hash != cells.fixed("hash", row)? {
                return Err(cells.wrong(row, "a header of the hash that the row has", "another"));
            }
            each(hash, header)?;
        }
    }
    Ok(())
}

pub(super) fn header(cells: &Cells, row: usize) -> Result<Vec<u8>, Error> {
    let mut header = Header {
        parent_hash: cells.fixed("parent_hash", row)?,
        ommers_hash: cells.fixed("sha3_uncles", row)?,
        beneficiary: cells.fixed("miner", row)?,
        state_root: cells.fixed("state_root", row)?,
        transactions_root: cells.fixed("transactions_root", row)?,
        receipts_root: cells.fixed("receipts_root", row)?,
        logs_bloom: Box::new(cells.fixed("logs_bloom", row)?),
        difficulty: cells.wei("difficulty", row)?,
        number: cells.int("number", row)?,
        gas_limit: cells.int("gas_limit", row)?,
        gas_used: cells.int("gas_used", row)?,
        timestamp: cells.time("timestamp", row, 1_000_000)?,
        extra_data: cells.bytes("extra_data", row)?.into_owned(),
        mix_hash: cells.fixed("mix_hash", row)?,
        nonce: cells.fixed("nonce", row)?,
        ..Header::default()
    };
    header.edit_later(&mut Row { cells, row })?;
    Ok(header.encode())
}

/// A row of blocks, whose columns have the later fields of its header under their names.
struct Row<'c> {
    cells: &'c Cells,
    row: usize,
}

impl EditLater for Row<'_> {
    type Error = Error;

    fn wei(&mut self, field: &LaterField, _: Option<U256>) -> Result<Option<U256>, Error> {
        self.cells.maybe_wei(field.name, self.row)
    }

    fn number(&mut self, field: &LaterField, _: Option<u64>) -> Result<Option<u64>, Error> {
        self.cells.maybe_int(field.name, self.row)
    }

    fn hash(&mut self, field: &LaterField, _: Option<Hash>) -> Result<Option<Hash>, Error> {
        self.cells.maybe_fixed(field.name, self.row)
    }
}

/// A transaction that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTransaction {
    /// Number of its block.
    pub block: u64,
    /// Its index there.
    pub index: u64,
    /// Its hash, which is that of the row.
    pub hash: Hash,
    /// Who signed it, as the row says.
    pub sender: Address,
    /// The form whose Keccak-256 the hash is: a list, or a type byte and a list.
    pub canonical: Vec<u8>,
}

/// Each transaction of a file of transactions.
///
/// # Errors
/// When the file cannot be read, or a row is not of the transaction whose hash it has.
pub fn transactions(
    file: &Path,
    mut each: impl FnMut(ReadTransaction) -> Result<(), Error>,
) -> Result<(), Error> {
    for cells in TableReader::open(file, &TRANSACTIONS)? {
        let cells = cells?;
        for row in 0..cells.rows() {
            let canonical = transaction(&cells, row)?;
            let hash = blockmill_hashes::keccak256(&canonical);
            if hash != cells.fixed("hash", row)? {
                let expected = "a transaction of the hash that the row has";
                return Err(cells.wrong(row, expected, "another"));
            }
            each(ReadTransaction {
                block: cells.int("block_number", row)?,
                index: cells.int("transaction_index", row)?,
                hash,
                sender: cells.fixed("from_address", row)?,
                canonical,
            })?;
        }
    }
    Ok(())
}

pub(super) fn transaction(cells: &Cells, row: usize) -> Result<Vec<u8>, Error> {
    let number = cells.int("transaction_type", row)?;
    let kind = u8::try_from(number).ok().and_then(|number| match number {
        0 => Some(TransactionType::Legacy),
        number => TransactionType::from_byte(number),
    });
    let kind = kind.ok_or_else(|| cells.wrong(row, "a type of 0 to 4", &number.to_string()))?;
    let is_dynamic = kind >= TransactionType::DynamicFee;
    let max_fee = if is_dynamic { "max_fee_per_gas" } else { "gas_price" };
    let word = |name| Ok::<_, Error>(U256::from_be_bytes(cells.fixed::<32>(name, row)?));
    let wei = |name| Ok::<_, Error>(cells.maybe_wei(name, row)?.unwrap_or_default());
    let to = cells.maybe_fixed("to_address", row)?;
    let hashes = hashes(cells, "blob_versioned_hashes", row)?;
    let accesses = accesses(cells.structs("access_list", row)?)?;
    let accesses: Vec<_> = accesses.iter().map(Access::entry).collect();
    let delegations = delegations(cells.structs("authorization_list", row)?)?;
    let delegations: Vec<_> = delegations.iter().map(Delegation::authorization).collect();
    let transaction = Transaction {
        chain_id: match kind {
            TransactionType::Legacy => U256::ZERO,
            _ => cells.wide_int("chain_id", row)?,
        },
        nonce: cells.int("nonce", row)?,
        max_priority_fee: wei("max_priority_fee_per_gas")?,
        max_fee: wei(max_fee)?,
        gas_limit: cells.int("gas", row)?,
        to: to.as_ref(),
        value: wei("value")?,
        input: &cells.bytes("input", row)?,
        access_list: List::Values(&accesses),
        max_blob_fee: wei("max_fee_per_blob_gas")?,
        blob_hashes: List::Values(&hashes),
        authorizations: List::Values(&delegations),
        v: wei("v")?,
        r: word("r")?,
        s: word("s")?,
        ..Transaction::new(kind)
    };
    Ok(transaction.canonical().encode())
}

/// An entry of an access list.
struct Access {
    address: Address,
    storage_keys: Vec<Hash>,
}

impl Access {
    fn entry(&self) -> AccessListEntry<'_> {
        let Self { address, storage_keys } = self;
        AccessListEntry { address, storage_keys: List::Values(storage_keys) }
    }
}

fn accesses(cells: Option<Cells>) -> Result<Vec<Access>, Error> {
    let Some(cells) = cells else { return Ok(vec![]) };
    let access = |row| {
        let address = cells.fixed("address", row)?;
        Ok(Access { address, storage_keys: hashes(&cells, "storage_keys", row)? })
    };
    (0..cells.rows()).map(access).collect()
}

/// A delegation of an account.
struct Delegation {
    address: Address,
    nonce: u64,
    y_parity: u8,
    /// Chain, and both halves of the signature.
    words: [U256; 3],
}

impl Delegation {
    fn authorization(&self) -> Authorization<'_> {
        let Self { nonce, y_parity, words: [chain_id, r, s], .. } = *self;
        Authorization { chain_id, address: &self.address, nonce, y_parity, r, s }
    }
}

fn delegations(cells: Option<Cells>) -> Result<Vec<Delegation>, Error> {
    let Some(cells) = cells else { return Ok(vec![]) };
    let delegation = |row| {
        let word = |name| Ok::<_, Error>(U256::from_be_bytes(cells.fixed::<32>(name, row)?));
        let nonce = cells.wei("nonce", row)?;
        let y_parity = cells.int("y_parity", row)?;
        Ok(Delegation {
            address: cells.fixed("address", row)?,
            nonce: nonce.try_into().map_err(|_| cells.wrong(row, "a nonce below 2^64", "more"))?,
            y_parity: y_parity.try_into().map_err(|_| cells.wrong(row, "8 bits", "more"))?,
            words: [word("chain_id")?, word("r")?, word("s")?],
        })
    };
    (0..cells.rows()).map(delegation).collect()
}

fn hashes(cells: &Cells, name: &str, row: usize) -> Result<Vec<Hash>, Error> {
    let hashes = cells.list(name, row)?.unwrap_or_default();
    let hashes: Result<_, _> = hashes.into_iter().map(Hash::try_from).collect();
    hashes.map_err(|_| cells.wrong(row, "hashes of 32 bytes", "others"))
}
