//! The keys of ECDSA signatures (SEC 1, section 4.1.6): `Q = s / r * R - digest / r * G`.
//!
//! Signatures whose point has an x of n or more, which nobody makes, are left to libsecp256k1.

use core::arch::x86_64::__mmask8;

use super::field::{Field, load, store};
use super::generator::Generator;
use super::group::{Affine, Jacobian};
use super::multiply::multiply;
use super::scalar::{N, Scalar, is_below, is_zero};
use super::{BATCH, VECTORS, group, lanes};
use super::inverses::{self, affine};
use crate::signatures::{Recovery, library};

/// Recovers the keys of a batch.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn recover(
    generator: &Generator,
    signatures: &[Recovery],
    keys: &mut [Option<[u8; 64]>],
) {
    let count = signatures.len().div_ceil(8);
    let mut inverses = [Scalar::one(); VECTORS];
    let mut doubtful = [0; VECTORS];
    for (i, (r, doubtful)) in inverses[..count].iter_mut().zip(&mut doubtful).enumerate() {
        let number = load(lanes(signatures, i).map(|signature| &signature.r));
        *doubtful = is_zero(&number) | !is_below(&number, N);
        *r = Scalar(number).one_where(*doubtful);
    }
    inverses::of_scalars(&mut inverses[..count]);
    let mut sums = [Jacobian::unknown(); VECTORS];
    let mut i = 0;
    while i < count {
        let side_by_side = group(count - i);
        let run = match side_by_side {
            1 => sum_group::<1>,
            2 => sum_group::<2>,
            _ => sum_group::<4>,
        };
        run(generator, signatures, &inverses, i, &mut sums, &mut doubtful);
        i += side_by_side;
    }
    let mut found = [[0; 64]; BATCH];
    affine(&sums[..count], &mut doubtful, |i, point| {
        let (x, y) = (store(&point.x.0[0]), store(&point.y.0[0]));
        for (lane, key) in found[8 * i..8 * i + 8].iter_mut().enumerate() {
            key[..32].copy_from_slice(&x[lane]);
            key[32..].copy_from_slice(&y[lane]);
        }
    });
    for (i, (signature, key)) in signatures.iter().zip(keys).enumerate() {
        *key = match doubtful[i / 8] & 1 << (i % 8) {
            0 => Some(found[i]),
            _ => library::recover(signature),
        };
    }
}

/// The sums of the `W` vectors from `first` on.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn sum_group<const W: usize>(
    generator: &Generator,
    signatures: &[Recovery],
    inverses: &[Scalar; VECTORS],
    first: usize,
    sums: &mut [Jacobian<1>; VECTORS],
    doubtful: &mut [__mmask8; VECTORS],
) {
    let mut r = Field::<W>::splat([0; 4]);
    let mut odd = [0; W];
    let (mut u1, mut u2) = ([Scalar::one(); W], [Scalar::one(); W]);
    for w in 0..W {
        let (signatures, inverse) = (lanes(signatures, first + w), &inverses[first + w]);
        r.0[w] = load(signatures.map(|signature| &signature.r));
        let s = load(signatures.map(|signature| &signature.s));
        let digest = Scalar(load(signatures.map(|signature| &signature.digest)));
        u1[w] = digest.mul(inverse).canonical().negate();
        u2[w] = Scalar(s).mul(inverse).canonical();
        doubtful[first + w] |= is_zero(&s) | !is_below(&s, N);
        for (lane, signature) in signatures.into_iter().enumerate() {
            odd[w] |= (signature.recovery_id & 1) << lane;
            doubtful[first + w] |= u8::from(signature.recovery_id > 1) << lane;
        }
    }
    let point = Affine::lift(&r, odd);
    let on_curve = point.is_on_curve();
    let sum = multiply(generator, &u1, &u2, &point);
    for w in 0..W {
        sums[first + w] = sum.vector(w);
        doubtful[first + w] |= !on_curve[w];
    }
}
