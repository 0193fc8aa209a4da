//! The candidates behind one small interface, each set up so that a killed process loses nothing
//! that `write` accepted (redb: nothing before its last durable commit, see there), with 64 MiB of
//! cache where the engine keeps its own.

use std::path::Path;

use crate::Result;

/// Our segments: no tree, listed for comparison.
pub const SEGMENTS: &str = "segments";

/// The engines of this build.
pub const NAMES: &[&str] = &[
    SEGMENTS,
    "fjall",
    "redb",
    "lmdb",
    "lmdb-sync",
    #[cfg(feature = "mdbx")]
    "mdbx",
    #[cfg(feature = "rocksdb")]
    "rocksdb",
];

/// Bytes of cache for engines that do not map their file.
const CACHE: usize = 64 << 20;
/// Largest size of a mapped file.
const MAP: usize = 1 << 40;

/// Keys with new values, or `None` for those to delete.
pub type Batch = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What every candidate can do.
pub trait Engine {
    /// Applies a batch as one.
    fn write(&mut self, batch: Batch) -> Result<()>;
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// Makes all writes survive a power loss.
    fn sync(&mut self) -> Result<()>;
}

/// Opens a new, empty database.
pub fn open(name: &str, dir: &Path) -> Result<Box<dyn Engine>> {
    match name {
        "fjall" => Ok(Box::new(Fjall::open(dir)?)),
        "redb" => Ok(Box::new(Redb::open(dir)?)),
        "lmdb" => Ok(Box::new(Lmdb::open(dir, heed::EnvFlags::NO_SYNC)?)),
        "lmdb-sync" => Ok(Box::new(Lmdb::open(dir, heed::EnvFlags::NO_META_SYNC)?)),
        #[cfg(feature = "mdbx")]
        "mdbx" => Ok(Box::new(mdbx::Mdbx::open(dir)?)),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Ok(Box::new(rocks::Rocks::open(dir)?)),
        _ => Err(format!("no engine {name} in this build").into()),
    }
}

/// B-trees take sorted batches faster: neighbours share pages.
fn sorted(mut batch: Batch) -> Batch {
    batch.sort_unstable();
    batch
}

/// fjall: a log-structured merge tree in Rust. Its journal reaches the system with each batch.
struct Fjall {
    database: fjall::Database,
    keys: fjall::Keyspace,
}

impl Fjall {
    fn open(dir: &Path) -> Result<Fjall> {
        let database = fjall::Database::builder(dir).cache_size(CACHE as u64).open()?;
        let keys = database.keyspace("tree", fjall::KeyspaceCreateOptions::default)?;
        Ok(Fjall { database, keys })
    }
}

impl Engine for Fjall {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let mut out = self.database.batch();
        for (key, value) in batch {
            match value {
                Some(value) => out.insert(&self.keys, key, value),
                None => out.remove(&self.keys, key),
            }
        }
        Ok(out.commit()?)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.keys.get(key)?.map(|value| value.to_vec()))
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.database.persist(fjall::PersistMode::SyncAll)?)
    }
}

/// redb: a copy-on-write B-tree in Rust. A commit is either synced or kept in memory only, so one
/// in 32 is synced here: a killed process goes back to that one.
struct Redb {
    database: redb::Database,
    writes: u32,
}

const REDB_TABLE: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("tree");

impl Redb {
    fn open(dir: &Path) -> Result<Redb> {
        let mut builder = redb::Database::builder();
        let database = builder.set_cache_size(CACHE).create(dir.join("redb"))?;
        Ok(Redb { database, writes: 0 })
    }

    fn commit(&self, batch: Batch, durability: redb::Durability) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        let mut table = transaction.open_table(REDB_TABLE)?;
        for (key, value) in sorted(batch) {
            match value {
                Some(value) => drop(table.insert(&key[..], &value[..])?),
                None => drop(table.remove(&key[..])?),
            }
        }
        drop(table);
        Ok(transaction.commit()?)
    }
}

impl Engine for Redb {
    fn write(&mut self, batch: Batch) -> Result<()> {
        self.writes += 1;
        let durable = self.writes.is_multiple_of(32);
        let durability = if durable { redb::Durability::Immediate } else { redb::Durability::None };
        self.commit(batch, durability)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        use redb::ReadableDatabase;
        let table = self.database.begin_read()?.open_table(REDB_TABLE)?;
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    }

    fn sync(&mut self) -> Result<()> {
        self.commit(Batch::new(), redb::Durability::Immediate)
    }
}

/// LMDB through heed: a memory-mapped copy-on-write B-tree in C. `NO_SYNC` leaves the order of
/// writes to the system: a killed process loses nothing, a power loss between syncs may damage the
/// whole file. `NO_META_SYNC` syncs with each batch, and a power loss undoes the last one at most.
struct Lmdb {
    environment: heed::Env,
    keys: heed::Database<heed::types::Bytes, heed::types::Bytes>,
}

impl Lmdb {
    #[allow(unsafe_code)]
    fn open(dir: &Path, syncing: heed::EnvFlags) -> Result<Lmdb> {
        let mut options = heed::EnvOpenOptions::new();
        options.map_size(MAP);
        // SAFETY: the folder is new and nobody else opens it; without syncing a power loss may
        // damage the file, which this program never reads again.
        let environment = unsafe {
            options.flags(syncing | heed::EnvFlags::NO_READ_AHEAD);
            options.open(dir)?
        };
        let mut transaction = environment.write_txn()?;
        let keys = environment.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Lmdb { environment, keys })
    }
}

impl Engine for Lmdb {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let mut transaction = self.environment.write_txn()?;
        for (key, value) in sorted(batch) {
            match value {
                Some(value) => self.keys.put(&mut transaction, &key, &value)?,
                None => drop(self.keys.delete(&mut transaction, &key)?),
            }
        }
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let transaction = self.environment.read_txn()?;
        Ok(self.keys.get(&transaction, key)?.map(<[u8]>::to_vec))
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.environment.force_sync()?)
    }
}

#[cfg(feature = "mdbx")]
mod mdbx {
    //! MDBX, a descendant of LMDB. `SafeNoSync` keeps the last synced state whole.

    use super::*;
    use libmdbx::{
        Database, DatabaseOptions, Mode, NoWriteMap, ReadWriteOptions, SyncMode, TableFlags,
        WriteFlags,
    };

    pub struct Mdbx(Database<NoWriteMap>);

    impl Mdbx {
        pub fn open(dir: &Path) -> Result<Mdbx> {
            let mode = Mode::ReadWrite(ReadWriteOptions {
                sync_mode: SyncMode::SafeNoSync,
                max_size: Some(MAP as isize),
                ..Default::default()
            });
            let options = DatabaseOptions { mode, no_rdahead: true, ..Default::default() };
            let database = Database::open_with_options(dir, options)?;
            let transaction = database.begin_rw_txn()?;
            transaction.create_table(None, TableFlags::empty())?;
            transaction.commit()?;
            Ok(Mdbx(database))
        }
    }

    impl Engine for Mdbx {
        fn write(&mut self, batch: Batch) -> Result<()> {
            let transaction = self.0.begin_rw_txn()?;
            let table = transaction.open_table(None)?;
            for (key, value) in sorted(batch) {
                match value {
                    Some(value) => transaction.put(&table, key, value, WriteFlags::empty())?,
                    None => drop(transaction.del(&table, key, None)?),
                }
            }
            transaction.commit()?;
            Ok(())
        }

        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
            let transaction = self.0.begin_ro_txn()?;
            let table = transaction.open_table(None)?;
            Ok(transaction.get(&table, key)?)
        }

        fn sync(&mut self) -> Result<()> {
            self.0.sync(true)?;
            Ok(())
        }
    }
}

#[cfg(feature = "rocksdb")]
mod rocks {
    //! RocksDB, a log-structured merge tree in C++, with bloom filters of 10 bits a key.

    use super::*;
    use rocksdb::{BlockBasedOptions, Cache, DB, Options, WriteBatch};

    pub struct Rocks(DB);

    impl Rocks {
        pub fn open(dir: &Path) -> Result<Rocks> {
            let mut blocks = BlockBasedOptions::default();
            blocks.set_bloom_filter(10.0, false);
            blocks.set_block_cache(&Cache::new_lru_cache(CACHE));
            let mut options = Options::default();
            options.create_if_missing(true);
            options.set_block_based_table_factory(&blocks);
            options.set_compression_type(rocksdb::DBCompressionType::None);
            Ok(Rocks(DB::open(&options, dir)?))
        }
    }

    impl Engine for Rocks {
        fn write(&mut self, batch: Batch) -> Result<()> {
            let mut out = WriteBatch::default();
            for (key, value) in batch {
                match value {
                    Some(value) => out.put(key, value),
                    None => out.delete(key),
                }
            }
            Ok(self.0.write(out)?)
        }

        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
            Ok(self.0.get(key)?)
        }

        fn sync(&mut self) -> Result<()> {
            Ok(self.0.flush_wal(true)?)
        }
    }
}
