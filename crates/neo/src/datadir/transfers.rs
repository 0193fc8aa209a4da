//! Transfers of each account in logs of 128, and the transfer info of the account
//! (`state.TokenTransferLog`, `state.TokenTransferInfo`, `Blockchain.appendTokenTransfer`).

use super::containers::Containers;
use super::source::SourceStore;
use super::{TRANSFER_INFO, TRANSFERS_11, TRANSFERS_17, key_of};
use crate::error::Error;
use crate::execute::encode::integer_of;
use crate::logs::{self, Standard, Transfer};
use crate::types::{UInt160, UInt256, write};
use blockmill_leveldb::Sorter;

/// Transfers in a log (`TokenTransferBatchSize`).
const BATCH: u8 = 128;

/// The current log of an account. The first log has time 0 and number 0.
#[derive(Default)]
struct Log {
    prefix: u8,
    /// Time of the last transfer in the previous log.
    time: u64,
    /// Index of this log.
    number: u32,
    /// The number of transfers, and the transfers; empty before the first one.
    bytes: Vec<u8>,
}

impl Log {
    fn new(prefix: u8) -> Self {
        Self { prefix, ..Self::default() }
    }

    fn append(
        &mut self,
        account: UInt160,
        transfer: &Transfer,
        (time, container): (u64, UInt256),
        into: &mut Sorter,
    ) -> Result<(), Error> {
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
        self.bytes[0] += 1;
        let bytes = &mut self.bytes;
        bytes.extend_from_slice(&transfer.asset.to_le_bytes());
        bytes.extend_from_slice(&container.0);
        bytes.extend_from_slice(&transfer.counterparty.0);
        bytes.extend_from_slice(&transfer.place.height.to_le_bytes());
        bytes.extend_from_slice(&time.to_le_bytes());
        write::string(bytes, &amount(transfer));
        if let Standard::Nep11(token) = &transfer.standard {
            write::string(bytes, token);
        }
        if self.bytes[0] >= BATCH {
            self.put(account, into)?;
            (self.time, self.number) = (time, self.number + 1);
            self.bytes.clear();
        }
        Ok(())
    }

    /// Puts the log, if it has a transfer.
    fn put(&self, account: UInt160, into: &mut Sorter) -> Result<(), Error> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let (time, number) = (self.time.to_be_bytes(), self.number.to_be_bytes());
        into.push(&key_of(self.prefix, &[&account.0, &time, &number]), &self.bytes)?;
        Ok(())
    }
}

/// The amount: positive if the account receives it, negative if it sends it.
fn amount(transfer: &Transfer) -> Vec<u8> {
    // zero has no bytes
    match transfer.outgoing && !transfer.amount.is_empty() {
        true => (-integer_of(&transfer.amount)).to_signed_bytes_le(),
        false => transfer.amount.clone(),
    }
}

/// Puts the transfers of all accounts. Returns their number.
pub(crate) fn put(
    source: &SourceStore,
    containers: &mut Containers,
    into: &mut Sorter,
) -> Result<u64, Error> {
    let (transfers, updates) = (source.transfers.reader(), source.updates.reader());
    let (mut count, mut at) = (0, None);
    let each = |account: UInt160, transfer: Transfer| -> Result<(), Error> {
        if at.as_ref().is_none_or(|(last, _)| *last != account) {
            let logs = [Log::new(TRANSFERS_11), Log::new(TRANSFERS_17)];
            if let Some((account, logs)) = at.replace((account, logs)) {
                end(account, &logs, &logs::last_updates(&updates, account)?, into)?;
            }
        }
        let Some((_, [of_11, of_17])) = &mut at else { return Ok(()) };
        let found = containers.get(transfer.place.height, transfer.execution)?;
        let Some(found) = found else { return Err(Error::StoredPlace(transfer.place.height)) };
        let log = if transfer.standard == Standard::Nep17 { of_17 } else { of_11 };
        count += 1;
        log.append(account, &transfer, found, into)
    };
    logs::of_all(&transfers, each)?;
    if let Some((account, logs)) = at {
        end(account, &logs, &logs::last_updates(&updates, account)?, into)?;
    }
    Ok(count)
}

/// Finishes an account: puts its last logs and its transfer info.
fn end(
    account: UInt160,
    logs: &[Log; 2],
    updates: &[(i32, u32)],
    into: &mut Sorter,
) -> Result<(), Error> {
    logs.iter().try_for_each(|log| log.put(account, into))?;
    let mut value = vec![];
    logs.iter().for_each(|log| value.extend_from_slice(&log.number.to_le_bytes()));
    logs.iter().for_each(|log| value.extend_from_slice(&log.time.to_le_bytes()));
    // whether the next transfer starts a log
    logs.iter().for_each(|log| value.push(u8::from(log.bytes.is_empty())));
    write::number(&mut value, updates.len() as u64);
    for (asset, height) in updates {
        value.extend_from_slice(&asset.to_le_bytes());
        value.extend_from_slice(&height.to_le_bytes());
    }
    into.push(&key_of(TRANSFER_INFO, &[&account.0]), &value)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::Place;

    fn transfer(height: u32, outgoing: bool) -> Transfer {
        Transfer {
            place: Place { height, number: 0 },
            asset: -5,
            outgoing,
            counterparty: UInt160([2; 20]),
            execution: 0,
            amount: vec![1],
            standard: Standard::Nep11(vec![8, 9]),
        }
    }

    #[test]
    fn a_full_log_is_followed_by_one_that_begins_with_its_time_and_the_next_number() {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(&folder.path().join("runs"), 1 << 20, |_, _| {});
        let (account, mut log) = (UInt160([1; 20]), Log::new(TRANSFERS_11));
        for height in 0..130 {
            let found = (1000 + u64::from(height), UInt256([height as u8; 32]));
            log.append(account, &transfer(height, height == 129), found, &mut sorter).unwrap();
        }
        let logs = [log, Log::new(TRANSFERS_17)];
        end(account, &logs, &[(-5, 129)], &mut sorter).unwrap();
        let mut found = vec![];
        let each = |key: &[u8], value: &[u8]| -> Result<(), Error> {
            found.push((key.to_vec(), value.to_vec()));
            Ok(())
        };
        sorter.finish(each).unwrap();
        let key = |time: u64, number: u32| {
            key_of(TRANSFERS_11, &[&account.0, &time.to_be_bytes(), &number.to_be_bytes()])
        };
        let keys: Vec<_> = found.iter().map(|(key, _)| key.clone()).collect();
        let info = key_of(TRANSFER_INFO, &[&account.0]);
        assert_eq!(keys, [key(0, 0), key(1127, 1), info]);
        // contract, hash, account, height, time, amount, token
        let length = 4 + 32 + 20 + 4 + 8 + 2 + 3;
        assert_eq!((found[0].1[0], found[0].1.len()), (128, 1 + 128 * length));
        assert_eq!((found[1].1[0], found[1].1.len()), (2, 1 + 2 * length));
        // a sent amount is negative
        assert!(found[1].1.ends_with(&[1, 0xff, 2, 8, 9]));
        let [numbers, times] = [[1_u32, 0], [1127, 0]];
        let mut expected = numbers.map(u32::to_le_bytes).concat();
        expected.extend(times.map(|time| u64::from(time).to_le_bytes()).concat());
        // the NEP-17 log has not started; one contract
        expected.extend([0, 1, 1, 0xfb, 0xff, 0xff, 0xff, 129, 0, 0, 0]);
        assert_eq!(found[2].1, expected);
    }
}
