//! Where values and nodes are kept: in tables of the store, or beside them in RocksDB, as Besu has
//! them. Both are asked in the same way.
//!
//! RocksDB is there where the program was built with `--features rocksdb`.

mod commits;
#[cfg(feature = "rocksdb")]
mod database;
#[cfg(not(feature = "rocksdb"))]
#[path = "kept/no_database.rs"]
mod database;
mod family;
mod settings;

pub(super) use commits::Commits;
pub use commits::ROCKSDB_PART;
pub use database::HAS_ROCKSDB;

use blockmill_store::{CommitPart, Error, Fetched, Opening, Result, Scan, Table, TableOptions};
use family::{Changed, Merged};
pub use settings::{BlockCache, Bloom, FlatStore, ReadChecksum};
use std::path::Path;

/// Names of the tables.
const ACCOUNTS: &str = "flat-accounts";
const SLOTS: &str = "flat-slots";
const NODES: &str = "trie-nodes";

/// Is `name` that of a part of a store that has values or nodes?
pub(in crate::state) fn is_part(name: &str) -> bool {
    [ACCOUNTS, SLOTS, NODES, ROCKSDB_PART].contains(&name)
}

impl FlatStore {
    /// What the last commit of a store has; none where there are no such parts. `has` says whether
    /// it has a part of a name.
    pub(crate) fn from_parts(has: impl Fn(&str) -> bool) -> Option<Self> {
        match () {
            () if has(ROCKSDB_PART) => Some(Self::RocksDb),
            () => has(ACCOUNTS).then_some(Self::Tables),
        }
    }
}

/// What RocksDB does and leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RocksDbOptions {
    /// Whether blocks that are read are held to their sums.
    pub read_checksum: bool,
    /// Whether files have filters, which answer for most absent keys.
    pub bloom: bool,
    /// Whether blocks that were read stay in memory.
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

/// Values of accounts, values of slots, or nodes.
pub(super) enum Kept {
    Table(Box<Table>),
    /// A family of RocksDB's.
    Family(Changed),
}

/// All three, what makes those of RocksDB true with the commits of the store, and what is damaged
/// of their files.
pub(super) type Opened = ([Kept; 3], Option<Commits>, Vec<Error>);

/// Opens them among the parts of a store in `dir`, or creates empty ones.
pub(super) fn open(opening: &mut Opening, dir: &Path, options: &FlatOptions) -> Result<Opened> {
    if FlatStore::from_parts(|name| opening.has(name)).unwrap_or(options.store)
        == FlatStore::RocksDb
    {
        let (families, commits) = Commits::open(opening, dir, options)?;
        return Ok((families.map(Kept::Family), Some(commits), vec![]));
    }
    let mut damage = vec![];
    let mut table = |name, prefix_bytes| {
        let own = TableOptions { prefix_bytes, ..TableOptions::new(options.memory_bytes / 3) };
        if !options.salvages {
            return opening.table(name, &own);
        }
        let (table, damaged) = opening.salvage_table(name, &own)?;
        damage.extend(damaged);
        Ok(table)
    };
    let tables = [table(ACCOUNTS, 0)?, table(SLOTS, 32)?, table(NODES, 0)?];
    Ok((tables.map(|table| Kept::Table(Box::new(table))), None, damage))
}

impl Kept {
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

    /// The table that it is, where it is one.
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

    /// The family of RocksDB's that it is, where it is one.
    fn family(&self) -> Option<&Changed> {
        match self {
            Self::Table(_) => None,
            Self::Family(family) => Some(family),
        }
    }

    /// The same, to be changed.
    fn family_mut(&mut self) -> Option<&mut Changed> {
        match self {
            Self::Table(_) => None,
            Self::Family(family) => Some(family),
        }
    }
}

/// Writes changes out now, for the next commit to name them.
pub(super) fn spill(kept: [&mut Kept; 3], commits: Option<&Commits>) -> Result<()> {
    match commits {
        Some(commits) => commits.spill(kept.into_iter().filter_map(Kept::family_mut)),
        None => kept.into_iter().filter_map(Kept::table_mut).try_for_each(Table::spill),
    }
}

/// Has the parts committed by `act`, together with what is beside the store.
pub(super) fn commit<T>(
    kept: [&mut Kept; 3],
    commits: Option<&mut Commits>,
    act: impl FnOnce(Vec<CommitPart<'_>>) -> Result<T>,
) -> Result<T> {
    let Some(commits) = commits else {
        let tables = kept.into_iter().filter_map(Kept::table_mut);
        return act(tables.map(CommitPart::from).collect());
    };
    commits.stage(kept.iter().filter_map(|kept| kept.family()))?;
    let done = act(vec![commits.part()])?;
    commits.settle(kept.into_iter().filter_map(Kept::family_mut))?;
    Ok(done)
}

/// Pairs in the order of their keys.
pub(super) enum Pairs<'a> {
    Table(Box<Scan<'a>>),
    Family(Box<Merged<'a>>),
}

impl Pairs<'_> {
    /// The next pair; none after the last.
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match self {
            Self::Table(scan) => scan.next(),
            Self::Family(merged) => merged.next(),
        }
    }
}
