//! A hash table from block hashes to records, for a known number of records.

use super::Found;
use crate::BlockHash;
use std::hash::{BuildHasher, RandomState};

/// Open addressing with linear probing, at most half full. A slot has 32 bits of the mixed hash and
/// the number of the record plus one, so almost every lookup reads one slot and one record. Block
/// hashes are random in their first bytes, so mixing is one multiplication. Its random factors
/// prevent blocks that were mined to collide.
pub(super) struct HashTable {
    slots: Vec<u64>,
    salt: u64,
    factor: u64,
    shift: u32,
}

impl HashTable {
    pub fn new(records: usize) -> HashTable {
        let slots = (records.max(8) * 2).next_power_of_two();
        let random = RandomState::new();
        HashTable {
            slots: vec![0; slots],
            salt: random.hash_one(0_u8),
            // odd, and with its highest bit set
            factor: random.hash_one(1_u8) | 1 | 1 << 63,
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// The record in `found` with this hash.
    #[inline]
    pub fn get(&self, hash: &BlockHash, found: &[Found]) -> Option<u32> {
        self.slot_of(hash, found).ok()
    }

    /// The record in the first slot of this hash, which is usually the right one. `u32::MAX` if the
    /// slot is empty.
    #[inline]
    pub fn guess(&self, hash: &BlockHash) -> u32 {
        let slot = self.slots[(self.mix(hash) >> self.shift) as usize];
        (slot as u32).wrapping_sub(1)
    }

    /// Inserts `record` with its hash in `found`. If there is a record with the same hash, returns
    /// that one instead.
    #[inline]
    pub fn insert(&mut self, record: u32, found: &[Found]) -> Option<u32> {
        let hash = &found[record as usize].hash;
        match self.slot_of(hash, found) {
            Ok(known) => Some(known),
            Err(free) => {
                self.slots[free] = self.mix(hash) << 32 | u64::from(record + 1);
                None
            }
        }
    }

    /// The record with this hash, or the free slot for it.
    #[inline]
    fn slot_of(&self, hash: &BlockHash, found: &[Found]) -> Result<u32, usize> {
        let mixed = self.mix(hash);
        let mut at = (mixed >> self.shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let record = slot as u32 - 1;
            if (slot >> 32) as u32 == mixed as u32 && found[record as usize].hash == *hash {
                return Ok(record);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The highest bits select the slot; the lowest 32 bits are stored in it.
    #[inline]
    fn mix(&self, hash: &BlockHash) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = hash.0;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let product = u128::from(start ^ self.salt) * u128::from(self.factor);
        (product >> 64) as u64 ^ product as u64
    }
}
