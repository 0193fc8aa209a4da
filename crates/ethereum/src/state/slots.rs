//! The slots of one account: a hash table in which a slot and its value fill one cache line, so
//! that a look-up among millions costs one cache miss.

use crate::U256;
use blockmill_platform::memory::prefetch;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// A slot that is not 0; a value of 0 marks a free place.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Slot {
    key: U256,
    value: U256,
}

/// Places of the smallest table.
const LEAST: usize = 4;
/// Places of the largest: 8 MiB of them.
const MOST: usize = 1 << 17;

/// Random seeds of the hash function: keys come from contracts, whose authors must not be able to
/// provoke collisions.
static SEEDS: LazyLock<[u64; 4]> = LazyLock::new(|| {
    let random = RandomState::new();
    [0u64, 1, 2, 3].map(|i| random.hash_one(i) | 1)
});

/// Slots that are not 0, by key.
///
/// Doubling a large table touches as much new memory at once. So there is one table up to a size,
/// and beyond it many tables of that size, of which one is split when it is full (extendible
/// hashing: Fagin, Nievergelt, Pippenger and Strong, 1979).
#[derive(Debug, Default)]
pub(super) struct Slots<const PLACES: usize = MOST> {
    one: Table,
    /// Replaces `one`.
    many: Option<Box<Many>>,
    used: usize,
}

/// Tables of the largest size.
#[derive(Debug, Default)]
struct Many {
    tables: Vec<Table>,
    /// Which table has the slots whose hashes begin with the bits of a number of `bits` bits.
    directory: Vec<u32>,
    bits: u32,
    /// Free places of a table that was split.
    spare: Vec<Slot>,
}

/// Open addressing with linear probing, at most three quarters full.
#[derive(Debug, Default)]
struct Table {
    /// None, or a power of two of them.
    places: Vec<Slot>,
    used: usize,
    /// Bits that all hashes in it begin with.
    bits: u32,
}

impl<const PLACES: usize> Slots<PLACES> {
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub fn len(&self) -> usize {
        self.used
    }

    /// Makes room for so many slots, up to one table of the largest size, if there are none yet.
    pub fn reserve(&mut self, count: usize) {
        if self.is_empty() && self.many.is_none() && count > 0 {
            let places = (count + count / 3 + 1).next_power_of_two().clamp(LEAST, PLACES);
            self.one = Table { places: free_places(places), used: 0, bits: 0 };
        }
    }

    /// The value of a slot; 0 if there is none.
    #[inline]
    pub fn get(&self, key: &U256) -> U256 {
        let hash = hash(key);
        self.table(hash).get(hash, key)
    }

    /// Prefetches the cache line of a slot.
    #[inline]
    pub fn touch(&self, key: &U256) {
        let hash = hash(key);
        let places = &self.table(hash).places;
        if let Some(last) = places.len().checked_sub(1) {
            prefetch(&places[hash as usize & last]);
        }
    }

    /// Sets a slot, and returns its value before.
    pub fn set(&mut self, key: U256, value: U256) -> U256 {
        let hash = hash(&key);
        if value.is_zero() {
            let before = self.table_mut(hash).remove(hash, &key);
            self.used -= usize::from(!before.is_zero());
            return before;
        }
        while self.table(hash).is_full() {
            self.grow(hash);
        }
        let before = self.table_mut(hash).put(hash, Slot { key, value });
        self.used += usize::from(before.is_zero());
        before
    }

    /// The slots and their values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&U256, &U256)> {
        let many = self.many.iter().flat_map(|many| &many.tables);
        let places = std::iter::once(&self.one).chain(many).flat_map(|table| &table.places);
        places.filter(|slot| !slot.value.is_zero()).map(|slot| (&slot.key, &slot.value))
    }

    #[inline]
    fn table(&self, hash: u64) -> &Table {
        match &self.many {
            None => &self.one,
            Some(many) => &many.tables[many.at(hash)],
        }
    }

    #[inline]
    fn table_mut(&mut self, hash: u64) -> &mut Table {
        match &mut self.many {
            None => &mut self.one,
            Some(many) => {
                let at = many.at(hash);
                &mut many.tables[at]
            }
        }
    }

    /// Makes room for a slot with this hash.
    fn grow(&mut self, hash: u64) {
        if self.many.is_none() && self.one.places.len() < PLACES {
            return self.one.double();
        }
        let one = &mut self.one;
        let many = self.many.get_or_insert_with(|| {
            let tables = vec![std::mem::take(one)];
            Box::new(Many { tables, directory: vec![0], ..Many::default() })
        });
        many.split(hash);
    }
}

impl Many {
    #[inline]
    fn at(&self, hash: u64) -> usize {
        self.directory[first_bits(hash, self.bits)] as usize
    }

    /// Splits the table of a hash by the next bit.
    fn split(&mut self, hash: u64) {
        let at = self.at(hash);
        let bits = self.tables[at].bits;
        if bits == self.bits {
            self.directory = self.directory.iter().flat_map(|table| [*table; 2]).collect();
            self.bits += 1;
        }
        let bits = bits + 1;
        let mut old = std::mem::take(&mut self.tables[at].places);
        let spare = std::mem::take(&mut self.spare);
        let low = if spare.is_empty() { free_places(old.len()) } else { spare };
        let tables = [low, free_places(old.len())].map(|places| Table { places, used: 0, bits });
        let [mut low, mut high] = tables;
        for slot in old.iter().filter(|slot| !slot.value.is_zero()) {
            let hash = self::hash(&slot.key);
            let table = if first_bits(hash, bits) & 1 == 0 { &mut low } else { &mut high };
            table.put(hash, *slot);
        }
        old.fill(Slot::default());
        self.spare = old;
        // the new table gets the upper half of the entries in the directory
        let span = 1 << (self.bits - bits);
        let start = (first_bits(hash, bits) | 1) * span;
        self.directory[start..start + span].fill(self.tables.len() as u32);
        self.tables[at] = low;
        self.tables.push(high);
    }
}

impl Table {
    #[inline]
    fn get(&self, hash: u64, key: &U256) -> U256 {
        let Some(last) = self.places.len().checked_sub(1) else { return U256::ZERO };
        let mut at = hash as usize & last;
        loop {
            let slot = &self.places[at];
            if slot.key == *key || slot.value.is_zero() {
                // the key of a free place is 0, and so is its value
                return slot.value;
            }
            at = (at + 1) & last;
        }
    }

    fn is_full(&self) -> bool {
        (self.used + 1) * 4 > self.places.len() * 3
    }

    /// Puts a slot where there is room; its value before.
    fn put(&mut self, hash: u64, slot: Slot) -> U256 {
        let at = self.place(hash, &slot.key);
        let before = std::mem::replace(&mut self.places[at], slot).value;
        self.used += usize::from(before.is_zero());
        before
    }

    /// Where a slot is, or would be. There is a free place.
    fn place(&self, hash: u64, key: &U256) -> usize {
        let last = self.places.len() - 1;
        let mut at = hash as usize & last;
        while !self.places[at].value.is_zero() && self.places[at].key != *key {
            at = (at + 1) & last;
        }
        at
    }

    fn double(&mut self) {
        let places = free_places((self.places.len() * 2).max(LEAST));
        let old = std::mem::replace(&mut self.places, places);
        self.used = 0;
        for slot in old.into_iter().filter(|slot| !slot.value.is_zero()) {
            self.put(hash(&slot.key), slot);
        }
    }

    fn remove(&mut self, hash: u64, key: &U256) -> U256 {
        let Some(last) = self.places.len().checked_sub(1) else { return U256::ZERO };
        let mut gap = self.place(hash, key);
        let before = self.places[gap].value;
        if before.is_zero() {
            return before;
        }
        self.used -= 1;
        // closes the gap: later slots that would not be found any more move up
        let mut at = gap;
        loop {
            at = (at + 1) & last;
            let slot = self.places[at];
            if slot.value.is_zero() {
                break;
            }
            let home = self::hash(&slot.key) as usize & last;
            if (at.wrapping_sub(home) & last) >= (at.wrapping_sub(gap) & last) {
                self.places[gap] = slot;
                gap = at;
            }
        }
        self.places[gap] = Slot::default();
        before
    }
}

fn free_places(count: usize) -> Vec<Slot> {
    let mut places = Vec::with_capacity(count);
    blockmill_platform::memory::prefer_huge_pages(&mut places);
    places.resize(count, Slot::default());
    places
}

/// The first bits of a hash, as a number.
#[inline]
fn first_bits(hash: u64, bits: u32) -> usize {
    // all 64 of them go where none is asked for
    hash.checked_shr(u64::BITS - bits).unwrap_or_default() as usize
}

/// Two products of 64 bits, each folded to 64, as foldhash has them.
#[inline]
fn hash(key: &U256) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let ([a, b, c, d], seeds) = (*key.as_limbs(), &*SEEDS);
    let low = fold(a ^ seeds[0], b ^ seeds[1]);
    let high = fold(c ^ seeds[2], d ^ seeds[3]);
    fold(low ^ seeds[1], high ^ seeds[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// splitmix64.
    fn draw(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 27)
    }

    #[test]
    fn slots_are_what_a_map_of_the_library_has() {
        let (mut slots, mut oracle) = (Slots::<64>::default(), HashMap::new());
        let mut random = 1;
        let (mut removed, mut changed) = (0, 0);
        for round in 0..200_000u64 {
            // a range that grows, so that keys come again, are removed and come back
            let key =
                U256::from(draw(&mut random) % (10 + round / 100)) << (64 * (round % 4) as usize);
            let value = U256::from(draw(&mut random) % 3);
            let before = match value.is_zero() {
                true => oracle.remove(&key),
                false => oracle.insert(key, value),
            };
            removed += u32::from(value.is_zero() && before.is_some());
            changed += u32::from(!value.is_zero() && before.is_some());
            assert_eq!(slots.set(key, value), before.unwrap_or_default());
            let other = U256::from(draw(&mut random) % 2_000);
            assert_eq!(slots.get(&other), oracle.get(&other).copied().unwrap_or_default());
            assert_eq!((slots.used, slots.is_empty()), (oracle.len(), oracle.is_empty()));
        }
        assert!(removed > 1_000 && changed > 1_000, "{removed} {changed}");
        let many = slots.many.as_ref().unwrap();
        let (tables, sum) =
            (&many.tables, many.tables.iter().map(|table| table.used).sum::<usize>());
        assert!(tables.len() > 16 && slots.len() == sum, "{} {sum}", tables.len());
        let depth = |table: &Table| table.bits;
        assert_eq!(tables.iter().map(depth).max(), Some(many.bits));
        assert!(tables.iter().map(depth).min() < Some(many.bits), "not all are cut at once");
        let found: HashMap<_, _> = slots.iter().map(|(key, value)| (*key, *value)).collect();
        assert_eq!(found, oracle);
        for key in oracle.keys() {
            slots.set(*key, U256::ZERO);
        }
        assert!(slots.is_empty() && slots.iter().next().is_none());
    }
}
