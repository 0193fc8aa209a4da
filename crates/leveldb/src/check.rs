//! Checks all files of a database and lists what is corrupt, while [`Scan`](super::Scan) ends at
//! the first corrupt place.

use super::block::BlockReader;
use super::log::LogReader;
use super::manifest::Version;
use super::scan::{logs, manifest_of, order, read_batch};
use super::table::{BLOCK_TAIL, FOOTER_BYTES, read_block, read_handles};
use super::{Error, Handle, KEY_TAIL, TableFile, read_file, table_path};
use blockmill_verdict::Status;
use blockmill_verdict::{Malformed, split_bytes};
use std::path::Path;

/// Corrupt places that are listed.
const MAX_LISTED: usize = 100;

/// The result of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Entries of tables and logs, deletions and older values included.
    pub entries: u64,
    /// Files that are in use.
    pub files: u64,
    /// Corrupt places; at most 100.
    pub corruption: Vec<Error>,
    /// Number of corrupt places.
    pub corruption_count: u64,
}

impl Checked {
    /// Records corruption; returns any other error.
    fn add(&mut self, outcome: Result<(), Error>) -> Result<(), Error> {
        match outcome {
            Err(error) if error.status() == Status::Corrupt => {
                self.corruption_count += 1;
                if self.corruption.len() < MAX_LISTED {
                    self.corruption.push(error);
                }
                Ok(())
            }
            outcome => outcome,
        }
    }
}

/// Reads every file of the database in `folder` that its manifest refers to, without changing it:
/// checksums of all blocks of tables and of all records of logs and manifest, the structure of
/// tables, and the order of their keys. No process may use the database meanwhile.
///
/// # Errors
///
/// Returns [`Error::Io`] if a file cannot be read. Corruption is no error.
pub fn check(folder: &Path) -> Result<Checked, Error> {
    let mut checked = Checked::default();
    let mut version = None;
    let outcome = read_manifest(folder, &mut checked).map(|found| version = Some(found));
    checked.add(outcome)?;
    let Some(version) = version else { return Ok(checked) };
    for path in logs(folder, &version)? {
        let outcome = check_log(&path, &mut checked);
        checked.add(outcome)?;
    }
    for table in version.tables.values() {
        let outcome = check_table(folder, table, &mut checked);
        checked.add(outcome)?;
    }
    Ok(checked)
}

fn read_manifest(folder: &Path, checked: &mut Checked) -> Result<Version, Error> {
    let path = manifest_of(folder)?;
    let bytes = read_file(&path)?;
    checked.files += 2;
    let mut log = LogReader::new(&bytes);
    // what `Version` leaves out at the end
    loop {
        let offset = log_offset(&log);
        if log.next().map_err(Error::at(&path, offset))?.is_none() {
            break;
        }
    }
    let cut = is_whole(&log).map_err(Error::at(&path, log_offset(&log)));
    checked.add(cut)?;
    Version::read(&bytes).map_err(Error::at(&path, 0))
}

fn log_offset(log: &LogReader<'_>) -> u64 {
    log.offset() as u64
}

/// Checks that the log ends with a whole record.
fn is_whole(log: &LogReader<'_>) -> Result<(), Malformed> {
    let left = log.left_over() as u64;
    match left {
        0 => Ok(()),
        available => {
            let (what, needed) = ("the last record of a log", available + 1);
            Err(Malformed::Truncated { what, needed, available })
        }
    }
}

fn check_log(path: &Path, checked: &mut Checked) -> Result<(), Error> {
    let bytes = read_file(path)?;
    checked.files += 1;
    let (mut log, mut entries) = (LogReader::new(&bytes), vec![]);
    loop {
        let offset = log_offset(&log);
        let Some(batch) = log.next().map_err(Error::at(path, offset))? else { break };
        entries.clear();
        read_batch(batch, &mut entries).map_err(Error::at(path, offset))?;
        checked.entries += entries.len() as u64;
    }
    is_whole(&log).map_err(Error::at(path, log_offset(&log)))
}

fn check_table(folder: &Path, table: &TableFile, checked: &mut Checked) -> Result<(), Error> {
    let path = table_path(folder, table.number)?;
    let bytes = read_file(&path)?;
    checked.files += 1;
    let at = |offset: u64| Error::at(&path, offset);
    let length = bytes.len() as u64;
    if length != table.bytes {
        let (what, expected) = ("the length of a table", table.bytes);
        return Err(at(0)(Malformed::Unexpected { what, expected, found: length }));
    }
    let (blocks, footer) = bytes.split_last_chunk::<FOOTER_BYTES>().ok_or_else(|| {
        let (what, needed) = ("the footer of a table", FOOTER_BYTES as u64);
        at(0)(Malformed::Truncated { what, needed, available: length })
    })?;
    let end = blocks.len() as u64;
    let (names, index) = read_handles(footer).map_err(at(end))?;
    let mut used = vec![names, index];
    let mut filters = open(blocks, names).map_err(at(names.offset))?;
    while filters.advance().map_err(at(names.offset))? {
        let handle = Handle::read(&mut filters.value()).map_err(at(names.offset))?;
        let outcome = block_at(blocks, handle).map(drop).map_err(at(handle.offset));
        checked.add(outcome)?;
        used.push(handle);
    }
    let mut data = open(blocks, index).map_err(at(index.offset))?;
    let (mut first, mut last) = (None, vec![]);
    while data.advance().map_err(at(index.offset))? {
        let handle = Handle::read(&mut data.value()).map_err(at(index.offset))?;
        used.push(handle);
        let outcome = entries(blocks, handle, &mut first, &mut last).map_err(at(handle.offset));
        let outcome = outcome.map(|entries| checked.entries += entries);
        checked.add(outcome)?;
    }
    let ends = first.as_deref() == Some(&table.smallest[..]) && last == table.largest;
    if !ends && checked.corruption.is_empty() {
        let what = "tables with the first and last key of the manifest";
        return Err(at(0)(Malformed::Count { what, expected: 1, found: 0 }));
    }
    cover(used, end).map_err(at(end))
}

/// The bytes of a block with its tail.
fn block_at(blocks: &[u8], handle: Handle) -> Result<Vec<u8>, Malformed> {
    let what = "a block";
    let available = (blocks.len() as u64).saturating_sub(handle.offset);
    let needed = handle.size.saturating_add(BLOCK_TAIL as u64);
    let start = usize::try_from(handle.offset).unwrap_or(usize::MAX);
    let mut from = blocks.get(start..).ok_or(Malformed::Truncated { what, needed, available })?;
    let bytes = split_bytes(&mut from, needed, what)?.to_vec();
    // filters have a checksum, and no entries
    super::table::expect_checksum(&bytes)?;
    Ok(bytes)
}

fn open(blocks: &[u8], handle: Handle) -> Result<BlockReader, Malformed> {
    read_block(block_at(blocks, handle)?)
}

/// Reads the entries of a data block, with keys greater than `last`; returns their number.
fn entries(
    blocks: &[u8],
    handle: Handle,
    first: &mut Option<Vec<u8>>,
    last: &mut Vec<u8>,
) -> Result<u64, Malformed> {
    let mut block = open(blocks, handle)?;
    let mut entries = 0;
    while block.advance()? {
        let key = block.key();
        if key.len() < KEY_TAIL {
            let (what, needed) = ("a key", KEY_TAIL as u64);
            return Err(Malformed::Truncated { what, needed, available: key.len() as u64 });
        }
        if first.is_some() && order(last) >= order(key) {
            return Err(Malformed::Count {
                what: "keys in order",
                expected: entries + 1,
                found: entries,
            });
        }
        first.get_or_insert_with(|| key.to_vec());
        last.clear();
        last.extend_from_slice(key);
        entries += 1;
    }
    Ok(entries)
}

/// Checks that the blocks cover the table up to its footer.
fn cover(mut used: Vec<Handle>, end: u64) -> Result<(), Malformed> {
    used.sort_unstable_by_key(|handle| handle.offset);
    let mut expected = 0;
    for handle in used {
        if handle.offset != expected {
            let what = "the place of the next block";
            return Err(Malformed::Unexpected { what, expected, found: handle.offset });
        }
        expected += handle.size + BLOCK_TAIL as u64;
    }
    match expected == end {
        true => Ok(()),
        false => {
            let what = "the end of the last block";
            Err(Malformed::Unexpected { what, expected: end, found: expected })
        }
    }
}
