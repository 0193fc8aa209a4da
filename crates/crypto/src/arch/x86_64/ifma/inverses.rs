//! The inverses of many numbers by a single inversion (Montgomery 1987): that of the product of
//! all, from which the product of all others leaves each its own.

use core::arch::x86_64::__mmask8;

use super::VECTORS;
use super::field::Field;
use super::group::{Affine, Jacobian};
use super::scalar::Scalar;

/// Replaces numbers modulo n, none of which is 0, by their inverses times R.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn of_scalars(numbers: &mut [Scalar]) {
    let mut product = Scalar::one();
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

/// Gives `put` each vector of points in affine, canonical coordinates; adds the lanes whose points
/// are unknown to `doubtful`.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn affine(
    points: &[Jacobian<1>],
    doubtful: &mut [__mmask8; VECTORS],
    mut put: impl FnMut(usize, Affine<1>),
) {
    let one = Field::splat([1, 0, 0, 0]);
    let (mut product, mut before, mut factors) = (one, [one; VECTORS], [one; VECTORS]);
    for (i, point) in points.iter().enumerate() {
        let unknown = point.z.is_zero();
        doubtful[i] |= unknown[0];
        factors[i] = point.z.replaced_where(unknown, &one);
        before[i] = product;
        product = product.mul(&factors[i]);
    }
    let mut inverse = product.invert();
    for (i, point) in points.iter().enumerate().rev() {
        let z = inverse.mul(&before[i]);
        inverse = inverse.mul(&factors[i]);
        let zz = z.square();
        let sign = if point.negated { 0xff } else { 0 };
        let y = point.y.mul(&zz.mul(&z)).negate_where([sign]);
        put(i, Affine { x: point.x.mul(&zz).canonical(), y: y.canonical() });
    }
}
