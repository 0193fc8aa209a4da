//! SHA-256d of the shapes that chains hash, each width against the crates `sha2` and
//! `bitcoin_hashes`: pairs of a merkle tree, block headers, transactions of 250 bytes, transactions
//! of mixed lengths, and long messages, of 130 blocks each. Times are those of a whole batch;
//! criterion divides by them.
//!
//! `cargo bench -p blockmill-hashes --bench sha256`

use bitcoin_hashes::Hash as _;
use blockmill_hashes::{ManySha256, sha256d};
use criterion::{Criterion, Throughput};
use sha2::Digest;
use std::hint::black_box;

/// Messages of a batch: the transactions of a full block.
const BATCH: usize = 2048;

type OfOne = fn(&[u8]) -> [u8; 32];

fn sha2(message: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(sha2::Sha256::digest(message)).into()
}

fn bitcoin_hashes(message: &[u8]) -> [u8; 32] {
    bitcoin_hashes::sha256d::Hash::hash(message).to_byte_array()
}

/// Benchmarks the functions that take one message, and `many` with each width.
fn shape(
    c: &mut Criterion,
    name: &str,
    messages: &[&[u8]],
    many: impl Fn(&ManySha256, &mut [[u8; 32]]),
) {
    let expected: Vec<_> = messages.iter().map(|message| sha2(message)).collect();
    let mut out = vec![[0; 32]; messages.len()];
    let mut group = c.benchmark_group(format!("sha256d/{name}"));
    group.throughput(Throughput::Elements(messages.len() as u64));
    let singles: [(&str, OfOne); 3] =
        [("sha2", sha2), ("bitcoin_hashes", bitcoin_hashes), ("one by one", sha256d)];
    for (name, hash) in singles {
        group.bench_function(name, |b| {
            b.iter(|| {
                for (out, message) in out.iter_mut().zip(black_box(messages)) {
                    *out = hash(message);
                }
            });
        });
        assert_eq!(out, expected, "{name}");
    }
    for width in ManySha256::all_available() {
        out.fill([0; 32]);
        group.bench_function(width.name(), |b| b.iter(|| many(black_box(&width), &mut out)));
        assert_eq!(out, expected, "{}", width.name());
    }
}

/// Reproducible bytes.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 131 + i / 251) as u8).collect()
}

fn main() {
    let c = &mut Criterion::default().configure_from_args();

    let data = bytes(BATCH * 64);
    let pairs = data.as_chunks::<64>().0;
    let messages: Vec<&[u8]> = pairs.iter().map(|pair| &pair[..]).collect();
    shape(c, "64-byte pairs", &messages, |width, out| width.sha256d_64(pairs, out));
    let few = &messages[..12];
    shape(c, "12 pairs", few, |width, out| width.sha256d_64(&pairs[..12], out));

    let data = bytes(BATCH * 80);
    let headers = data.as_chunks::<80>().0;
    let messages: Vec<&[u8]> = headers.iter().map(|header| &header[..]).collect();
    shape(c, "80-byte headers", &messages, |width, out| width.sha256d_80(headers, out));

    let data = bytes(BATCH * 250);
    let messages: Vec<&[u8]> = data.chunks(250).collect();
    shape(c, "250-byte transactions", &messages, |width, out| width.sha256d(&messages, out));

    // most are short, one in 16 is long
    let length = |i: usize| if i % 16 == 15 { 1000 + i * 7 % 2000 } else { 190 + i * 37 % 200 };
    let mut ends = vec![];
    (0..BATCH).fold(0, |end, i| {
        ends.push((end + length(i)) as u32);
        end + length(i)
    });
    let data = bytes(ends.last().map_or(0, |end| *end as usize));
    let start = |i: usize| if i == 0 { 0 } else { ends[i - 1] as usize };
    let messages: Vec<_> = (0..BATCH).map(|i| &data[start(i)..ends[i] as usize]).collect();
    let column = |width: &ManySha256, out: &mut [_]| width.sha256d_column(&data, &ends, out);
    shape(c, "mixed transactions", &messages, column);

    let data = bytes(256 * 8192);
    let messages: Vec<&[u8]> = data.chunks(8192).collect();
    shape(c, "8 KiB messages", &messages, |width, out| width.sha256d(&messages, out));
    c.final_summary();
}
