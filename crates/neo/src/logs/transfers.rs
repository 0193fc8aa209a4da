//! Transfers by account, and the last change of each balance.
//!
//! neo-go stores the transfers of an account in batches of 128 and rewrites a batch for each new
//! transfer. Here each transfer is one entry; its key ends with its position in the chain. Adding
//! one reads nothing, and the entries of a block are written in one sorted run.

use crate::ledger::CachedTable;
use crate::types::{Error, Reader, UInt160, write};
use blockmill_store::TableReader;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Name of the table of transfers in a store.
pub const TRANSFERS: &str = "transfers";
/// Name of the table of last changes.
pub const UPDATES: &str = "token-updates";

/// The standard of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Fungible tokens.
    Nep17,
    /// Non-fungible tokens: the token id.
    Nep11(Vec<u8>),
}

impl Standard {
    /// The numbers of all of them.
    pub(crate) const NUMBERS: [u8; 2] = [17, 11];

    /// Its number.
    pub(crate) fn number(&self) -> u8 {
        match self {
            Self::Nep17 => 17,
            Self::Nep11(_) => 11,
        }
    }
}

/// A transfer as a notification reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// The sender; zero if tokens are minted.
    pub from: UInt160,
    /// The receiver; zero if tokens are burnt.
    pub to: UInt160,
    /// The amount: two's complement in little endian, in as few bytes as possible.
    pub amount: Vec<u8>,
    /// The standard, with the token id of NEP-11.
    pub standard: Standard,
}

/// The position of a transfer in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The block.
    pub height: u32,
    /// Its number among the transfers of the block.
    pub number: u32,
}

/// A transfer from the view of one of its two accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its position in the chain.
    pub place: Place,
    /// The contract of the token, by id.
    pub asset: i32,
    /// Whether this account is the sender.
    pub outgoing: bool,
    /// The other account; zero if tokens are minted or burnt.
    pub counterparty: UInt160,
    /// The execution of the block: 0 for OnPersist, then the transactions from 1 on, then
    /// PostPersist.
    pub execution: u32,
    /// The amount.
    pub amount: Vec<u8>,
    /// The standard, with the token id of NEP-11.
    pub standard: Standard,
}

/// The error of reading transfers.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The table cannot be read.
    #[error(transparent)]
    Store(#[from] blockmill_store::Error),
    /// An entry cannot be decoded.
    #[error("entry of a transfer: {0}")]
    Entry(#[from] Error),
}

/// Account, standard, block, number.
const KEY: usize = 20 + 1 + 4 + 4;

fn key(account: UInt160, standard: u8, place: Place) -> [u8; KEY] {
    let mut key = [standard; KEY];
    key[..20].copy_from_slice(&account.0);
    // big endian, so that entries come in the order of the chain
    key[21..25].copy_from_slice(&place.height.to_be_bytes());
    key[25..].copy_from_slice(&place.number.to_be_bytes());
    key
}

/// The key of the last change of an account's balance of a token.
pub(crate) fn update_key(account: UInt160, asset: i32) -> [u8; 24] {
    let mut key = [0; 24];
    key[..20].copy_from_slice(&account.0);
    key[20..].copy_from_slice(&asset.to_le_bytes());
    key
}

impl Transfer {
    fn write(&self, value: &mut Vec<u8>) {
        value.extend_from_slice(&self.asset.to_le_bytes());
        value.push(u8::from(self.outgoing));
        value.extend_from_slice(&self.counterparty.0);
        value.extend_from_slice(&self.execution.to_le_bytes());
        write::string(value, &self.amount);
        if let Standard::Nep11(token) = &self.standard {
            write::string(value, token);
        }
    }

    fn read(key: &[u8], value: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(key);
        reader.array::<20>()?;
        let standard = reader.byte()?;
        let place = Place {
            height: u32::from_be_bytes(*reader.array()?),
            number: u32::from_be_bytes(*reader.array()?),
        };
        let mut reader = Reader::new(value);
        let asset = i32::from_le_bytes(*reader.array()?);
        let outgoing = reader.byte()? != 0;
        let counterparty = UInt160(*reader.array()?);
        let execution = reader.u32()?;
        let amount = reader.string("amount", 32)?.slice(value).to_vec();
        let standard = match standard {
            17 => Standard::Nep17,
            _ => Standard::Nep11(reader.string("token", 64)?.slice(value).to_vec()),
        };
        Ok(Self { place, asset, outgoing, counterparty, execution, amount, standard })
    }
}

/// Passes the table entries of a block's transfers to `put`: table, key and value. Each transfer is
/// given by the index of its execution, the id of the token contract, and the movement.
pub fn entries(
    height: u32,
    movements: impl IntoIterator<Item = (u32, i32, Movement)>,
    mut put: impl FnMut(CachedTable, &[u8], &[u8]),
) {
    let mut value = Vec::with_capacity(64);
    let mut put = |account: UInt160, transfer: &Transfer| {
        let standard = transfer.standard.number();
        value.clear();
        transfer.write(&mut value);
        put(CachedTable::Transfers, &key(account, standard, transfer.place), &value);
        let update = update_key(account, transfer.asset);
        put(CachedTable::Updates, &update, &transfer.place.height.to_le_bytes());
    };
    for (number, (execution, asset, movement)) in (0..).zip(movements) {
        let Movement { from, to, amount, standard } = movement;
        // a transfer to oneself has two entries with different numbers, as in neo-go
        let place = Place { height, number: 2 * number };
        let (outgoing, counterparty) = (true, to);
        let mut transfer =
            Transfer { place, asset, outgoing, counterparty, execution, amount, standard };
        if from != UInt160::ZERO {
            put(from, &transfer);
        }
        if to != UInt160::ZERO {
            transfer.place.number += 1;
            (transfer.outgoing, transfer.counterparty) = (false, from);
            put(to, &transfer);
        }
    }
}

/// Passes the transfers of an account of one standard (17 or 11) to `each`, in the order of the
/// chain and as of the last commit, until it returns false.
///
/// # Errors
/// Returns [`TransferError::Store`] if the table cannot be read, [`TransferError::Entry`] if an
/// entry cannot be decoded.
pub fn of_account(
    transfers: &TableReader,
    account: UInt160,
    standard: u8,
    mut each: impl FnMut(Transfer) -> bool,
) -> Result<(), TransferError> {
    let prefix = [&account.0[..], &[standard]].concat();
    let mut scan = transfers.snapshot().scan_prefix(&prefix)?;
    while let Some((key, value)) = scan.next()? {
        if !each(Transfer::read(key, value)?) {
            break;
        }
    }
    Ok(())
}

/// Passes all transfers to `each`, account by account.
pub(crate) fn of_all<E: From<TransferError>>(
    transfers: &TableReader,
    mut each: impl FnMut(UInt160, Transfer) -> Result<(), E>,
) -> Result<(), E> {
    let runs = transfers.snapshot();
    let scanned = |error| E::from(TransferError::Store(error));
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded)).map_err(scanned)?;
    while let Some((key, value)) = scan.next().map_err(scanned)? {
        let account = Reader::new(key).array().map(|account| UInt160(*account));
        let transfer = account.and_then(|account| Ok((account, Transfer::read(key, value)?)));
        let (account, transfer) = transfer.map_err(TransferError::Entry)?;
        each(account, transfer)?;
    }
    Ok(())
}

/// Passes the transfers of an account of one standard after a block to `each`, with their keys.
pub(crate) fn after(
    transfers: &TableReader,
    (account, standard): (UInt160, u8),
    height: u32,
    mut each: impl FnMut(&[u8], Transfer) -> blockmill_store::Result<()>,
) -> Result<(), TransferError> {
    let first = key(account, standard, Place { height, number: u32::MAX });
    let last = key(account, standard, Place { height: u32::MAX, number: u32::MAX });
    let range = (Bound::Excluded(&first[..]), Bound::Included(&last[..]));
    let mut scan = transfers.snapshot().scan(range)?;
    while let Some((key, value)) = scan.next()? {
        each(key, Transfer::read(key, value)?)?;
    }
    Ok(())
}

/// Passes the keys of an account's NEP-17 transfers up to a block to `each`, except for the last
/// one of each token: an unwind needs it for the last change of the balance.
pub(crate) fn superseded(
    transfers: &TableReader,
    account: UInt160,
    height: u32,
    mut each: impl FnMut(&[u8]) -> blockmill_store::Result<()>,
) -> Result<(), TransferError> {
    let standard = Standard::Nep17.number();
    let first = key(account, standard, Place { height: 0, number: 0 });
    let last = key(account, standard, Place { height, number: u32::MAX });
    let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    let mut scan = transfers.snapshot().scan(range)?;
    let mut last_of: BTreeMap<i32, Vec<u8>> = BTreeMap::new();
    while let Some((key, value)) = scan.next()? {
        let asset = Transfer::read(key, value)?.asset;
        if let Some(before) = last_of.insert(asset, key.to_vec()) {
            each(&before)?;
        }
    }
    Ok(())
}

/// Number of transfers that a backward scan reads at once.
const PAGE: usize = 64;

/// Passes the transfers of an account of one standard up to a block to `each`, last first, until it
/// returns false.
pub(crate) fn before(
    transfers: &TableReader,
    (account, standard): (UInt160, u8),
    height: u32,
    mut each: impl FnMut(Transfer) -> bool,
) -> Result<(), TransferError> {
    let runs = transfers.snapshot();
    let first = key(account, standard, Place { height: 0, number: 0 });
    let mut last = Bound::Included(key(account, standard, Place { height, number: u32::MAX }));
    loop {
        let range = (Bound::Included(&first[..]), last.as_ref().map(|key| &key[..]));
        let page = runs.last(range, PAGE)?;
        for (key, value) in &page {
            if !each(Transfer::read(key, value)?) {
                return Ok(());
            }
        }
        match page.last().and_then(|(key, _)| key.as_slice().try_into().ok()) {
            Some(key) if page.len() == PAGE => last = Bound::Excluded(key),
            _ => return Ok(()),
        }
    }
}

/// The tokens of an account with the height of the last change of each balance, as of the last
/// commit.
///
/// # Errors
/// Returns [`TransferError::Store`] if the table cannot be read, [`TransferError::Entry`] if an
/// entry cannot be decoded.
pub fn last_updates(
    updates: &TableReader,
    account: UInt160,
) -> Result<Vec<(i32, u32)>, TransferError> {
    let mut found = Vec::new();
    let mut scan = updates.snapshot().scan_prefix(&account.0)?;
    while let Some((key, value)) = scan.next()? {
        let mut asset = Reader::new(&key[20..]);
        let asset = i32::from_le_bytes(*asset.array()?);
        found.push((asset, Reader::new(value).u32()?));
    }
    Ok(found)
}
