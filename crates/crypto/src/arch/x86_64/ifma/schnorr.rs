//! Schnorr verification (BIP340): `R = s * G - e * P` must have the signature's x and an even y.

use core::arch::x86_64::__mmask8;

use super::field::{Field, P, load};
use super::generator::Generator;
use super::group::{Affine, Jacobian};
use super::multiply::multiply;
use super::scalar::{N, Scalar, is_below};
use super::{BATCH, VECTORS, group, lanes};
use super::inverses::affine;
use crate::arch::sha256::{Compress, States};
use crate::arch::x86_64::avx512::Avx512;
use crate::signatures::{SchnorrCheck, library};

/// The SHA-256 state after the block of twice the hash of the tag `BIP0340/challenge`.
const TAGGED: [u32; 8] = [
    0x9cec_ba11, 0x2392_5381, 0x1167_9112, 0xd162_7e0f, 0x97c8_7550, 0x003c_c765, 0x90f6_1164,
    0x33e9_b66a,
];

/// Verifies a batch.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn verify(
    generator: &Generator,
    hash: Avx512,
    checks: &[SchnorrCheck],
    valid: &mut [bool],
) {
    let count = checks.len().div_ceil(8);
    let mut challenges = [[0; 32]; BATCH];
    for (checks, challenges) in checks.chunks(16).zip(challenges.chunks_mut(16)) {
        hash_challenges(hash, checks, challenges);
    }
    let mut sums = [Jacobian::unknown(); VECTORS];
    let mut doubtful = [0; VECTORS];
    let mut i = 0;
    while i < count {
        let side_by_side = group(count - i);
        let run = match side_by_side {
            1 => sum_group::<1>,
            2 => sum_group::<2>,
            _ => sum_group::<4>,
        };
        run(generator, checks, &challenges[..checks.len()], i, &mut sums, &mut doubtful);
        i += side_by_side;
    }
    let mut verdicts = [0; VECTORS];
    affine(&sums[..count], &mut doubtful, |i, point| {
        let r = Field([load(lanes(checks, i).map(|check| halves(&check.signature).0))]);
        let [equal] = r.sub(&point.x).is_zero();
        let [odd] = point.y.is_odd();
        verdicts[i] = equal & !odd;
    });
    for (i, (check, valid)) in checks.iter().zip(valid).enumerate() {
        let lane = 1 << (i % 8);
        *valid = match doubtful[i / 8] & lane {
            0 => verdicts[i / 8] & lane != 0,
            _ => library::schnorr(check),
        };
    }
}

/// The sums of the `W` vectors from `first` on.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn sum_group<const W: usize>(
    generator: &Generator,
    checks: &[SchnorrCheck],
    challenges: &[[u8; 32]],
    first: usize,
    sums: &mut [Jacobian<1>; VECTORS],
    doubtful: &mut [__mmask8; VECTORS],
) {
    let mut x = Field::<W>::splat([0; 4]);
    let (mut u1, mut u2) = ([Scalar::one(); W], [Scalar::one(); W]);
    for w in 0..W {
        let challenges = lanes(challenges, first + w);
        let checks = lanes(checks, first + w);
        let (r, s) = (
            load(checks.map(|check| halves(&check.signature).0)),
            load(checks.map(|check| halves(&check.signature).1)),
        );
        x.0[w] = load(checks.map(|check| &check.key));
        u1[w] = Scalar(s);
        u2[w] = Scalar(load(challenges)).canonical().negate();
        let in_range = is_below(&r, P) & is_below(&s, N) & is_below(&x.0[w], P);
        doubtful[first + w] |= !in_range;
    }
    let key = Affine::lift(&x, [0; W]);
    let on_curve = key.is_on_curve();
    let sum = multiply(generator, &u1, &u2, &key);
    for w in 0..W {
        sums[first + w] = sum.vector(w);
        doubtful[first + w] |= !on_curve[w];
    }
}

/// r and s.
fn halves(signature: &[u8; 64]) -> (&[u8; 32], &[u8; 32]) {
    let (halves, _) = signature.as_chunks();
    (&halves[0], &halves[1])
}

/// Writes the hashes of at most 16 checks.
fn hash_challenges(hash: Avx512, checks: &[SchnorrCheck], challenges: &mut [[u8; 32]]) {
    let mut messages = [[[0; 64]; 2]; 16];
    for (message, check) in messages.iter_mut().zip(checks) {
        let [first, second] = message;
        first[..32].copy_from_slice(halves(&check.signature).0);
        first[32..].copy_from_slice(&check.key);
        second[..32].copy_from_slice(&check.message);
        // the padding after the tag's block and 96 bytes
        second[32] = 0x80;
        second[56..].copy_from_slice(&(8u64 * (64 + 96)).to_be_bytes());
    }
    let mut states = States(TAGGED.map(|word| [word; 16]));
    hash.compress(&mut states, messages.each_ref().map(|message| &message[..]));
    for (lane, challenge) in challenges.iter_mut().enumerate().take(checks.len()) {
        *challenge = states.digest(lane);
    }
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
