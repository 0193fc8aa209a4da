//! The keys of ECDSA signatures (SEC 1, section 4.1.6): `Q = s / r * R - digest / r * G`.
//!
//! Signatures whose point has an x of n or more, which nobody makes, are left to libsecp256k1.

use super::curve::Curve;
use super::ecdsa::invertible;
use super::field::Field;
use super::group::{Affine, Jacobian};
use super::inverses::{self, affine};
use super::limb::{LANES, Limb, Mask, is_below, is_zero, load, store};
use super::montgomery::{Modulus, Montgomery};
use super::{BATCH, Engine, VECTORS, lane_items, settle};
use crate::batch::{Recovery, library};

/// Recovers the keys of a batch; returns how many the library had to find.
pub(super) fn recover<L: Limb, C: Curve>(
    engine: &Engine<L, C>,
    signatures: &[Recovery],
    keys: &mut [Option<[u8; 64]>],
) -> usize {
    let (proof, count) = (engine.proof, signatures.len().div_ceil(LANES));
    let mut inverses = [Montgomery::<L, C::Order>::one(proof); VECTORS];
    let mut doubtful = [0; VECTORS];
    for (i, (r, doubtful)) in inverses[..count].iter_mut().zip(&mut doubtful).enumerate() {
        let signatures = lane_items(signatures, i);
        (*r, *doubtful) = invertible(proof, |lane| &signatures[lane].r);
    }
    inverses::of_scalars(proof, &mut inverses[..count]);
    let mut sums = [Jacobian::unknown(proof); VECTORS];
    for (i, (sum, inverse)) in sums.iter_mut().zip(&inverses[..count]).enumerate() {
        let unsound;
        (*sum, unsound) = sum_vector(engine, lane_items(signatures, i), inverse);
        doubtful[i] |= unsound;
    }
    let mut found = [[0; 64]; BATCH];
    affine(proof, &sums[..count], &mut doubtful, |i, point| {
        let coordinates = store(point.x.limbs()).into_iter().zip(store(point.y.limbs()));
        for (key, (x, y)) in found[LANES * i..].iter_mut().zip(coordinates) {
            key[..32].copy_from_slice(&x);
            key[32..].copy_from_slice(&y);
        }
    });
    settle(signatures, keys, &doubtful, |i| Some(found[i]), library::recover)
}

/// The sums, and the lanes in which they are not sound.
fn sum_vector<L: Limb, C: Curve>(
    engine: &Engine<L, C>,
    signatures: [&Recovery; LANES],
    inverse: &Montgomery<L, C::Order>,
) -> (Jacobian<L, C>, Mask) {
    let proof = engine.proof;
    let (mut odd, mut doubtful) = (0, 0);
    for (lane, signature) in signatures.into_iter().enumerate() {
        odd |= Mask::from(signature.recovery_id & 1) << lane;
        doubtful |= Mask::from(signature.recovery_id > 1) << lane;
    }
    let (r, u1, u2, out_of_range) = L::run(
        proof,
        #[inline(always)]
        || {
            let r = Field::new(load(proof, |lane| &signatures[lane].r));
            let s: [L; 5] = load(proof, |lane| &signatures[lane].s);
            let digest = Montgomery::new(load(proof, |lane| &signatures[lane].digest));
            let u1 = digest.mul(inverse).canonical().negate();
            let u2 = Montgomery::new(s).mul(inverse).canonical();
            (r, u1, u2, is_zero(s) | !is_below(s, C::Order::LIMBS))
        },
    );
    let point = Affine::lift(r, odd);
    let sum = engine.multiply(&u1, &u2, &point);
    (sum, doubtful | out_of_range | !point.is_on_curve())
}
