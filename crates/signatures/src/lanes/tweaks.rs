//! Tweaked keys (BIP341): `Q = P + t * G` must have the given x and parity of y.

use super::curve::Curve;
use super::field::{Field, Prime};
use super::group::{Affine, Jacobian};
use super::inverses::affine;
use super::limb::{LANES, Limb, Mask, is_below, load};
use super::montgomery::{Modulus, Montgomery};
use super::secp256k1::Secp256k1;
use super::{Engine, VECTORS, is_set, lane_items, settle};
use crate::batch::{TweakCheck, library};

/// Verifies a batch; returns how many the library had to decide.
pub(super) fn verify<L: Limb>(
    engine: &Engine<L, Secp256k1>,
    checks: &[TweakCheck],
    valid: &mut [bool],
) -> usize {
    let (proof, count) = (engine.proof, checks.len().div_ceil(LANES));
    let mut sums = [Jacobian::unknown(proof); VECTORS];
    let (mut verdicts, mut doubtful) = ([0; VECTORS], [0; VECTORS]);
    for (i, (sum, doubtful)) in sums[..count].iter_mut().zip(&mut doubtful).enumerate() {
        (*sum, *doubtful) = sum_vector(engine, lane_items(checks, i));
    }
    affine(proof, &sums[..count], &mut doubtful, |i, point| {
        let checks = lane_items(checks, i);
        let mut odd: Mask = 0;
        for (lane, check) in checks.into_iter().enumerate() {
            odd |= Mask::from(check.odd) << lane;
        }
        verdicts[i] = L::run(
            proof,
            #[inline(always)]
            || {
                let tweaked = Field::new(load(proof, |lane| &checks[lane].tweaked));
                tweaked.sub(&point.x).is_zero() & !(point.y.is_odd() ^ odd)
            },
        );
    });
    settle(checks, valid, &doubtful, |i| is_set(&verdicts, i), library::tweak)
}

/// The sums, and the lanes in which they are not sound.
fn sum_vector<L: Limb>(
    engine: &Engine<L, Secp256k1>,
    checks: [&TweakCheck; LANES],
) -> (Jacobian<L, Secp256k1>, Mask) {
    const P: [u64; 5] = <Secp256k1 as Curve>::Prime::P;
    const N: [u64; 5] = <Secp256k1 as Curve>::Order::LIMBS;
    let proof = engine.proof;
    let (x, tweak, in_range) = L::run(
        proof,
        #[inline(always)]
        || {
            let x: [L; 5] = load(proof, |lane| &checks[lane].key);
            let tweak: [L; 5] = load(proof, |lane| &checks[lane].tweak);
            let tweaked: [L; 5] = load(proof, |lane| &checks[lane].tweaked);
            let in_range = is_below(x, P) & is_below(tweak, N) & is_below(tweaked, P);
            (Field::new(x), Montgomery::new(tweak), in_range)
        },
    );
    let key = Affine::lift(x, 0);
    let mut sum = L::run(
        proof,
        #[inline(always)]
        || key.to_jacobian(0),
    );
    engine.generator.add_to(&mut sum, &tweak);
    (sum, !(in_range & key.is_on_curve()))
}
