//! The layers of the executed block, over the state below.

use super::base::Base;
use super::find::{Direction, Find};
use super::journal::Journal;
use super::native_cache::{NativeCache, Versions};
use super::{StorageKey, Value};
use std::cmp::Ordering;
use std::sync::OnceLock;

/// A change of a block: a key and its new value, or `None` if the key is deleted.
pub type Change = (StorageKey, Option<Value>);

/// Compares changes by their keys.
pub(super) fn by_key((one, _): &Change, (other, _): &Change) -> Ordering {
    one.cmp(other)
}

/// Contract storage as the running code sees it.
///
/// A block has one layer. [`State::begin`] opens another one, for a transaction or a call that may
/// fail; [`State::commit`] or [`State::rollback`] closes it.
///
/// A failed read from disk returns `None` and stores the error. The executor of a block must check
/// [`State::failure`] before it uses the result.
pub struct State {
    base: Base,
    /// The changes of the block so far.
    block: Journal,
    /// The values that the last block replaced, until they are taken.
    before: Option<Vec<Option<Value>>>,
    failure: OnceLock<blockmill_store::Error>,
    versions: Versions,
    native_cache: NativeCache,
}

impl State {
    /// The state before a block.
    #[must_use]
    pub fn new(base: Base) -> Self {
        Self {
            base,
            block: Journal::default(),
            before: None,
            failure: OnceLock::new(),
            versions: Versions::default(),
            native_cache: NativeCache::default(),
        }
    }

    fn checked<T>(&self, result: blockmill_store::Result<Option<T>>) -> Option<T> {
        result.unwrap_or_else(|error| {
            // the first error is kept
            let _ = self.failure.set(error);
            None
        })
    }

    /// Checks that no read has failed.
    ///
    /// # Errors
    /// Returns the first error of a read since the last call.
    pub fn failure(&mut self) -> blockmill_store::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The value under the key of contract `id`.
    #[must_use]
    pub fn get(&self, id: i32, key: &[u8]) -> Option<Value> {
        let key = StorageKey::new(id, key)?;
        match self.block.get(&key) {
            Some(change) => change.clone(),
            None => self.checked(self.base.get(&key)),
        }
    }

    /// Puts a value under the key of contract `id`. The caller has rejected keys that are too long;
    /// such a key is ignored.
    pub fn put(&mut self, id: i32, key: &[u8], value: impl Into<Value>) {
        self.change(id, key, Some(value.into()));
    }

    /// Deletes the key of contract `id`, if it exists.
    pub fn delete(&mut self, id: i32, key: &[u8]) {
        self.change(id, key, None);
    }

    fn change(&mut self, id: i32, key: &[u8], value: Option<Value>) {
        self.versions.changed(id, key);
        if let Some(key) = StorageKey::new(id, key) {
            self.block.insert(key, value);
        }
    }

    /// Opens a layer for the changes to come. Returns the number of layers, including the block's.
    pub fn begin(&mut self) -> usize {
        self.block.begin() + 1
    }

    /// Closes the top layer and merges its changes into the one below. The block's layer stays
    /// open.
    pub fn commit(&mut self) {
        self.block.commit();
    }

    /// Closes the top layer and undoes its changes. Of the block's layer it only undoes the
    /// changes.
    pub fn rollback(&mut self) {
        let mut is_native = false;
        self.block.rollback(|key| is_native |= key.id() < 0);
        if is_native {
            self.versions.all_changed();
        }
    }

    /// A number that changes whenever the storage of one of these native contracts changes.
    #[must_use]
    pub fn version(&self, ids: &[i32]) -> u64 {
        self.versions.sum(ids)
    }

    /// Cached values derived from the storage of native contracts.
    pub(crate) fn native_cache(&self) -> &NativeCache {
        &self.native_cache
    }

    /// Iterates over the keys of contract `id` with `prefix`, from `prefix` + `start` on
    /// (included).
    #[must_use]
    pub fn find(&self, id: i32, prefix: &[u8], start: &[u8], direction: Direction) -> Find {
        Find::new((id, prefix, start), direction, &self.block)
    }

    /// The next pair of an iteration, which began in the same block.
    pub fn next(&self, find: &mut Find) -> Option<(StorageKey, Value)> {
        self.checked(find.next(&self.base))
    }

    /// Iterates over all pairs with a prefix.
    pub fn find_all(
        &self,
        id: i32,
        prefix: &[u8],
        direction: Direction,
    ) -> impl Iterator<Item = (StorageKey, Value)> {
        let mut find = self.find(id, prefix, &[], direction);
        std::iter::from_fn(move || self.next(&mut find))
    }

    /// Takes the values that the last block replaced, in the order of its changes, if they are
    /// recorded ([`Base::recording`]).
    pub fn before(&mut self) -> Option<Vec<Option<Value>>> {
        self.before.take()
    }

    /// Ends the block: applies its changes to the state below and returns them in key order. Open
    /// layers are rolled back.
    pub fn end_block(&mut self) -> Vec<Change> {
        if self.block.layers() > 0 {
            self.versions.all_changed();
        }
        let changes = self.block.take();
        let before = self.base.apply(&changes);
        self.before = self.checked(before);
        changes
    }

    /// The state below the block.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The state below the block, for a flush between two blocks.
    pub fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}
