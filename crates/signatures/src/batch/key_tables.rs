//! Selects the keys that get tables.
//!
//! A table pays off for a key that signs often: building one alone costs the savings of some thirty
//! verifications, and less if sixteen are built at once. So keys that come and go can at most
//! double the cost of their verification, which is then still a fraction of the library's time.
//!
//! Sightings are counted in a small table of fixed size, in which keys that share a set decrease
//! each other's count. When no memory is left, a key replaces the one that was absent for the
//! longest time, if that is longer than the new key took for all its sightings. So regular keys
//! keep their tables, however many others pass by.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError, RwLock};

use super::{EcdsaCheck, Key};
use crate::lanes::BATCH;
use crate::lanes::key_table::KeyTable;
use crate::lanes::limb::{LANES, Mask};

/// Valid signatures that a key shows before it gets a table.
const SIGHTINGS: u32 = 32;
/// Sets of the table of sightings, of 64 KiB.
const SETS: usize = 1024;
/// Keys that a set counts.
const WAYS: usize = 4;

/// Tables of keys that sign repeatedly, to verify their signatures faster. Threads share them; no
/// thread waits while one is built.
///
/// The tables take `max_bytes` at most, in pieces of 86 KiB. Building one takes about the time of
/// four verifications by the library, and happens only after 32 valid signatures of its key.
///
/// ```
/// use blockmill_hashes::sha256;
/// use blockmill_signatures::{EcdsaCheck, Key, KeyTables, Signatures};
///
/// // a check that is not valid earns no table
/// let (digest, key) = (sha256(b"a block"), Key::Compressed([2; 33]));
/// let check = EcdsaCheck { digest, r: [1; 32], s: [1; 32], key };
/// let tables = KeyTables::new(1 << 20);
/// let mut valid = [true];
/// Signatures::detect().p256(&[check], &tables, &mut valid);
/// assert_eq!((valid, tables.keys()), ([false], 0));
/// ```
pub struct KeyTables {
    most: usize,
    /// Random, so that nobody can prepare keys that displace each other.
    hasher: RandomState,
    /// Checks so far: the time.
    clock: AtomicU64,
    held: RwLock<Held>,
    sightings: Mutex<Box<[[Sighting; WAYS]]>>,
}

#[derive(Default)]
struct Held {
    slots: Vec<Slot>,
    /// The slot of a key by its hash.
    index: HashMap<u64, usize>,
    /// Number of tables that are being built.
    reserved: usize,
}

struct Slot {
    key: Key,
    hash: u64,
    table: Arc<KeyTable>,
    /// Time of the last use.
    used: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct Sighting {
    /// Some bits of the hash of the key that is counted here.
    tag: u32,
    count: u32,
    /// Time of the first sighting.
    since: u64,
}

/// Room for tables that are being built. It is returned when they are complete, or when this is
/// dropped, so that a panic during the construction does not lose it.
struct Reserved<'a> {
    held: &'a RwLock<Held>,
    tables: usize,
}

impl Reserved<'_> {
    /// Gives all of it back to `held`, what the lock guards.
    fn give_back(mut self, held: &mut Held) {
        held.reserved -= mem::take(&mut self.tables);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if self.tables > 0 {
            self.held.write().unwrap_or_else(PoisonError::into_inner).reserved -= self.tables;
        }
    }
}

/// A key that is worth a table.
struct Candidate {
    key: Key,
    hash: u64,
    /// Time between its first and its last sighting.
    period: u64,
}

/// No table.
const NONE: u16 = u16::MAX;

/// The tables for the checks of a batch.
pub(crate) struct Found {
    tables: [Option<Arc<KeyTable>>; BATCH],
    /// The index of the table of each check.
    of: [u16; BATCH],
    hashes: [u64; BATCH],
}

impl Found {
    /// The table of the key of check `i`.
    pub(crate) fn table(&self, i: usize) -> Option<&KeyTable> {
        self.tables.get(usize::from(self.of[i]))?.as_deref()
    }
}

impl fmt::Debug for KeyTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTables").field("most", &self.most).finish_non_exhaustive()
    }
}

impl KeyTables {
    /// Creates tables that use at most `max_bytes`; with 0 no key gets a table.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        let most = max_bytes / KeyTable::BYTES;
        let sets = if most == 0 { 0 } else { SETS };
        KeyTables {
            most,
            hasher: RandomState::new(),
            clock: AtomicU64::new(0),
            held: RwLock::default(),
            sightings: Mutex::new(vec![[Sighting::default(); WAYS]; sets].into()),
        }
    }

    /// Number of keys with tables.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.held.read().unwrap_or_else(PoisonError::into_inner).slots.len()
    }

    /// The tables for a batch. Those that are found stay whole until the result is dropped.
    pub(crate) fn find(&self, checks: &[EcdsaCheck]) -> Found {
        let mut found =
            Found { tables: [const { None }; BATCH], of: [NONE; BATCH], hashes: [0; BATCH] };
        if self.most == 0 {
            return found;
        }
        for (check, hash) in checks.iter().zip(&mut found.hashes) {
            *hash = self.hasher.hash_one(check.key);
        }
        let now = self.clock.fetch_add(checks.len() as u64, Ordering::Relaxed);
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if held.slots.is_empty() {
            return found;
        }
        // the table of a slot is looked up once: its index, by the lowest bits of the slot's number
        let (mut taken, mut recent) = (0, [(usize::MAX, NONE); BATCH]);
        for ((check, hash), of) in checks.iter().zip(found.hashes).zip(&mut found.of) {
            let Some(&at) = held.index.get(&hash) else { continue };
            let Some(slot) = held.slots.get(at).filter(|slot| slot.key == check.key) else {
                continue;
            };
            let recent = &mut recent[at % BATCH];
            if recent.0 != at {
                slot.used.store(now, Ordering::Relaxed);
                found.tables[taken] = Some(Arc::clone(&slot.table));
                *recent = (at, taken as u16);
                taken += 1;
            }
            *of = recent.1;
        }
        found
    }

    /// Counts the valid signatures of keys without tables, and makes tables for keys that have
    /// shown enough: `make` fills them and returns which ones are of no use.
    pub(crate) fn learn(
        &self,
        checks: &[EcdsaCheck],
        found: &Found,
        valid: &[bool],
        make: impl Fn(&[Key], &mut [KeyTable]) -> Mask,
    ) {
        if self.most == 0 {
            return;
        }
        let is_known = |i: usize| !valid[i] || found.of[i] != NONE;
        if (0..checks.len()).all(is_known) {
            return;
        }
        let candidates = self.count(checks, found, valid);
        let (mut keys, mut tables, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        let mut reserved = Reserved { held: &self.held, tables: 0 };
        for candidate in candidates {
            if let Some(table) = self.reserve(&candidate) {
                reserved.tables += 1;
                keys.push(candidate.key);
                hashes.push(candidate.hash);
                tables.push(table.unwrap_or_else(KeyTable::empty));
            }
        }
        if keys.is_empty() {
            return;
        }
        let useless = make(&keys, &mut tables);
        let now = self.clock.load(Ordering::Relaxed);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        reserved.give_back(&mut held);
        for (i, ((key, hash), table)) in keys.into_iter().zip(hashes).zip(tables).enumerate() {
            if useless >> i & 1 == 0 && !held.index.contains_key(&hash) {
                let at = held.slots.len();
                held.index.insert(hash, at);
                let used = AtomicU64::new(now);
                held.slots.push(Slot { key, hash, table: Arc::new(table), used });
            }
        }
    }

    /// Counts the keys and returns those that were seen often enough.
    fn count(&self, checks: &[EcdsaCheck], found: &Found, valid: &[bool]) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        let now = self.clock.load(Ordering::Relaxed);
        let mut sightings = self.sightings.lock().unwrap_or_else(PoisonError::into_inner);
        for (i, check) in checks.iter().enumerate() {
            if !valid[i] || found.of[i] != NONE {
                continue;
            }
            let (hash, key) = (found.hashes[i], check.key);
            let set = &mut sightings[hash as usize % SETS];
            let Some(sighting) = count_in(set, (hash >> 32) as u32, now) else { continue };
            // a key that finds no place now comes with its next signature
            if sighting.count >= SIGHTINGS && candidates.len() < LANES {
                let period = now - sighting.since.min(now);
                sighting.count = 0;
                if candidates.iter().all(|candidate| candidate.key != key) {
                    candidates.push(Candidate { key, hash, period });
                }
            }
        }
        candidates
    }

    /// Room for a table, with the table of the key that it replaces; `None` if there is no room, or
    /// the key has a table.
    fn reserve(&self, candidate: &Candidate) -> Option<Option<KeyTable>> {
        let now = self.clock.load(Ordering::Relaxed);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if held.index.contains_key(&candidate.hash) {
            return None;
        }
        if held.slots.len() + held.reserved < self.most {
            held.reserved += 1;
            return Some(None);
        }
        let used = |slot: &Slot| slot.used.load(Ordering::Relaxed);
        let (at, oldest) = held.slots.iter().enumerate().min_by_key(|(_, slot)| used(slot))?;
        // a table in use is not to be changed, nor counted out while it takes memory
        if now - used(oldest).min(now) <= candidate.period || Arc::strong_count(&oldest.table) > 1 {
            return None;
        }
        let oldest = held.slots.swap_remove(at);
        held.index.remove(&oldest.hash);
        if let Some(moved) = held.slots.get(at).map(|slot| slot.hash) {
            held.index.insert(moved, at);
        }
        held.reserved += 1;
        Some(Arc::into_inner(oldest.table))
    }
}

/// Counts a sighting of the key with this tag, if the set has a place for it. If not, the key that
/// is least likely to earn a table loses a sighting.
fn count_in(set: &mut [Sighting; WAYS], tag: u32, now: u64) -> Option<&mut Sighting> {
    let known = set.iter().position(|sighting| sighting.count > 0 && sighting.tag == tag);
    let place = known.or_else(|| set.iter().position(|sighting| sighting.count == 0));
    let Some(place) = place else {
        let least = set.iter_mut().min_by_key(|sighting| sighting.count)?;
        least.count -= 1;
        return None;
    };
    let sighting = &mut set[place];
    if sighting.count == 0 {
        *sighting = Sighting { tag, count: 0, since: now };
    }
    sighting.count = sighting.count.saturating_add(1);
    Some(sighting)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts repeated sightings of the keys with these tags; returns the final counts.
    fn sightings(tags: &[u32], rounds: u32) -> [Sighting; WAYS] {
        let mut set = [Sighting::default(); WAYS];
        for round in 0..rounds {
            for tag in tags {
                count_in(&mut set, *tag, round.into());
            }
        }
        set
    }

    #[test]
    fn keys_of_one_set_are_counted_side_by_side() {
        for sighting in sightings(&[7, 8, 9, 10], 31) {
            assert_eq!(sighting.count, 31);
            assert_eq!(sighting.since, 0);
        }
    }

    #[test]
    fn a_key_that_comes_often_is_counted_among_many_that_come_once() {
        let mut set = [Sighting::default(); WAYS];
        for i in 0..100 {
            count_in(&mut set, 1_000 + i, i.into());
            count_in(&mut set, 5, i.into());
        }
        assert!(set.iter().any(|sighting| sighting.tag == 5 && sighting.count >= SIGHTINGS));
    }

    #[test]
    fn a_panic_while_a_table_is_made_leaves_room_for_the_next() {
        let tables = KeyTables::new(KeyTable::BYTES);
        let check = |key| EcdsaCheck {
            digest: [0; 32],
            r: [0; 32],
            s: [0; 32],
            key: Key::Compressed([key; 33]),
        };
        let learn = |key, make: &dyn Fn() -> Mask| {
            let checks = [check(key); SIGHTINGS as usize];
            let valid = [true; SIGHTINGS as usize];
            tables.learn(&checks, &tables.find(&checks), &valid, |_, _| make());
        };
        let panicking = || std::panic::resume_unwind(Box::new("no table"));
        let unwound =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| learn(1, &panicking)));
        assert!(unwound.is_err(), "the panic reaches the caller");
        assert_eq!(tables.keys(), 0);
        learn(2, &|| 0);
        assert_eq!(tables.keys(), 1, "the only place is free again");
        assert_eq!(tables.held.read().unwrap().reserved, 0);
    }
}
