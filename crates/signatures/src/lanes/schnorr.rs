//! Schnorr verification (BIP340): `R = s * G - e * P` must have the signature's x and an even y.

use blockmill_hashes::ManySha256;

use super::curve::Curve;
use super::field::{Field, Prime};
use super::group::{Affine, Jacobian};
use super::inverses::affine;
use super::limb::{LANES, Limb, Mask, is_below, load};
use super::montgomery::{Modulus, Montgomery};
use super::secp256k1::Secp256k1;
use super::{Engine, VECTORS, is_set, lane_items, settle};
use crate::batch::{SchnorrCheck, library};

/// The SHA-256 state after the block of twice the hash of the tag `BIP0340/challenge`.
const TAGGED: [u32; 8] = [
    0x9cec_ba11,
    0x2392_5381,
    0x1167_9112,
    0xd162_7e0f,
    0x97c8_7550,
    0x003c_c765,
    0x90f6_1164,
    0x33e9_b66a,
];

/// Verifies a batch; returns how many the library had to decide.
pub(super) fn verify<L: Limb>(
    engine: &Engine<L, Secp256k1>,
    hash: ManySha256,
    checks: &[SchnorrCheck],
    valid: &mut [bool],
) -> usize {
    let (proof, count) = (engine.proof, checks.len().div_ceil(LANES));
    let mut sums = [Jacobian::unknown(proof); VECTORS];
    let (mut verdicts, mut doubtful) = ([0; VECTORS], [0; VECTORS]);
    for (i, (sum, doubtful)) in sums[..count].iter_mut().zip(&mut doubtful).enumerate() {
        (*sum, *doubtful) = sum_vector(engine, hash, lane_items(checks, i));
    }
    affine(proof, &sums[..count], &mut doubtful, |i, point| {
        let checks = lane_items(checks, i);
        verdicts[i] = L::run(
            proof,
            #[inline(always)]
            || {
                let r = load(proof, |lane| halves(&checks[lane].signature).0);
                Field::new(r).sub(&point.x).is_zero() & !point.y.is_odd()
            },
        );
    });
    settle(checks, valid, &doubtful, |i| is_set(&verdicts, i), library::schnorr)
}

/// The sums, and the lanes in which they are not sound.
fn sum_vector<L: Limb>(
    engine: &Engine<L, Secp256k1>,
    hash: ManySha256,
    checks: [&SchnorrCheck; LANES],
) -> (Jacobian<L, Secp256k1>, Mask) {
    const P: [u64; 5] = <Secp256k1 as Curve>::Prime::P;
    const N: [u64; 5] = <Secp256k1 as Curve>::Order::LIMBS;
    let proof = engine.proof;
    let challenges = challenges(hash, checks);
    let (x, s, e, in_range) = L::run(
        proof,
        #[inline(always)]
        || {
            let r: [L; 5] = load(proof, |lane| halves(&checks[lane].signature).0);
            let s: [L; 5] = load(proof, |lane| halves(&checks[lane].signature).1);
            let x: [L; 5] = load(proof, |lane| &checks[lane].key);
            let e = Montgomery::new(load(proof, |lane| &challenges[lane])).canonical();
            let in_range = is_below(r, P) & is_below(s, N) & is_below(x, P);
            (Field::new(x), Montgomery::new(s), e.negate(), in_range)
        },
    );
    let key = Affine::lift(x, 0);
    let sum = engine.multiply(&s, &e, &key);
    (sum, !(in_range & key.is_on_curve()))
}

/// r and s.
fn halves(signature: &[u8; 64]) -> (&[u8; 32], &[u8; 32]) {
    let (halves, _) = signature.as_chunks();
    (&halves[0], &halves[1])
}

/// The hashes of r, key and message.
fn challenges(hash: ManySha256, checks: [&SchnorrCheck; LANES]) -> [[u8; 32]; LANES] {
    let mut messages = [[[0; 64]; 2]; LANES];
    for (message, check) in messages.iter_mut().zip(checks) {
        let [first, second] = message;
        first[..32].copy_from_slice(halves(&check.signature).0);
        first[32..].copy_from_slice(&check.key);
        second[..32].copy_from_slice(&check.message);
        // the padding after the tag's block and 96 bytes
        second[32] = 0x80;
        second[56..].copy_from_slice(&(8u64 * (64 + 96)).to_be_bytes());
    }
    let mut digests = [[0; 32]; LANES];
    hash.finish_blocks(TAGGED, &messages, &mut digests);
    digests
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_hashes::sha256;
    use std::vec::Vec;

    #[test]
    fn challenges_are_tagged_hashes_of_r_key_and_message() {
        let checks: [SchnorrCheck; LANES] = core::array::from_fn(|i| SchnorrCheck {
            message: [i as u8; 32],
            signature: core::array::from_fn(|at| (at * 3 + i) as u8),
            key: [0xf0 - i as u8; 32],
        });
        let tag = sha256(b"BIP0340/challenge");
        let expected = checks.each_ref().map(|check| {
            let (r, _) = halves(&check.signature);
            sha256(&[&tag, &tag, r, &check.key, &check.message].map(|part| &part[..]).concat())
        });
        let ways: Vec<_> = ManySha256::all_available();
        for way in ways {
            assert_eq!(challenges(way, checks.each_ref()), expected, "{}", way.name());
        }
    }
}
