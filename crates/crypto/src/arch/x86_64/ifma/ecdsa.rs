//! ECDSA verification (SEC 1, section 4.1.4).

use core::arch::x86_64::__mmask8;

use super::field::{Field, limbs, load};
use super::generator::Generator;
use super::keys::Keys;
use super::multiply::multiply;
use super::scalar::{N, Scalar, is_below, is_zero};
use super::{VECTORS, group, inverses, lanes};
use crate::signatures::{EcdsaCheck, library};

/// `p - n`: for an r below this, `r + n` may be the x coordinate as well.
const P_LESS_N: [u64; 5] = limbs([0x402d_a172_2fc9_baee, 0x4551_2319_50b7_5fc4, 1, 0]);

/// Verifies a batch.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn verify(generator: &Generator, checks: &[EcdsaCheck], valid: &mut [bool]) {
    let count = checks.len().div_ceil(8);
    let mut inverses = [Scalar::one(); VECTORS];
    let mut doubtful = [0; VECTORS];
    for (i, (s, doubtful)) in inverses[..count].iter_mut().zip(&mut doubtful).enumerate() {
        let number = load(lanes(checks, i).map(|check| &check.s));
        *doubtful = is_zero(&number) | !is_below(&number, N);
        *s = Scalar(number).one_where(*doubtful);
    }
    inverses::of_scalars(&mut inverses[..count]);
    let mut verdicts = [0; VECTORS];
    let mut i = 0;
    while i < count {
        let side_by_side = group(count - i);
        let run = match side_by_side {
            1 => verify_group::<1>,
            2 => verify_group::<2>,
            _ => verify_group::<4>,
        };
        run(generator, checks, i, &inverses, &mut verdicts, &mut doubtful);
        i += side_by_side;
    }
    for (i, (check, valid)) in checks.iter().zip(valid).enumerate() {
        let lane = 1 << (i % 8);
        *valid = match doubtful[i / 8] & lane {
            0 => verdicts[i / 8] & lane != 0,
            _ => library::ecdsa(check),
        };
    }
}

/// Verifies the `W` vectors from `first` on.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn verify_group<const W: usize>(
    generator: &Generator,
    checks: &[EcdsaCheck],
    first: usize,
    inverses: &[Scalar; VECTORS],
    verdicts: &mut [__mmask8; VECTORS],
    doubtful: &mut [__mmask8; VECTORS],
) {
    let mut r = Field::<W>::splat([0; 4]);
    let (mut u1, mut u2) = ([Scalar::one(); W], [Scalar::one(); W]);
    let mut keys = Keys::<W>::new();
    for w in 0..W {
        let checks = lanes(checks, first + w);
        r.0[w] = load(checks.map(|check| &check.r));
        let digest = Scalar(load(checks.map(|check| &check.digest)));
        u1[w] = digest.mul(&inverses[first + w]).canonical();
        u2[w] = Scalar(r.0[w]).mul(&inverses[first + w]).canonical();
        doubtful[first + w] |= is_below(&r.0[w], P_LESS_N) | !is_below(&r.0[w], N);
        keys.load(w, checks.map(|check| &check.key));
    }
    let (points, invalid) = keys.points();
    let sum = multiply(generator, &u1, &u2, &points);
    let equal = sum.z.square().mul(&r).sub(&sum.x).is_zero();
    let unknown = sum.z.is_zero();
    for w in 0..W {
        verdicts[first + w] = equal[w];
        doubtful[first + w] |= unknown[w] | invalid[w];
    }
}

