//! What an operation costs: time, allocations, page faults, memory.

use std::io;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde::Serialize;

use crate::allocations::{self, Allocated};
use crate::memory;

/// Operations over which allocations are counted.
const COUNTED: u32 = 100;

/// How an operation is repeated.
#[derive(Clone, Copy)]
pub struct Sampling {
    pub samples: usize,
    /// Each sample repeats the operation until it takes about as long.
    pub at_least: Duration,
}

/// What an operation cost.
pub struct Costs {
    pub facts: Facts,
    /// One operation, from each sample, in nanoseconds.
    pub samples_ns: Vec<f64>,
}

/// The figures of an operation. Times are nanoseconds; allocations and page faults are those of one
/// operation on average, but for the first one.
#[derive(Serialize)]
pub struct Facts {
    /// The median of the samples.
    time_ns: f64,
    /// The first operation of the process.
    first_ns: u64,
    /// Operations in each sample.
    iterations: u64,
    allocations: f64,
    allocated_bytes: f64,
    first_page_faults: i64,
    /// Over all samples.
    page_faults: f64,
    /// Peak of the resident memory, before the answer is made.
    peak_rss_bytes: u64,
}

/// Runs an operation once, then until a sample is long enough, then for the samples, and a last
/// time to count its allocations.
///
/// # Errors
/// When getrusage(2) fails.
pub fn measure(sampling: Sampling, mut operation: impl FnMut()) -> io::Result<Costs> {
    let mut repeat = |iterations: u64| {
        let start = Instant::now();
        for _ in 0..iterations {
            operation();
        }
        start.elapsed()
    };
    // the first calls of the clock and of getrusage bring their own pages into memory
    repeat(0);
    minor_faults()?;
    let faults_before = minor_faults()?;
    let first_ns = nanoseconds(repeat(1));
    let first_page_faults = minor_faults()? - faults_before;

    // twice in a row, since one sample may be long because something else ran meanwhile
    let mut iterations = 1;
    while repeat(iterations) < sampling.at_least || repeat(iterations) < sampling.at_least {
        iterations *= 2;
    }
    let mut samples_ns = vec![0.0; sampling.samples];
    let faults_before = minor_faults()?;
    for sample in &mut samples_ns {
        *sample = nanoseconds(repeat(iterations)) as f64 / iterations as f64;
    }
    let faults = minor_faults()? - faults_before;
    let page_faults = faults as f64 / (sampling.samples as f64 * iterations as f64);

    let Allocated { calls, bytes } = allocations::count(|| (0..COUNTED).for_each(|_| operation()));
    let facts = Facts {
        time_ns: median(&samples_ns),
        first_ns,
        iterations,
        allocations: calls as f64 / f64::from(COUNTED),
        allocated_bytes: bytes as f64 / f64::from(COUNTED),
        first_page_faults,
        page_faults,
        peak_rss_bytes: memory::peak_rss_bytes(),
    };
    Ok(Costs { facts, samples_ns })
}

/// The smallest sample that at least a half of them do not exceed.
fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Page faults of this process so far that needed no disk.
fn minor_faults() -> io::Result<i64> {
    Ok(getrusage(UsageWho::RUSAGE_SELF)?.minor_page_faults())
}
