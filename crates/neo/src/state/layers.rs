//! The layers of a block that is executed, over what lies below.

use super::base::Base;
use super::find::{Direction, Find};
use super::journal::Journal;
use super::remembered::{Known, Versions};
use super::{StorageKey, Value};
use std::cmp::Ordering;
use std::sync::OnceLock;

/// A change of a block: a key, and its new value or none where it is deleted.
pub type Change = (StorageKey, Option<Value>);

/// The order of changes: that of their keys.
pub(super) fn by_key((one, _): &Change, (other, _): &Change) -> Ordering {
    one.cmp(other)
}

/// What contracts keep, as the code that runs now sees it.
///
/// A block has a layer; [`State::begin`] puts another one over it, for a transaction or a call
/// whose changes may have to be given up, and [`State::keep`] or [`State::discard`] ends it.
///
/// Reading from disk can fail. An answer is then `None`, and the failure is kept: whoever executes
/// a block asks [`State::failure`] before its result counts.
pub struct State {
    base: Base,
    /// What the block changed so far.
    block: Journal,
    /// What the last block replaced, until somebody asks.
    before: Option<Vec<Option<Value>>>,
    failure: OnceLock<blockmill_store::Error>,
    versions: Versions,
    known: Known,
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
            known: Known::default(),
        }
    }

    fn checked<T>(&self, result: blockmill_store::Result<Option<T>>) -> Option<T> {
        result.unwrap_or_else(|error| {
            // the first is the one that counts
            let _ = self.failure.set(error);
            None
        })
    }

    /// Why an answer since the beginning is not to be trusted.
    ///
    /// # Errors
    /// The first failure of reading.
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

    /// Puts a value under the key of contract `id`. A key that is too long is ignored: who calls
    /// has refused it.
    pub fn put(&mut self, id: i32, key: &[u8], value: impl Into<Value>) {
        self.change(id, key, Some(value.into()));
    }

    /// Removes the key of contract `id`, whether it is there or not.
    pub fn delete(&mut self, id: i32, key: &[u8]) {
        self.change(id, key, None);
    }

    fn change(&mut self, id: i32, key: &[u8], value: Option<Value>) {
        self.versions.changed(id, key);
        if let Some(key) = StorageKey::new(id, key) {
            self.block.insert(key, value);
        }
    }

    /// Changes go to a new layer from here on. Returns how many there are now, with the
    /// block's.
    pub fn begin(&mut self) -> usize {
        self.block.begin() + 1
    }

    /// The changes of the uppermost layer go to the one below it. The block's layer stays.
    pub fn keep(&mut self) {
        self.block.keep();
    }

    /// The changes of the uppermost layer are given up; of the block's layer, too.
    pub fn discard(&mut self) {
        let mut is_native = false;
        self.block.discard(|key| is_native |= key.id() < 0);
        if is_native {
            self.versions.all_changed();
        }
    }

    /// A number that is another one whenever something of one of these native contracts changed.
    #[must_use]
    pub fn version(&self, ids: &[i32]) -> u64 {
        self.versions.of(ids)
    }

    /// What was found out about native contracts, by those who know their storage.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Goes through the keys of contract `id` that begin with `prefix`, from `prefix` and `start`
    /// on, both included; with an empty `start` through all of them.
    #[must_use]
    pub fn find(&self, id: i32, prefix: &[u8], start: &[u8], direction: Direction) -> Find {
        Find::new((id, prefix, start), direction, &self.block)
    }

    /// The next pair of an iteration, which began in the same block.
    pub fn next(&self, find: &mut Find) -> Option<(StorageKey, Value)> {
        self.checked(find.next(&self.base))
    }

    /// All pairs of an iteration that begins now.
    pub fn find_all(
        &self,
        id: i32,
        prefix: &[u8],
        direction: Direction,
    ) -> impl Iterator<Item = (StorageKey, Value)> {
        let mut find = self.find(id, prefix, &[], direction);
        std::iter::from_fn(move || self.next(&mut find))
    }

    /// What stood under the keys that the last block changed, in their order, where the state tells
    /// it ([`Base::telling`]).
    pub fn before(&mut self) -> Option<Vec<Option<Value>>> {
        self.before.take()
    }

    /// The block ends: its changes become part of what lies below, and are returned in the order of
    /// their keys. Layers that were not ended are given up.
    pub fn end_block(&mut self) -> Vec<Change> {
        if self.block.layers() > 0 {
            self.versions.all_changed();
        }
        let changes = self.block.take();
        let before = self.base.apply(&changes);
        self.before = self.checked(before);
        changes
    }

    /// What lies below the block.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The same, to flush it between two blocks.
    pub fn base_mut(&mut self) -> &mut Base {
        &mut self.base
    }
}
