//! Receipts in the forms of geth's database, without the fields that follow from the body and the
//! logs.
//!
//! Databases that were created by older versions have two older forms of receipts and one of logs,
//! with more fields. They are read, not written.

use super::{Log, Outcome};
use crate::{Decode, Encode, Error, List, Reader, Write};

/// A receipt without type and bloom.
///
/// ```
/// use blockmill_rlp::ethereum::{Outcome, StoredLogs, StoredReceipt};
/// use blockmill_rlp::{Decode, Encode, List};
///
/// let logs = StoredLogs::Current(List::Values(&[]));
/// let bytes = StoredReceipt { outcome: Outcome::Success, cumulative_gas: 21_000, logs }.encode();
/// assert_eq!(StoredReceipt::decode(&bytes)?.cumulative_gas, 21_000);
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoredReceipt<'a> {
    /// The outcome of the transaction.
    pub outcome: Outcome<'a>,
    /// Gas used in the block up to and with this transaction.
    pub cumulative_gas: u64,
    /// The logs of the transaction.
    pub logs: StoredLogs<'a>,
}

impl<'a> Decode<'a> for StoredReceipt<'a> {
    /// The number of fields distinguishes the three forms: 3 now, 6 in database version 4 of geth,
    /// 7 before it.
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let fields = count_up_to(7, list.clone())?;
        let outcome = Outcome::read(&mut list)?;
        let cumulative_gas = list.u64()?;
        if fields == 7 {
            // the bloom
            list.fixed::<256>()?;
        }
        if fields >= 6 {
            // hash of the transaction and address of the contract that it created
            list.fixed::<32>()?;
            list.fixed::<20>()?;
        }
        let logs = StoredLogs::read(&mut list)?;
        if fields >= 6 {
            // gas that this transaction used
            list.u64()?;
        }
        list.finish()?;
        Ok(Self { outcome, cumulative_gas, logs })
    }
}

impl Encode for StoredReceipt<'_> {
    const LISTS: usize = 2;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.list(|out| {
            self.outcome.write(out);
            out.u64(self.cumulative_gas);
            self.logs.write(out);
        });
    }
}

/// The logs of a stored receipt, encoded in the present form whichever they were read in.
#[derive(Clone, Debug)]
pub enum StoredLogs<'a> {
    /// The form that consensus knows too.
    Current(List<'a, Log<'a>>),
    /// The form of geth before database version 4.
    Old(List<'a, OldLog<'a>>),
}

impl<'a> StoredLogs<'a> {
    /// The logs, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Log<'a>> + use<'a> {
        let (current, old) = match self {
            Self::Current(logs) => (Some(logs.iter()), None),
            Self::Old(logs) => (None, Some(logs.iter())),
        };
        let old = old.into_iter().flatten().map(|OldLog(log)| log);
        current.into_iter().flatten().chain(old)
    }
}

impl<'a> Decode<'a> for StoredLogs<'a> {
    /// All logs of a receipt have the form of the first.
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut logs = reader.clone().list()?;
        if !logs.is_empty() && count_up_to(3, logs.list()?)? > 3 {
            return List::read(reader).map(Self::Old);
        }
        List::read(reader).map(Self::Current)
    }
}

impl Encode for StoredLogs<'_> {
    const LISTS: usize = 1;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        match self {
            Self::Current(logs) => logs.write(out),
            Self::Old(logs) => {
                out.list(|out| logs.iter().for_each(|OldLog(log)| log.write(out)));
            }
        }
    }
}

/// A log followed by the five fields that geth wrote before database version 4: block number,
/// transaction hash and index, block hash, index.
#[derive(Clone, Debug)]
pub struct OldLog<'a>(pub Log<'a>);

impl<'a> Decode<'a> for OldLog<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let log = Log::read_fields(&mut list)?;
        list.u64()?;
        list.fixed::<32>()?;
        list.u64()?;
        list.fixed::<32>()?;
        list.u64()?;
        list.finish()?;
        Ok(Self(log))
    }
}

/// Number of items in a list; `max + 1` if there are more than `max`.
fn count_up_to(max: usize, mut list: Reader<'_>) -> Result<usize, Error> {
    let mut count = 0;
    while !list.is_empty() && count <= max {
        list.item()?;
        count += 1;
    }
    Ok(count)
}
