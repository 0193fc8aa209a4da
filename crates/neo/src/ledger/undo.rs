//! The undo log: the values that each block replaced, for an unwind.
//!
//! There are two log files. When the active one covers the minimum depth, the next commit truncates
//! the other one and makes it active. Entries whose keys contain a height (transfers, roots) have
//! no records: they are found by their keys. Bytes: `docs/formats/neo-logs.md`.

use super::facts::StateFacts;
use crate::execute::block::Executed;
use crate::ledger::CachedTable;
use crate::rule::Violation;
use crate::types::{Error, Reader, write};
use blockmill_store::{
    CommitPart, LogFile, MAX_KEY_BYTES, MAX_VALUE_BYTES, Opening, Result, Table,
};
use std::collections::BTreeMap;

/// Names of the log files.
pub(super) const LOGS: [&str; 2] = ["undo-0", "undo-1"];
/// Size limit of one file of a log, in bytes.
const FILE_BYTES: u64 = 1 << 30;
/// Default of the minimum number of blocks that can be unwound.
pub const UNWIND_DEPTH: u32 = 10_000;

blockmill_pipeline::named_option! {
    /// Whether the old values of blocks are logged.
    ///
    /// [Format of the undo log](../formats/neo-logs.md#undo-log).
    pub enum ChangeLog: "log", level Execution {
        /// No log.
        Off = "off",
        /// The old values, for `blockmill unwind`.
        Undo = "undo",
    }
}

/// A table with entries in undo records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replaced {
    Storage = 0,
    Transactions = 1,
    Conflicts = 2,
}

/// Table, key and the value before a block; `None` if the key was absent.
pub(super) type Entry<'a> = (Replaced, &'a [u8], Option<&'a [u8]>);

/// Collects what blocks from `first` on replace in tables other than contract storage.
pub(super) struct Replacements<'a> {
    first: u32,
    /// Tolerated blocks: they may repeat a transaction of an earlier block.
    tolerated: &'a [(u32, Violation)],
    /// Entries by block, in the order in which they were put.
    entries: BTreeMap<u32, Vec<OwnedEntry>>,
}

/// An owned [`Entry`].
type OwnedEntry = (Replaced, Vec<u8>, Option<Vec<u8>>);

impl<'a> Replacements<'a> {
    pub fn new(first: u32, tolerated: &'a [(u32, Violation)]) -> Self {
        Self { first, tolerated, entries: BTreeMap::new() }
    }

    /// Reports whether the old values of this table are needed. Those of the other tables follow
    /// from the remaining entries; transactions of valid blocks are always new.
    pub fn needs_lookup(&self, kept: CachedTable) -> bool {
        match kept {
            CachedTable::Conflicts => true,
            CachedTable::Transactions => !self.tolerated.is_empty(),
            CachedTable::Transfers | CachedTable::Updates => false,
        }
    }

    /// Records the value that an entry replaces.
    pub fn record(
        &mut self,
        kept: CachedTable,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let replaced = match kept {
            CachedTable::Transactions => Replaced::Transactions,
            CachedTable::Conflicts => Replaced::Conflicts,
            CachedTable::Transfers | CachedTable::Updates => return Ok(()),
        };
        // both values begin with the height of the block
        let height = value.first_chunk().map_or(self.first, |height| u32::from_le_bytes(*height));
        let is_tolerated = || self.tolerated.iter().any(|(block, _)| *block == height);
        if replaced == Replaced::Transactions && !is_tolerated() {
            return Ok(());
        }
        let mut before = vec![];
        let before = table.get(key, &mut before)?.then_some(before);
        self.entries.entry(height).or_default().push((replaced, key.to_vec(), before));
        Ok(())
    }

    /// Encodes the records of the blocks; `None` if the state did not record replaced values.
    pub fn records(&self, executed: &[Executed]) -> Option<Records> {
        let mut records = Records::default();
        for (height, executed) in (self.first..).zip(executed) {
            let before = executed.before.as_ref()?;
            records.bytes.extend(height.to_le_bytes());
            for ((key, _), before) in executed.changes.iter().zip(before) {
                records.add((Replaced::Storage, key.as_slice(), before.as_deref()));
            }
            for (table, key, before) in self.entries.get(&height).into_iter().flatten() {
                records.add((*table, key, before.as_deref()));
            }
            records.ends.push(records.bytes.len());
        }
        Some(records)
    }
}

/// Encoded records of consecutive blocks.
#[derive(Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Records {
    /// Adds an entry to the last record.
    fn add(&mut self, (table, key, before): Entry<'_>) {
        self.bytes.push(2 * table as u8 + u8::from(before.is_some()));
        write::string(&mut self.bytes, key);
        if let Some(before) = before {
            write::string(&mut self.bytes, before);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// Decodes a record: its block, and its entries in the order in which they were replaced.
///
/// # Errors
/// Returns the decode error of the first invalid field.
pub(super) fn decode(record: &[u8]) -> std::result::Result<(u32, Vec<Entry<'_>>), Error> {
    let mut reader = Reader::new(record);
    let height = reader.u32()?;
    let mut entries = vec![];
    while !reader.is_empty() {
        let (at, kind) = (reader.position(), reader.byte()?);
        let table = match kind / 2 {
            0 => Replaced::Storage,
            1 => Replaced::Transactions,
            2 => Replaced::Conflicts,
            other => {
                let (what, expected) = ("table of an undo record", "0 to 2");
                return Err(Error::Field { at, what, expected, found: other.into() });
            }
        };
        let key = reader.string("key", MAX_KEY_BYTES as u64)?.slice(record);
        let before = match kind % 2 {
            0 => None,
            _ => Some(reader.string("value", MAX_VALUE_BYTES as u64)?.slice(record)),
        };
        entries.push((table, key, before));
    }
    Ok((height, entries))
}

/// Both log files.
pub(super) struct UndoLog {
    pub logs: [LogFile; 2],
}

impl UndoLog {
    pub fn open(opening: &mut Opening) -> Result<Self> {
        let [first, second] = LOGS;
        Ok(Self { logs: [opening.log(first, FILE_BYTES)?, opening.log(second, FILE_BYTES)?] })
    }

    /// Reports whether both logs are empty.
    pub fn is_empty(&self) -> bool {
        self.logs.iter().all(LogFile::is_empty)
    }

    /// The first block with a record.
    pub fn first(&self, facts: &StateFacts) -> Option<u32> {
        let (active, other) = (facts.active, 1 - facts.active);
        let oldest = if self.logs[other].is_empty() { active } else { other };
        (!self.is_empty()).then_some(facts.first[oldest])
    }

    /// Appends the records of blocks from `first` on, for the next commit.
    pub fn append(&mut self, first: u32, records: &Records, facts: &mut StateFacts) -> Result<()> {
        if self.is_empty() {
            facts.first[facts.active] = first;
        }
        self.logs[facts.active].append_all(records.iter()).map(drop)
    }

    /// Discards all records with the next commit, because blocks without records follow.
    pub fn give_up(&mut self) -> Result<()> {
        self.logs.iter_mut().filter(|log| !log.is_empty()).try_for_each(|log| log.cut(0))
    }

    /// Prepares a commit up to the block before `next`: if the active log covers `depth` blocks,
    /// the other log is truncated and becomes active.
    pub fn rotate(&mut self, next: u32, depth: u32, facts: &mut StateFacts) -> Result<()> {
        let StateFacts { active, first, .. } = facts;
        if self.logs[*active].is_empty() || next.saturating_sub(first[*active]) < depth {
            return Ok(());
        }
        *active = 1 - *active;
        first[*active] = next;
        let other = &mut self.logs[*active];
        if other.is_empty() { Ok(()) } else { other.cut(0) }
    }

    pub fn parts(&mut self) -> [CommitPart<'_>; 2] {
        self.logs.each_mut().map(CommitPart::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Rule;
    use crate::state::StorageKey;
    use blockmill_store::{ChainStore, Options, TableOptions};

    fn executed(keys: &[(&[u8], Option<&[u8]>)]) -> Executed {
        let change = |key| (StorageKey::new(-1, key).unwrap(), None);
        Executed {
            executions: vec![],
            changes: keys.iter().map(|(key, _)| change(key)).collect(),
            before: Some(keys.iter().map(|(_, before)| before.map(Into::into)).collect()),
        }
    }

    #[test]
    fn a_record_has_old_values_also_of_transactions_that_a_lenient_network_repeats() {
        let folder = tempfile::tempdir().unwrap();
        let parts = |opening: &mut Opening| {
            let open = |name| opening.table(name, &TableOptions::new(1 << 20));
            ["a", "b"].into_iter().map(open).collect::<Result<Vec<Table>>>()
        };
        let (_, mut tables) =
            ChainStore::open_with(folder.path(), &Options::default(), parts).unwrap();
        // block 6 repeats a transaction of block 5, and two of its own name the same one
        let tolerated = [(6, Violation::new(Rule::StoredTransaction, "", ""))];
        let mut replaced = Replacements::new(5, &tolerated);
        let at = |height: u32| [&height.to_le_bytes()[..], &[0; 5]].concat();
        for (table, kept, value) in [
            (0, CachedTable::Transactions, at(5)),
            (0, CachedTable::Transactions, at(6)),
            (1, CachedTable::Conflicts, at(6)[..4].to_vec()),
            (1, CachedTable::Conflicts, at(6)[..4].to_vec()),
            (1, CachedTable::Transfers, vec![]),
        ] {
            replaced.record(kept, &tables[table], b"key", &value).unwrap();
            tables[table].put(b"key", &value).unwrap();
        }
        let blocks = [executed(&[]), executed(&[(b"x", Some(b"was")), (b"y", None)])];
        let records = replaced.records(&blocks).unwrap();
        let records: Vec<&[u8]> = records.iter().collect();
        let (x, y) = (StorageKey::new(-1, b"x").unwrap(), StorageKey::new(-1, b"y").unwrap());
        assert_eq!(decode(records[0]), Ok((5, vec![])));
        let expected: Vec<Entry<'_>> = vec![
            (Replaced::Storage, x.as_slice(), Some(b"was")),
            (Replaced::Storage, y.as_slice(), None),
            (Replaced::Transactions, b"key", Some(&[5, 0, 0, 0, 0, 0, 0, 0, 0])),
            (Replaced::Conflicts, b"key", None),
            (Replaced::Conflicts, b"key", Some(&[6, 0, 0, 0])),
        ];
        assert_eq!(decode(records[1]), Ok((6, expected)));
        // a truncated record is invalid or has fewer entries
        for length in 0..records[1].len() {
            let found = decode(&records[1][..length]);
            assert!(found.is_err() || found.is_ok_and(|(_, entries)| entries.len() < 5));
        }
        assert!(decode(&[5, 0, 0, 0, 6]).is_err());
        // the state did not record replaced values
        let unrecorded = Executed { before: None, ..executed(&[]) };
        assert!(Replacements::new(5, &[]).records(&[unrecorded]).is_none());
    }
}
