//! Transfers by account, and when an account's balance of an asset changed last.
//!
//! neo-go keeps the transfers of an account in batches of 128, which it rewrites for each new one.
//! Here each is an entry of its own under a key that ends with its place in the chain: nothing is
//! read to add one, and a block's entries are written in one sorted run.

use crate::tasks::Kept;
use crate::types::{Error, Reader, UInt160, write};
use blockmill_store::TableReader;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Name of the table of transfers in a store.
pub const TRANSFERS: &str = "transfers";
/// Name of the table of last changes.
pub const UPDATES: &str = "token-updates";

/// Of which standard a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Amounts only.
    Nep17,
    /// Tokens with an id.
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

/// What a notification tells: an amount goes from one account to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    /// The sender; zero where tokens are made.
    pub from: UInt160,
    /// The receiver; zero where tokens are burnt.
    pub to: UInt160,
    /// How much: a two's complement in little endian, in as few bytes as possible.
    pub amount: Vec<u8>,
    /// Of which standard, and which token.
    pub standard: Standard,
}

/// Where in the chain a transfer took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The block.
    pub height: u32,
    /// Its number among the transfers of the block.
    pub number: u32,
}

/// A transfer as one of its two accounts sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Where it took place.
    pub place: Place,
    /// The contract of the token, by id.
    pub asset: i32,
    /// Does the amount leave this account?
    pub outgoing: bool,
    /// The other account; zero where there is none.
    pub counterparty: UInt160,
    /// The execution of the block: 0 for what comes before its transactions, then these from 1 on,
    /// then what comes after them.
    pub execution: u32,
    /// How much.
    pub amount: Vec<u8>,
    /// Of which standard, and which token.
    pub standard: Standard,
}

/// Why an entry cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The table cannot.
    #[error(transparent)]
    Store(#[from] blockmill_store::Error),
    /// The entry is not one that was written.
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

/// Under which key stands when an account's balance of a token changed last.
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
        let amount = reader.string("amount", 32)?.of(value).to_vec();
        let standard = match standard {
            17 => Standard::Nep17,
            _ => Standard::Nep11(reader.string("token", 64)?.of(value).to_vec()),
        };
        Ok(Self { place, asset, outgoing, counterparty, execution, amount, standard })
    }
}

/// The entries of a block's transfers in their order: of each transfer the execution, the
/// contract's id and what the notification says. `put` takes table, key and value.
pub fn entries(
    height: u32,
    movements: impl IntoIterator<Item = (u32, i32, Movement)>,
    mut put: impl FnMut(Kept, &[u8], &[u8]),
) {
    let mut value = Vec::with_capacity(64);
    let mut put = |account: UInt160, transfer: &Transfer| {
        let standard = transfer.standard.number();
        value.clear();
        transfer.write(&mut value);
        put(Kept::Transfers, &key(account, standard, transfer.place), &value);
        let update = update_key(account, transfer.asset);
        put(Kept::Updates, &update, &transfer.place.height.to_le_bytes());
    };
    for (number, (execution, asset, movement)) in (0..).zip(movements) {
        let Movement { from, to, amount, standard } = movement;
        // a transfer to oneself has two entries, as in neo-go: they differ in their number
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

/// The transfers of an account of one standard (17 or 11), in the order of the chain, as of the
/// last commit. `each` says whether to go on.
///
/// # Errors
/// Those of reading the table.
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

/// All transfers, account by account.
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

/// The transfers of an account of one standard after a block, in their order, with their keys.
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

/// The keys of an account's NEP-17 transfers up to a block, but for the last of each token: that
/// one tells when the balance changed last, if blocks are taken back.
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

/// Transfers that are looked at together on the way back.
const PAGE: usize = 64;

/// The transfers of an account of one standard up to a block, the last one first; `each` says
/// whether to go on.
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

/// The assets of an account, and the block in which its balance of each changed last, as of the
/// last commit.
///
/// # Errors
/// Those of reading the table.
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
