//! The state below the executed block: changes in memory, and a table on disk.

use super::find::Direction;
use super::layers::by_key;
use super::{Change, StorageKey, Value};
use blockmill_store::TableReader;
use hashbrown::HashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

/// Changes in key order, each key once. `None` is a deleted key.
pub type Layer = Vec<Change>;

/// The state below the executed block.
#[derive(Default)]
pub struct Base {
    /// Keys that blocks changed since the last flush began, by contract, for iterations.
    changed: RefCell<HashMap<i32, Changed>>,
    /// The number of these keys.
    count: usize,
    /// Changes that a flush writes to disk; used until the table has them.
    flushing: Option<Arc<Layer>>,
    table: Option<TableReader>,
    /// Cache of the newest values that were changed or read, absent ones included: one lookup
    /// instead of a search through the layers.
    newest: RefCell<HashMap<StorageKey, Newest>>,
    /// Whether replaced values are recorded.
    records_replaced: bool,
}

/// Changed keys of a contract. They are sorted when an iteration needs it: most contracts are never
/// iterated.
#[derive(Default)]
struct Changed {
    ordered: BTreeSet<StorageKey>,
    others: Vec<StorageKey>,
}

/// The newest value of a key.
struct Newest {
    value: Option<Value>,
    /// Changed since the last flush began; otherwise the layers below have the same value.
    is_changed: bool,
}

/// Limit of cached values that were only read.
const MAX_READ_VALUES: usize = 1 << 16;

/// A range of storage keys of one contract.
pub(super) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Some pairs of a range, in the direction of the iteration.
pub(super) struct Page {
    pub(super) entries: Vec<(StorageKey, Value)>,
    /// The last visited key; it may be deleted.
    pub(super) last: Option<StorageKey>,
    /// The range has no more pairs.
    pub(super) done: bool,
}

type Changes<'a> = Box<dyn Iterator<Item = Change> + 'a>;

fn borrowed(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (range.0.as_ref().map(Vec::as_slice), range.1.as_ref().map(Vec::as_slice))
}

/// Reports whether a range is empty: `BTreeSet::range` panics for such a range.
pub(super) fn is_empty(range: &KeyRange) -> bool {
    match range {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
        _ => false,
    }
}

/// Reverses a forward iteration if the direction asks for it.
pub(super) fn in_direction<'a, T>(
    forwards: impl DoubleEndedIterator<Item = T> + 'a,
    direction: Direction,
) -> Box<dyn Iterator<Item = T> + 'a> {
    match direction {
        Direction::Forwards => Box::new(forwards),
        Direction::Backwards => Box::new(forwards.rev()),
    }
}

/// The changes of a layer in a range.
fn changes<'a>(layer: &'a Layer, range: &KeyRange, direction: Direction) -> Changes<'a> {
    if is_empty(range) {
        return Box::new(std::iter::empty());
    }
    let from = layer.partition_point(|(key, _)| match &range.0 {
        Bound::Included(low) => key.as_slice() < low.as_slice(),
        Bound::Excluded(low) => key.as_slice() <= low.as_slice(),
        Bound::Unbounded => false,
    });
    let to = layer.partition_point(|(key, _)| match &range.1 {
        Bound::Included(high) => key.as_slice() <= high.as_slice(),
        Bound::Excluded(high) => key.as_slice() < high.as_slice(),
        Bound::Unbounded => true,
    });
    in_direction(layer[from..to].iter().cloned(), direction)
}

impl Base {
    /// The state of a table as of its last commit.
    #[must_use]
    pub fn over(table: TableReader) -> Self {
        Self { table: Some(table), ..Self::default() }
    }

    /// Sets whether [`Base::apply`] returns the values that a block replaces.
    #[must_use]
    pub fn recording(self, records: bool) -> Self {
        Self { records_replaced: records, ..self }
    }

    /// Number of keys that changed since the last flush began.
    #[must_use]
    pub fn changed_keys(&self) -> usize {
        self.count
    }

    /// Applies the changes of a block. Returns the replaced values if they are recorded.
    ///
    /// # Errors
    /// Returns the error of the table if it cannot be read. No further block may be executed then.
    pub fn apply(
        &mut self,
        changes: &[Change],
    ) -> blockmill_store::Result<Option<Vec<Option<Value>>>> {
        let (newest, changed) = (self.newest.get_mut(), self.changed.get_mut());
        let mut replaced = self.records_replaced.then(|| Vec::with_capacity(changes.len()));
        for (key, value) in changes {
            let new = Newest { value: value.clone(), is_changed: true };
            let before = newest.insert(*key, new);
            if before.as_ref().is_none_or(|before| !before.is_changed) {
                changed.entry(key.id()).or_default().others.push(*key);
                self.count += 1;
            }
            if let Some(replaced) = &mut replaced {
                replaced.push(match before {
                    Some(before) => before.value,
                    None => search(self.flushing.as_deref(), self.table.as_ref(), key)?,
                });
            }
        }
        Ok(replaced)
    }

    /// Begins a flush. Returns the changes so far, which the caller puts into the table and
    /// commits.
    ///
    /// # Panics
    /// If the previous flush has not ended.
    pub fn begin_flush(&mut self) -> Arc<Layer> {
        assert!(self.flushing.is_none(), "one flush at a time");
        let newest = self.newest.get_mut();
        let changed = std::mem::take(self.changed.get_mut()).into_values();
        let keys = changed.flat_map(|keys| keys.ordered.into_iter().chain(keys.others));
        let layer = keys.filter_map(|key| {
            let newest = newest.get_mut(&key)?;
            newest.is_changed = false;
            Some((key, newest.value.clone()))
        });
        let mut layer: Layer = layer.collect();
        layer.sort_unstable_by(by_key);
        self.count = 0;
        let layer = Arc::new(layer);
        self.flushing = Some(Arc::clone(&layer));
        layer
    }

    /// Ends the flush: the table has its changes.
    pub fn end_flush(&mut self) {
        self.flushing = None;
    }

    /// The value of a key.
    ///
    /// # Errors
    /// Returns the error of the table if it cannot be read.
    pub fn get(&self, key: &StorageKey) -> blockmill_store::Result<Option<Value>> {
        if let Some(newest) = self.newest.borrow().get(key) {
            return Ok(newest.value.clone());
        }
        let value = search(self.flushing.as_deref(), self.table.as_ref(), key)?;
        let mut newest = self.newest.borrow_mut();
        if newest.len() >= self.count + MAX_READ_VALUES {
            newest.retain(|_, newest| newest.is_changed);
        }
        newest.insert(*key, Newest { value: value.clone(), is_changed: false });
        Ok(value)
    }

    /// The first pairs of a range in this direction, at most `limit`.
    pub(super) fn page(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> blockmill_store::Result<Page> {
        let (on_disk, is_whole) = self.on_disk(range, direction, limit)?;
        let disk: Changes<'_> = Box::new(on_disk.into_iter());
        let (newest, mut changed) = (self.newest.borrow(), self.changed.borrow_mut());
        let memory = in_memory(&newest, &mut changed, range, direction);
        let flushing = self.flushing.as_deref().map(|layer| changes(layer, range, direction));
        let sources = [memory].into_iter().chain(flushing).chain([disk]).collect();
        let mut merged = Merged::new(sources, direction);
        let (mut entries, mut last) = (Vec::new(), None);
        loop {
            // the table may have more after the last pair that was read
            if !is_whole && merged.is_at_end_of_last() {
                return Ok(Page { entries, last, done: false });
            }
            let Some((key, value)) = merged.next() else {
                return Ok(Page { entries, last, done: true });
            };
            last = Some(key);
            entries.extend(value.map(|value| (key, value)));
            if entries.len() == limit {
                return Ok(Page { entries, last, done: false });
            }
        }
    }

    /// The first pairs of a range in the table, in this direction, and whether there are no more.
    fn on_disk(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> blockmill_store::Result<(Vec<Change>, bool)> {
        let mut found = Vec::new();
        let Some(table) = self.table.as_ref().filter(|_| !is_empty(range)) else {
            return Ok((found, true));
        };
        let runs = table.snapshot();
        // the table holds storage keys only
        let change = |key: &[u8], value: &[u8]| {
            StorageKey::from_slice(key).map(|key| (key, Some(Value::from(value))))
        };
        // one more than the limit shows whether there are more
        match direction {
            Direction::Forwards => {
                let mut scan = runs.scan(borrowed(range))?;
                while found.len() <= limit
                    && let Some((key, value)) = scan.next()?
                {
                    found.extend(change(key, value));
                }
            }
            Direction::Backwards => {
                let last = runs.last(borrowed(range), limit + 1)?;
                found.extend(last.iter().filter_map(|(key, value)| change(key, value)));
            }
        }
        let is_whole = found.len() <= limit;
        found.truncate(limit);
        Ok((found, is_whole))
    }
}

/// Changes in a range since the last flush began.
fn in_memory<'a>(
    newest: &'a HashMap<StorageKey, Newest>,
    changed: &'a mut HashMap<i32, Changed>,
    range: &KeyRange,
    direction: Direction,
) -> Changes<'a> {
    let contract = match &range.0 {
        Bound::Included(low) | Bound::Excluded(low) => low.first_chunk(),
        Bound::Unbounded => None,
    };
    let keys = contract.and_then(|id| changed.get_mut(&i32::from_le_bytes(*id)));
    let Some(keys) = keys.filter(|_| !is_empty(range)) else {
        return Box::new(std::iter::empty());
    };
    keys.ordered.extend(keys.others.drain(..));
    let keys = keys.ordered.range::<[u8], _>(borrowed(range));
    let change = |key: &StorageKey| (*key, newest.get(key).and_then(|newest| newest.value.clone()));
    in_direction(keys.map(change), direction)
}

/// The value of a key that has not changed since the last flush began.
fn search(
    flushing: Option<&Layer>,
    table: Option<&TableReader>,
    key: &StorageKey,
) -> blockmill_store::Result<Option<Value>> {
    if let Some(layer) = flushing
        && let Ok(at) = layer.binary_search_by(|(other, _)| other.cmp(key))
    {
        return Ok(layer[at].1.clone());
    }
    let Some(table) = table else { return Ok(None) };
    let mut value = Vec::new();
    let live = table.snapshot().get(key.as_slice(), &mut value)?;
    Ok(live.then(|| value.into()))
}

/// Merges the changes of several layers in key order. Of each key the topmost change counts; the
/// layers are given top first.
pub(super) struct Merged<'a> {
    sources: Vec<std::iter::Peekable<Changes<'a>>>,
    direction: Direction,
}

impl<'a> Merged<'a> {
    pub(super) fn new(sources: Vec<Changes<'a>>, direction: Direction) -> Self {
        Self { sources: sources.into_iter().map(Iterator::peekable).collect(), direction }
    }

    /// Reports whether the lowest layer has no more changes.
    fn is_at_end_of_last(&mut self) -> bool {
        self.sources.last_mut().is_none_or(|last| last.peek().is_none())
    }
}

impl Iterator for Merged<'_> {
    type Item = (StorageKey, Option<Value>);

    fn next(&mut self) -> Option<Self::Item> {
        let direction = self.direction;
        let keys = self.sources.iter_mut().filter_map(|source| source.peek().map(|pair| pair.0));
        let first = keys.reduce(|first, key| match direction.is_before(&key, &first) {
            true => key,
            false => first,
        })?;
        let mut topmost = None;
        for source in &mut self.sources {
            let change = source.next_if(|(key, _)| *key == first);
            topmost = topmost.or(change);
        }
        topmost
    }
}
