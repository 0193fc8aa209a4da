//! Tables of keys that sign repeatedly: with a table, a multiplication consists of additions only.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::curve::Curve;
use super::digits::digits;
use super::field::Field;
use super::group::{Affine, Jacobian};
use super::limb::{Entry, LANES, Limb, Mask};
use super::montgomery::Montgomery;
use super::multiples::{affine_multiples, entry_of};
use super::{VECTORS, inverses, keys};
use crate::batch::Key;

/// Bits of a digit.
const WIDTH: usize = 6;
/// Number of digits of a number.
const PLACES: usize = 258 / WIDTH;
/// Number of multiples that a digit selects from.
const MULTIPLES: usize = 1 << (WIDTH - 1);

/// The odd multiples of `2^(WIDTH * place) * Q` for each place, affine.
pub(crate) struct KeyTable(Box<[[Entry; MULTIPLES]]>);

impl KeyTable {
    /// Bytes of a table.
    pub(crate) const BYTES: usize = PLACES * MULTIPLES * size_of::<Entry>();

    /// A table that is to be filled.
    pub(crate) fn empty() -> Self {
        KeyTable(vec![[Entry::ZERO; MULTIPLES]; PLACES].into())
    }
}

/// Fills the tables of at most [`LANES`] keys; returns which ones are no valid keys, and their
/// tables of no use.
pub(super) fn make<L: Limb, C: Curve>(
    proof: L::Proof,
    keys: &[Key],
    tables: &mut [KeyTable],
) -> Mask {
    let last = keys.len() - 1;
    let (points, invalid) = keys::points::<L, C>(proof, |lane| &keys[lane.min(last)]);
    let bases = bases(proof, &points);
    // a lane for each place of each key
    let zero: Field<L, C::Prime> = Field::splat(proof, [0; 4]);
    let mut multiples: Box<[Affine<L, C>]> = vec![points; MULTIPLES].into();
    let mut factors = vec![zero; MULTIPLES];
    let all = keys.len() * PLACES;
    for first in (0..all).step_by(LANES) {
        // lanes too many repeat the last
        let place = |lane: usize| {
            let pair = (first + lane).min(all - 1);
            (pair / PLACES, pair % PLACES)
        };
        multiples[0] = L::run(
            proof,
            #[inline(always)]
            || {
                entry_of(
                    proof,
                    #[inline(always)]
                    |lane| {
                        let (key, place) = place(lane);
                        &bases[place][key]
                    },
                )
            },
        );
        affine_multiples(&mut multiples, &mut factors, |i, lane, entry| {
            let (key, place) = place(lane);
            tables[key].0[place][i] = entry;
        });
    }
    invalid
}

/// The points times `2^(WIDTH * place)` for each place and lane.
fn bases<L: Limb, C: Curve>(proof: L::Proof, points: &Affine<L, C>) -> Vec<[Entry; LANES]> {
    let mut base = L::run(
        proof,
        #[inline(always)]
        || points.to_jacobian(0),
    );
    let mut all = Vec::with_capacity(PLACES);
    for _ in 0..PLACES {
        all.push(base);
        C::double(&mut base, WIDTH);
    }
    let mut entries = vec![[Entry::ZERO; LANES]; PLACES];
    for (bases, entries) in all.chunks(VECTORS).zip(entries.chunks_mut(VECTORS)) {
        inverses::affine(proof, bases, &mut [0; VECTORS], |i, point| {
            super::multiples::put(&point, |lane, entry| entries[i][lane] = entry);
        });
    }
    entries
}

/// Each lane's number times the key of its table.
pub(super) fn multiply<L: Limb, C: Curve>(
    tables: [&KeyTable; LANES],
    number: &Montgomery<L, C::Order>,
) -> Jacobian<L, C> {
    let proof = number.0[0].proven();
    let digits = L::run(
        proof,
        #[inline(always)]
        || digits::<{ WIDTH * PLACES }, _, _>(number),
    );
    let multiple = |place: usize| {
        L::run(
            proof,
            #[inline(always)]
            || {
                let (index, negative) = digits.digit::<WIDTH>(place);
                let index = index.numbers();
                let point: Affine<L, C> = entry_of(
                    proof,
                    #[inline(always)]
                    |lane| &tables[lane].0[place][index[lane] as usize % MULTIPLES],
                );
                (point, negative)
            },
        )
    };
    let (point, negative) = multiple(0);
    let mut sum = L::run(
        proof,
        #[inline(always)]
        || point.to_jacobian(negative),
    );
    for place in 1..PLACES {
        let (point, negative) = multiple(place);
        sum.add(&point, negative);
    }
    sum
}
