//! Signatures in batches: every way to verify them against one after the other by a library.

use crate::input::Input;
use blockmill_ethereum::U256;
use blockmill_hashes::sha256;
use blockmill_signatures::{
    EcdsaCheck, Key, KeyTables, Recovery, SchnorrCheck, Signatures, TweakCheck, Width,
};
use secp256k1::constants::{CURVE_ORDER, FIELD_SIZE};
use secp256k1::{PublicKey, SecretKey};
use std::fmt::Debug;
use std::sync::LazyLock;

/// The most of an input: more than two vectors of sixteen lanes.
const LONGEST: usize = 40;

const N: U256 = U256::from_be_bytes(CURVE_ORDER);
const P: U256 = U256::from_be_bytes(FIELD_SIZE);
/// The multiplier of the endomorphism.
const LAMBDA: U256 = U256::from_limbs([
    0xdf02_967c_1b23_bd72,
    0x122e_22ea_2081_6678,
    0xa526_1c02_8812_645a,
    0x5363_ad4c_c05c_30e0,
]);

/// A batch of checks of one operation. Its first byte says which.
pub fn signatures(data: &[u8]) -> bool {
    let mut input = Input(data);
    match input.byte() % 5 {
        0 => all_agree(&batch(&mut input, ecdsa), Signatures::ecdsa),
        1 => all_agree(&batch(&mut input, schnorr), Signatures::schnorr),
        2 => all_agree(&batch(&mut input, recovery), Signatures::recover),
        3 => all_agree(&batch(&mut input, tweak), Signatures::tweaks),
        _ => all_agree(&batch(&mut input, p256), with_tables),
    }
    true
}

fn batch<T>(input: &mut Input, make: fn(&mut Input) -> T) -> Vec<T> {
    let mut items = vec![];
    while !input.0.is_empty() && items.len() < LONGEST {
        items.push(make(input));
    }
    items
}

/// All together, and the last one alone; with lanes that take everything, and as they are.
fn all_agree<T: Debug, U: Clone + Default + PartialEq + Debug>(
    items: &[T],
    verify: fn(&Signatures, &[T], &mut [U]),
) {
    let mut expected = vec![U::default(); items.len()];
    verify(&Signatures::scalar(), items, &mut expected);
    for width in Width::ALL {
        let Some(signatures) = Signatures::with(width) else { continue };
        for (signatures, from) in [
            (signatures.at_any_cost(), 0),
            (signatures.at_any_cost(), items.len().saturating_sub(1)),
            (signatures, 0),
        ] {
            let mut found = vec![U::default(); items.len() - from];
            verify(&signatures, &items[from..], &mut found);
            assert_eq!(found, expected[from..], "{signatures:?}, from {from} of {items:02x?}");
        }
    }
}

/// Any number; most are small or at a bound, as far as an input does not say otherwise.
fn number(input: &mut Input) -> U256 {
    let (choice, near) = (input.byte(), U256::from(input.byte()));
    let number = match choice & 7 {
        0 => U256::from_be_bytes(input.array::<32>()),
        1 => near,
        2 => N.wrapping_add(near),
        3 => P.wrapping_add(near),
        4 => (P - N).wrapping_add(near),
        5 => U256::ONE << near.to::<usize>(),
        6 => LAMBDA.mul_mod(near, N),
        _ => N >> 1,
    };
    match choice >> 3 & 3 {
        0 => number,
        1 => number.wrapping_neg(),
        2 => number.wrapping_sub(near << 1),
        _ => N.wrapping_sub(number),
    }
}

/// A number below n that is not 0.
fn multiplier(input: &mut Input) -> U256 {
    (number(input) % N).max(U256::ONE)
}

/// `number * G`, for a number below n that is not 0.
fn point(number: U256) -> PublicKey {
    let secret = SecretKey::from_secret_bytes(number.to_be_bytes());
    PublicKey::from_secret_key(&secret.expect("a number below n that is not 0"))
}

/// x, and whether y is odd.
fn x(point: &PublicKey) -> ([u8; 32], bool) {
    let (key, parity) = point.x_only_public_key();
    (key.to_byte_array(), parity == secp256k1::Parity::Odd)
}

fn negate(number: U256) -> U256 {
    (N - number % N) % N
}

/// Flips a few bits, mostly none.
fn flip(input: &mut Input, bytes: &mut [u8]) {
    for _ in 0..input.byte().saturating_sub(250) {
        let at = usize::from(input.byte()) % bytes.len();
        bytes[at] ^= 1 << (input.byte() & 7);
    }
}

/// A check such that the sum is of chosen multiples of G and of a chosen key, then spoilt.
fn ecdsa(input: &mut Input) -> EcdsaCheck {
    let choice = input.byte();
    let (secret, u2) = (multiplier(input), multiplier(input));
    // u1 * G and u2 * Q may be equal or opposite
    let term = u2.mul_mod(secret, N);
    let u1 = match choice & 3 {
        0 => term,
        1 => negate(term),
        _ => number(input) % N,
    };
    let nonce = u1.add_mod(term, N);
    // with a sum at infinity any r is as good as another
    let r = if nonce == U256::ZERO { u2 } else { U256::from_be_bytes(x(&point(nonce)).0) % N };
    let s = r.mul_mod(u2.inv_mod(N).unwrap_or_default(), N);
    let key = match choice & 4 {
        0 => Key::Compressed(point(secret).serialize()),
        _ => Key::Uncompressed(point(secret).serialize_uncompressed()),
    };
    let digest = u1.mul_mod(s, N).to_be_bytes();
    let mut check = EcdsaCheck { digest, r: r.to_be_bytes(), s: s.to_be_bytes(), key };
    match choice >> 3 & 7 {
        0 => check.digest = number(input).to_be_bytes(),
        1 => check.r = number(input).to_be_bytes(),
        2 => check.s = number(input).to_be_bytes(),
        3 => check.s = (N - s).to_be_bytes(),
        _ => {}
    }
    match &mut check.key {
        Key::Compressed(bytes) => spoil_key(input, bytes),
        Key::Uncompressed(bytes) => spoil_key(input, bytes),
    }
    flip(input, &mut check.digest);
    flip(input, &mut check.r);
    flip(input, &mut check.s);
    check
}

/// Gives a key another form, x or y, mostly not.
fn spoil_key(input: &mut Input, key: &mut [u8]) {
    match input.byte() {
        250 => key[0] = input.byte(),
        251 => key[1..33].copy_from_slice(&number(input).to_be_bytes::<32>()),
        252 if key.len() == 65 => {
            key[33..].copy_from_slice(&number(input).to_be_bytes::<32>());
        }
        253 if key.len() == 65 => key[0] = 6 + (key[64] & 1),
        254 if key.len() == 65 => key[0] = 7 - (key[64] & 1),
        _ => {}
    }
    flip(input, key);
}

/// A signature with a chosen key and nonce, then spoilt.
fn schnorr(input: &mut Input) -> SchnorrCheck {
    let choice = input.byte();
    let even = |number: U256| {
        let (x, is_odd) = x(&point(number));
        (x, if is_odd { negate(number) } else { number })
    };
    let ((mut key, secret), (mut r, nonce)) = (even(multiplier(input)), even(multiplier(input)));
    let mut message = input.array();
    if choice & 3 == 0 {
        r = number(input).to_be_bytes();
    }
    if choice & 12 == 0 {
        key = number(input).to_be_bytes();
    }
    let tag = sha256(b"BIP0340/challenge");
    let challenge = sha256(&[tag, tag, r, key, message].concat());
    let term = secret.mul_mod(U256::from_be_bytes(challenge), N);
    let s = match choice >> 4 & 7 {
        0 => number(input),
        // the sum is at infinity, or of equal terms
        1 => term,
        2 => negate(term),
        // y is odd
        3 => negate(nonce).add_mod(term, N),
        _ => nonce.add_mod(term, N),
    };
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&r);
    signature[32..].copy_from_slice(&s.to_be_bytes::<32>());
    flip(input, &mut signature);
    flip(input, &mut key);
    flip(input, &mut message);
    SchnorrCheck { message, signature, key }
}

/// A signature such that the key is of chosen multiples of G and of a chosen point, then spoilt.
fn recovery(input: &mut Input) -> Recovery {
    let choice = input.byte();
    let (nonce, s_per_r) = (multiplier(input), multiplier(input));
    let (r, is_odd) = x(&point(nonce));
    let mut r = U256::from_be_bytes(r) % N;
    let mut recovery_id = u8::from(is_odd);
    if choice & 3 == 0 {
        r = number(input);
        recovery_id = input.byte() & 7;
    }
    let term = s_per_r.mul_mod(nonce, N);
    let multiple = match choice >> 2 & 3 {
        // the sum is at infinity, or of equal terms
        0 => term,
        1 => negate(term),
        _ => number(input) % N,
    };
    let (mut s, mut digest) = (s_per_r.mul_mod(r, N), multiple.mul_mod(r, N));
    match choice >> 4 & 7 {
        0 => s = number(input),
        1 => digest = number(input),
        2 => recovery_id = input.byte(),
        _ => {}
    }
    let (r, s, digest) = (r.to_be_bytes(), s.to_be_bytes(), digest.to_be_bytes());
    let mut recovery = Recovery { digest, r, s, recovery_id };
    flip(input, &mut recovery.digest);
    flip(input, &mut recovery.r);
    flip(input, &mut recovery.s);
    recovery
}

/// A tweaked key with chosen numbers, then spoilt.
fn tweak(input: &mut Input) -> TweakCheck {
    let choice = input.byte();
    let secret = multiplier(input);
    let (mut key, is_odd) = x(&point(secret));
    let even = if is_odd { negate(secret) } else { secret };
    let mut tweak = match choice & 3 {
        // the sum is at infinity, or of equal terms
        0 => negate(even),
        1 => even,
        _ => number(input),
    };
    let sum = even.add_mod(tweak, N);
    let (mut tweaked, odd) = if sum == U256::ZERO { (key, is_odd) } else { x(&point(sum)) };
    match choice >> 2 & 7 {
        0 => key = number(input).to_be_bytes(),
        1 => tweak = number(input),
        2 => tweaked = number(input).to_be_bytes(),
        _ => {}
    }
    let mut tweak = tweak.to_be_bytes();
    flip(input, &mut key);
    flip(input, &mut tweak);
    flip(input, &mut tweaked);
    TweakCheck { key, tweak, tweaked, odd: odd ^ (choice & 0xc0 == 0) }
}

/// A check over P-256. If r = s is x of the key and the digest is 0, the sum is the key itself:
/// that is valid for every point. Most checks begin so, with an x of any kind.
fn p256(input: &mut Input) -> EcdsaCheck {
    let choice = input.byte();
    let x: [u8; 32] = match choice & 1 {
        // few keys, which come again and get tables
        0 => sha256(&[input.byte() & 7]),
        _ => number(input).to_be_bytes(),
    };
    let mut key = [2 + (choice >> 1 & 1); 33];
    key[1..].copy_from_slice(&x);
    let mut check = EcdsaCheck { digest: [0; 32], r: x, s: x, key: Key::Compressed(key) };
    match choice >> 2 & 7 {
        0 => check.digest = number(input).to_be_bytes(),
        1 => check.r = number(input).to_be_bytes(),
        2 => check.s = number(input).to_be_bytes(),
        3 => {
            let mut long = [4; 65];
            long[1..33].copy_from_slice(&x);
            long[33..].copy_from_slice(&number(input).to_be_bytes::<32>());
            check.key = Key::Uncompressed(long);
        }
        _ => {}
    }
    match &mut check.key {
        Key::Compressed(bytes) => spoil_key(input, bytes),
        Key::Uncompressed(bytes) => spoil_key(input, bytes),
    }
    flip(input, &mut check.r);
    flip(input, &mut check.s);
    check
}

fn with_tables(signatures: &Signatures, checks: &[EcdsaCheck], valid: &mut [bool]) {
    static TABLES: LazyLock<KeyTables> = LazyLock::new(|| KeyTables::new(500_000));
    signatures.p256(checks, &TABLES, valid);
}
