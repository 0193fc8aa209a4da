//! Cache of values derived from the storage of native contracts, valid until that storage changes.
//! Some of them are read several times for each transaction.

use super::Value;
use crate::types::PublicKey;
use num_bigint::BigInt;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The lowest id of a native contract; the highest is -1.
const LAST_NATIVE: i32 = -11;

/// Pseudo id that counts changes of NEO's GAS per block alone: it is read with every block, while
/// other keys of NEO change with every block.
pub const GAS_RECORDS: i32 = LAST_NATIVE - 1;
/// The id of NEO, and the prefix of the keys of GAS per block.
const GAS_RECORD: (i32, u8) = (-5, 29);

/// Change counters of the native contracts.
#[derive(Default)]
pub(super) struct Versions([u64; GAS_RECORDS.unsigned_abs() as usize]);

impl Versions {
    fn place(id: i32) -> Option<usize> {
        (GAS_RECORDS..0).contains(&id).then(|| id.unsigned_abs() as usize - 1)
    }

    /// Counts a change of a key.
    pub fn changed(&mut self, id: i32, key: &[u8]) {
        let is_record = id == GAS_RECORD.0 && key.first() == Some(&GAS_RECORD.1);
        let places = [Some(id), is_record.then_some(GAS_RECORDS)].into_iter().flatten();
        for place in places.filter_map(Self::place) {
            self.0[place] += 1;
        }
    }

    /// Counts a change of every contract: a rollback may have restored any key.
    pub fn all_changed(&mut self) {
        self.0.iter_mut().for_each(|version| *version += 1);
    }

    /// The sum of the counters of several contracts: it changes if one of them does.
    pub fn sum(&self, ids: &[i32]) -> u64 {
        ids.iter().filter_map(|id| Self::place(*id)).map(|place| self.0[place]).sum()
    }
}

/// A value with the version that it was computed for.
pub struct Cached<T>(Cell<Option<(u64, T)>>);

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(Cell::new(None))
    }
}

impl<T: Copy> Cached<T> {
    /// The value for `version`; computed if the cached one has another version.
    pub fn get_or_compute(&self, version: u64, compute: impl FnOnce() -> T) -> T {
        match self.0.get() {
            Some((known, value)) if known == version => value,
            _ => {
                let value = compute();
                self.0.set(Some((version, value)));
                value
            }
        }
    }
}

/// The stored committee of NEO, and its decoded members with their votes.
type Committee = (Value, Arc<Vec<(PublicKey, BigInt)>>);

/// The cached values.
#[derive(Default)]
pub struct NativeCache {
    /// Numbers of Policy under keys of one byte, indexed by that byte minus 10.
    pub policy: [Cached<i64>; 16],
    /// Whether Policy's instruction fee is in units of 10^-12.
    pub has_pico_factor: Cached<bool>,
    /// Whether Policy blocks any account.
    pub blocks_any: Cached<bool>,
    /// Whether Policy has a fixed fee for any method.
    pub fixes_any: Cached<bool>,
    /// The committee.
    pub committee: RefCell<Option<Committee>>,
    /// The last change of GAS per block: first block and amount.
    pub gas_per_block: Cached<Option<(u32, i64)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_computed_anew_when_something_changed() {
        let (mut versions, value) = (Versions::default(), Cached::default());
        assert_eq!(value.get_or_compute(versions.sum(&[-7, -1]), || 1), 1);
        versions.changed(-6, &[29]);
        assert_eq!(value.get_or_compute(versions.sum(&[-7, -1]), || 2), 1);
        versions.changed(-1, &[]);
        assert_eq!(value.get_or_compute(versions.sum(&[-7, -1]), || 3), 3);
        versions.all_changed();
        assert_eq!(value.get_or_compute(versions.sum(&[-7, -1]), || 4), 4);
        versions.changed(5, &[]);
        versions.changed(-5, &[29]);
        assert_eq!(value.get_or_compute(versions.sum(&[-7, -1]), || 5), 4);
        let records = versions.sum(&[GAS_RECORDS]);
        versions.changed(-5, &[28]);
        assert_eq!(versions.sum(&[GAS_RECORDS]), records);
        versions.changed(-5, &[29, 1]);
        assert_eq!(versions.sum(&[GAS_RECORDS]), records + 1);
    }
}
