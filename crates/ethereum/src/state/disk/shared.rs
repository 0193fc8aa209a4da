//! A state on disk that several stages use: one reads for the execution, one applies what blocks
//! changed, one commits.

use super::{DiskState, HashedChanges, StateKind};
use crate::execute::Code;
use crate::state::{Account, StateError};
use crate::{Hash, U256};
use blockmill_state_store::{Change, Pages, StateKey};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What reading or changing a state on disk fails with: corruption of the store, or the system.
#[derive(Clone, Debug)]
pub struct DiskError(Arc<blockmill_store::Error>);

impl DiskError {
    /// The error of the store.
    #[must_use]
    pub fn store(&self) -> &blockmill_store::Error {
        &self.0
    }
}

impl From<blockmill_store::Error> for DiskError {
    fn from(error: blockmill_store::Error) -> Self {
        Self(Arc::new(error))
    }
}

impl PartialEq for DiskError {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for DiskError {}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for DiskError {}

/// Slots that are read under one lock, so that writers do not wait long.
const TOGETHER: usize = 256;

/// The error for an operation on pages of a flat+trie state.
fn no_pages() -> blockmill_store::Error {
    let (expected, found) = (StateKind::Pages.to_string(), StateKind::FlatTrie.to_string());
    blockmill_store::Error::Mismatch { what: "kind of a state", expected, found }
}

/// A state on disk; a clone is the same one.
#[derive(Clone)]
pub struct SharedState(Arc<Shared>);

struct Shared {
    state: RwLock<DiskState>,
    /// Lists of changes that were applied.
    applied: AtomicU64,
    /// Generation of the cache of the execution.
    generation: AtomicU64,
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").field("applied", &self.applied()).finish_non_exhaustive()
    }
}

impl SharedState {
    /// Shares a state.
    #[must_use]
    pub fn new(state: DiskState) -> Self {
        let (state, applied, generation) =
            (RwLock::new(state), AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Shared { state, applied, generation }))
    }

    /// Locks the state for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, DiskState> {
        // a panic ends the run elsewhere
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state for changes or a commit.
    pub fn write(&self) -> RwLockWriteGuard<'_, DiskState> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists of changes that were applied to it since it was opened.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.0.applied.load(Ordering::Acquire)
    }

    /// Generation of the cache of the execution.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// Begins a generation.
    pub fn begin_generation(&self, generation: u64) {
        self.0.generation.store(generation, Ordering::Release);
    }

    /// Applies the next list of changes, and returns the state root.
    ///
    /// # Errors
    /// Corruption; those of the system. The store must be opened again then.
    pub fn apply<'c>(
        &self,
        changes: &HashedChanges,
        codes: impl IntoIterator<Item = (&'c Hash, &'c Code)>,
    ) -> Result<Hash, StateError> {
        for (hash, code) in codes {
            self.write().put_code(hash, code.bytes())?;
        }
        let cleared = changes.cleared();
        if !cleared.is_empty() {
            self.update(&cleared)?;
        }
        let root = self.update(&changes.leaves())?;
        self.0.applied.fetch_add(1, Ordering::Release);
        Ok(root)
    }

    /// Applies changes in the order of their keys. Of pages, what takes long keeps nobody from
    /// reading: bringing pages, and hashing.
    fn update(&self, changes: &[Change<'_>]) -> Result<Hash, StateError> {
        let held = match self.read().pages() {
            Some(pages) => Some(pages.fetch_for(changes).map_err(DiskError::from)?),
            None => None,
        };
        let Some(held) = held else { return self.write().update_sorted(changes) };
        let mut update = self.exclusive(|pages| pages.begin(changes, held))?;
        self.shared(|pages| pages.hash_storage(&mut update))?;
        self.exclusive(|pages| pages.change_accounts(&mut update))?;
        self.shared(|pages| pages.hash_accounts(&mut update))?;
        self.exclusive(|pages| Ok(pages.finish(update)))
    }

    /// Puts what changed of pages on disk, ahead of the commit that names it: most of that keeps
    /// nobody from reading. Nothing may be applied until that commit.
    ///
    /// # Errors
    /// Those of the system. The store must be opened again then.
    pub fn stage(&self) -> Result<(), StateError> {
        if self.read().pages().is_none() {
            return Ok(());
        }
        while self.exclusive(Pages::stage)? {
            self.shared(Pages::write_staged)?;
        }
        let staged = self.shared(Pages::sync_staged)?;
        self.exclusive(|pages| {
            pages.accept_staged(staged);
            Ok(())
        })
    }

    /// Runs a step on the pages with a shared lock.
    fn shared<T>(
        &self,
        step: impl FnOnce(&Pages) -> blockmill_store::Result<T>,
    ) -> Result<T, StateError> {
        let state = self.read();
        let pages = state.pages().ok_or_else(no_pages);
        Ok(pages.and_then(step).map_err(DiskError::from)?)
    }

    /// Runs a step on the pages with an exclusive lock.
    fn exclusive<T>(
        &self,
        step: impl FnOnce(&mut Pages) -> blockmill_store::Result<T>,
    ) -> Result<T, StateError> {
        let mut state = self.write();
        let pages = state.pages_mut().ok_or_else(no_pages);
        Ok(pages.and_then(step).map_err(DiskError::from)?)
    }

    /// [`DiskState::account`].
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn account(&self, account: &Hash) -> Result<Option<(Account, Hash)>, StateError> {
        self.read().account(account)
    }

    /// [`DiskState::slot`].
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn slot(&self, account: &Hash, slot: &Hash) -> Result<U256, StateError> {
        self.read().slot(account, slot)
    }

    /// [`DiskState::slots`].
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn slots(&self, keys: &[StateKey]) -> Result<Vec<U256>, StateError> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(TOGETHER) {
            // bounds the time that writers wait
            values.extend(self.read().slots(keys)?);
        }
        Ok(values)
    }

    /// [`DiskState::code`].
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        self.read().code(hash)
    }

    /// [`DiskState::touch`].
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn touch(&self, keys: &[StateKey]) -> Result<(), StateError> {
        self.read().touch(keys)
    }
}
