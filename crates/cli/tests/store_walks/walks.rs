//! Runs walks by seed, and counts what they saw.

use crate::program::Random;
use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use tempfile::TempDir;

/// The first walk has this seed, and each next one the next.
const SEED: u64 = 0x7761_6c6b;
/// Steps of a walk: at least so many, and fewer than so many.
const STEPS: [u64; 2] = [4, 14];

/// How often each kind of step was taken.
pub type Seen = BTreeMap<&'static str, u64>;

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Walks `usual` times, or as many times as `BLOCKMILL_WALKS` says. `walk` gets its randomness, an
/// empty folder and a number of steps.
pub fn walk_all(name: &str, usual: u64, walk: impl Fn(&mut Random, &Path, u64) -> Seen) {
    let seed = number("BLOCKMILL_TEST_SEED").unwrap_or(SEED);
    let only = number("BLOCKMILL_WALK");
    let count = number("BLOCKMILL_WALKS").unwrap_or(usual);
    let mut all = Seen::new();
    let (first, end) = only.map_or((0, count), |only| (only, only + 1));
    for at in first..end {
        let mut folder = folder(name);
        if only.is_some() {
            folder.disable_cleanup(true);
            println!("{name}: the folder {} stays", folder.path().display());
        }
        let _guard = Guard { name, seed, at };
        let mut random = Random::new(seed.wrapping_add(at).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let steps = STEPS[0] + random.below(STEPS[1] - STEPS[0]);
        for (step, times) in walk(&mut random, folder.path(), steps) {
            *all.entry(step).or_default() += times;
        }
    }
    let steps: u64 = all.values().sum();
    println!("{name}: {} walks, {steps} steps: {all:?}", end - first);
    assert!(steps >= (end - first) * STEPS[0], "{steps} steps");
}

/// Prints how to repeat a walk that fails.
struct Guard<'a> {
    name: &'a str,
    seed: u64,
    at: u64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { name, seed, at } = self;
            println!("{name}: again with BLOCKMILL_TEST_SEED={seed} BLOCKMILL_WALK={at}");
        }
    }
}

/// A new folder for a walk or a chain, in memory where the system offers that.
pub fn folder(name: &str) -> TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.into() } else { env::temp_dir() };
    let name = format!("blockmill-walk-{name}-");
    tempfile::Builder::new().prefix(&name).tempdir_in(place).expect("a folder")
}
