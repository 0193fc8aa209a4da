//! The four workloads of an importer, on random data that is the same for every engine.

use std::{path::Path, time::Instant};

use blockmill_store::{Blocks, ChainStore, Items, Options, Tip};

use crate::{
    Result,
    engine::{self, Batch, Engine},
};

/// In the order of the table.
pub const NAMES: [&str; 5] =
    ["headers-single", "headers-batch", "state-reads", "trie-batches", "utxo-churn"];

/// Bytes of a header.
const HEADER: usize = 540;
/// Headers in a batch.
const CHUNK: u64 = 2048;
/// Nodes in a trie batch; inserts and deletes in a block of UTXO churn.
const NODES: u64 = 5000;

/// Whether an engine can run a workload: segments hold blocks only.
pub fn applies(engine: &str, workload: &str) -> bool {
    engine != engine::SEGMENTS || workload == "headers-batch"
}

/// Runs a workload and returns operations per second. Time runs until the data is synced.
pub fn run(engine: &str, workload: &str, dir: &Path, entries: u64) -> Result<f64> {
    if engine == engine::SEGMENTS {
        return segments(dir, entries / 4);
    }
    let mut engine = engine::open(engine, dir)?;
    match workload {
        "headers-single" => headers(&mut *engine, entries / 40, 1),
        "headers-batch" => headers(&mut *engine, entries / 4, CHUNK),
        "state-reads" => state_reads(&mut *engine, entries),
        "trie-batches" => trie_batches(&mut *engine, entries / 2),
        "utxo-churn" => utxo_churn(&mut *engine, entries / 2),
        _ => Err(format!("unknown workload {workload}").into()),
    }
}

/// SplitMix64 of a number: random bytes that need no table.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `len` bytes that depend on `seed`.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let words = (0..len.div_ceil(8) as u64).flat_map(|i| mix(seed * 1000 + i).to_le_bytes());
    words.take(len).collect()
}

/// Header, number, hash and total difficulty under the keys that geth uses. One operation is one
/// header with its three small keys.
fn headers(engine: &mut dyn Engine, count: u64, per_batch: u64) -> Result<f64> {
    let pool = bytes(7, HEADER * 256);
    let begin = Instant::now();
    let mut number = 0;
    while number < count {
        let mut batch = Batch::new();
        for n in number..count.min(number + per_batch) {
            let start = n as usize % 255 * HEADER;
            let header = pool[start..start + HEADER].to_vec();
            let hash = bytes(n, 32);
            let key = |prefix: u8, suffix: &[u8]| {
                [&[prefix], n.to_be_bytes().as_slice(), suffix].concat()
            };
            batch.push((key(b'h', &hash), Some(header)));
            batch.push((key(b't', &hash), Some(n.to_be_bytes().to_vec())));
            batch.push((key(b'n', &[]), Some(hash.clone())));
            batch.push(([b"H", hash.as_slice()].concat(), Some(n.to_be_bytes().to_vec())));
        }
        engine.write(batch)?;
        number += per_batch;
    }
    engine.sync()?;
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

/// The same headers in our segments: headers, hashes and hash index, for comparison.
fn segments(dir: &Path, count: u64) -> Result<f64> {
    let pool = bytes(7, HEADER * CHUNK as usize);
    let ends: Vec<u32> = (1..=CHUNK as u32).map(|i| i * HEADER as u32).collect();
    let begin = Instant::now();
    let (mut store, _) = ChainStore::open(dir, &Options::default())?;
    let mut first = 0;
    while first < count {
        let len = CHUNK.min(count - first) as usize;
        let hashes: Vec<[u8; 32]> = (first..first + len as u64)
            .map(|n| std::array::from_fn(|i| mix(n * 1000 + i as u64 / 8).to_le_bytes()[i % 8]))
            .collect();
        let headers = Items { bytes: &pool[..len * HEADER], ends: &ends[..len] };
        let blocks = Blocks { first, hashes: &hashes, headers, bodies: None, receipts: None };
        store.append(&blocks)?;
        first += len as u64;
        let hash = hashes.last().copied().unwrap_or_default();
        store.commit(&Tip { number: first - 1, hash, ..Tip::default() })?;
    }
    store.sync()?;
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

/// Random reads of a flat state: 32-byte keys, 100-byte values, every read finds its value.
fn state_reads(engine: &mut dyn Engine, entries: u64) -> Result<f64> {
    for start in (0..entries).step_by(50_000) {
        let numbers = start..entries.min(start + 50_000);
        engine.write(numbers.map(|n| (bytes(n, 32), Some(bytes(n + 1, 100)))).collect())?;
    }
    engine.sync()?;
    let reads = 200_000;
    let begin = Instant::now();
    for i in 0..reads {
        let n = mix(i) % entries;
        if engine.get(&bytes(n, 32))?.as_deref() != Some(&bytes(n + 1, 100)[..]) {
            return Err(format!("entry {n} is wrong").into());
        }
    }
    Ok(reads as f64 / begin.elapsed().as_secs_f64())
}

/// Batches of new trie nodes: random 32-byte keys, values of 100 to 500 bytes.
fn trie_batches(engine: &mut dyn Engine, entries: u64) -> Result<f64> {
    let begin = Instant::now();
    for start in (0..entries).step_by(NODES as usize) {
        let node = |n| (bytes(n, 32), Some(bytes(n + 1, 100 + (mix(n) % 400) as usize)));
        engine.write((start..start + NODES).map(node).collect())?;
    }
    engine.sync()?;
    Ok(entries as f64 / begin.elapsed().as_secs_f64())
}

/// Blocks that each make 5,000 coins and spend 5,000 random older ones. One operation is one coin
/// made or spent; the first coins are loaded before the clock starts.
fn utxo_churn(engine: &mut dyn Engine, entries: u64) -> Result<f64> {
    let coin = |n| (bytes(n, 36), Some(bytes(n + 1, 50)));
    for start in (0..entries).step_by(NODES as usize) {
        engine.write((start..start + NODES).map(coin).collect())?;
    }
    engine.sync()?;
    let mut live: Vec<u64> = (0..entries.next_multiple_of(NODES)).collect();
    let begin = Instant::now();
    let mut next = live.len() as u64;
    let blocks = entries / (2 * NODES);
    for _ in 0..blocks {
        let mut batch: Batch = (next..next + NODES).map(coin).collect();
        for i in 0..NODES {
            let place = (mix(next + i) % live.len() as u64) as usize;
            batch.push((bytes(live.swap_remove(place), 36), None));
        }
        live.extend(next..next + NODES);
        next += NODES;
        engine.write(batch)?;
    }
    engine.sync()?;
    Ok((blocks * 2 * NODES) as f64 / begin.elapsed().as_secs_f64())
}
