//! The table of multiples of a curve's generator G, built at its first use.

use alloc::boxed::Box;
use alloc::vec;

use once_cell::race::OnceBox;

use super::curve::Curve;
use super::digits::digits;
use super::field::Field;
use super::group::{Affine, Jacobian};
use super::limb::{Entry, LANES, Limb, load};
use super::montgomery::Montgomery;
use super::multiples::{affine_multiples, entry_of};

/// Bits of a digit.
const WIDTH: usize = 10;
/// Number of digits of a number.
const PLACES: usize = 260 / WIDTH;
/// Number of multiples that a digit selects from.
const MULTIPLES: usize = 1 << (WIDTH - 1);

/// The odd multiples of `2^(WIDTH * place) * G` for each place, affine: 832 KiB. Every width
/// computes the same.
pub(crate) struct Generator(Box<[[Entry; MULTIPLES]]>);

/// A place for the one table that a process has of a curve.
pub(crate) type Shared = OnceBox<Generator>;

impl Generator {
    /// The one table of the process.
    pub(crate) fn shared<L: Limb, C: Curve>(proof: L::Proof) -> Option<&'static Self> {
        if let Some(table) = C::generator().get() {
            return Some(table);
        }
        let made = Box::new(Generator(make::<L, C>(proof)?));
        Some(C::generator().get_or_init(|| made))
    }

    /// Adds `number * G` for a number below the order.
    pub(super) fn add_to<L: Limb, C: Curve>(
        &self,
        sum: &mut Jacobian<L, C>,
        number: &Montgomery<L, C::Order>,
    ) {
        let proof = number.0[0].proven();
        let digits = L::run(
            proof,
            #[inline(always)]
            || digits::<{ WIDTH * PLACES }, _, _>(number),
        );
        for (place, multiples) in self.0.iter().enumerate() {
            let (point, negative) = L::run(
                proof,
                #[inline(always)]
                || {
                    let (index, negative) = digits.digit::<WIDTH>(place);
                    let index = index.numbers();
                    let point = entry_of(
                        proof,
                        #[inline(always)]
                        |lane| &multiples[index[lane] as usize % MULTIPLES],
                    );
                    (point, negative)
                },
            );
            sum.add(&point, negative);
        }
    }
}

/// Each lane makes the multiples of its place.
fn make<L: Limb, C: Curve>(proof: L::Proof) -> Option<Box<[[Entry; MULTIPLES]]>> {
    let mut table = vec![[Entry::ZERO; MULTIPLES]; PLACES].into_boxed_slice();
    let zero: Field<L, C::Prime> = Field::splat(proof, [0; 4]);
    let mut multiples: Box<[Affine<L, C>]> = vec![Affine { x: zero, y: zero }; MULTIPLES].into();
    let mut factors = vec![zero; MULTIPLES];
    for (group, places) in table.chunks_mut(LANES).enumerate() {
        let mut powers = [([0; 32], [0; 32]); LANES];
        for (lane, power) in powers.iter_mut().enumerate() {
            // lanes without a place repeat the last
            let place = (LANES * group + lane).min(PLACES - 1);
            *power = C::power(WIDTH * place)?;
        }
        multiples[0] = Affine {
            x: Field::of_integers(load(proof, |lane| &powers[lane].0)),
            y: Field::of_integers(load(proof, |lane| &powers[lane].1)),
        };
        affine_multiples(&mut multiples, &mut factors, |i, lane, entry| {
            if let Some(multiples) = places.get_mut(lane) {
                multiples[i] = entry;
            }
        });
    }
    Some(table)
}

#[cfg(test)]
mod tests;
