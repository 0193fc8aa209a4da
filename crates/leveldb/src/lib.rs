//! LevelDB databases, in which Bitcoin Core keeps its block index and its chainstate and neo-go all
//! that it has: written in one go from sorted entries, and read from end to end. Bytes:
//! `docs/formats/leveldb.md`.
//!
//! [`BulkWriter`] makes what LevelDB itself would have after compacting everything: tables of one
//! level that do not overlap. So there is no log, no sorting and no compaction. [`Scan`] reads any
//! database, without changing it: the tables of all levels and the logs, merged.

#![forbid(unsafe_code)]

mod block;
mod bloom;
mod bulk;
mod check;
mod error;
mod level;
mod log;
mod manifest;
mod scan;
mod sorter;
mod table;
#[cfg(test)]
mod tests;

pub use blockmill_verdict::Malformed;
pub use bulk::{BulkWriter, Loaded};
pub use check::{Checked, check};
pub use error::Error;
pub use scan::Scan;
pub use sorter::{Combine, Sorter};

use blockmill_verdict::{split_array, split_bytes};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// LevelDB's own order of keys, the only one that either client uses.
const COMPARATOR: &[u8] = b"leveldb.BytewiseComparator";

/// Bytes after the key of an entry: its sequence number and kind.
const KEY_TAIL: usize = 8;

/// The kind of an entry that has a value; 0 is one that was deleted.
const PUT: u64 = 1;

/// The largest sequence number, with the kind that sorts first: the tail of a key that only
/// separates two blocks.
const SEEK_TAIL: u64 = ((1 << 56) - 1) << 8 | PUT;

/// The library that reads a database. The libraries have different names for the same filters, and
/// ignore filters with other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// LevelDB itself, as in Bitcoin Core.
    LevelDb,
    /// goleveldb, as in neo-go.
    GoLevelDb,
}

impl Library {
    /// Under which key a table has its filter.
    fn filter_name(self) -> &'static [u8] {
        match self {
            Self::LevelDb => b"filter.leveldb.BuiltinBloomFilter2",
            Self::GoLevelDb => b"filter.leveldb.BuiltinBloomFilter",
        }
    }
}

/// Whether this is the name of a file that a [`BulkWriter`] creates. A database that a client has
/// opened since has others.
#[must_use]
pub fn is_own_file(path: &Path) -> bool {
    let name = path.as_os_str();
    let is_numbered = |ending| {
        let digits = name.to_str().and_then(|name| name.strip_suffix(ending));
        digits.is_some_and(|it| it.len() >= 6 && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name == "CURRENT"
        || name == "LOCK"
        || name.as_encoded_bytes().starts_with(b"MANIFEST-")
        || is_numbered(".ldb")
        || is_numbered(".log")
}

/// CRC-32C as it is stored: rotated and shifted, so that the checksum of data that contains
/// checksums is still a good one.
fn masked_crc(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Appends a number of seven bits a byte, least significant first, high bit on all but the last.
fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Splits a varint off the front.
fn read_varint(from: &mut &[u8], what: &'static str) -> Result<u64, Malformed> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let [byte] = *split_array(from, what)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed::TooLarge { what, limit: u64::MAX, found: u64::MAX })
}

/// Appends bytes after their length.
fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Splits bytes after their length off the front.
fn read_bytes<'a>(from: &mut &'a [u8], what: &'static str) -> Result<&'a [u8], Malformed> {
    let length = read_varint(from, what)?;
    split_bytes(from, length, what)
}

/// The location of a block in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Handle {
    offset: u64,
    /// Length without the 5 bytes after it.
    size: u64,
}

impl Handle {
    fn write(self, out: &mut Vec<u8>) {
        write_varint(out, self.offset);
        write_varint(out, self.size);
    }

    fn read(from: &mut &[u8]) -> Result<Self, Malformed> {
        let what = "the place of a block";
        Ok(Handle { offset: read_varint(from, what)?, size: read_varint(from, what)? })
    }
}

/// A table of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TableFile {
    level: u32,
    number: u64,
    bytes: u64,
    /// Its first and last key, with their tails.
    smallest: Vec<u8>,
    largest: Vec<u8>,
}

/// The file name of a table.
fn table_name(number: u64) -> String {
    format!("{number:06}.ldb")
}

/// The file of a table; until LevelDB 1.13 it had another name.
fn table_path(folder: &Path, number: u64) -> Result<PathBuf, Error> {
    let path = folder.join(table_name(number));
    for path in [path.clone(), path.with_extension("sst")] {
        if blockmill_platform::files::is_there(&path).map_err(Error::io(&path, "cannot open"))? {
            return Ok(path);
        }
    }
    Err(Error::Missing { path, what: "a table that the manifest lists".into() })
}

/// Reads a small file.
fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::io(path, "cannot read"))
}

/// Writes a file and waits until it is on the disk.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut file = File::create_new(path).map_err(Error::io(path, "cannot create"))?;
    file.write_all(bytes).map_err(Error::io(path, "cannot write"))?;
    file.sync_all().map_err(Error::io(path, "cannot sync"))
}
