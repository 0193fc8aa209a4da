//! Changing tries: leaves are merged into their cells; cells become branches and branches cells; a
//! branch with a single child is replaced by it. Changed references become pending.

use std::borrow::Cow;

use blockmill_trie::{
    EMPTY_ROOT,
    codec::{Codec, Ethereum},
    nibbles::{common_prefix, nibble},
};

use super::{
    Pages,
    branches::{Below, Branch, Child},
    cell::{self, ACCOUNTS, Entry, FEW, Place, Record, by_nibble},
    descent::Upcoming,
    files::CellBytes,
    read::{Found, append},
};
use blockmill_store::{Result, part::mismatch};

/// The change of a leaf.
#[derive(Debug)]
pub(super) struct Leaf<'a> {
    pub key: [u8; 32],
    pub what: What<'a>,
}

#[derive(Debug)]
pub(super) enum What<'a> {
    Remove,
    Set {
        /// The new value; `None` if it stays.
        value: Option<&'a [u8]>,
        /// Of an account: the storage root, and the slots in its entry; `None` if they stay.
        storage: Option<([u8; 32], Vec<u8>)>,
    },
}

/// Distance of the storage root from the end of an account's value: after the prefix of a string of
/// 32 bytes, and before the code hash, which ends the value.
const ROOT_FROM_END: usize = 65;
/// Before that hash.
const AFTER_ROOT: usize = 33;

/// Returns whether the value of an account ends as defined by Yellow Paper 4.1.
pub(super) fn is_account(value: &[u8]) -> bool {
    let prefix = |from_end: usize| {
        value.len().checked_sub(from_end).and_then(|at| value.get(at)) == Some(&0xa0)
    };
    prefix(ROOT_FROM_END + 1) && prefix(AFTER_ROOT)
}

impl Leaf<'_> {
    /// The entry after this change of the entry `old`; `None` if it is removed.
    fn entry<'e>(&'e self, trie: u32, old: Option<&Entry<'e>>) -> Result<Option<Entry<'e>>> {
        let What::Set { value, storage } = &self.what else { return Ok(None) };
        if trie != ACCOUNTS {
            return Ok(value.map(|value| Entry::slot(self.key, value)));
        }
        let mut whole = vec![];
        let before = old.map(|old| {
            append(old, &mut whole);
            std::mem::take(&mut whole)
        });
        let nested = match (storage, old) {
            (Some((_, nested)), _) => Cow::Borrowed(&nested[..]),
            (None, Some(old)) => old.nested.clone(),
            (None, None) => Cow::Borrowed(&[][..]),
        };
        let Some(value) = value.or(before.as_deref()) else {
            return match storage {
                Some((EMPTY_ROOT, _)) | None => Ok(None),
                Some(_) => {
                    Err(mismatch("slots", "those of an account", blockmill_verdict::Hex(&self.key)))
                }
            };
        };
        let root = |value: &[u8]| value[value.len() - ROOT_FROM_END..].first_chunk().copied();
        let kept = before.as_deref().filter(|old| is_account(old)).and_then(root);
        let root = storage.as_ref().map_or(kept.unwrap_or(EMPTY_ROOT), |(root, _)| *root);
        let mut value = value.to_vec();
        let at = value.len().saturating_sub(ROOT_FROM_END);
        if let Some(place) = value[at..].first_chunk_mut() {
            *place = root;
        }
        let cut = value.ends_with(Ethereum::COMMON_TAIL);
        if cut {
            value.truncate(value.len() - Ethereum::COMMON_TAIL.len());
        }
        Ok(Some(Entry { key: self.key, value: Cow::Owned(value), cut, nested }))
    }
}

/// The entries of a cell after `leaves`, which are in order like them; whether anything changed.
pub(super) fn merge<'e>(
    trie: u32,
    old: impl Iterator<Item = Entry<'e>>,
    leaves: &'e [Leaf<'_>],
) -> Result<(Vec<Entry<'e>>, bool)> {
    let (mut merged, mut changed) = (vec![], false);
    let mut old = old.peekable();
    for leaf in leaves {
        while let Some(entry) = old.next_if(|entry| entry.key < leaf.key) {
            merged.push(entry);
        }
        let before = old.next_if(|entry| entry.key == leaf.key);
        let after = leaf.entry(trie, before.as_ref())?;
        changed |= match (&before, &after) {
            (None, None) => false,
            (Some(a), Some(b)) => (&a.value, a.cut, &a.nested) != (&b.value, b.cut, &b.nested),
            _ => true,
        };
        merged.extend(after);
    }
    merged.extend(old);
    Ok((merged, changed))
}

/// The record of a cell in which one existing slot gets another value. This is the most frequent
/// change, and it does not decode the other entries. `None` for other changes.
fn with_another_value(record: &[u8], whole: Record<'_>, leaves: &[Leaf<'_>]) -> Option<Box<[u8]>> {
    let [Leaf { key, what: What::Set { value: Some(value), storage: None } }] = leaves else {
        return None;
    };
    let (at, old) = whole.find(key).filter(|_| whole.trie != ACCOUNTS)?;
    let is_other = old.value != *value || old.cut;
    is_other.then(|| cell::with_value(record, at, value)).flatten()
}

/// A key with another nibble at `at`.
pub(super) fn with_nibble(mut key: [u8; 32], at: usize, half: u8) -> [u8; 32] {
    let shift = 4 * (1 - at % 2);
    key[at / 2] = key[at / 2] & !(15 << shift) | half << shift;
    key
}

impl Pages {
    /// Changes leaves of a trie, which are in order.
    pub(super) fn change(&mut self, trie: u32, leaves: &[Leaf<'_>]) -> Result<()> {
        if !leaves.is_empty() {
            let top = self.tries[trie as usize].top;
            let mut upcoming = Upcoming { trie, rest: leaves };
            self.tries[trie as usize].top = self.change_at(trie, top, 0, leaves, &mut upcoming)?.0;
        }
        Ok(())
    }

    /// Changes leaves at and below a child that hangs `depth` nibbles below the root. The new
    /// child, and whether it is another one.
    fn change_at(
        &mut self,
        trie: u32,
        child: Option<Child>,
        depth: usize,
        leaves: &[Leaf<'_>],
        upcoming: &mut Upcoming<'_>,
    ) -> Result<(Option<Child>, bool)> {
        let Some(child) = child else {
            let (entries, changed) = merge(trie, std::iter::empty(), leaves)?;
            return Ok((self.put(trie, depth, &entries)?, changed));
        };
        let place = Place { trie, key: leaves[0].key, depth };
        if child.count() > 0 {
            self.prefetch_upcoming(upcoming, &place.key);
        }
        let is_evicted = child.is_evicted();
        let child = self.load(&place, child)?;
        let record = match child.below() {
            Below::Branch(at) => {
                let (after, changed) = self.change_branch(&place, child, at, leaves, upcoming)?;
                // a branch that was loaded counts as changed, so that the next commit writes its
                // new location
                return Ok((after, changed || is_evicted));
            }
            Below::Evicted(page) => return Err(mismatch("branch", "one in memory", page)),
            Below::Buffer(at) => CellBytes::Own(self.buffer.take(at)?),
            Below::Page(page) => self.files.record(&place, page, &child)?,
        };
        let whole = Record::new(&record).ok_or_else(|| mismatch("cell", "a record", "none"))?;
        if let Some(changed) = with_another_value(&record, whole, leaves) {
            if let Below::Page(page) = child.below() {
                self.files.release(page, child.bytes());
            }
            let (count, bytes) = (child.count(), changed.len());
            return Ok((Some(Child::buffered(self.buffer.put(changed)?, count, bytes)), true));
        }
        let (entries, changed) = merge(trie, whole.entries(), leaves)?;
        if changed {
            if let Below::Page(page) = child.below() {
                self.files.release(page, child.bytes());
            }
            return Ok((self.put(trie, depth, &entries)?, true));
        }
        drop(entries);
        let same = match record {
            CellBytes::Own(record) => child.in_buffer(self.buffer.put(record)?),
            CellBytes::InPage(..) => child,
        };
        Ok((Some(same), false))
    }

    /// Makes entries, which are in order, a cell, or a branch over cells.
    pub(super) fn put(
        &mut self,
        trie: u32,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<Option<Child>> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(None) };
        if cell::fits(trie, depth, entries) {
            let record = cell::encode(&Place { trie, key: first.key, depth }, entries);
            let bytes = record.len();
            return Ok(Some(Child::buffered(self.buffer.put(record)?, entries.len(), bytes)));
        }
        let parting = common_prefix(&first.key, &last.key);
        let path: Vec<u8> = (depth..parting).map(|at| nibble(&first.key, at)).collect();
        let mut branch = Branch::new(&path);
        for (nibble, group) in by_nibble(entries, parting, |entry| &entry.key) {
            branch.set(nibble, self.put(trie, parting + 1, group)?);
        }
        self.add(branch).map(Some)
    }

    pub(super) fn add(&mut self, branch: Branch) -> Result<Child> {
        let at = self.arena.add(branch);
        at.map(Child::branch).ok_or_else(|| mismatch("branches", "less than 2^32", "more"))
    }

    /// [`change_at`](Self::change_at) a branch.
    fn change_branch(
        &mut self,
        place: &Place,
        child: Child,
        at: u32,
        leaves: &[Leaf<'_>],
        upcoming: &mut Upcoming<'_>,
    ) -> Result<(Option<Child>, bool)> {
        let (trie, depth) = (place.trie, place.depth);
        let path = self.arena.get(at).path.clone();
        let shared = |leaf: &Leaf<'_>| {
            path.iter()
                .zip(depth..)
                .take_while(|(half, at)| nibble(&leaf.key, *at) == **half)
                .count()
        };
        let is_new = |leaf: &&Leaf<'_>| !matches!(leaf.what, What::Remove);
        let least = leaves.iter().filter(is_new).map(shared).min().unwrap_or(path.len());
        if least < path.len() {
            // a key parts from the others on the way to the branch: there is one above it now
            self.arena.get_mut(at).path = path[least + 1..].into();
            let mut above = Branch::new(&path[..least]);
            above.set(path[least], Some(Child::branch(at)));
            let above = self.add(above)?;
            let Below::Branch(at) = above.below() else { return Ok((Some(above), true)) };
            return self.change_branch(place, above, at, leaves, upcoming);
        }
        let first = leaves.iter().position(|leaf| shared(leaf) == path.len());
        let leaves = &leaves[first.unwrap_or(leaves.len())..];
        let count = leaves.iter().take_while(|leaf| shared(leaf) == path.len()).count();
        let leaves = &leaves[..count];
        let Some(first) = leaves.first() else { return Ok((Some(child), child.is_pending())) };
        let parting = depth + path.len();
        let mut changed = child.is_pending();
        for (nibble, group) in by_nibble(leaves, parting, |leaf| &leaf.key) {
            let before = self.arena.get(at).get(nibble).copied();
            let (after, is_other) = self.change_at(trie, before, parting + 1, group, upcoming)?;
            self.arena.get_mut(at).set(nibble, after);
            changed |= is_other;
        }
        match changed {
            true => Ok((self.normalize_branch(&Place { key: first.key, ..*place }, at)?, true)),
            false => Ok((Some(child), false)),
        }
    }

    /// Keeps a branch whose children changed, or replaces it by a cell or its only child.
    fn normalize_branch(&mut self, place: &Place, at: u32) -> Result<Option<Child>> {
        let Place { trie, key, depth } = *place;
        let branch = self.arena.get(at);
        let (mut some, mut total, mut has_branch) = (0, 0, false);
        for (_, child) in branch.children() {
            (some, total) = (some + 1, total + child.count());
            // one in a page counts for more than a cell can have
            has_branch |= child.count() == 0;
        }
        if some > 1 && (total > FEW || has_branch) {
            return Ok(Some(Child::branch(at)));
        }
        let parting = depth + branch.path.len();
        let found = |(nibble, child): (u8, &Child)| {
            let key = with_nibble(key, parting, nibble);
            Found { place: Place { trie, key, depth: parting + 1 }, child: *child }
        };
        let children: Vec<_> = branch.children().map(found).collect();
        match &children[..] {
            [] => {
                self.arena.take(at);
                return Ok(None);
            }
            [only] => {
                let child = self.load(&only.place, only.child)?;
                if let Below::Branch(below) = child.below() {
                    let above = self.arena.take(at).path;
                    let between = nibble(&only.place.key, parting);
                    let below_it = self.arena.get_mut(below);
                    below_it.path =
                        [&above[..], &[between][..], &below_it.path[..]].concat().into();
                    return Ok(Some(Child::branch(below)));
                }
            }
            _ => {}
        }
        let records = children.iter().map(|found| self.peek(found)).collect::<Result<Vec<_>>>()?;
        let all = records.iter().filter_map(|record| Record::new(record));
        let entries: Vec<_> = all.flat_map(Record::entries).collect();
        if children.len() > 1 && !cell::fits(trie, depth, &entries) {
            return Ok(Some(Child::branch(at)));
        }
        self.arena.take(at);
        children.iter().try_for_each(|found| self.forget(&found.child))?;
        self.put(trie, depth, &entries)
    }

    /// Removes everything at and below a place.
    pub(super) fn clear(&mut self, found: &Found) -> Result<()> {
        let Some(children) = self.children(found)? else { return self.forget(&found.child) };
        match found.child.below() {
            Below::Branch(at) => _ = self.arena.take(at),
            Below::Evicted(page) => self.files.release(page, found.child.bytes()),
            Below::Page(_) | Below::Buffer(_) => {}
        }
        children.iter().try_for_each(|child| self.clear(child))
    }
}
