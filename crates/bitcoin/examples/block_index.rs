//! How long the block index takes, apart from scanning: the tree of made headers in order,
//! reversed and shuffled, and the index file.
//!
//! `cargo run --release -p blockmill-bitcoin --example block_index -- 1000000`

use blockmill_bitcoin::header::target;
use blockmill_bitcoin::index::{FileStamp, Found, Loaded, Tree, load, save};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::types::BlockHash;
use ruint::aliases::U256;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    // two hashes a block, periods as on the main network
    let regtest = Params::regtest();
    let two_weeks = 14 * 24 * 60 * 60;
    let main_rules =
        Params { min_difficulty: false, no_retarget: false, period_seconds: two_weeks, ..regtest };
    let test_rules = Params { min_difficulty: true, ..main_rules.clone() };
    let in_order = made(&main_rules, count);
    let mut reversed = in_order.clone();
    reversed.reverse();
    let mut shuffled = in_order.clone();
    shuffle(&mut shuffled);
    println!("{count} headers, CPU time, best of {ROUNDS}");
    for (name, order) in [("in order", &in_order), ("reversed", &reversed), ("shuffled", &shuffled)]
    {
        for (rules, params) in [("main", &main_rules), ("test", &test_rules)] {
            println!("tree, {name}, {rules} rules: {:?}", build(params, placed(order), count));
        }
    }
    files(&in_order);
}

/// Headers of one chain, ten minutes between them.
fn made(params: &Params, count: usize) -> Vec<[u8; 80]> {
    let mut headers = Vec::with_capacity(count);
    let mut previous = params.genesis_hash;
    let (mut time, bits) = (1_296_688_602_u32, params.limit_bits());
    let target = target(bits).unwrap_or(U256::MAX);
    for _ in 0..count {
        time += 601;
        let mut header = [0; 80];
        header[0] = 4;
        header[4..36].copy_from_slice(&previous.0);
        header[68..72].copy_from_slice(&time.to_le_bytes());
        header[72..76].copy_from_slice(&bits.to_le_bytes());
        for nonce in 0_u32.. {
            header[76..].copy_from_slice(&nonce.to_le_bytes());
            previous = BlockHash(blockmill_hashes::sha256d(&header));
            if U256::from_le_bytes(previous.0) <= target {
                break;
            }
        }
        headers.push(header);
    }
    headers
}

fn placed(headers: &[[u8; 80]]) -> Vec<Found> {
    let record = |(at, header): (usize, &[u8; 80])| Found {
        file: at as u32 / 100,
        offset: at as u64 * 1_000_000,
        size: 999_992,
        header: *header,
        hash: BlockHash(blockmill_hashes::sha256d(header)),
    };
    headers.iter().enumerate().map(record).collect()
}

fn shuffle(headers: &mut [[u8; 80]]) {
    let mut state = 1_u64;
    for at in (1..headers.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        headers.swap(at, (state >> 33) as usize % (at + 1));
    }
}

fn build(params: &Params, found: Vec<Found>, count: usize) -> Duration {
    let round = |_| {
        let found = found.clone();
        let start = cpu_time();
        let tree = Tree::build(params, found, None);
        let chain = tree.best_chain();
        let taken = cpu_time() - start;
        assert_eq!((chain.len(), tree.refused().len()), (count + 1, 0));
        taken
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

/// Of this process. Other processes take turns on the machine; this leaves them out.
fn cpu_time() -> Duration {
    let times = blockmill_pipeline::usage::cpu_times();
    Duration::from_secs_f64(times.user_s + times.sys_s)
}

fn files(headers: &[[u8; 80]]) {
    let found = placed(headers);
    let stamp = |at: usize| FileStamp {
        path: format!("/blocks/blk{at:05}.dat").into(),
        length: 128 << 20,
        modified: 1_700_000_000,
        modified_nanos: 0,
        xor_key: [0; 8],
    };
    let stamps: Vec<FileStamp> = (0..headers.len() / 100 + 1).map(stamp).collect();
    let path = std::env::temp_dir().join(format!("block-index-{}", std::process::id()));
    for _ in 0..2 {
        let (start, cpu) = (Instant::now(), cpu_time());
        let saved = save(&path, [1, 2, 3, 4], &stamps, &found);
        println!("save: {:?}, CPU {:?}, {saved:?}", start.elapsed(), cpu_time() - cpu);
        let (start, cpu) = (Instant::now(), cpu_time());
        let loaded = load(&path, [1, 2, 3, 4]);
        println!("load: {:?}, CPU {:?}", start.elapsed(), cpu_time() - cpu);
        assert!(matches!(loaded, Ok(Loaded::Index(saved)) if saved.found == found));
    }
    let removed = std::fs::remove_file(&path);
    println!("removed: {removed:?}");
}
