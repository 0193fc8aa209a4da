//! Archives with random corruption: `verify` says "verified" only of what is whole and unchanged.
//!
//! Small generated chains in every format are corrupt at random, by seed: records deleted,
//! repeated and swapped, files deleted and cut, bytes changed, inserted and zeroed. An oracle that
//! shares no reader and no decoder with the program cuts what is left into records and compares
//! them with those of the original ([`oracle`]). What it says of each verdict:
//!
//! - "verified" is right only if every record is there and unchanged, or if what is there could be
//!   a shorter archive by itself: it was cut exactly between blocks. Each exception stands at the
//!   rule that makes it.
//! - An archive that was not changed, or in a way that every reader must allow, is verified.
//! - The exit code is that of the status, there is one JSON document, nothing panics, and no run
//!   takes long.
//!
//! 500 archives a format in each run. A long run:
//!
//! ```text
//! BLOCKMILL_MUTATIONS=20000 cargo test --release -p blockmill-cli --test mutated_archives -- \
//!     --nocapture --test-threads 1
//! ```
//!
//! `BLOCKMILL_TEST_SEED` chooses other archives, `BLOCKMILL_MUTATION` runs one of them again and
//! keeps its files.

mod chains;
mod mutations;
mod oracle;
mod verdict;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use blockmill_testkit::Random;
use chains::Original;
use mutations::Mutant;
use oracle::Truth;
use verdict::Run;

/// Archives of each format, unless `BLOCKMILL_MUTATIONS` says how many.
const MUTATIONS: u64 = 500;

/// Each mutation has a seed of its own that follows from this one.
const SEED: u64 = 0x6d75_7461_7465;

/// Threads that run the program, which gets one thread.
const THREADS: usize = 2;

/// No run may take longer. Those of this harness take some milliseconds.
const MOST_TIME: Duration = Duration::from_secs(10);

/// Failures that are shown in full.
const SHOWN: usize = 12;

#[test]
fn era1_files() {
    try_all(&chains::era1());
}

#[test]
fn ere_files() {
    try_all(&chains::ere());
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn era_files() {
    try_all(&chains::era());
}

#[test]
fn ancient_folders() {
    try_all(&chains::freezer());
}

#[test]
fn rlp_exports() {
    try_all(&chains::rlp());
}

#[test]
fn rlp_exports_in_gzip() {
    try_all(&chains::rlp_gzip());
}

#[test]
fn rlp_exports_in_zstd() {
    try_all(&chains::rlp_zstd());
}

#[test]
fn header_streams() {
    try_all(&chains::headers());
}

#[test]
fn bitcoin_headers() {
    try_all(&chains::bitcoin_headers());
}

#[test]
fn block_files() {
    try_all(&chains::blocks(false));
}

#[test]
fn obfuscated_block_files() {
    try_all(&chains::blocks(true));
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// What came of all runs.
#[derive(Default)]
struct Outcome {
    /// How often each kind of mutation ended with each status.
    counts: BTreeMap<(String, String), u64>,
    failures: Vec<String>,
    slowest: Duration,
    verified_prefixes: u64,
}

fn try_all(original: &Original) {
    let seed = number("BLOCKMILL_TEST_SEED").unwrap_or(SEED);
    let only = number("BLOCKMILL_MUTATION");
    let count = number("BLOCKMILL_MUTATIONS").unwrap_or(MUTATIONS);
    let (first, end) = only.map_or((0, count), |only| (only, only + 1));
    let next = AtomicU64::new(first);
    let outcome = Mutex::new(Outcome::default());
    let start = Instant::now();
    thread::scope(|scope| {
        for worker in 0..THREADS {
            let (next, outcome) = (&next, &outcome);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= end {
                        break;
                    }
                    try_one(original, seed, index, worker, only.is_some(), outcome);
                }
            });
        }
    });
    let outcome = outcome.into_inner().expect("no panic in a worker");
    report(original, &outcome, seed, end - first, start.elapsed());
    let failed = outcome.failures.len();
    let shown: Vec<_> = outcome.failures.iter().take(SHOWN).map(String::as_str).collect();
    assert!(failed == 0, "{}: {failed} wrong verdicts\n{}", original.name, shown.join("\n"));
}

fn try_one(
    original: &Original,
    seed: u64,
    index: u64,
    worker: usize,
    keep: bool,
    outcome: &Mutex<Outcome>,
) {
    let mut random = Random::new(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mutant = Mutant::new(original, &mut random);
    // half of the runs name the tip, so that the last header is vouched for too
    let trusted = original.tip.is_some() && random.coin();
    let truth = oracle::truth(original, &mutant, trusted);
    let folder = original.scratch(worker);
    mutant.write(&folder);
    let run = verdict::run(original, &folder, trusted);
    let faults = verdict::check(&run, &truth);
    let mut outcome = outcome.lock().expect("no panic in a worker");
    let key = (mutant.kind(), run.status.clone());
    *outcome.counts.entry(key).or_default() += 1;
    outcome.slowest = outcome.slowest.max(run.time);
    let shorter = matches!(truth, Truth::Part { .. });
    outcome.verified_prefixes += u64::from(shorter && run.status == "verified");
    for fault in faults {
        let reported = describe(&run);
        let (name, what) = (original.name, mutant.what());
        outcome.failures.push(format!("{name} {index} ({what}): {fault}; {truth:?}; {reported}"));
    }
    if keep {
        println!("{}: {}\n{truth:?}\n{}", folder.display(), mutant.what(), run.stdout);
    } else {
        fs::remove_dir_all(&folder).expect("a scratch folder");
    }
}

fn describe(run: &Run) -> String {
    let Run { status, code, time, message, .. } = run;
    let error: String = message.chars().take(200).collect();
    format!("{status} ({code:?}) in {time:?}: {error}")
}

fn report(original: &Original, outcome: &Outcome, seed: u64, runs: u64, time: Duration) {
    println!(
        "{}: {runs} archives, BLOCKMILL_TEST_SEED={seed}, {time:.1?}, slowest {:?}, {} verified as \
         a shorter chain",
        original.name, outcome.slowest, outcome.verified_prefixes
    );
    let mut of_kind: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((kind, status), count) in &outcome.counts {
        of_kind.entry(kind).or_default().push(format!("{count} {status}"));
    }
    for (kind, counts) in of_kind {
        println!("  {kind:<22}{}", counts.join(", "));
    }
}
