//! Where a state is kept, and how one on disk is opened.

use super::settings::StateKind;
use super::{CODES, PAGES};
use crate::state::{FlatStore, RocksDbOptions};
use blockmill_state_store::ReadMethod;

impl StateKind {
    /// The kind of state on disk in the last commit of a store; `None` if it has no such part.
    /// `has` says whether it has a part of a name.
    #[must_use]
    pub fn from_parts(has: impl Fn(&str) -> bool) -> Option<Self> {
        if has(PAGES) {
            return Some(Self::Pages);
        }
        has(CODES).then_some(Self::FlatTrie)
    }
}

/// How a state on disk is opened.
#[derive(Clone, Copy, Debug)]
pub struct DiskOptions {
    /// Bytes for caches and for changes before they are written.
    pub memory_bytes: usize,
    /// How reads that are known together are made; of pages.
    pub read_ahead: ReadMethod,
    /// Whether pages that were read stay in memory; of pages.
    pub page_cache: bool,
    /// Whether references of pages are all in memory besides these bytes, or within them.
    pub all_references: bool,
    /// Whether nodes are read with the values that they lead to, ahead of the root; of flat values
    /// and nodes.
    pub trie_preload: bool,
    /// Where flat values and nodes are.
    pub flat_store: FlatStore,
    /// What RocksDB does, where they are in it.
    pub rocksdb: RocksDbOptions,
    /// Threads that hash what a large block changed; of pages.
    pub threads: usize,
    /// Whether damaged files of flat values and nodes are left out, to be healed: the state must
    /// not be committed before.
    pub salvages: bool,
}

impl DiskOptions {
    /// Bytes of memory, unless somebody says otherwise.
    pub const MEMORY: usize = 256 << 20;

    /// The fastest way.
    pub const DEFAULT: Self = Self {
        memory_bytes: Self::MEMORY,
        read_ahead: ReadMethod::Ring,
        page_cache: true,
        all_references: true,
        trie_preload: false,
        flat_store: FlatStore::Tables,
        rocksdb: RocksDbOptions::DEFAULT,
        threads: 1,
        salvages: false,
    };
}
