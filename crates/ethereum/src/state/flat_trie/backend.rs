//! The backends of values and nodes: tables of the store, or RocksDB as in Besu.
//!
//! RocksDB needs a build with `--features rocksdb`.

mod commits;
#[cfg(feature = "rocksdb")]
mod database;
#[cfg(not(feature = "rocksdb"))]
#[path = "backend/no_database.rs"]
mod database;
mod family;
mod settings;

pub use commits::ROCKSDB_PART;
pub(super) use commits::RocksDbCommits;
pub use database::HAS_ROCKSDB;

use blockmill_store::{CommitPart, Error, Fetched, Opening, Result, Scan, Table, TableOptions};
use family::{BufferedFamily, Merged};
pub use settings::{BlockCache, Bloom, FlatStore, ReadChecksum};
use std::path::Path;

/// Names of the tables.
const ACCOUNTS: &str = "flat-accounts";
const SLOTS: &str = "flat-slots";
const NODES: &str = "trie-nodes";

/// Returns whether a part of a store has values or nodes.
pub(in crate::state) fn is_part(name: &str) -> bool {
    [ACCOUNTS, SLOTS, NODES, ROCKSDB_PART].contains(&name)
}

impl FlatStore {
    /// The backend in the last commit of a store; `None` if it has no such part. `has` says whether
    /// it has a part of a name.
    pub(crate) fn from_parts(has: impl Fn(&str) -> bool) -> Option<Self> {
        match () {
            () if has(ROCKSDB_PART) => Some(Self::RocksDb),
            () => has(ACCOUNTS).then_some(Self::Tables),
        }
    }
}

/// Options of RocksDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RocksDbOptions {
    /// Whether reads verify checksums of blocks.
    pub read_checksum: bool,
    /// Whether files have Bloom filters.
    pub bloom: bool,
    /// Whether blocks are cached.
    pub block_cache: bool,
}

impl RocksDbOptions {
    /// As most open it.
    pub const DEFAULT: Self = Self { read_checksum: true, bloom: true, block_cache: true };
}

/// How such a state is opened.
#[derive(Clone, Copy, Debug)]
pub struct FlatOptions {
    /// Bytes for caches and for changes before they are written.
    pub memory_bytes: usize,
    /// Where a new one is kept; one that is there goes on as it is.
    pub store: FlatStore,
    /// What RocksDB does, where it is in it.
    pub rocksdb: RocksDbOptions,
    /// Whether damaged files of tables are left out, to be healed.
    pub salvages: bool,
}

impl FlatOptions {
    /// In tables, within so many bytes.
    #[must_use]
    pub const fn new(memory_bytes: usize) -> Self {
        let (store, rocksdb) = (FlatStore::Tables, RocksDbOptions::DEFAULT);
        Self { memory_bytes, store, rocksdb, salvages: false }
    }
}

/// What stores the values of accounts, the values of slots, or the nodes.
pub(super) enum Backend {
    Table(Box<Table>),
    /// A column family of RocksDB.
    Family(BufferedFamily),
}

/// The three backends, the commit protocol of RocksDB, and the corruption of files.
pub(super) type Opened = ([Backend; 3], Option<RocksDbCommits>, Vec<Error>);

/// Opens them among the parts of a store in `dir`, or creates empty ones.
pub(super) fn open(opening: &mut Opening, dir: &Path, options: &FlatOptions) -> Result<Opened> {
    if FlatStore::from_parts(|name| opening.has(name)).unwrap_or(options.store)
        == FlatStore::RocksDb
    {
        let (families, commits) = RocksDbCommits::open(opening, dir, options)?;
        return Ok((families.map(Backend::Family), Some(commits), vec![]));
    }
    let mut corruption = vec![];
    let mut table = |name, prefix_bytes| {
        let own = TableOptions { prefix_bytes, ..TableOptions::new(options.memory_bytes / 3) };
        if !options.salvages {
            return opening.table(name, &own);
        }
        let (table, damaged) = opening.salvage_table(name, &own)?;
        corruption.extend(damaged);
        Ok(table)
    };
    let tables = [table(ACCOUNTS, 0)?, table(SLOTS, 32)?, table(NODES, 0)?];
    Ok((tables.map(|table| Backend::Table(Box::new(table))), None, corruption))
}

impl Backend {
    /// Appends the value of a key to `out`; whether there is one.
    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match self {
            Self::Table(table) => table.get(key, out),
            Self::Family(family) => family.get(key, out),
        }
    }

    /// Calls `each` with the place of every key and its value.
    pub fn fetch<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        match self {
            Self::Table(table) => {
                let mut found = Fetched::default();
                table.fetch(keys, &mut found)?;
                (0..keys.len()).for_each(|at| each(at, found.value(at)));
                Ok(())
            }
            Self::Family(family) => family.fetch(keys, &mut each),
        }
    }

    /// The pairs whose keys begin with `prefix`, in the order of their keys.
    pub fn scan_prefix(&self, prefix: &[u8]) -> Result<Pairs<'_>> {
        Ok(match self {
            Self::Table(table) => Pairs::Table(Box::new(table.scan_prefix(prefix)?)),
            Self::Family(family) => Pairs::Family(Box::new(family.scan_prefix(prefix)?)),
        })
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match self {
            Self::Table(table) => table.put(key, value),
            Self::Family(family) => {
                family.change(key, Some(value));
                Ok(())
            }
        }
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Self::Table(table) => table.delete(key),
            Self::Family(family) => {
                family.change(key, None);
                Ok(())
            }
        }
    }

    /// Is it time to commit?
    pub fn wants_flush(&self) -> bool {
        match self {
            Self::Table(table) => table.wants_flush(),
            Self::Family(family) => family.wants_flush(),
        }
    }

    /// The table; `None` for RocksDB.
    pub fn table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::Family(_) => None,
        }
    }

    /// The same, to be changed.
    fn table_mut(&mut self) -> Option<&mut Table> {
        match self {
            Self::Table(table) => Some(table),
            Self::Family(_) => None,
        }
    }

    /// The column family; `None` for a table.
    fn family(&self) -> Option<&BufferedFamily> {
        match self {
            Self::Table(_) => None,
            Self::Family(family) => Some(family),
        }
    }

    /// The same, to be changed.
    fn family_mut(&mut self) -> Option<&mut BufferedFamily> {
        match self {
            Self::Table(_) => None,
            Self::Family(family) => Some(family),
        }
    }
}

/// Writes changes out now, for the next commit to name them.
pub(super) fn spill(backends: [&mut Backend; 3], commits: Option<&RocksDbCommits>) -> Result<()> {
    match commits {
        Some(commits) => commits.spill(backends.into_iter().filter_map(Backend::family_mut)),
        None => backends.into_iter().filter_map(Backend::table_mut).try_for_each(Table::spill),
    }
}

/// Commits the parts by `act`, together with RocksDB.
pub(super) fn commit<T>(
    backends: [&mut Backend; 3],
    commits: Option<&mut RocksDbCommits>,
    act: impl FnOnce(Vec<CommitPart<'_>>) -> Result<T>,
) -> Result<T> {
    let Some(commits) = commits else {
        let tables = backends.into_iter().filter_map(Backend::table_mut);
        return act(tables.map(CommitPart::from).collect());
    };
    commits.stage(backends.iter().filter_map(|backend| backend.family()))?;
    let done = act(vec![commits.part()])?;
    commits.finish(backends.into_iter().filter_map(Backend::family_mut))?;
    Ok(done)
}

/// Pairs in the order of their keys.
pub(super) enum Pairs<'a> {
    Table(Box<Scan<'a>>),
    Family(Box<Merged<'a>>),
}

impl Pairs<'_> {
    /// The next pair; `None` after the last one.
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match self {
            Self::Table(scan) => scan.next(),
            Self::Family(merged) => merged.next(),
        }
    }
}
