//! Options of the database of flat values and nodes.

use super::HAS_ROCKSDB;
use blockmill_pipeline::options::Needs;

const ROCKSDB: Needs = Needs::Feature { name: "rocksdb", is_built: HAS_ROCKSDB };

blockmill_pipeline::named_option! {
    /// With `state=flat+trie`: where values and nodes are kept.
    ///
    /// A build with RocksDB links the system's library (7.8 or newer of major version 7 with its
    /// headers, and libclang; in Debian `librocksdb-dev` and `libclang-dev`):
    ///
    /// ```text
    /// export ROCKSDB_LIB_DIR=$(dirname "$(c++ -print-file-name=librocksdb.so)")
    /// cargo build --release --features rocksdb
    /// ```
    ///
    /// Any other build refuses the value, and a store that has its state in RocksDB.
    pub enum FlatStore: "flat-store", level Execution {
        /// In RocksDB, with Besu's settings ([format](../formats/flat-trie.md#in-rocksdb)).
        RocksDb = "rocksdb" if ROCKSDB,
        /// In tables of the store.
        Tables = "tables",
    }
}

blockmill_pipeline::named_option! {
    /// With `flat-store=rocksdb`: whether the checksums of blocks that are read are verified (Besu
    /// PR 5042).
    ///
    /// `on` is the default though it is more work: without it a corrupt block is a wrong value.
    pub enum ReadChecksum: "read-checksum", level Execution {
        /// They are not verified.
        Off = "off" if ROCKSDB,
        /// They are verified.
        On = "on",
    }
}

blockmill_pipeline::named_option! {
    /// With `flat-store=rocksdb`: whether new files have Bloom filters, which answer for absent
    /// keys (Besu PR 4682).
    pub enum Bloom: "bloom", level Execution {
        /// No filters.
        Off = "off" if ROCKSDB,
        /// Filters of 10 bits for each key.
        On = "on",
    }
}

blockmill_pipeline::named_option! {
    /// With `flat-store=rocksdb`: whether blocks of RocksDB that were read are kept in memory.
    pub enum BlockCache: "block-cache", level Execution {
        /// Blocks are read again each time.
        Off = "off" if ROCKSDB,
        /// Blocks are kept, within half of the memory of the state.
        On = "on",
    }
}
