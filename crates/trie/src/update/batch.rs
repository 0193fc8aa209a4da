//! The changes of a block in the order of tries and keys.

use super::error::Error;
use super::records::{LONGEST_VALUE, VALUE};
use super::{TrieId, Update};
use crate::codec::Codec;
use crate::nibbles::nibble;

/// Half-bytes in [`Entry::prefix`].
const PREFIX: usize = 16;

/// A change in order.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub trie: u32,
    /// Its index in the caller's list.
    pub index: u32,
    /// The first bytes of its key, big endian, padded with zeros.
    prefix: u64,
}

/// The order of a block's changes. Its buffer is used again and again.
#[derive(Debug, Default)]
pub struct Batch {
    pub order: Vec<Entry>,
    /// Whether every key has at least the length of a prefix.
    long: bool,
}

/// The slot of a branch at `depth` through which the key leads.
#[inline(always)]
pub fn slot_of(key: &[u8], depth: usize) -> u8 {
    if depth >= 2 * key.len() { VALUE } else { nibble(key, depth) }
}

impl Batch {
    /// Sorts the changes by trie and key. Of several of one key the last counts.
    pub fn sort<C: Codec>(&mut self, updates: &[Update<'_>], tries: usize) -> Result<(), Error> {
        self.order.clear();
        self.long = true;
        if u32::try_from(updates.len()).is_err() {
            return Err(Error::TooMany);
        }
        self.order.reserve(updates.len());
        for (index, update) in updates.iter().enumerate() {
            let TrieId(trie) = update.trie;
            if trie as usize >= tries {
                return Err(Error::NoTrie(trie));
            }
            let key = update.key;
            if key.len() > C::MAX_KEY {
                return Err(Error::KeyTooLong { limit: C::MAX_KEY, found: key.len() });
            }
            if let Some(value) = update.value {
                let (least, most) = C::VALUE_LENGTHS;
                let most = most.min(LONGEST_VALUE);
                if !(least..=most).contains(&value.len()) {
                    return Err(Error::ValueLength { least, most, found: value.len() });
                }
            }
            let prefix = key.first_chunk().map_or_else(
                || {
                    self.long = false;
                    let mut bytes = [0; PREFIX / 2];
                    bytes[..key.len()].copy_from_slice(key);
                    u64::from_be_bytes(bytes)
                },
                |bytes| u64::from_be_bytes(*bytes),
            );
            self.order.push(Entry { trie, index: index as u32, prefix });
        }
        let key = |entry: &Entry| updates[entry.index as usize].key;
        self.order.sort_unstable_by(|a, b| {
            (a.trie, a.prefix)
                .cmp(&(b.trie, b.prefix))
                .then_with(|| key(a).cmp(key(b)))
                .then(a.index.cmp(&b.index))
        });
        self.order.dedup_by(|later, kept| {
            let same =
                (later.trie, later.prefix) == (kept.trie, kept.prefix) && key(later) == key(kept);
            if same {
                *kept = *later;
            }
            same
        });
        Ok(())
    }

    /// The slot of a branch at `depth` through which change `at` leads.
    #[inline(always)]
    pub fn slot(&self, at: u32, depth: usize, updates: &[Update<'_>]) -> u8 {
        let entry = &self.order[at as usize];
        if self.long && depth < PREFIX {
            (entry.prefix >> (4 * (PREFIX - 1 - depth)) & 15) as u8
        } else {
            slot_of(updates[entry.index as usize].key, depth)
        }
    }
}
