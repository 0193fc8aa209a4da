//! A state on disk that several stages use: one reads for the execution, one applies what blocks
//! changed, one commits.

use super::{DiskState, HashedChanges};
use crate::execute::Code;
use crate::state::{Account, StateError};
use crate::{Hash, U256};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use store::StateKey;

/// What reading or changing a state on disk fails with: damage of the store, or the system.
#[derive(Clone, Debug)]
pub struct DiskError(Arc<store::Error>);

impl DiskError {
    /// The error of the store.
    #[must_use]
    pub fn store(&self) -> &store::Error {
        &self.0
    }
}

impl From<store::Error> for DiskError {
    fn from(error: store::Error) -> Self {
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

/// A state on disk; a clone is the same one.
#[derive(Clone)]
pub struct SharedState(Arc<Shared>);

struct Shared {
    state: RwLock<DiskState>,
    /// Lists of changes that were applied.
    applied: AtomicU64,
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").field("applied", &self.applied()).finish_non_exhaustive()
    }
}

impl SharedState {
    /// To be shared from now on.
    #[must_use]
    pub fn new(state: DiskState) -> Self {
        Self(Arc::new(Shared { state: RwLock::new(state), applied: AtomicU64::new(0) }))
    }

    /// To be read.
    pub fn read(&self) -> RwLockReadGuard<'_, DiskState> {
        // a panic ends the run elsewhere
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be changed or committed.
    pub fn write(&self) -> RwLockWriteGuard<'_, DiskState> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists of changes that were applied to it since it was opened.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.0.applied.load(Ordering::Acquire)
    }

    /// Applies the next list of changes; the state root behind it.
    ///
    /// # Errors
    /// Damage; those of the system. The store must be opened again then.
    pub fn apply<'c>(
        &self,
        changes: &HashedChanges,
        codes: impl IntoIterator<Item = (&'c Hash, &'c Code)>,
    ) -> Result<Hash, StateError> {
        let mut state = self.write();
        for (hash, code) in codes {
            state.put_code(hash, code.bytes())?;
        }
        let root = state.update(changes)?;
        self.0.applied.fetch_add(1, Ordering::Release);
        Ok(root)
    }

    /// [`DiskState::account`].
    ///
    /// # Errors
    /// Damage; those of the system.
    pub fn account(&self, account: &Hash) -> Result<Option<(Account, Hash)>, StateError> {
        self.read().account(account)
    }

    /// [`DiskState::slot`].
    ///
    /// # Errors
    /// Damage; those of the system.
    pub fn slot(&self, account: &Hash, slot: &Hash) -> Result<U256, StateError> {
        self.read().slot(account, slot)
    }

    /// [`DiskState::code`].
    ///
    /// # Errors
    /// Damage; those of the system.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        self.read().code(hash)
    }

    /// [`DiskState::touch`].
    ///
    /// # Errors
    /// Damage; those of the system.
    pub fn touch(&self, keys: &[StateKey]) -> Result<(), StateError> {
        self.read().touch(keys)
    }
}
