//! RocksDB: a database of four families of keys, linked with the library of the system. Blocks,
//! filters and compression are as Besu sets them (`RocksDBColumnarKeyValueStorage`); the memory is
//! what this program gives.

use super::RocksDbOptions;
use super::commits::Purpose;
use super::family::{Family, Write};
use blockmill_platform::files;
use blockmill_store::{Error, Result};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompressionType,
    DBRawIterator, Error as Failure, ErrorKind, LogLevel, Options, ReadOptions, WriteBatch,
    WriteOptions,
};
use std::io;
use std::path::{Path, PathBuf};

/// Whether the program was built with RocksDB.
pub const HAS_ROCKSDB: bool = true;

/// The file that names the rest of a database.
const CURRENT: &str = "CURRENT";
const BLOCK_BYTES: usize = 32 << 10;
const FILTER_BITS: f64 = 10.0;
const FORMAT: i32 = 5;
/// Bytes of a buffer of one family at most.
const MOST_BUFFERED: usize = 64 << 20;

/// See the module's text.
pub(super) struct Database {
    db: DB,
    dir: PathBuf,
    read: ReadOptions,
    read_checksum: bool,
}

impl Database {
    /// Opens the database in `dir`, or makes an empty one there. A half of the memory is for
    /// blocks, a quarter for what is not in files yet.
    pub fn open(
        dir: &Path,
        memory_bytes: usize,
        wanted: &RocksDbOptions,
        purpose: Purpose,
    ) -> Result<Self> {
        let RocksDbOptions { read_checksum, .. } = *wanted;
        let failed = |error| error_of(dir, "open", error);
        let options = options(memory_bytes, wanted).map_err(failed)?;
        let families = || {
            let all = Family::OF_STATE.into_iter().chain([Family::Commits]);
            all.map(|family| ColumnFamilyDescriptor::new(name(family), options.clone()))
        };
        // what is not there would be made, also for reading only
        let current = dir.join(CURRENT);
        let is_there = files::is_file(&current).map_err(|source| Error::Io {
            action: "open",
            path: current.clone(),
            source,
        })?;
        if purpose != Purpose::Create && !is_there {
            return Err(damaged(dir, format!("no file {CURRENT}")));
        }
        let db = match purpose {
            Purpose::Read => DB::open_cf_descriptors_read_only(&options, dir, families(), false),
            Purpose::Write => DB::open_cf_descriptors(&options, dir, families()),
            Purpose::Create => {
                if is_there {
                    DB::destroy(&options, dir).map_err(failed)?;
                }
                let mut options = options.clone();
                options.create_if_missing(true);
                options.create_missing_column_families(true);
                DB::open_cf_descriptors(&options, dir, families())
            }
        };
        let db = db.map_err(|error| match error.kind() {
            ErrorKind::InvalidArgument => damaged(dir, error.into_string()),
            _ => failed(error),
        })?;
        let read = reading(read_checksum);
        Ok(Self { db, dir: dir.to_path_buf(), read, read_checksum })
    }

    pub fn get(&self, family: Family, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let found = self.db.get_pinned_cf_opt(&self.handle(family)?, key, &self.read);
        let found = found.map_err(|error| self.error("read", error))?;
        Ok(found.map(|value| out.extend_from_slice(&value)).is_some())
    }

    /// Calls `each` with the place of every key and its value.
    pub fn fetch(
        &self,
        family: Family,
        keys: &[&[u8]],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let handle = self.handle(family)?;
        let found = self.db.batched_multi_get_cf_opt(&handle, keys, false, &self.read);
        for (at, value) in found.into_iter().enumerate() {
            let value = value.map_err(|error| self.error("read", error))?;
            each(at, value.as_deref());
        }
        Ok(())
    }

    /// The pairs whose keys begin with `prefix`, in the order of their keys.
    pub fn scan(&self, family: Family, prefix: &[u8]) -> Result<Cursor<'_>> {
        let handle = self.handle(family)?;
        let mut pairs = self.db.raw_iterator_cf_opt(&handle, reading(self.read_checksum));
        pairs.seek(prefix);
        Ok(Cursor { database: self, pairs, prefix: prefix.to_vec() })
    }

    /// Makes changes, all of them or none; a power loss does not take a durable one, nor those
    /// before it.
    pub fn write<'w>(
        &self,
        changes: impl IntoIterator<Item = Write<'w>>,
        is_durable: bool,
    ) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (family, key, value) in changes {
            let handle = self.handle(family)?;
            match value {
                Some(value) => batch.put_cf(&handle, key, value),
                None => batch.delete_cf(&handle, key),
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(is_durable);
        self.db.write_opt(batch, &options).map_err(|error| self.error("write", error))
    }

    fn handle(&self, family: Family) -> Result<&ColumnFamily> {
        let lacks = || damaged(&self.dir, format!("no family '{}'", name(family)));
        self.db.cf_handle(name(family)).ok_or_else(lacks)
    }

    fn error(&self, action: &'static str, error: Failure) -> Error {
        error_of(&self.dir, action, error)
    }
}

/// Goes through pairs in the order of their keys.
pub(super) struct Cursor<'a> {
    database: &'a Database,
    pairs: DBRawIterator<'a>,
    prefix: Vec<u8>,
}

impl Cursor<'_> {
    /// The next pair; none after the last.
    pub fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Some((key, value)) = self.pairs.item() else {
            self.pairs.status().map_err(|error| self.database.error("read", error))?;
            return Ok(None);
        };
        if !key.starts_with(&self.prefix) {
            return Ok(None);
        }
        let pair = (key.to_vec(), value.to_vec());
        self.pairs.next();
        Ok(Some(pair))
    }
}

/// What a family is called in the database; each has one of the last name.
fn name(family: Family) -> &'static str {
    match family {
        Family::Accounts => "accounts",
        Family::Slots => "slots",
        Family::Nodes => "nodes",
        Family::Commits => "default",
    }
}

fn options(memory_bytes: usize, wanted: &RocksDbOptions) -> std::result::Result<Options, Failure> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_format_version(FORMAT);
    blocks.set_block_size(BLOCK_BYTES);
    match wanted.block_cache {
        true => blocks.set_block_cache(&Cache::new_lru_cache(memory_bytes / 2)?),
        false => blocks.disable_cache(),
    }
    if wanted.bloom {
        blocks.set_bloom_filter(FILTER_BITS, false);
    }
    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_write_buffer_size((memory_bytes / 8).clamp(1 << 16, MOST_BUFFERED));
    options.set_db_write_buffer_size((memory_bytes / 4).max(1 << 16));
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as i32);
    options.increase_parallelism(threads);
    // errors report what goes wrong
    options.set_log_level(LogLevel::Fatal);
    options.set_keep_log_file_num(1);
    Ok(options)
}

fn reading(read_checksum: bool) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_verify_checksums(read_checksum);
    options
}

/// An error of RocksDB as one of the store: corruption of its files, or what the system says.
fn error_of(dir: &Path, action: &'static str, error: Failure) -> Error {
    let (kind, message) = (error.kind(), error.into_string());
    let is_gone = kind == ErrorKind::IOError && message.contains("No such file");
    match kind == ErrorKind::Corruption || is_gone {
        true => damaged(dir, message),
        false => Error::Io { action, path: dir.to_path_buf(), source: io::Error::other(message) },
    }
}

fn damaged(dir: &Path, found: String) -> Error {
    super::commits::damaged(dir, "what was written", found)
}
