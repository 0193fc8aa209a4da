//! The slots of one account: a table in which a slot and its value fill one line of the CPU's
//! caches, so that a look-up among millions costs one miss.

use crate::U256;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use system::memory::prefetch;

/// A slot that is not 0; a value of 0 marks a free place.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Slot {
    key: U256,
    value: U256,
}

/// Places of the smallest table.
const LEAST: usize = 4;

/// What keys are mixed with: they come from contracts, whose authors must not know which of them
/// fall together.
static SEEDS: LazyLock<[u64; 4]> = LazyLock::new(|| {
    let random = RandomState::new();
    [0u64, 1, 2, 3].map(|i| random.hash_one(i) | 1)
});

/// Slots by key. A slot that is 0 is no slot.
///
/// Open addressing: a slot stands at the place of its hash or behind it without a gap, and at most
/// three in four places are taken.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// None, or a power of two of them.
    places: Vec<Slot>,
    used: usize,
}

impl Slots {
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub fn len(&self) -> usize {
        self.used
    }

    /// The value of a slot; 0 where there is none.
    #[inline]
    pub fn get(&self, key: &U256) -> U256 {
        let Some(last) = self.places.len().checked_sub(1) else { return U256::ZERO };
        let mut at = hash(key) & last;
        loop {
            let slot = &self.places[at];
            if slot.key == *key || slot.value.is_zero() {
                // the key of a free place is 0, and so is its value
                return slot.value;
            }
            at = (at + 1) & last;
        }
    }

    /// Has the CPU fetch what a look-up of a slot will need.
    #[inline]
    pub fn touch(&self, key: &U256) {
        if let Some(last) = self.places.len().checked_sub(1) {
            prefetch(&self.places[hash(key) & last]);
        }
    }

    /// Sets a slot; its value before.
    pub fn set(&mut self, key: U256, value: U256) -> U256 {
        if value.is_zero() {
            return self.remove(&key);
        }
        if (self.used + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let at = self.place(&key);
        let slot = &mut self.places[at];
        let before = slot.value;
        if before.is_zero() {
            self.used += 1;
        }
        *slot = Slot { key, value };
        before
    }

    /// Where a slot is, or would be. There is a free place.
    fn place(&self, key: &U256) -> usize {
        let last = self.places.len() - 1;
        let mut at = hash(key) & last;
        while !self.places[at].value.is_zero() && self.places[at].key != *key {
            at = (at + 1) & last;
        }
        at
    }

    fn grow(&mut self) {
        let count = (self.places.len() * 2).max(LEAST);
        let mut places = Vec::with_capacity(count);
        system::memory::prefer_huge_pages(&mut places);
        places.resize(count, Slot::default());
        let old = std::mem::replace(&mut self.places, places);
        for slot in old.into_iter().filter(|slot| !slot.value.is_zero()) {
            let at = self.place(&slot.key);
            self.places[at] = slot;
        }
    }

    fn remove(&mut self, key: &U256) -> U256 {
        let Some(last) = self.places.len().checked_sub(1) else { return U256::ZERO };
        let mut gap = self.place(key);
        let before = self.places[gap].value;
        if before.is_zero() {
            return before;
        }
        self.used -= 1;
        // those behind it that would not be found any more move up
        let mut at = gap;
        loop {
            at = (at + 1) & last;
            let slot = self.places[at];
            if slot.value.is_zero() {
                break;
            }
            let home = hash(&slot.key) & last;
            if (at.wrapping_sub(home) & last) >= (at.wrapping_sub(gap) & last) {
                self.places[gap] = slot;
                gap = at;
            }
        }
        self.places[gap] = Slot::default();
        before
    }

    /// The slots and their values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&U256, &U256)> {
        let taken = self.places.iter().filter(|slot| !slot.value.is_zero());
        taken.map(|slot| (&slot.key, &slot.value))
    }
}

/// Two products of 64 bits, each folded to 64, as foldhash has them.
#[inline]
fn hash(key: &U256) -> usize {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let ([a, b, c, d], seeds) = (*key.as_limbs(), &*SEEDS);
    let low = fold(a ^ seeds[0], b ^ seeds[1]);
    let high = fold(c ^ seeds[2], d ^ seeds[3]);
    fold(low ^ seeds[1], high ^ seeds[2]) as usize
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
        let (mut slots, mut oracle) = (Slots::default(), HashMap::new());
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
        let found: HashMap<_, _> = slots.iter().map(|(key, value)| (*key, *value)).collect();
        assert_eq!(found, oracle);
        for key in oracle.keys() {
            slots.set(*key, U256::ZERO);
        }
        assert!(slots.is_empty() && slots.iter().next().is_none());
    }
}
