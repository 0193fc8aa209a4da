//! ECDSA verification (SEC 1, section 4.1.4).

use super::curve::Curve;
use super::field::Field;
use super::group::Jacobian;
use super::limb::{LANES, Limb, Mask, is_below, is_zero, load};
use super::montgomery::{Modulus, Montgomery};
use super::{Engine, VECTORS, inverses, is_set, keys, lane_items, settle};
use crate::batch::EcdsaCheck;

/// Verifies a batch; `library` decides the rest. Returns the number of those.
pub(super) fn verify<L: Limb, C: Curve>(
    engine: &Engine<L, C>,
    library: impl Fn(&EcdsaCheck) -> bool,
    checks: &[EcdsaCheck],
    valid: &mut [bool],
) -> usize {
    let (proof, count) = (engine.proof, checks.len().div_ceil(LANES));
    let mut inverses = [Montgomery::<L, C::Order>::one(proof); VECTORS];
    let (mut equal, mut doubtful) = ([0; VECTORS], [0; VECTORS]);
    for (i, (s, doubtful)) in inverses[..count].iter_mut().zip(&mut doubtful).enumerate() {
        let checks = lane_items(checks, i);
        (*s, *doubtful) = invertible(proof, |lane| &checks[lane].s);
    }
    inverses::of_scalars(proof, &mut inverses[..count]);
    for (i, inverse) in inverses[..count].iter().enumerate() {
        let (same, unknown) = verify_vector(engine, lane_items(checks, i), inverse);
        equal[i] = same;
        doubtful[i] |= unknown;
    }
    settle(checks, valid, &doubtful, |i| is_set(&equal, i), library)
}

/// Numbers that are to be inverted modulo n, and the lanes that hold 1 instead of a number out of
/// range.
pub(super) fn invertible<'a, L: Limb, M: Modulus>(
    proof: L::Proof,
    number: impl Fn(usize) -> &'a [u8; 32],
) -> (Montgomery<L, M>, Mask) {
    L::run(
        proof,
        #[inline(always)]
        || {
            let number: [L; 5] = load(proof, number);
            let out_of_range = is_zero(number) | !is_below(number, M::LIMBS);
            (Montgomery::new(number).one_where(out_of_range), out_of_range)
        },
    )
}

/// The lanes whose sum has the x coordinate r, and those in which that is not known.
fn verify_vector<L: Limb, C: Curve>(
    engine: &Engine<L, C>,
    checks: [&EcdsaCheck; LANES],
    inverse: &Montgomery<L, C::Order>,
) -> (Mask, Mask) {
    let multipliers = Multipliers::<L, C>::new(engine.proof, checks, inverse);
    let (key, invalid) = keys::points(engine.proof, |lane| &checks[lane].key);
    let sum = engine.multiply(&multipliers.u1, &multipliers.u2, &key);
    let (equal, unknown) = multipliers.compare(&sum);
    (equal, invalid | unknown)
}

/// The multipliers of the generator and the key.
pub(super) struct Multipliers<L, C: Curve> {
    pub(super) u1: Montgomery<L, C::Order>,
    pub(super) u2: Montgomery<L, C::Order>,
    r: [L; 5],
    /// r is not below the order, or `r + n` is another x that the sum may have.
    out_of_range: Mask,
}

impl<L: Limb, C: Curve> Multipliers<L, C> {
    /// `inverse` is the inverse of s.
    pub(super) fn new(
        proof: L::Proof,
        checks: [&EcdsaCheck; LANES],
        inverse: &Montgomery<L, C::Order>,
    ) -> Self {
        L::run(
            proof,
            #[inline(always)]
            || {
                let r: [L; 5] = load(proof, |lane| &checks[lane].r);
                let digest = Montgomery::new(load(proof, |lane| &checks[lane].digest));
                let out_of_range = is_below(r, C::PRIME_LESS_ORDER) | !is_below(r, C::Order::LIMBS);
                let u1 = digest.mul(inverse).canonical();
                let u2 = Montgomery::new(r).mul(inverse).canonical();
                Multipliers { u1, u2, r, out_of_range }
            },
        )
    }

    /// The lanes whose sum has the x coordinate r, and those in which that is not known.
    pub(super) fn compare(&self, sum: &Jacobian<L, C>) -> (Mask, Mask) {
        // x = X / Z^2
        let expected = sum.z.square().mul(&Field::of_integers(self.r));
        sum.z.run(
            #[inline(always)]
            || (expected.sub(&sum.x).is_zero(), self.out_of_range | sum.z.is_zero()),
        )
    }
}
