//! ECDSA verification (SEC 1, section 4.1.4).

use super::field::Field;
use super::generator::Generator;
use super::limb::{LANES, Mask, is_below, is_zero, limbs};
use super::multiply::multiply;
use super::scalar::{N, Scalar};
use super::{VECTORS, inverses, is_set, keys, lane_items};
use crate::signatures::{EcdsaCheck, library};

/// `p - n`: for an r below this, `r + n` may be the x coordinate as well.
const P_LESS_N: [u64; 5] = limbs([0x402d_a172_2fc9_baee, 0x4551_2319_50b7_5fc4, 1, 0]);

/// Verifies a batch.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn verify(generator: &Generator, checks: &[EcdsaCheck], valid: &mut [bool]) {
    let (lanes, count) = (generator.lanes(), checks.len().div_ceil(LANES));
    let mut inverses = [Scalar::one(lanes); VECTORS];
    let (mut equal, mut doubtful) = ([0; VECTORS], [0; VECTORS]);
    for (i, (s, doubtful)) in inverses[..count].iter_mut().zip(&mut doubtful).enumerate() {
        let checks = lane_items(checks, i);
        let number = lanes.load(|lane| &checks[lane].s);
        *doubtful = is_zero(number) | !is_below(number, N);
        *s = Scalar(number).one_where(*doubtful);
    }
    inverses::of_scalars(lanes, &mut inverses[..count]);
    for (i, inverse) in inverses[..count].iter().enumerate() {
        let (same, unknown) = verify_vector(generator, lane_items(checks, i), *inverse);
        equal[i] = same;
        doubtful[i] |= unknown;
    }
    for (i, (check, valid)) in checks.iter().zip(valid).enumerate() {
        let doubtful = is_set(&doubtful, i);
        *valid = if doubtful { library::ecdsa(check) } else { is_set(&equal, i) };
    }
}

/// The lanes whose sum has the x coordinate r, and those in which that is not known.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn verify_vector(
    generator: &Generator,
    checks: [&EcdsaCheck; LANES],
    inverse: Scalar,
) -> (Mask, Mask) {
    let lanes = generator.lanes();
    let r = lanes.load(|lane| &checks[lane].r);
    let digest = lanes.load(|lane| &checks[lane].digest);
    let u1 = Scalar(digest).mul(inverse).canonical();
    let u2 = Scalar(r).mul(inverse).canonical();
    let (key, invalid) = keys::points(lanes, |lane| &checks[lane].key);
    let sum = multiply(generator, u1, u2, &key);
    // x = X / Z^2
    let equal = sum.z.square().mul(&Field::new(r)).sub(&sum.x).is_zero();
    let out_of_range = is_below(r, P_LESS_N) | !is_below(r, N);
    (equal, out_of_range | invalid | sum.z.is_zero())
}
