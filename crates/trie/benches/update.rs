//! Updates of retained tries: blocks of few and of many changed keys over states of 10^5 and 10^6
//! keys, hashed in lanes and one node after the other, alone and in groups.
//!
//! `cargo bench -p blockmill-trie --bench update [-- STATES...]`, such as `-- 100000 1000000`.
//! Times are CPU times of the thread. All settings must find the same roots.

use blockmill_hashes::{ManyKeccak, ManySha256};
use blockmill_testkit::Random;
use blockmill_trie::codec::{Codec, Ethereum, Neo};
use blockmill_trie::update::{Changes, Forest, Hashed, TrieId, Update};
use std::fs;

/// Changed keys of a block, and number of measured blocks.
const BLOCKS: [(usize, usize); 4] = [(3, 10_000), (20, 4000), (200, 1000), (20_000, 20)];
/// Blocks whose nodes are hashed together.
const GROUP: usize = 8;

/// Nanoseconds that this thread was on the CPU.
fn now() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Keys that are hashes, as in the state and in storage.
fn key(number: u64) -> [u8; 32] {
    blockmill_hashes::keccak256(&number.to_be_bytes())
}

/// A block: nine changes of ten are of keys that are there, the others insert and delete.
fn block(random: &mut Random, state: &mut (u64, u64), size: usize) -> Vec<([u8; 32], Vec<u8>)> {
    let mut changes = vec![];
    for i in 0..size {
        let (first, end) = *state;
        let number = match i % 20 {
            2 => {
                state.1 += 1;
                end
            }
            7 => {
                state.0 += 1;
                first
            }
            _ => first + 1 + random.next_u64() % (end - first - 2),
        };
        // the bytes of a slot, of any length, after their prefix
        let len = 1 + random.below(32_usize);
        let mut value = random.bytes(len);
        value.insert(0, 0x80 + len as u8);
        changes.push((key(number), if i % 20 == 7 { vec![] } else { value }));
    }
    changes
}

fn updates(trie: TrieId, block: &[([u8; 32], Vec<u8>)]) -> Vec<Update<'_>> {
    let value = |(_, value): &'_ ([u8; 32], Vec<u8>)| !value.is_empty();
    block
        .iter()
        .map(|change| Update {
            trie,
            key: &change.0,
            value: value(change).then_some(&change.1[..]),
        })
        .collect()
}

struct Run {
    root: [u8; 32],
    nanoseconds: u64,
    hashed: Hashed,
}

fn measure<C: Codec>(
    forest: &mut Forest<C>,
    trie: TrieId,
    blocks: &[Vec<([u8; 32], Vec<u8>)>],
    group: usize,
) -> Run {
    let blocks: Vec<_> = blocks.iter().map(|block| updates(trie, block)).collect();
    let before = forest.hashed();
    let mut nanoseconds = 0;
    for blocks in blocks.chunks(64 * group) {
        let start = now();
        for blocks in blocks.chunks(group) {
            if group == 1 {
                forest.update(&Changes { wiped: &[], updates: &blocks[0] }).unwrap();
            } else {
                let changes: Vec<_> =
                    blocks.iter().map(|updates| Changes { wiped: &[], updates }).collect();
                assert_eq!(forest.update_group(&changes).unwrap().len(), blocks.len());
            }
        }
        nanoseconds += now() - start;
    }
    let after = forest.hashed();
    let hashed = Hashed {
        leaves: after.leaves - before.leaves,
        branches: after.branches - before.branches,
        bytes: after.bytes - before.bytes,
    };
    Run { root: forest.root(trie).unwrap(), nanoseconds, hashed }
}

fn bench<C: Codec>(name: &str, keys: usize, sizes: &[usize], settings: &[(&str, C, usize)]) {
    let mut roots: Vec<Vec<[u8; 32]>> = vec![vec![]; BLOCKS.len()];
    for (setting, codec, group) in settings {
        let mut random = Random::new(9);
        let mut forest = Forest::new(codec.clone());
        let trie = forest.create().unwrap();
        let mut built = 0;
        for first in (0..keys as u64).step_by(100_000) {
            let last = (first + 100_000).min(keys as u64);
            let leaves: Vec<_> = (first..last).map(|number| (key(number), vec![0x88; 9])).collect();
            let updates = updates(trie, &leaves);
            let start = now();
            forest.update(&Changes { wiped: &[], updates: &updates }).unwrap();
            built += now() - start;
        }
        let memory = forest.memory();
        println!(
            "{name} {keys} keys, {setting}: built in {} ns a key; \
             {} bytes a key, {} with freed ones",
            built / keys as u64,
            memory.live / keys,
            memory.nodes / keys,
        );
        let mut state = (0, keys as u64);
        for ((size, count), roots) in BLOCKS.iter().zip(&mut roots) {
            if !sizes.is_empty() && !sizes.contains(size) {
                continue;
            }
            // a single requested case is for a profiler
            let count = if sizes.is_empty() { *count } else { 10 * count };
            let blocks: Vec<_> =
                (0..count).map(|_| block(&mut random, &mut state, *size)).collect();
            let run = measure(&mut forest, trie, &blocks, *group);
            let seconds = run.nanoseconds as f64 / 1e9;
            let nodes = run.hashed.leaves + run.hashed.branches;
            println!(
                "    {size:6} changes a block: {:7.0} ns a change, {:5.2} M changes/s, \
                 {:5.2} M nodes/s, {:4.1} nodes a change, {:4.0} bytes a node",
                run.nanoseconds as f64 / (size * count) as f64,
                (size * count) as f64 / seconds / 1e6,
                nodes as f64 / seconds / 1e6,
                nodes as f64 / (size * count) as f64,
                run.hashed.bytes as f64 / nodes as f64,
            );
            roots.push(run.root);
        }
    }
    for roots in roots {
        assert!(roots.iter().all(|root| *root == roots[0]), "every setting finds the same roots");
    }
}

/// Arguments: numbers of keys, `changes=N` for blocks of N changes only, and names of settings
/// besides `lanes`: `group`, `single`, `neo`. All of each without any.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let numbers = |prefix: &str| {
        let numbers = arguments.iter().filter_map(|a| a.strip_prefix(prefix)?.parse().ok());
        numbers.collect::<Vec<usize>>()
    };
    let (states, sizes) = (numbers(""), numbers("changes="));
    let all = !arguments.iter().any(|a| ["lanes", "group", "single", "neo"].contains(&&**a));
    let has = |name: &str| all || arguments.iter().any(|argument| argument == name);
    for keys in if states.is_empty() { vec![100_000, 1_000_000] } else { states } {
        let (lanes, single) = (Ethereum::new(), Ethereum::with_hasher(ManyKeccak::scalar()));
        let mut settings = vec![];
        if has("lanes") {
            settings.push(("lanes", lanes.clone(), 1));
        }
        if has("group") {
            settings.push(("lanes, groups of 8", lanes, GROUP));
        }
        if has("single") {
            settings.push(("single", single, 1));
        }
        bench("Ethereum", keys, &sizes, &settings);
        if has("neo") {
            let (lanes, single) = (Neo::new(), Neo::with_hasher(ManySha256::scalar()));
            bench("Neo", keys, &sizes, &[("lanes", lanes, 1), ("single", single, 1)]);
        }
    }
}
