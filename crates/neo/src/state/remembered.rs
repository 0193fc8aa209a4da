//! What follows from the storage of native contracts, kept until that changes: some of it is asked
//! several times for each transaction.

use std::cell::Cell;

/// Native contracts have the numbers from -1 down to this one.
const LAST_NATIVE: i32 = -11;

/// How often something of each native contract changed, or may have.
#[derive(Default)]
pub(super) struct Versions([u64; LAST_NATIVE.unsigned_abs() as usize]);

impl Versions {
    fn place(id: i32) -> Option<usize> {
        (LAST_NATIVE..0).contains(&id).then(|| id.unsigned_abs() as usize - 1)
    }

    /// Something of this contract changed.
    pub fn changed(&mut self, id: i32) {
        if let Some(place) = Self::place(id) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_computed_anew_when_something_changed() {
        let (mut versions, value) = (Versions::default(), Remembered::default());
        assert_eq!(value.of(versions.of(&[-7, -1]), || 1), 1);
        versions.changed(-6);
        assert_eq!(value.of(versions.of(&[-7, -1]), || 2), 1);
        versions.changed(-1);
        assert_eq!(value.of(versions.of(&[-7, -1]), || 3), 3);
        versions.all_changed();
        assert_eq!(value.of(versions.of(&[-7, -1]), || 4), 4);
        versions.changed(5);
        versions.changed(-12);
        assert_eq!(value.of(versions.of(&[-7, -1]), || 5), 4);
    }
}
