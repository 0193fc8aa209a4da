//! A state that stays on disk, by hashed key, for chains whose state is larger than memory: in
//! pages ([`blockmill_state_store::Pages`]), or as Besu keeps it ([`FlatTrie`]). Codes are in a
//! table of their own.
//!
//! It is some blocks older than the execution, which has the changes of these blocks in memory and
//! reads everything else here. So a value from disk is current unless the execution has a newer
//! one.

mod begin;
mod changes;
mod commit;
mod heal;
mod kind;
mod nodes;
mod read;
mod settings;
mod shared;

pub use begin::{DumpBatch, StateLoader};
pub use changes::HashedChanges;
pub use kind::DiskOptions;
pub(super) use nodes::DiskNodes;
pub use settings::{CommitThreads, PageCache, PageReads, References, StateKind, TriePreload};
pub use shared::{DiskError, SharedState};

use super::{FlatOptions, FlatStore, FlatTrie, FlatTrieError, StateError};
use crate::Hash;
use blockmill_state_store::{Pages, PagesOptions};
use blockmill_store::{Compression, Opening, Table, TableOptions};
use std::path::{Path, PathBuf};

/// Names of the parts; those of the flat tables and their nodes are [`FlatTrie`]'s.
const PAGES: &str = "state-pages";
const CODES: &str = "state-codes";
/// The share of the memory that is for codes.
const CODE_SHARE: usize = 16;
/// The share of the memory for preloaded nodes, if nodes are preloaded.
const PRELOAD_SHARE: usize = 8;

/// See the module's text.
pub struct DiskState {
    layout: Layout,
    codes: Table,
    /// Where the store is.
    dir: PathBuf,
    /// Bytes for caches and for changes.
    memory_bytes: usize,
}

enum Layout {
    Pages(Box<Pages>),
    FlatTrie(Box<FlatTrie>),
}

impl DiskState {
    /// Opens the state among the parts of a store, or creates an empty one. `None` for a state in
    /// memory.
    ///
    /// # Errors
    /// Those of the parts.
    pub fn open(
        opening: &mut Opening,
        dir: &Path,
        kind: StateKind,
        options: &DiskOptions,
    ) -> blockmill_store::Result<Option<Self>> {
        let memory = options.memory_bytes;
        let layout = match kind {
            StateKind::Memory => return Ok(None),
            StateKind::Pages => {
                let reference_bytes = (!options.all_references).then_some(memory / 4);
                let for_pages = memory / 2 - reference_bytes.unwrap_or(0);
                let (read_method, threads) = (options.read_ahead, options.threads);
                let pages = PagesOptions {
                    read_method,
                    threads,
                    reference_bytes,
                    ..PagesOptions::new(if options.page_cache { for_pages as u64 } else { 0 })
                };
                Layout::Pages(Box::new(Pages::open(opening, PAGES, &pages)?))
            }
            StateKind::FlatTrie => {
                let preload = if options.trie_preload { memory / PRELOAD_SHARE } else { 0 };
                let memory_bytes = memory / 4 * 3 - preload;
                let (store, rocksdb) = (options.flat_store, options.rocksdb);
                let salvages = options.salvages;
                let flat = FlatOptions { memory_bytes, store, rocksdb, salvages };
                let opened = FlatTrie::open(opening, dir, &flat);
                let state = opened.map_err(|error| flat_trie_error(dir, error))?;
                Layout::FlatTrie(Box::new(state.preloading(preload)))
            }
        };
        let options = TableOptions {
            compression: Compression::Lz4,
            ..TableOptions::new(memory / CODE_SHARE)
        };
        let codes = opening.table(CODES, &options)?;
        let dir = dir.to_path_buf();
        Ok(Some(Self { layout, codes, dir, memory_bytes: memory }))
    }

    /// Returns whether a part of a store belongs to a state on disk.
    #[must_use]
    pub fn is_part(name: &str) -> bool {
        [PAGES, CODES].contains(&name) || super::flat_trie::is_part(name)
    }

    /// Bytes for the cache of the execution: a quarter. Unwritten changes get as much, and caches
    /// of the disk the rest.
    #[must_use]
    pub fn execution_bytes(&self) -> usize {
        self.memory_bytes / 4
    }

    /// Where it is kept.
    #[must_use]
    pub fn kind(&self) -> StateKind {
        match &self.layout {
            Layout::Pages(_) => StateKind::Pages,
            Layout::FlatTrie(_) => StateKind::FlatTrie,
        }
    }

    /// The backend of flat values and nodes; `None` for a state in pages.
    #[must_use]
    pub fn flat_store(&self) -> Option<FlatStore> {
        match &self.layout {
            Layout::Pages(_) => None,
            Layout::FlatTrie(state) => Some(state.store()),
        }
    }

    /// The state root.
    #[must_use]
    pub fn root(&self) -> Hash {
        match &self.layout {
            Layout::Pages(pages) => pages.root(),
            Layout::FlatTrie(state) => state.root(),
        }
    }

    /// Stores a code.
    ///
    /// # Errors
    /// Those of the table.
    pub fn put_code(&mut self, hash: &Hash, code: &[u8]) -> Result<(), StateError> {
        Ok(self.codes.put(hash, code).map_err(DiskError::from)?)
    }

    /// Applies changes, and returns the state root.
    ///
    /// # Errors
    /// Corruption; those of the system. The store must be opened again then.
    pub fn update(&mut self, changes: &HashedChanges) -> Result<Hash, StateError> {
        let cleared = changes.cleared();
        if !cleared.is_empty() {
            self.update_sorted(&cleared)?;
        }
        self.update_sorted(&changes.leaves())
    }

    /// The pages; `None` for a flat+trie state.
    pub(super) fn pages(&self) -> Option<&Pages> {
        match &self.layout {
            Layout::Pages(pages) => Some(pages),
            Layout::FlatTrie(_) => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn pages_mut(&mut self) -> Option<&mut Pages> {
        match &mut self.layout {
            Layout::Pages(pages) => Some(pages),
            Layout::FlatTrie(_) => None,
        }
    }

    /// Applies changes in the order of their keys, and returns the state root.
    pub(super) fn update_sorted(
        &mut self,
        changes: &[blockmill_state_store::Change<'_>],
    ) -> Result<Hash, StateError> {
        let Self { layout, dir, .. } = self;
        Ok(match layout {
            Layout::Pages(pages) => pages.update(changes).map_err(DiskError::from)?,
            Layout::FlatTrie(state) => {
                state.update(changes).map_err(|e| DiskError::from(flat_trie_error(dir, e)))?
            }
        })
    }

    fn flat_error(&self, error: FlatTrieError) -> StateError {
        DiskError::from(flat_trie_error(&self.dir, error)).into()
    }

    /// The error for a value that does not decode.
    fn bad(&self, what: &'static str, found: impl ToString) -> StateError {
        let (path, found) = (self.dir.join(blockmill_store::MANIFEST), found.to_string());
        let expected = format!("the encoding of one {what}");
        DiskError::from(blockmill_store::Error::Corrupt { path, offset: 0, what, expected, found })
            .into()
    }
}

/// Converts an error of a flat+trie state to an error of the store.
fn flat_trie_error(dir: &Path, error: FlatTrieError) -> blockmill_store::Error {
    let damaged = |what, expected, found| {
        let path = dir.join(blockmill_store::MANIFEST);
        blockmill_store::Error::Corrupt { path, offset: 0, what, expected, found }
    };
    match error {
        FlatTrieError::Store(error) => error,
        FlatTrieError::State(error) => {
            damaged("trie", "nodes that lead to the values".into(), error.to_string())
        }
        FlatTrieError::Malformed { what, expected, found } => damaged(what, expected, found),
    }
}
