//! A column family of RocksDB with the changes since the last commit in memory. Reads look at the
//! changes first.

use super::database::{Cursor, Database};
use blockmill_store::Result;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::sync::Arc;

/// A family of keys in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Values of accounts.
    Accounts,
    /// Values of slots.
    Slots,
    /// Nodes.
    Nodes,
    /// What a commit says of the three.
    Commits,
}

impl Family {
    /// Those of the state.
    pub const OF_STATE: [Self; 3] = [Self::Accounts, Self::Slots, Self::Nodes];
}

/// A change: the key and its new value; `None` if it is removed.
pub(super) type Write<'a> = (Family, &'a [u8], Option<&'a [u8]>);

/// Estimated bytes of a change besides its key and value.
const OVERHEAD: usize = 64;

/// See the module's text.
pub(in crate::state::flat_trie) struct BufferedFamily {
    database: Arc<Database>,
    family: Family,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Bytes of the changes.
    bytes: usize,
    /// Bytes of changes from which on a commit is due.
    most: usize,
}

impl BufferedFamily {
    pub(super) fn new(database: Arc<Database>, family: Family, most: usize) -> Self {
        Self { database, family, changes: BTreeMap::new(), bytes: 0, most }
    }

    pub fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match self.changes.get(key) {
            Some(Some(value)) => {
                out.extend_from_slice(value);
                Ok(true)
            }
            Some(None) => Ok(false),
            None => self.database.get(self.family, key, out),
        }
    }

    pub fn fetch<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let (mut places, mut below) = (vec![], vec![]);
        for (at, key) in keys.iter().enumerate() {
            match self.changes.get(key.as_ref()) {
                Some(value) => each(at, value.as_deref()),
                None => {
                    places.push(at);
                    below.push(key.as_ref());
                }
            }
        }
        self.database.fetch(self.family, &below, &mut |at, value| each(places[at], value))
    }

    pub fn scan_prefix(&self, prefix: &[u8]) -> Result<Merged<'_>> {
        let cursor = self.database.scan(self.family, prefix)?;
        let (from, prefix) = (prefix.to_vec(), prefix.to_vec());
        let changes = self.changes.range(from..);
        let within = changes.take_while(move |(key, _)| key.starts_with(&prefix));
        let changes: Changes<'_> = Box::new(within);
        Ok(Merged { cursor, changes: changes.peekable(), below: None, current: None })
    }

    /// Sets or removes a key.
    pub fn change(&mut self, key: &[u8], value: Option<&[u8]>) {
        let len = value.map_or(0, <[u8]>::len);
        match self.changes.insert(key.to_vec(), value.map(<[u8]>::to_vec)) {
            Some(before) => self.bytes = self.bytes + len - before.map_or(0, |value| value.len()),
            None => self.bytes += key.len() + len + OVERHEAD,
        }
    }

    pub(super) fn family(&self) -> Family {
        self.family
    }

    pub fn wants_flush(&self) -> bool {
        self.bytes >= self.most
    }

    /// The changes since the last commit.
    pub(super) fn changes(&self) -> impl Iterator<Item = Write<'_>> {
        self.changes.iter().map(|(key, value)| (self.family, &**key, value.as_deref()))
    }

    /// Forgets the changes, which are in the database.
    pub fn clear(&mut self) {
        self.changes.clear();
        self.bytes = 0;
    }
}

type Changes<'a> = Box<dyn Iterator<Item = (&'a Vec<u8>, &'a Option<Vec<u8>>)> + 'a>;
type Pair = (Vec<u8>, Vec<u8>);

/// Pairs of the database and of the changes, in the order of their keys.
pub(in crate::state::flat_trie) struct Merged<'a> {
    cursor: Cursor<'a>,
    changes: Peekable<Changes<'a>>,
    /// The next pair of the database, once it was read.
    below: Option<Pair>,
    /// What was given out last, if it was the database's.
    current: Option<Pair>,
}

impl Merged<'_> {
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        loop {
            if self.below.is_none() {
                self.below = self.cursor.next()?;
            }
            let below = self.below.as_ref().map(|(key, _)| key);
            let is_first = |key: &Vec<u8>| below.is_none_or(|below| key <= below);
            let Some((key, value)) = self.changes.next_if(|(key, _)| is_first(key)) else {
                self.current = self.below.take();
                return Ok(self.current.as_ref().map(|(key, value)| (&**key, &**value)));
            };
            if below == Some(key) {
                self.below = None;
            }
            if let Some(value) = value {
                return Ok(Some((key, value)));
            }
        }
    }
}
