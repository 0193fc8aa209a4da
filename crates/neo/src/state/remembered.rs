//! What follows from the storage of native contracts, kept until that changes: some of it is asked
//! several times for each transaction.

use super::Value;
use crate::types::PublicKey;
use num_bigint::BigInt;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Native contracts have the numbers from -1 down to this one.
const LAST_NATIVE: i32 = -11;

/// The number under which NEO's amounts of GAS per block are counted, too: they are asked for with
/// every block, and others of its keys change with every block.
pub const GAS_RECORDS: i32 = LAST_NATIVE - 1;
/// NEO, and what the keys of these amounts begin with.
const GAS_RECORD: (i32, u8) = (-5, 29);

/// How often something of each native contract changed, or may have.
#[derive(Default)]
pub(super) struct Versions([u64; GAS_RECORDS.unsigned_abs() as usize]);

impl Versions {
    fn place(id: i32) -> Option<usize> {
        (GAS_RECORDS..0).contains(&id).then(|| id.unsigned_abs() as usize - 1)
    }

    /// Something under this key of a contract changed.
    pub fn changed(&mut self, id: i32, key: &[u8]) {
        let is_record = id == GAS_RECORD.0 && key.first() == Some(&GAS_RECORD.1);
        let places = [Some(id), is_record.then_some(GAS_RECORDS)].into_iter().flatten();
        for place in places.filter_map(Self::place) {
            self.0[place] += 1;
        }
    }

    /// Any of them may have gone back to what it was.
    pub fn all_changed(&mut self) {
        self.0.iter_mut().for_each(|version| *version += 1);
    }

    /// Of several contracts together: another number than before if one of them changed.
    pub fn of(&self, ids: &[i32]) -> u64 {
        ids.iter().filter_map(|id| Self::place(*id)).map(|place| self.0[place]).sum()
    }
}

/// A value, and of which version it is.
pub struct Remembered<T>(Cell<Option<(u64, T)>>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(Cell::new(None))
    }
}

impl<T: Copy> Remembered<T> {
    /// The value as of `version`, computed if it is not known.
    pub fn of(&self, version: u64, compute: impl FnOnce() -> T) -> T {
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

/// What NEO keeps of the committee, and the same taken apart: members and their votes.
type Committee = (Value, Arc<Vec<(PublicKey, BigInt)>>);

/// The values.
#[derive(Default)]
pub struct Known {
    /// Numbers that Policy keeps under keys of one byte, by that byte from 10 on.
    pub policy: [Remembered<i64>; 16],
    /// Policy's fee of an instruction is in units of 10^-12.
    pub has_pico_factor: Remembered<bool>,
    /// Policy blocks an account.
    pub blocks_any: Remembered<bool>,
    /// Policy has fixed the fee of a method.
    pub fixes_any: Remembered<bool>,
    /// The committee.
    pub committee: RefCell<Option<Committee>>,
    /// The last block from which on a block has another amount of GAS, and the amount.
    pub gas_per_block: Remembered<Option<(u32, i64)>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_computed_anew_when_something_changed() {
        let (mut versions, value) = (Versions::default(), Remembered::default());
        assert_eq!(value.of(versions.of(&[-7, -1]), || 1), 1);
        versions.changed(-6, &[29]);
        assert_eq!(value.of(versions.of(&[-7, -1]), || 2), 1);
        versions.changed(-1, &[]);
        assert_eq!(value.of(versions.of(&[-7, -1]), || 3), 3);
        versions.all_changed();
        assert_eq!(value.of(versions.of(&[-7, -1]), || 4), 4);
        versions.changed(5, &[]);
        versions.changed(-5, &[29]);
        assert_eq!(value.of(versions.of(&[-7, -1]), || 5), 4);
        let records = versions.of(&[GAS_RECORDS]);
        versions.changed(-5, &[28]);
        assert_eq!(versions.of(&[GAS_RECORDS]), records);
        versions.changed(-5, &[29, 1]);
        assert_eq!(versions.of(&[GAS_RECORDS]), records + 1);
    }
}
