//! The inverses of many numbers by a single inversion (Montgomery 1987): that of the product of
//! all, from which the product of all others leaves each its own.

use super::VECTORS;
use super::curve::Curve;
use super::field::{Field, Prime};
use super::group::{Affine, Jacobian};
use super::limb::{Limb, Mask};
use super::montgomery::{Modulus, Montgomery};

/// Replaces numbers modulo m, none of which is 0, by their inverses times R.
pub(super) fn of_scalars<L: Limb, M: Modulus>(proof: L::Proof, numbers: &mut [Montgomery<L, M>]) {
    let mut product = Montgomery::one(proof);
    let mut before = [product; VECTORS];
    for (number, before) in numbers.iter_mut().zip(&mut before) {
        *number = number.to_montgomery();
        *before = product;
        product = product.mul(number);
    }
    let mut inverse = product.invert();
    for (number, before) in numbers.iter_mut().zip(&before).rev() {
        let next = inverse.mul(number);
        *number = inverse.mul(before);
        inverse = next;
    }
}

/// Gives `put` the points in affine, canonical coordinates; adds the lanes whose points are unknown
/// to `doubtful`.
pub(super) fn affine<L: Limb, C: Curve>(
    proof: L::Proof,
    points: &[Jacobian<L, C>],
    doubtful: &mut [Mask],
    mut put: impl FnMut(usize, Affine<L, C>),
) {
    let one: Field<L, C::Prime> = Field::splat(proof, C::Prime::ONE);
    let (mut product, mut before, mut factors) = (one, [one; VECTORS], [one; VECTORS]);
    for (i, point) in points.iter().enumerate() {
        let unknown;
        (unknown, factors[i]) = L::run(
            proof,
            #[inline(always)]
            || {
                let unknown = point.z.is_zero();
                (unknown, point.z.replaced(unknown, &one))
            },
        );
        doubtful[i] |= unknown;
        before[i] = product;
        product.mul_assign(&factors[i]);
    }
    let mut inverse = product.invert();
    for (i, point) in points.iter().enumerate().rev() {
        let z = inverse.mul(&before[i]);
        inverse.mul_assign(&factors[i]);
        let zz = z.square();
        let (x, y) = (point.x.mul(&zz), point.y.mul(&zz.mul(&z)));
        let point = L::run(
            proof,
            #[inline(always)]
            || {
                let sign = if point.negated { Mask::MAX } else { 0 };
                Affine { x: x.canonical(), y: y.negated(sign).canonical() }
            },
        );
        put(i, point);
    }
}
