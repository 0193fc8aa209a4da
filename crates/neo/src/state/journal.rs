//! The changes of a block, and what takes the last of them back.
//!
//! Most transactions change a few keys and are kept, so each change goes to its place at once. What
//! it replaced is noted while a layer is open, and put back where that is given up.

use super::base::{KeyRange, in_direction};
use super::find::Direction;
use super::layers::by_key;
use super::{Change, StorageKey, Value};
use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeBounds;

/// Changes that iterations of a block may look at one by one, before its keys are put in order.
const LOOKS: usize = 1 << 14;

/// The changes of a block.
#[derive(Default)]
pub(super) struct Journal {
    /// The newest, in the order in which their keys were changed first.
    changes: IndexMap<StorageKey, Option<Value>, DefaultHashBuilder>,
    /// What was replaced since the first layer that is open began: the place of a change, and the
    /// one before; none where the key was not changed before, and then it is the last one.
    replaced: Vec<(usize, Option<Option<Value>>)>,
    /// How many of these there were when each open layer began.
    layers: Vec<usize>,
    order: RefCell<Order>,
}

/// The keys in order, where iterations ask for it often.
#[derive(Default)]
struct Order {
    keys: Option<BTreeSet<StorageKey>>,
    looks: usize,
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

    /// Opens a layer. Returns how many are open.
    pub fn begin(&mut self) -> usize {
        self.layers.push(self.replaced.len());
        self.layers.len()
    }

    /// How many layers are open.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Ends the last layer; its changes are those of what lies below.
    pub fn keep(&mut self) {
        self.layers.pop();
        if self.layers.is_empty() {
            self.replaced.clear();
        }
    }

    /// Ends the last layer and takes its changes back; without one, all of them. `each` is told of
    /// their keys.
    pub fn discard(&mut self, mut each: impl FnMut(&StorageKey)) {
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
        order.looks += self.changes.len();
        if order.looks <= LOOKS {
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

    /// All changes in the order of their keys; none is left, and no layer is open.
    pub fn take(&mut self) -> Vec<Change> {
        while !self.layers.is_empty() {
            self.discard(|_| {});
        }
        self.order.take();
        let mut changes: Vec<Change> = self.changes.drain(..).collect();
        changes.sort_unstable_by(by_key);
        changes
    }
}
