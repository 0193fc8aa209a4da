//! The changes of a block, with rollback.
//!
//! Most transactions change a few keys and commit, so a change is applied at once. While a layer is
//! open, replaced changes are recorded; a rollback restores them.

use super::base::{KeyRange, in_direction};
use super::find::Direction;
use super::layers::by_key;
use super::{Change, StorageKey, Value};
use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeBounds;

/// Number of changes that the iterations of a block may scan before its keys are sorted.
const UNSORTED_SCANS: usize = 1 << 14;

/// The changes of a block.
#[derive(Default)]
pub(super) struct Journal {
    /// The newest changes, in the order of the first change of each key.
    changes: IndexMap<StorageKey, Option<Value>, DefaultHashBuilder>,
    /// Replaced changes since the first open layer began: the index of a change and its previous
    /// value; `None` if the key had no change before, in which case it is the last entry.
    replaced: Vec<(usize, Option<Option<Value>>)>,
    /// Length of `replaced` at the start of each open layer.
    layers: Vec<usize>,
    order: RefCell<Order>,
}

/// The sorted keys, once iterations have scanned many changes.
#[derive(Default)]
struct Order {
    keys: Option<BTreeSet<StorageKey>>,
    scanned: usize,
}

impl Journal {
    /// The change of a key.
    pub fn get(&self, key: &StorageKey) -> Option<&Option<Value>> {
        self.changes.get(key)
    }

    /// Changes a key.
    pub fn insert(&mut self, key: StorageKey, value: Option<Value>) {
        let (place, before) = self.changes.insert_full(key, value);
        if before.is_none()
            && let Some(keys) = &mut self.order.get_mut().keys
        {
            keys.insert(key);
        }
        if !self.layers.is_empty() {
            self.replaced.push((place, before));
        }
    }

    /// Opens a layer. Returns the number of open layers.
    pub fn begin(&mut self) -> usize {
        self.layers.push(self.replaced.len());
        self.layers.len()
    }

    /// The number of open layers.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Closes the last layer and merges its changes into the one below.
    pub fn commit(&mut self) {
        self.layers.pop();
        if self.layers.is_empty() {
            self.replaced.clear();
        }
    }

    /// Closes the last layer and undoes its changes; without a layer, all changes. Passes their
    /// keys to `each`.
    pub fn rollback(&mut self, mut each: impl FnMut(&StorageKey)) {
        let Some(from) = self.layers.pop() else {
            self.changes.keys().for_each(each);
            self.changes.clear();
            self.order.take();
            return;
        };
        for (place, before) in self.replaced.drain(from..).rev() {
            if let Some(value) = before {
                if let Some((key, change)) = self.changes.get_index_mut(place) {
                    *change = value;
                    each(key);
                }
            } else if let Some((key, _)) = self.changes.pop() {
                if let Some(keys) = &mut self.order.get_mut().keys {
                    keys.remove(&key);
                }
                each(&key);
            }
        }
    }

    /// The changes of a range in this direction.
    pub fn range(&self, range: &KeyRange, direction: Direction) -> Vec<Change> {
        let bounds = (range.0.as_ref().map(Vec::as_slice), range.1.as_ref().map(Vec::as_slice));
        let mut order = self.order.borrow_mut();
        order.scanned += self.changes.len();
        if order.scanned <= UNSORTED_SCANS {
            let is_in = |(key, _): &(&StorageKey, _)| {
                RangeBounds::<[u8]>::contains(&bounds, key.as_slice())
            };
            let changes = self.changes.iter().filter(is_in);
            let mut changes: Vec<Change> =
                changes.map(|(key, value)| (*key, value.clone())).collect();
            changes.sort_unstable_by(by_key);
            return in_direction(changes.into_iter(), direction).collect();
        }
        if super::base::is_empty(range) {
            return vec![];
        }
        let keys = order.keys.get_or_insert_with(|| self.changes.keys().copied().collect());
        let change = |key: &StorageKey| (*key, self.changes.get(key).cloned().flatten());
        in_direction(keys.range::<[u8], _>(bounds).map(change), direction).collect()
    }

    /// Takes all committed changes, in key order. Open layers are rolled back.
    pub fn take(&mut self) -> Vec<Change> {
        while !self.layers.is_empty() {
            self.rollback(|_| {});
        }
        self.order.take();
        let mut changes: Vec<Change> = self.changes.drain(..).collect();
        changes.sort_unstable_by(by_key);
        changes
    }
}
