//! What lies below the block that is executed: changes in memory, and a table on disk.

use super::find::Direction;
use super::{Change, StorageKey, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use store::TableReader;

/// Changes by key; without a value the key is gone.
pub type Layer = BTreeMap<StorageKey, Option<Value>>;

/// What lies below the block that is executed.
#[derive(Default)]
pub struct Base {
    /// Changes of blocks since the last flush began.
    memory: Layer,
    /// Changes that are being written to disk. They count until the table has them.
    flushing: Option<Arc<Layer>>,
    table: Option<TableReader>,
    /// The newest values, as far as they were asked for or changed: one look instead of a search
    /// through all of these, also for keys that there are not.
    newest: RefCell<HashMap<StorageKey, Option<Value>>>,
}

/// The most newest values: some 30 MiB.
const NEWEST: usize = 1 << 17;

/// A range of keys, of id and key in one.
pub(super) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Some pairs of a range, in the order that was asked for.
pub(super) struct Page {
    pub(super) entries: Vec<(StorageKey, Value)>,
    /// The last key that was looked at; it may be one that is gone.
    pub(super) last: Option<StorageKey>,
    /// There are no more.
    pub(super) done: bool,
}

type Changes<'a> = Box<dyn Iterator<Item = Change> + 'a>;

fn borrowed(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (range.0.as_ref().map(Vec::as_slice), range.1.as_ref().map(Vec::as_slice))
}

/// Does the range have no key at all? Then `BTreeMap::range` may not be asked.
fn is_empty(range: &KeyRange) -> bool {
    match range {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
        _ => false,
    }
}

/// The changes of a layer in a range.
pub(super) fn changes<'a>(layer: &'a Layer, range: &KeyRange, direction: Direction) -> Changes<'a> {
    if is_empty(range) {
        return Box::new(std::iter::empty());
    }
    let changes = layer.range::<[u8], _>(borrowed(range));
    let changes = changes.map(|(key, value)| (*key, value.clone()));
    match direction {
        Direction::Forwards => Box::new(changes),
        Direction::Backwards => Box::new(changes.rev()),
    }
}

impl Base {
    /// Over a table, whose runs are read as of the last commit.
    #[must_use]
    pub fn over(table: TableReader) -> Self {
        Self { table: Some(table), ..Self::default() }
    }

    /// How many keys have changed since the last flush began.
    #[must_use]
    pub fn changed_keys(&self) -> usize {
        self.memory.len()
    }

    /// Takes in the changes of a block.
    pub fn apply(&mut self, changes: Layer) {
        let newest = self.newest.get_mut();
        if newest.len() + changes.len() > NEWEST {
            newest.clear();
        }
        newest.extend(changes.iter().map(|(key, value)| (*key, value.clone())));
        match self.memory.is_empty() {
            true => self.memory = changes,
            false => self.memory.extend(changes),
        }
    }

    /// A flush begins: what has changed so far, to be put into the table and committed.
    ///
    /// # Panics
    /// When the flush before has not ended.
    pub fn begin_flush(&mut self) -> Arc<Layer> {
        assert!(self.flushing.is_none(), "one flush at a time");
        let layer = Arc::new(std::mem::take(&mut self.memory));
        self.flushing = Some(Arc::clone(&layer));
        layer
    }

    /// The table has what the flush was for.
    pub fn end_flush(&mut self) {
        self.flushing = None;
    }

    /// The value under a key.
    ///
    /// # Errors
    /// Those of reading the table.
    pub fn get(&self, key: &StorageKey) -> store::Result<Option<Value>> {
        if let Some(newest) = self.newest.borrow().get(key) {
            return Ok(newest.clone());
        }
        let value = self.search(key)?;
        let mut newest = self.newest.borrow_mut();
        if newest.len() >= NEWEST {
            newest.clear();
        }
        newest.insert(*key, value.clone());
        Ok(value)
    }

    /// The value under a key, from the uppermost layer that has one.
    fn search(&self, key: &StorageKey) -> store::Result<Option<Value>> {
        let memory = [Some(&self.memory), self.flushing.as_deref()];
        if let Some(change) = memory.into_iter().flatten().find_map(|layer| layer.get(key)) {
            return Ok(change.clone());
        }
        let Some(table) = &self.table else { return Ok(None) };
        let mut value = Vec::new();
        let live = table.snapshot().get(key.as_slice(), &mut value)?;
        Ok(live.then(|| value.into()))
    }

    /// Up to `limit` pairs of a range, the first in this direction.
    pub(super) fn page(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> store::Result<Page> {
        let (on_disk, is_whole) = self.on_disk(range, direction, limit)?;
        let disk: Changes<'_> = Box::new(on_disk.into_iter());
        let memory = [Some(&self.memory), self.flushing.as_deref()].into_iter().flatten();
        let sources = memory.map(|layer| changes(layer, range, direction)).chain([disk]).collect();
        let mut merged = Merged::new(sources, direction);
        let (mut entries, mut last) = (Vec::new(), None);
        loop {
            // behind the last one that was read, the disk may have others
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

    /// The first pairs of a range that the table has, in this direction, and whether they are all.
    fn on_disk(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> store::Result<(Vec<Change>, bool)> {
        let mut found = Vec::new();
        let Some(table) = self.table.as_ref().filter(|_| !is_empty(range)) else {
            return Ok((found, true));
        };
        let runs = table.snapshot();
        // nothing else is put into this table
        let change = |key: &[u8], value: &[u8]| {
            StorageKey::from_slice(key).map(|key| (key, Some(Value::from(value))))
        };
        // one more than asked for tells whether there are others
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

/// Changes of several layers in order, of each key the uppermost; the layers come from above.
pub(super) struct Merged<'a> {
    sources: Vec<std::iter::Peekable<Changes<'a>>>,
    direction: Direction,
}

impl<'a> Merged<'a> {
    pub(super) fn new(sources: Vec<Changes<'a>>, direction: Direction) -> Self {
        Self { sources: sources.into_iter().map(Iterator::peekable).collect(), direction }
    }

    /// Has the lowest layer no more?
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
        let mut uppermost = None;
        for source in &mut self.sources {
            let change = source.next_if(|(key, _)| *key == first);
            uppermost = uppermost.or(change);
        }
        uppermost
    }
}
