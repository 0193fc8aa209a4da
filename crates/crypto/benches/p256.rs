//! Signatures over P-256 in batches: AWS-LC one after the other against the lanes, both with the
//! parsing of keys. Times are those of a whole batch; criterion divides by them.
//!
//! `cargo bench -p blockmill-crypto --bench p256`

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use blockmill_crypto::{EcdsaCheck, Key, KeyTables, Signatures, Variant, sha256};
use criterion::{Criterion, Throughput};
use std::hint::black_box;

/// Signatures of a batch: half of the lanes, all of them twice, and large ones.
const BATCHES: [usize; 4] = [8, 32, 256, 1024];
/// Memory for the tables of keys.
const TABLES: usize = 32 << 20;

fn key(pair: &EcdsaKeyPair, compressed: bool) -> Key {
    let bytes: [u8; 65] = pair.public_key().as_ref().try_into().unwrap();
    if !compressed {
        return Key::Uncompressed(bytes);
    }
    let mut short = [2 + (bytes[64] & 1); 33];
    short[1..].copy_from_slice(&bytes[1..33]);
    Key::Compressed(short)
}

/// Signatures by so many keys in turn.
fn checks(count: usize, keys: usize, compressed: bool) -> Vec<EcdsaCheck> {
    let random = SystemRandom::new();
    let pairs: Vec<_> = (0..keys)
        .map(|_| EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
        .collect();
    let check = |i: usize| {
        let pair = &pairs[i % keys];
        let signature = pair.sign(&random, &i.to_le_bytes()).unwrap();
        let (r, s) = signature.as_ref().split_at(32);
        let (r, s) = (r.try_into().unwrap(), s.try_into().unwrap());
        EcdsaCheck { digest: sha256(&i.to_le_bytes()), r, s, key: key(pair, compressed) }
    };
    (0..count).map(check).collect()
}

/// Signatures that the lanes cannot decide: `r + n` may be an x as well, as r is small.
fn undecided(count: usize) -> Vec<EcdsaCheck> {
    let mut checks = checks(count, count, true);
    for check in &mut checks {
        check.r = std::array::from_fn(|i| u8::from(i == 31));
    }
    checks
}

/// Times every variant for every batch, and asserts that its answers are `expected`.
fn all(c: &mut Criterion, name: &str, checks: &[EcdsaCheck], expected: bool, bytes: usize) {
    for batch in BATCHES {
        let checks = &checks[..batch];
        let mut group = c.benchmark_group(format!("{name}/{batch}"));
        group.throughput(Throughput::Elements(batch as u64));
        for signatures in Variant::ALL.into_iter().filter_map(Signatures::with) {
            let tables = KeyTables::new(bytes);
            let mut valid = vec![!expected; batch];
            for _ in 0..100 {
                signatures.p256(checks, &tables, &mut valid);
            }
            assert!(valid.iter().all(|valid| *valid == expected), "{name} {signatures:?}");
            group.bench_function(signatures.variant().name(), |b| {
                b.iter(|| signatures.p256(black_box(checks), &tables, &mut valid));
            });
        }
    }
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    let most = BATCHES[3];
    all(&mut c, "p256", &checks(most, most, true), true, 0);
    all(&mut c, "p256-uncompressed", &checks(most, most, false), true, 0);
    all(&mut c, "p256-undecided", &undecided(most), false, 0);
    // the validators of a chain, and its busy accounts
    for keys in [7, 200] {
        all(&mut c, &format!("p256-repeated-{keys}"), &checks(most, keys, true), true, TABLES);
    }
    c.final_summary();
}
