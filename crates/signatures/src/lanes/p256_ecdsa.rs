//! ECDSA verification on P-256, with tables for keys that sign repeatedly.

use core::array;

use super::ecdsa::{Multipliers, invertible};
use super::limb::{LANES, Limb, Mask};
use super::montgomery::Montgomery;
use super::p256::{P256, R1Order};
use super::{BATCH, Engine, VECTORS, inverses, is_set, key_table, keys, settle};
use crate::batch::{EcdsaCheck, Found};
use crate::p256::verify_p256;

/// Verifies a batch; the library decides the rest. Returns the number of those.
pub(super) fn verify<L: Limb>(
    engine: &Engine<L, P256>,
    found: &Found,
    checks: &[EcdsaCheck],
    valid: &mut [bool],
) -> usize {
    let (proof, order) = (engine.proof, Order::new(found, checks.len()));
    let mut inverses = [Montgomery::<L, R1Order>::one(proof); VECTORS];
    let mut out_of_range = [0; VECTORS];
    let inverses = &mut inverses[..order.vectors];
    for (i, (s, out_of_range)) in inverses.iter_mut().zip(&mut out_of_range).enumerate() {
        (*s, *out_of_range) = invertible(proof, |lane| &checks[order.lane(i, lane)].s);
    }
    inverses::of_scalars(proof, inverses);
    let (mut equal, mut doubtful) = ([0; VECTORS], [0; VECTORS]);
    for (i, inverse) in inverses.iter().enumerate() {
        let checks = array::from_fn(|lane| &checks[order.lane(i, lane)]);
        let multipliers = Multipliers::<L, P256>::new(proof, checks, inverse);
        let mut invalid = out_of_range[i];
        let tables = array::from_fn(|lane| found.table(order.lane(i, lane)));
        let sum = match all(tables) {
            Some(tables) if i < order.vectors_with_tables => {
                let mut sum = key_table::multiply(tables, &multipliers.u2);
                engine.generator.add_to(&mut sum, &multipliers.u1);
                sum
            }
            _ => {
                let (key, no_point) = keys::points(proof, |lane| &checks[lane].key);
                invalid |= no_point;
                engine.multiply(&multipliers.u1, &multipliers.u2, &key)
            }
        };
        let (same, unknown) = multipliers.compare(&sum);
        order.scatter(i, same, &mut equal);
        order.scatter(i, invalid | unknown, &mut doubtful);
    }
    settle(checks, valid, &doubtful, |i| is_set(&equal, i), verify_p256)
}

/// The values, if there is one in every lane.
fn all<T: Copy>(values: [Option<T>; LANES]) -> Option<[T; LANES]> {
    let first = values[0]?;
    let mut out = [first; LANES];
    for (out, value) in out.iter_mut().zip(values) {
        *out = value?;
    }
    Some(out)
}

/// The check of each lane: first vectors of checks of keys with tables, then the others.
struct Order {
    /// The number of a check for each lane. Idle lanes repeat the last check of their kind.
    checks: [u8; BATCH],
    vectors_with_tables: usize,
    vectors: usize,
}

impl Order {
    fn new(found: &Found, count: usize) -> Self {
        let has_table = |i: &usize| found.table(*i).is_some();
        let with = (0..count).filter(has_table).count();
        // What is left of those with tables goes to the others, if they have enough idle lanes. So
        // a batch never needs more vectors than without tables.
        let others = count - with;
        let idle = others.next_multiple_of(LANES) - others;
        let left = with % LANES;
        let with = if left <= idle { with - left } else { with };
        let mut order = Order {
            checks: [0; BATCH],
            vectors_with_tables: with.div_ceil(LANES),
            vectors: with.div_ceil(LANES) + (count - with).div_ceil(LANES),
        };
        let (first, second) = order.checks.split_at_mut(LANES * order.vectors_with_tables);
        fill(first, (0..count).filter(has_table).take(with));
        let rest = (0..count).filter(has_table).skip(with);
        fill(second, (0..count).filter(|i| !has_table(i)).chain(rest));
        order
    }

    /// The check of a lane.
    fn lane(&self, vector: usize, lane: usize) -> usize {
        self.checks[LANES * vector + lane].into()
    }

    /// Sets the bits of the checks whose lanes have theirs set.
    fn scatter(&self, vector: usize, lanes: Mask, checks: &mut [Mask; VECTORS]) {
        for lane in 0..LANES {
            let check = self.lane(vector, lane);
            checks[check / LANES] |= (lanes >> lane & 1) << (check % LANES);
        }
    }
}

/// Writes the numbers, and repeats the last one in the remaining places.
fn fill(places: &mut [u8], numbers: impl Iterator<Item = usize>) {
    let mut last = 0;
    let mut numbers = numbers.map(|number| number as u8);
    for place in places {
        last = numbers.next().unwrap_or(last);
        *place = last;
    }
}
