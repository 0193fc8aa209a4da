//! Schnorr verification (BIP340): `R = s * G - e * P` must have the signature's x and an even y.

use core::array;

use super::curve::Curve;
use super::field::{Field, Prime};
use super::group::{Affine, Jacobian};
use super::inverses::affine;
use super::limb::{LANES, Limb, Mask, is_below, load};
use super::montgomery::{Modulus, Montgomery};
use super::secp256k1::Secp256k1;
use super::{Engine, VECTORS, is_set, lane_items, settle};
use crate::arch::sha256::{Compress, States};
use crate::signatures::{SchnorrCheck, library};

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
    hash: impl Compress<LANES>,
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
    hash: impl Compress<LANES>,
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
fn challenges(hash: impl Compress<LANES>, checks: [&SchnorrCheck; LANES]) -> [[u8; 32]; LANES] {
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
    let mut states = States(TAGGED.map(|word| [word; LANES]));
    hash.compress(&mut states, messages.each_ref().map(|message| &message[..]));
    array::from_fn(|lane| states.digest(lane))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha256;

    #[test]
    fn the_tagged_state_is_that_of_the_tag() {
        let tag = sha256(b"BIP0340/challenge");
        let mut block = [0; 64];
        block[..32].copy_from_slice(&tag);
        block[32..].copy_from_slice(&tag);
        let mut state = States::<1>::new();
        crate::arch::sha256_all::Scalar.compress(&mut state, [&[block]]);
        assert_eq!(state.lane(0), TAGGED);
    }
}
