//! Signatures of secp256k1 in batches: libsecp256k1 one after the other against the lanes, both
//! with the parsing of keys. Times are those of a whole batch; criterion divides by them.
//!
//! `cargo bench -p blockmill-crypto --bench signatures`

use blockmill_crypto::{EcdsaCheck, Key, Recovery, SchnorrCheck, Signatures, Variant, sha256};
use criterion::{Criterion, Throughput};
use secp256k1::constants::CURVE_ORDER;
use secp256k1::ecdsa::{RecoverableSignature, Signature};
use secp256k1::{Keypair, Message, PublicKey, SecretKey};
use std::hint::black_box;

/// Signatures of a batch: half of the lanes, all of them twice, and large ones.
const BATCHES: [usize; 5] = [3, 8, 32, 256, 1024];

/// The secret key and the digest of signature `i`.
fn seed(i: usize) -> (Keypair, [u8; 32]) {
    let digest = sha256(&i.to_le_bytes());
    let secret = SecretKey::from_secret_bytes(sha256(&digest)).unwrap();
    (Keypair::from_secret_key(&secret), digest)
}

fn numbers(compact: &[u8; 64]) -> ([u8; 32], [u8; 32]) {
    let (r, s) = compact.split_at(32);
    (r.try_into().unwrap(), s.try_into().unwrap())
}

fn ecdsa(i: usize, compressed: bool) -> EcdsaCheck {
    let (pair, digest) = seed(i);
    let signature: Signature = pair.secret_key().sign_ecdsa(Message::from_digest(digest));
    let (r, s) = numbers(&signature.serialize_compact());
    let public = pair.public_key();
    let key = match compressed {
        true => Key::Compressed(public.serialize()),
        false => Key::Uncompressed(public.serialize_uncompressed()),
    };
    EcdsaCheck { digest, r, s, key }
}

fn schnorr(i: usize) -> SchnorrCheck {
    let (pair, message) = seed(i);
    let signature = pair.sign_schnorr_no_aux_rand(&message).to_byte_array();
    SchnorrCheck { message, signature, key: pair.x_only_public_key().0.to_byte_array() }
}

fn recovery(i: usize) -> (Recovery, [u8; 64]) {
    let (pair, digest) = seed(i);
    let message = Message::from_digest(digest);
    let signature = RecoverableSignature::sign_ecdsa_recoverable(message, &pair.secret_key());
    let (id, compact) = signature.serialize_compact();
    let (r, s) = numbers(&compact);
    let [_form, key @ ..] = pair.public_key().serialize_uncompressed();
    (Recovery { digest, r, s, recovery_id: id.into() }, key)
}

/// A signature that the lanes cannot decide: the sum of its points is at infinity. The key is G,
/// and the digest `n - r`.
fn undecided(i: usize) -> EcdsaCheck {
    let mut check = ecdsa(i, true);
    let mut borrowed = false;
    for ((digest, n), r) in check.digest.iter_mut().zip(CURVE_ORDER).zip(check.r).rev() {
        let (digit, under) = n.overflowing_sub(r);
        let (digit, again) = digit.overflowing_sub(borrowed.into());
        (*digest, borrowed) = (digit, under || again);
    }
    let one = SecretKey::from_secret_bytes(std::array::from_fn(|i| u8::from(i == 31))).unwrap();
    EcdsaCheck { key: Key::Compressed(PublicKey::from_secret_key(&one).serialize()), ..check }
}

/// Times `run` of every variant for every batch, and asserts that its answers are `expected`.
fn all<T, U: Clone + Default + PartialEq>(
    c: &mut Criterion,
    name: &str,
    items: &[T],
    expected: &[U],
    run: impl Fn(&Signatures, &[T], &mut [U]),
) {
    for batch in BATCHES {
        let (items, expected) = (&items[..batch], &expected[..batch]);
        let mut group = c.benchmark_group(format!("{name}/{batch}"));
        group.throughput(Throughput::Elements(batch as u64));
        for variant in [Variant::Scalar, Variant::Ifma] {
            let Some(signatures) = Signatures::with(variant) else { continue };
            let mut out = vec![U::default(); batch];
            run(&signatures, items, &mut out);
            assert!(out == expected, "{name} {variant:?}");
            group.bench_function(format!("{variant:?}"), |b| {
                b.iter(|| run(&signatures, black_box(items), &mut out));
            });
        }
    }
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    let (most, yes) = (BATCHES[4], vec![true; BATCHES[4]]);
    for (name, compressed) in [("ecdsa", true), ("ecdsa-uncompressed", false)] {
        let checks: Vec<_> = (0..most).map(|i| ecdsa(i, compressed)).collect();
        all(&mut c, name, &checks, &yes, Signatures::ecdsa);
    }
    let checks: Vec<_> = (0..most).map(undecided).collect();
    all(&mut c, "ecdsa-undecided", &checks, &vec![false; most], Signatures::ecdsa);
    let checks: Vec<_> = (0..most).map(schnorr).collect();
    all(&mut c, "schnorr", &checks, &yes, Signatures::schnorr);
    let (signatures, keys): (Vec<_>, Vec<_>) = (0..most).map(recovery).unzip();
    let keys: Vec<_> = keys.into_iter().map(Some).collect();
    all(&mut c, "recover", &signatures, &keys, Signatures::recover);
    c.final_summary();
}
