//! Millions of bytes a second of real blocks: taking apart, hashing, and the rules of bodies.
//!
//! `BLOCKMILL_FIXTURES=... cargo bench -p blockmill-bitcoin --bench blocks`

use blockmill_bitcoin::body::Bodies;
use blockmill_bitcoin::params::Rules;
use blockmill_bitcoin::types::{Amount, Block, hash_blocks};
use blockmill_hashes::ManySha256;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Single blocks, each with its height.
const FILES: [(&str, u32); 4] = [
    ("bcoin-block300025.raw", 300_025),
    ("core-bench-block413567.raw", 413_567),
    ("rustbitcoin-702861.raw", 702_861),
    ("bcoin-block928816.raw", 928_816),
];
/// How many of the first 4,522 blocks are hashed together.
const BATCHES: [usize; 3] = [1, 16, 10_000];
const TIME: Duration = Duration::from_millis(300);

fn main() {
    let folder = blockmill_testkit::fixture("bitcoin");
    println!(
        "{:>17} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "MB/s of", "hasher", "parse", "ids", "rules", "all"
    );
    for (file, height) in FILES {
        let block = parsed(std::fs::read(folder.join("blocks").join(file)).expect("fixture"));
        for hasher in ManySha256::all_available() {
            measure(&format!("block {height}"), &mut [block.clone()], 1, height, hasher);
        }
    }
    for batch in BATCHES {
        for hasher in ManySha256::all_available() {
            let mut blocks = first_blocks(&folder);
            measure(&format!("0-4521, by {batch}"), &mut blocks, batch, 0, hasher);
        }
    }
}

fn parsed(raw: Vec<u8>) -> Block {
    let mut block = Block { raw, ..Block::default() };
    block.parse().expect("a block");
    block
}

/// The whole records of the first blocks' file.
fn first_blocks(folder: &Path) -> Vec<Block> {
    let bytes = std::fs::read(folder.join("mainnet-0-4521.dat")).expect("fixture");
    let mut blocks = Vec::new();
    let mut rest = &bytes[..];
    while let Some(([_, _, _, _, length @ ..], body)) = rest.split_first_chunk::<8>() {
        let Some((raw, after)) = body.split_at_checked(u32::from_le_bytes(*length) as usize) else {
            break;
        };
        blocks.push(parsed(raw.to_vec()));
        rest = after;
    }
    blocks
}

fn rules(height: u32) -> Rules {
    Rules {
        height,
        subsidy: Amount::from_sat(0),
        p2sh: height >= 173_805,
        bip30: false,
        bip34: height >= 227_931,
        bip65: height >= 388_381,
        bip66: height >= 363_725,
        csv: height >= 419_328,
        segwit: height >= 481_824,
        witness: true,
        taproot: height >= 709_632,
    }
}

/// Blocks of rising heights, `batch` of them hashed at a time.
fn measure(name: &str, blocks: &mut [Block], batch: usize, height: u32, hasher: ManySha256) {
    let mut bodies = Bodies::new(hasher);
    let parse = fastest(|| blocks.iter_mut().for_each(|block| block.parse().expect("a block")));
    let ids = fastest(|| blocks.chunks_mut(batch).for_each(|part| hash_blocks(part, &hasher)));
    let body = fastest(|| {
        for (block, height) in blocks.iter().zip(height..) {
            let median_time_past = block.time() - 1;
            black_box(bodies.check(block, &rules(height), median_time_past).expect("valid"));
        }
    });
    let bytes: usize = blocks.iter().map(|block| block.raw.len()).sum();
    let speed = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e6;
    let all = speed(parse + ids + body);
    let (parse, ids, body) = (speed(parse), speed(ids), speed(body));
    println!("{name:>17} {:>7} {parse:7.0} {ids:7.0} {body:7.0} {all:7.0}", hasher.name());
}

/// The shortest time of one call.
fn fastest(mut call: impl FnMut()) -> Duration {
    let begin = Instant::now();
    let mut least = Duration::MAX;
    while begin.elapsed() < TIME {
        let begin = Instant::now();
        call();
        least = least.min(begin.elapsed());
    }
    least
}
