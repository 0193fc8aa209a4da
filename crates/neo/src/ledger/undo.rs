//! The undo log: what each block replaced, so that blocks can be taken back.
//!
//! Two log files, which are appended to in turn: when the one has as many blocks as can be taken
//! back at least, the other is begun with the next commit, and what it had is given up. What keys
//! tell by themselves stands in no record: transfers and roots carry their height. Bytes:
//! `docs/formats/neo-logs.md`.

use super::facts::StateFacts;
use crate::error::Violation;
use crate::execute::block::Executed;
use crate::tasks::Kept;
use crate::types::{Error, Reader, write};
use blockmill_store::{
    CommitPart, LogFile, MAX_KEY_BYTES, MAX_VALUE_BYTES, Opening, Result, Table,
};
use std::collections::BTreeMap;

/// Names of the log files.
pub(super) const LOGS: [&str; 2] = ["undo-0", "undo-1"];
/// Bytes in a file of one.
const FILE_BYTES: u64 = 1 << 30;
/// Blocks that can be taken back at least, unless it is asked for another number.
pub const UNWIND_DEPTH: u32 = 10_000;

blockmill_pipeline::named_option! {
    /// Which values that blocks replace are kept.
    ///
    /// [Format of the undo log](../formats/neo-logs.md#undo-log).
    pub enum ChangeLog: "log", level Execution {
        /// None.
        Off = "off",
        /// The old values, so that `blockmill unwind` can take blocks back.
        Undo = "undo",
    }
}

/// A table whose entries records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replaced {
    Storage = 0,
    Transactions = 1,
    Conflicts = 2,
}

/// What stood under a key before a block; none where nothing did.
pub(super) type Entry<'a> = (Replaced, &'a [u8], Option<&'a [u8]>);

/// What blocks from `first` on replace in tables other than contract storage.
pub(super) struct Replacements<'a> {
    first: u32,
    /// Blocks that may repeat a transaction of an earlier one: their network stores such.
    tolerated: &'a [(u32, Violation)],
    /// By block, from the first on, and in the order of being put.
    entries: BTreeMap<u32, Vec<Own>>,
}

/// An entry that is not of contract storage: table, key, value before.
type Own = (Replaced, Vec<u8>, Option<Vec<u8>>);

impl<'a> Replacements<'a> {
    pub fn new(first: u32, tolerated: &'a [(u32, Violation)]) -> Self {
        Self { first, tolerated, entries: BTreeMap::new() }
    }

    /// Are entries of this table looked at? What is in the others follows from what is left when
    /// blocks are taken back; and transactions of blocks that keep all rules are new.
    pub fn looks_at(&self, kept: Kept) -> bool {
        match kept {
            Kept::Conflicts => true,
            Kept::Transactions => !self.tolerated.is_empty(),
            Kept::Transfers | Kept::Updates => false,
        }
    }

    /// Looks what stands where an entry is to be put.
    pub fn look(&mut self, kept: Kept, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        let replaced = match kept {
            Kept::Transactions => Replaced::Transactions,
            Kept::Conflicts => Replaced::Conflicts,
            Kept::Transfers | Kept::Updates => return Ok(()),
        };
        // both begin with the height of the block
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

    /// The records of the blocks; none where the state did not tell what they replaced.
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

/// Records of consecutive blocks on their way to the log.
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

/// A record: its block, and its entries in the order in which they were replaced.
///
/// # Errors
/// What is not as a record is.
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
        let key = reader.string("key", MAX_KEY_BYTES as u64)?.of(record);
        let before = match kind % 2 {
            0 => None,
            _ => Some(reader.string("value", MAX_VALUE_BYTES as u64)?.of(record)),
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

    /// Is there no record at all?
    pub fn is_empty(&self) -> bool {
        self.logs.iter().all(LogFile::is_empty)
    }

    /// The first block that there is a record of, and the log that has it.
    pub fn first(&self, facts: &StateFacts) -> Option<u32> {
        let (active, other) = (facts.active, 1 - facts.active);
        let oldest = if self.logs[other].is_empty() { active } else { other };
        (!self.is_empty()).then_some(facts.first[oldest])
    }

    /// Appends the records of blocks from `first` on; they count after the next commit.
    pub fn append(&mut self, first: u32, records: &Records, facts: &mut StateFacts) -> Result<()> {
        if self.is_empty() {
            facts.first[facts.active] = first;
        }
        self.logs[facts.active].append_all(records.iter()).map(drop)
    }

    /// Gives all records up, as blocks follow of which there are none. The next commit does it.
    pub fn give_up(&mut self) -> Result<()> {
        self.logs.iter_mut().filter(|log| !log.is_empty()).try_for_each(|log| log.cut(0))
    }

    /// A commit up to the block before `next` is to follow: if the active log is long enough, the
    /// other one is begun.
    pub fn turn(&mut self, next: u32, depth: u32, facts: &mut StateFacts) -> Result<()> {
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
    use crate::error::Rule;
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
    fn a_record_has_what_stood_there_also_under_what_a_lenient_network_repeats() {
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
            (0, Kept::Transactions, at(5)),
            (0, Kept::Transactions, at(6)),
            (1, Kept::Conflicts, at(6)[..4].to_vec()),
            (1, Kept::Conflicts, at(6)[..4].to_vec()),
            (1, Kept::Transfers, vec![]),
        ] {
            replaced.look(kept, &tables[table], b"key", &value).unwrap();
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
        // cut anywhere it is no record, or one with fewer entries
        for length in 0..records[1].len() {
            let found = decode(&records[1][..length]);
            assert!(found.is_err() || found.is_ok_and(|(_, entries)| entries.len() < 5));
        }
        assert!(decode(&[5, 0, 0, 0, 6]).is_err());
        // the state did not tell
        let silent = Executed { before: None, ..executed(&[]) };
        assert!(Replacements::new(5, &[]).records(&[silent]).is_none());
    }
}
