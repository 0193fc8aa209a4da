//! The commit protocol of a state in RocksDB, atomic with the commits of the store.
//!
//! Changes since the last commit are in memory. A commit has a number and these steps:
//!
//! 1. [`RocksDbCommits::stage`] writes all changes to RocksDB, durably, as one value that is
//!    *pending* for the commit with this number.
//! 2. The store commits a table with the number. From here on the pending changes are committed,
//!    also after a power loss.
//! 3. [`RocksDbCommits::finish`] applies the changes to the column families, writes the number and
//!    removes the pending value, atomically.
//!
//! Opening the store repeats step 3 if the number in the table is that of the pending value, and
//! discards a pending value of a commit that did not happen. A database with any other number does
//! not belong to the store.

use super::FlatOptions;
use super::database::Database;
use super::family::{BufferedFamily, Family, Write};
use blockmill_store::{CommitPart, Error, Opening, Result, Table, TableOptions};
use std::path::Path;
use std::sync::Arc;

/// The name of the table that has the number of the last commit: a store that has this part has its
/// state in RocksDB.
pub const ROCKSDB_PART: &str = "flat-rocksdb";
/// The folder of the database.
const FOLDER: &str = "rocksdb";
/// The key of the number of the last commit, in the table, and of the last applied commit, in the
/// database.
const NUMBER: &[u8] = b"commit";
/// The key of what is pending.
const PENDING: &[u8] = b"pending";
/// The share of the memory that is for changes of one family.
const CHANGES_SHARE: usize = 12;
/// The table has one pair.
const TABLE_BYTES: usize = 1 << 16;
/// Stands for the length of a value that is removed.
const REMOVED: u32 = u32::MAX;

/// The purpose of opening a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be read: nothing is changed.
    Read,
    /// To be written.
    Write,
    /// The same, as an empty one, whatever there is.
    Create,
}

/// See the module's text.
pub(in crate::state::flat_trie) struct RocksDbCommits {
    database: Arc<Database>,
    table: Table,
    /// That of the last commit; 0 before the first one.
    number: u64,
    /// Whether changes are pending for the next commit.
    is_staged: bool,
}

impl RocksDbCommits {
    /// Opens the database as of the last commit of the store in `dir`, or makes an empty one.
    pub fn open(
        opening: &mut Opening,
        dir: &Path,
        options: &FlatOptions,
    ) -> Result<([BufferedFamily; 3], Self)> {
        let table = opening.table(ROCKSDB_PART, &TableOptions::new(TABLE_BYTES))?;
        let mut number = vec![];
        table.get(NUMBER, &mut number)?;
        let folder = dir.join(FOLDER);
        let number = number_in(&number, &folder)?;
        let purpose = match number {
            _ if opening.is_read_only() => Purpose::Read,
            // a kill before the first commit may have left something
            0 => Purpose::Create,
            _ => Purpose::Write,
        };
        let memory = options.memory_bytes;
        let database = Arc::new(Database::open(&folder, memory, &options.rocksdb, purpose)?);
        let new =
            |family| BufferedFamily::new(Arc::clone(&database), family, memory / CHANGES_SHARE);
        let mut families = Family::OF_STATE.map(new);
        let mut commits = Self { database, table, number, is_staged: false };
        commits.recover(&folder, purpose, &mut families)?;
        Ok((families, commits))
    }

    /// Recovers the database to the last commit.
    fn recover(
        &mut self,
        folder: &Path,
        purpose: Purpose,
        families: &mut [BufferedFamily; 3],
    ) -> Result<()> {
        let (mut number, mut pending) = (vec![], vec![]);
        self.database.get(Family::Commits, NUMBER, &mut number)?;
        let number = number_in(&number, folder)?;
        let is_pending = self.database.get(Family::Commits, PENDING, &mut pending)?;
        if number == self.number {
            return match is_pending && purpose == Purpose::Write {
                true => self.database.write([(Family::Commits, PENDING, None)], false),
                false => Ok(()),
            };
        }
        let malformed = || other(folder, "a number, keys and values", "other bytes");
        let pending = if is_pending { Some(decode(&pending).ok_or_else(malformed)?) } else { None };
        let Some((_, changes)) = pending.as_ref().filter(|(of, _)| self.follows(number, *of))
        else {
            let also = pending.map(|(of, _)| format!(", and what is pending for {of}"));
            let found = format!("that of commit {number}{}", also.unwrap_or_default());
            return Err(other(folder, &format!("the state of commit {}", self.number), &found));
        };
        for (family, key, value) in changes {
            families.iter_mut().filter(|own| own.family() == *family).for_each(|own| {
                own.change(key, *value);
            });
        }
        // a reader keeps them in memory
        match purpose {
            Purpose::Read => Ok(()),
            Purpose::Write | Purpose::Create => self.apply(families.iter_mut()),
        }
    }

    /// Whether the pending changes of commit `of` follow commit `number` of the database.
    fn follows(&self, number: u64, of: u64) -> bool {
        of == self.number && number.checked_add(1) == Some(of)
    }

    /// The part that the store commits with its other parts.
    pub fn part(&mut self) -> CommitPart<'_> {
        (&mut self.table).into()
    }

    /// Step 1.
    pub fn stage<'a>(&mut self, families: impl Iterator<Item = &'a BufferedFamily>) -> Result<()> {
        let mut changes = families.flat_map(BufferedFamily::changes).peekable();
        self.is_staged = changes.peek().is_some() || self.number == 0;
        if !self.is_staged {
            return Ok(());
        }
        let of = self.number + 1;
        let pending = encode(of, changes);
        self.database.write([(Family::Commits, PENDING, Some(&*pending))], true)?;
        self.table.put(NUMBER, &of.to_le_bytes())
    }

    /// Step 3.
    pub fn finish<'a>(
        &mut self,
        families: impl Iterator<Item = &'a mut BufferedFamily>,
    ) -> Result<()> {
        if std::mem::take(&mut self.is_staged) {
            self.number += 1;
            self.apply(families)?;
        }
        Ok(())
    }

    /// Applies the changes of the last commit to the column families. A power loss may undo that,
    /// but not the pending value.
    fn apply<'a>(&self, families: impl Iterator<Item = &'a mut BufferedFamily>) -> Result<()> {
        let mut families: Vec<_> = families.collect();
        let number = self.number.to_le_bytes();
        let of_commit =
            [(Family::Commits, NUMBER, Some(&number[..])), (Family::Commits, PENDING, None)];
        let changes = families.iter().flat_map(|family| family.changes());
        self.database.write(changes.chain(of_commit), false)?;
        families.iter_mut().for_each(|family| family.clear());
        Ok(())
    }

    /// Writes changes to the database, so that they take no memory. Before the first commit only:
    /// later changes stay in memory.
    pub fn spill<'a>(&self, families: impl Iterator<Item = &'a mut BufferedFamily>) -> Result<()> {
        if self.number > 0 {
            return Ok(());
        }
        for family in families {
            self.database.write(family.changes(), false)?;
            family.clear();
        }
        Ok(())
    }
}

/// What is pending: the number of the commit in 8 bytes; for each change the family in one, the
/// lengths of key and value in 2 and 4 bytes, the least first, and both.
fn encode<'a>(of: u64, changes: impl Iterator<Item = Write<'a>>) -> Vec<u8> {
    let mut out = of.to_le_bytes().to_vec();
    for (family, key, value) in changes {
        out.push(family as u8);
        out.extend((key.len() as u16).to_le_bytes());
        out.extend(value.map_or(REMOVED, |value| value.len() as u32).to_le_bytes());
        out.extend(key);
        out.extend(value.unwrap_or_default());
    }
    out
}

/// Decodes the pending value; `None` for other bytes.
fn decode(bytes: &[u8]) -> Option<(u64, Vec<Write<'_>>)> {
    let (of, mut rest) = bytes.split_first_chunk()?;
    let mut changes = vec![];
    while let Some((family, tail)) = rest.split_first() {
        let family = Family::OF_STATE.into_iter().find(|known| *known as u8 == *family)?;
        let (key_len, tail) = tail.split_first_chunk()?;
        let (len, tail) = tail.split_first_chunk()?;
        let (key, tail) = tail.split_at_checked(u16::from_le_bytes(*key_len).into())?;
        let len = u32::from_le_bytes(*len);
        let (value, tail) = tail.split_at_checked(if len == REMOVED { 0 } else { len as usize })?;
        changes.push((family, key, (len != REMOVED).then_some(value)));
        rest = tail;
    }
    Some((u64::from_le_bytes(*of), changes))
}

/// The number of a commit; 0 where there is none.
fn number_in(bytes: &[u8], folder: &Path) -> Result<u64> {
    match bytes.first_chunk() {
        Some(number) if bytes.len() == 8 => Ok(u64::from_le_bytes(*number)),
        None if bytes.is_empty() => Ok(0),
        _ => Err(other(folder, "8 bytes of a number", &format!("{} bytes", bytes.len()))),
    }
}

fn other(folder: &Path, expected: &str, found: &str) -> Error {
    damaged(folder, expected, found.to_owned())
}

/// The error for corrupt bytes in the database.
pub(super) fn damaged(folder: &Path, expected: &str, found: String) -> Error {
    let (path, expected) = (folder.to_path_buf(), expected.to_owned());
    Error::Corrupt { path, offset: 0, what: "RocksDB", expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_changes_are_read_as_they_were_written() {
        let changes: [Write<'_>; 4] = [
            (Family::Accounts, &[1; 32], Some(b"account")),
            (Family::Slots, &[2; 64], None),
            (Family::Nodes, &[2], Some(b"")),
            (Family::Nodes, &[0], Some(&[7; 300])),
        ];
        let bytes = encode(9, changes.into_iter());
        assert_eq!(decode(&bytes), Some((9, changes.to_vec())));
        assert_eq!(decode(&encode(1, [].into_iter())), Some((1, vec![])));
        let whole = |len: &usize| decode(&bytes[..*len]).is_some();
        // after the number, and after each change
        assert_eq!((0..=bytes.len()).filter(whole).count(), 1 + changes.len());
        let mut wrong = bytes.clone();
        wrong[8] = Family::Commits as u8;
        assert_eq!(decode(&wrong), None);
    }
}
