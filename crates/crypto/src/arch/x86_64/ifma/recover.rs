//! The keys of ECDSA signatures (SEC 1, section 4.1.6): `Q = s / r * R - digest / r * G`.
//!
//! Signatures whose point has an x of n or more, which nobody makes, are left to libsecp256k1.

use super::field::Field;
use super::generator::Generator;
use super::group::{Affine, Jacobian};
use super::inverses::{self, affine};
use super::limb::{LANES, Mask, is_below, is_zero, store};
use super::multiply::multiply;
use super::scalar::{N, Scalar};
use super::{BATCH, VECTORS, is_set, lane_items};
use crate::signatures::{Recovery, library};

/// Recovers the keys of a batch.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn recover(
    generator: &Generator,
    signatures: &[Recovery],
    keys: &mut [Option<[u8; 64]>],
) {
    let (lanes, count) = (generator.lanes(), signatures.len().div_ceil(LANES));
    let mut inverses = [Scalar::one(lanes); VECTORS];
    let mut doubtful = [0; VECTORS];
    for (i, (r, doubtful)) in inverses[..count].iter_mut().zip(&mut doubtful).enumerate() {
        let signatures = lane_items(signatures, i);
        let number = lanes.load(|lane| &signatures[lane].r);
        *doubtful = is_zero(number) | !is_below(number, N);
        *r = Scalar(number).one_where(*doubtful);
    }
    inverses::of_scalars(lanes, &mut inverses[..count]);
    let mut sums = [Jacobian::unknown(lanes); VECTORS];
    for (i, (sum, inverse)) in sums.iter_mut().zip(&inverses[..count]).enumerate() {
        let unsound;
        (*sum, unsound) = sum_vector(generator, lane_items(signatures, i), *inverse);
        doubtful[i] |= unsound;
    }
    let mut found = [[0; 64]; BATCH];
    affine(lanes, &sums[..count], &mut doubtful, |i, point| {
        let coordinates = store(point.x.limbs()).into_iter().zip(store(point.y.limbs()));
        for (key, (x, y)) in found[LANES * i..].iter_mut().zip(coordinates) {
            key[..32].copy_from_slice(&x);
            key[32..].copy_from_slice(&y);
        }
    });
    for (i, (signature, key)) in signatures.iter().zip(keys).enumerate() {
        let doubtful = is_set(&doubtful, i);
        *key = if doubtful { library::recover(signature) } else { Some(found[i]) };
    }
}

/// The sums, and the lanes in which they are not sound.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn sum_vector(
    generator: &Generator,
    signatures: [&Recovery; LANES],
    inverse: Scalar,
) -> (Jacobian, Mask) {
    let lanes = generator.lanes();
    let r = lanes.load(|lane| &signatures[lane].r);
    let s = lanes.load(|lane| &signatures[lane].s);
    let digest = lanes.load(|lane| &signatures[lane].digest);
    let u1 = Scalar(digest).mul(inverse).canonical().negate();
    let u2 = Scalar(s).mul(inverse).canonical();
    let (mut odd, mut doubtful) = (0, is_zero(s) | !is_below(s, N));
    for (lane, signature) in signatures.into_iter().enumerate() {
        odd |= Mask::from(signature.recovery_id & 1) << lane;
        doubtful |= Mask::from(signature.recovery_id > 1) << lane;
    }
    let point = Affine::lift(Field::new(r), odd);
    let sum = multiply(generator, u1, u2, &point);
    (sum, doubtful | !point.is_on_curve())
}
