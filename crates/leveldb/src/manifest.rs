//! The manifest: which tables a database has, as a log of changes.

use super::log::LogReader;
use super::{COMPARATOR, Malformed, TableFile};
use super::{read_bytes, read_varint, write_bytes, write_varint};
use std::collections::BTreeMap;

// what a field of a change is
const COMPARATOR_NAME: u64 = 1;
const LOG_NUMBER: u64 = 2;
const NEXT_FILE: u64 = 3;
const LAST_SEQUENCE: u64 = 4;
const COMPACT_POINTER: u64 = 5;
const DELETED_TABLE: u64 = 6;
const NEW_TABLE: u64 = 7;
const PREVIOUS_LOG: u64 = 9;

/// Encodes the version edit that defines a database of these tables. No sequence number of their
/// entries is greater than `sequence`.
pub(crate) fn encode(tables: &[TableFile], next_file: u64, sequence: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_varint(&mut out, COMPARATOR_NAME);
    write_bytes(&mut out, COMPARATOR);
    for (field, number) in [(LOG_NUMBER, 0), (NEXT_FILE, next_file), (LAST_SEQUENCE, sequence)] {
        write_varint(&mut out, field);
        write_varint(&mut out, number);
    }
    for table in tables {
        write_varint(&mut out, NEW_TABLE);
        write_varint(&mut out, table.level.into());
        write_varint(&mut out, table.number);
        write_varint(&mut out, table.bytes);
        write_bytes(&mut out, &table.smallest);
        write_bytes(&mut out, &table.largest);
    }
    out
}

/// The files of a database.
#[derive(Debug, Default)]
pub(crate) struct Version {
    /// Tables by level and number.
    pub(crate) tables: BTreeMap<(u32, u64), TableFile>,
    /// Logs below this number are in tables already.
    pub(crate) log_number: u64,
    /// A log before that one that is not in tables yet.
    pub(crate) previous_log: u64,
    /// The number of the next new file; every manifest has it.
    next_file: u64,
}

impl Version {
    /// Applies all changes of a manifest.
    pub(crate) fn read(manifest: &[u8]) -> Result<Self, Malformed> {
        let mut version = Version::default();
        let mut log = LogReader::new(manifest);
        while let Some(change) = log.next()? {
            version.apply(change)?;
        }
        if version.next_file == 0 {
            let what = "numbers of the next file";
            return Err(Malformed::Count { what, expected: 1, found: 0 });
        }
        Ok(version)
    }

    fn apply(&mut self, mut change: &[u8]) -> Result<(), Malformed> {
        let from = &mut change;
        while !from.is_empty() {
            let what = "a change of the manifest";
            match read_varint(from, what)? {
                COMPARATOR_NAME => {
                    if read_bytes(from, what)? != COMPARATOR {
                        return Err(Malformed::Count {
                            what: "known orders",
                            expected: 1,
                            found: 0,
                        });
                    }
                }
                LOG_NUMBER => self.log_number = read_varint(from, what)?,
                PREVIOUS_LOG => self.previous_log = read_varint(from, what)?,
                NEXT_FILE => self.next_file = read_varint(from, what)?,
                LAST_SEQUENCE => drop(read_varint(from, what)?),
                COMPACT_POINTER => {
                    read_level(from)?;
                    read_bytes(from, what)?;
                }
                DELETED_TABLE => {
                    let level = read_level(from)?;
                    self.tables.remove(&(level, read_varint(from, what)?));
                }
                NEW_TABLE => {
                    let level = read_level(from)?;
                    let (number, bytes) = (read_varint(from, what)?, read_varint(from, what)?);
                    let smallest = read_bytes(from, what)?.to_vec();
                    let largest = read_bytes(from, what)?.to_vec();
                    let table = TableFile { level, number, bytes, smallest, largest };
                    self.tables.insert((level, number), table);
                }
                found => {
                    let what = "a field of the manifest";
                    return Err(Malformed::TooLarge { what, limit: PREVIOUS_LOG, found });
                }
            }
        }
        Ok(())
    }
}

fn read_level(from: &mut &[u8]) -> Result<u32, Malformed> {
    let (what, limit) = ("a level", 6);
    let found = read_varint(from, what)?;
    match found <= limit {
        true => Ok(found as u32),
        false => Err(Malformed::TooLarge { what, limit, found }),
    }
}
