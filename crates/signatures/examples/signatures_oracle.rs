//! Holds every way of verifying signatures to libsecp256k1, and P-256 to AWS-LC, on as many cases
//! as wanted, and stops at the first difference, which it prints with the whole case.
//!
//! `cargo run --release -p blockmill-signatures --example signatures_oracle -- 11000000 1 lanes`
//!
//! The arguments are how many random cases there are, and as many structured ones, ten in eleven
//! for libsecp256k1; a seed from which all of them follow, whatever the number of cores; and
//! `lanes` to leave out the ways in which an account decides who works, and which answer no
//! differently.
//! `tests/signatures_against_library.rs` is the short form, with the same makers.

#[path = "../tests/generated/mod.rs"]
mod generated;

use generated::oracle::{Difference, Operation, Share, Tally, Way, part, ways};
use generated::{Generator, Random};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Random and structured cases of a part, which one thread does.
const PART: usize = 10_000;

/// What the parts are about, in turn. P-256 comes less often: its library takes twice as long.
const TURNS: [Operation; 11] = [
    Operation::Ecdsa,
    Operation::Schnorr,
    Operation::Recovery,
    Operation::Tweak,
    Operation::Ecdsa,
    Operation::Schnorr,
    Operation::Recovery,
    Operation::P256,
    Operation::Ecdsa,
    Operation::Schnorr,
    Operation::Recovery,
];

/// The work, and what came of it so far.
struct Work {
    parts: usize,
    seed: u64,
    ways: Vec<Way>,
    next: AtomicUsize,
    failed: AtomicBool,
    tally: Mutex<Tally>,
}

impl Work {
    /// Does parts until none is left.
    fn run(&self) -> Result<(), Difference> {
        let mut cases = Generator::new(0);
        let share = Share { random: PART, structured: PART };
        while !self.failed.load(Ordering::Relaxed) {
            let i = self.next.fetch_add(1, Ordering::Relaxed);
            if i >= self.parts {
                break;
            }
            let operation = TURNS[i % TURNS.len()];
            let seed = Random::new(self.seed).next().wrapping_add(i as u64);
            let mut tally = Tally::default();
            let outcome = part(operation, &mut cases, &self.ways, seed, share, &mut tally);
            if outcome.is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            outcome?;
            self.tally.lock().unwrap().add(tally);
            if (i + 1).is_multiple_of(100) {
                println!("part {} of {}", i + 1, self.parts);
            }
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default| match arguments.next() {
        Some(digits) => digits.parse().ok(),
        None => Some(default),
    };
    let (Some(cases), Some(seed)) = (argument(100_000), argument(1)) else {
        eprintln!("usage: signatures_oracle [CASES [SEED [lanes]]]");
        return ExitCode::from(2);
    };
    let lanes_only = arguments.next().is_some_and(|argument| argument == "lanes");
    let work = Work {
        parts: (cases as usize).div_ceil(PART),
        seed,
        ways: ways(lanes_only),
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        tally: Mutex::default(),
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let names: Vec<_> = work.ways.iter().map(|(name, _)| name).collect();
    println!(
        "{} parts of {PART} random and {PART} structured cases, seed {seed}, {threads} threads: \
         {names:?} against scalar",
        work.parts
    );
    let begin = Instant::now();
    let differences: Vec<Difference> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.run())).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap().err()).collect()
    });
    print!("{}", work.tally.into_inner().unwrap());
    println!("{:.0} s", begin.elapsed().as_secs_f64());
    for difference in &differences {
        println!("DIFFERENCE: {difference}");
    }
    if differences.is_empty() {
        println!("no difference");
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}
