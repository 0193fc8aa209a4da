//! A database from sorted entries, in one go.

use super::table::TableWriter;
use super::{Error, KEY_TAIL, Library, PUT, TableFile, log, manifest, table_name, write_file};
use blockmill_platform::folders;
use std::fs;
use std::path::{Path, PathBuf};

/// Tables end at this size, as Core's do (`DBWRAPPER_MAX_FILE_SIZE`).
const TABLE_BYTES: usize = 32 << 20;

/// Every entry is of this time: none replaces another.
const SEQUENCE: u64 = 1;
/// The time of the database. Look-ups are of this time; it is later, because some readers miss an
/// entry when what they look up is, time and all, the last key of its block.
const LAST_SEQUENCE: u64 = SEQUENCE + 1;

/// Level 1 holds 10 MiB before LevelDB compacts it, and each level ten times the one above.
const LEVEL_1_BYTES: u64 = 10 << 20;
const LAST_LEVEL: u32 = 6;

/// Makes a database of entries that come in the order of their keys.
///
/// The folder is a database when [`BulkWriter::finish`] returns, and not before. In memory there is
/// one table of 32 MiB.
#[derive(Debug)]
pub struct BulkWriter {
    folder: PathBuf,
    table: TableWriter,
    tables: Vec<TableFile>,
    /// The first key of the table at hand, with its tail.
    smallest: Vec<u8>,
    key: Vec<u8>,
    entries: u64,
}

/// The result of a [`BulkWriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Entries.
    pub entries: u64,
    /// Bytes of all tables.
    pub bytes: u64,
}

impl BulkWriter {
    /// Creates a database in a new folder, to be read by `library`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the folder exists or cannot be created.
    pub fn create(folder: &Path, library: Library) -> Result<Self, Error> {
        fs::create_dir(folder).map_err(Error::io(folder, "cannot create"))?;
        Ok(Self::in_empty(folder, library))
    }

    /// Begins a database in a folder that is there and has no files.
    #[must_use]
    pub fn in_empty(folder: &Path, library: Library) -> Self {
        BulkWriter {
            folder: folder.to_path_buf(),
            table: TableWriter::new(library),
            tables: Vec::new(),
            smallest: Vec::new(),
            key: Vec::new(),
            entries: 0,
        }
    }

    /// Appends an entry. Its key must be greater than the previous one, byte by byte.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unsorted`] if it is not, and [`Error::Io`] if a table cannot be written.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        if self.entries > 0 {
            let before = &self.key[..self.key.len() - KEY_TAIL];
            if key <= before {
                return Err(Error::Unsorted { before: before.to_vec(), key: key.to_vec() });
            }
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.key.extend_from_slice(&(SEQUENCE << 8 | PUT).to_le_bytes());
        if self.table.is_empty() {
            self.smallest.clone_from(&self.key);
        }
        self.table.add(&self.key, value);
        self.entries += 1;
        if self.table.size() >= TABLE_BYTES {
            self.end_table()?;
        }
        Ok(())
    }

    fn end_table(&mut self) -> Result<(), Error> {
        if self.table.is_empty() {
            return Ok(());
        }
        let (smallest, largest) = (self.smallest.clone(), self.table.last_key().to_vec());
        let number = self.tables.len() as u64 + 1;
        let table = self.table.finish();
        write_file(&self.folder.join(table_name(number)), table)?;
        let bytes = table.len() as u64;
        // all tables get the level that fits when their number is known
        self.tables.push(TableFile { level: 0, number, bytes, smallest, largest });
        self.table.clear();
        Ok(())
    }

    /// Completes the last table and the database.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if a file cannot be written.
    pub fn finish(mut self) -> Result<Loaded, Error> {
        self.end_table()?;
        let bytes = self.tables.iter().map(|table| table.bytes).sum();
        let level = level_for(bytes);
        self.tables.iter_mut().for_each(|table| table.level = level);
        let number = self.tables.len() as u64 + 1;
        let name = format!("MANIFEST-{number:06}");
        let mut log = Vec::new();
        log::append(&mut log, &manifest::encode(&self.tables, number + 1, LAST_SEQUENCE));
        write_file(&self.folder.join(&name), &log)?;
        write_file(&self.folder.join("CURRENT"), format!("{name}\n").as_bytes())?;
        folders::sync(&self.folder).map_err(Error::io(&self.folder, "cannot sync"))?;
        Ok(Loaded { entries: self.entries, bytes })
    }
}

/// The first level that LevelDB has no reason to compact at this size.
fn level_for(bytes: u64) -> u32 {
    let (mut level, mut limit) = (1, LEVEL_1_BYTES);
    while level < LAST_LEVEL && bytes > limit {
        (level, limit) = (level + 1, limit * 10);
    }
    level
}
