//! Keccak-256 of one message and of many, each width against the crates `sha3` and, where its
//! assembly builds, `keccak-asm`. Times of `many` are those of a whole batch; criterion divides by
//! them.
//!
//! `cargo bench -p blockmill-hashes --bench keccak`

use blockmill_hashes::{Keccak256, ManyKeccak, keccak256};
use criterion::{Criterion, Throughput};
use sha3::Digest;
use std::hint::black_box;

/// Bytes of a message: one whole block, small and large transactions, headers, contract code.
const LENGTHS: [usize; 5] = [136, 179, 511, 540, 4096];
/// Messages of a batch, a multiple of all counts of lanes.
const BATCH: usize = 64;

type OfOne = fn(&[u8]) -> [u8; 32];

fn sha3(message: &[u8]) -> [u8; 32] {
    sha3::Keccak256::digest(message).into()
}

#[cfg(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
fn keccak_asm(message: &[u8]) -> [u8; 32] {
    keccak_asm::Keccak256::digest(message).into()
}

/// The incremental hash, given the message at once.
fn incremental(message: &[u8]) -> [u8; 32] {
    let mut hash = Keccak256::new();
    hash.update(message);
    hash.finalize()
}

/// The functions that take one message.
const SINGLES: &[(&str, OfOne)] = &[
    ("sha3", sha3),
    #[cfg(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
    ("keccak-asm", keccak_asm),
    ("keccak256", keccak256),
    ("Keccak256", incremental),
];

fn one(c: &mut Criterion, message: &[u8]) {
    let mut group = c.benchmark_group(format!("one/{}", message.len()));
    group.throughput(Throughput::Bytes(message.len() as u64));
    for (name, hash) in SINGLES {
        assert_eq!(hash(message), sha3(message), "{name}");
        group.bench_function(*name, |b| b.iter(|| hash(black_box(message))));
    }
}

fn many(c: &mut Criterion, messages: &[&[u8]]) {
    let expected: Vec<_> = messages.iter().map(|message| sha3(message)).collect();
    let mut out = vec![[0; 32]; messages.len()];
    let mut group = c.benchmark_group(format!("many/{}", messages[0].len()));
    group.throughput(Throughput::Elements(messages.len() as u64));
    for (name, hash) in SINGLES {
        group.bench_function(*name, |b| {
            b.iter(|| {
                for (out, message) in out.iter_mut().zip(black_box(messages)) {
                    *out = hash(message);
                }
            });
        });
    }
    for width in ManyKeccak::all_available() {
        out.fill([0; 32]);
        group.bench_function(width.name(), |b| {
            b.iter(|| width.keccak256(black_box(messages), &mut out));
        });
        assert_eq!(out, expected, "{}", width.name());
    }
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    let bytes: Vec<u8> = (0..BATCH * 4096).map(|i| (i * 131 + i / 251) as u8).collect();
    for length in LENGTHS {
        one(&mut c, &bytes[..length]);
        let messages: Vec<&[u8]> = bytes.chunks(length).take(BATCH).collect();
        many(&mut c, &messages);
    }
    c.final_summary();
}
