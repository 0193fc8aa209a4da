//! The inverses of many numbers by a single inversion (Montgomery 1987): that of the product of
//! all, from which the product of all others leaves each its own.

use super::VECTORS;
use super::field::Field;
use super::group::{Affine, Jacobian};
use super::limb::{Lanes, Mask};
use super::scalar::Scalar;

/// Replaces numbers modulo n, none of which is 0, by their inverses times R.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn of_scalars(lanes: Lanes, numbers: &mut [Scalar]) {
    let mut product = Scalar::one(lanes);
    let mut before = [product; VECTORS];
    for (number, before) in numbers.iter_mut().zip(&mut before) {
        *number = number.to_montgomery();
        *before = product;
        product = product.mul(*number);
    }
    let mut inverse = product.invert(lanes);
    for (number, before) in numbers.iter_mut().zip(&before).rev() {
        let next = inverse.mul(*number);
        *number = inverse.mul(*before);
        inverse = next;
    }
}

/// Gives `put` the points in affine, canonical coordinates; adds the lanes whose points are unknown
/// to `doubtful`.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn affine(
    lanes: Lanes,
    points: &[Jacobian],
    doubtful: &mut [Mask],
    mut put: impl FnMut(usize, Affine),
) {
    let one = Field::splat(lanes, [1, 0, 0, 0]);
    let (mut product, mut before, mut factors) = (one, [one; VECTORS], [one; VECTORS]);
    for (i, point) in points.iter().enumerate() {
        let unknown = point.z.is_zero();
        doubtful[i] |= unknown;
        factors[i] = point.z.replaced(unknown, &one);
        before[i] = product;
        product.mul_assign(&factors[i]);
    }
    let mut inverse = product.invert();
    for (i, point) in points.iter().enumerate().rev() {
        let z = inverse.mul(&before[i]);
        inverse.mul_assign(&factors[i]);
        let zz = z.square();
        let sign = if point.negated { Mask::MAX } else { 0 };
        let y = point.y.mul(&zz.mul(&z)).negated(sign);
        put(i, Affine { x: point.x.mul(&zz).canonical(), y: y.canonical() });
    }
}
