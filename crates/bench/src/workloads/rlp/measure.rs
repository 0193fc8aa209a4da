//! What an operation costs: time, allocations, page faults, memory. The peers measure in the same
//! way, each in its own language.

use std::time::{Duration, Instant};

use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::{RunRecord, SAMPLE, Series, TIME_NS};
use blockmill_pipeline::usage;

use crate::counting::{self, Counted};

/// Operations over which allocations are counted.
const COUNTED: u32 = 100;

/// How an operation is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// How many samples are taken.
    pub samples: usize,
    /// Each sample repeats the operation until it takes about so many milliseconds.
    pub min_ms: u64,
    /// Repetitions in a sample, when they are not to be found out.
    pub iterations: Option<u64>,
}

/// Runs an operation once, then until a sample is long enough, then for the samples, and a last
/// time to count its allocations. The record has only the costs.
pub fn measure(sampling: Sampling, mut operation: impl FnMut()) -> RunRecord {
    let clock = RunClock::start();
    let mut repeat = |iterations: u64| {
        let start = Instant::now();
        for _ in 0..iterations {
            operation();
        }
        start.elapsed()
    };
    // the first calls of the clock and of getrusage bring their own pages into memory
    repeat(0);
    usage::minor_page_faults();
    let before = usage::minor_page_faults();
    let first_ns = repeat(1).as_nanos() as u64;
    let first_page_faults = usage::minor_page_faults() - before;

    // twice in a row, since one sample may be long because something else ran meanwhile
    let least = Duration::from_millis(sampling.min_ms);
    let mut iterations = sampling.iterations.unwrap_or(1);
    while sampling.iterations.is_none()
        && (repeat(iterations) < least || repeat(iterations) < least)
    {
        iterations *= 2;
    }
    let mut samples_ns = vec![0.0; sampling.samples];
    let before = usage::minor_page_faults();
    for sample in &mut samples_ns {
        *sample = repeat(iterations).as_nanos() as f64 / iterations as f64;
    }
    let faults = usage::minor_page_faults() - before;
    let page_faults = faults as f64 / (sampling.samples as f64 * iterations as f64);

    let Counted { allocations, bytes } = counting::count(|| (0..COUNTED).for_each(|_| operation()));
    let mut record = RunRecord::new(blockmill_cli::program::this(), "");
    let series = Series::new(SAMPLE).measured(TIME_NS, "ns", samples_ns);
    let median = series.column(TIME_NS).and_then(|column| column.percentiles);
    record.facts.set(TIME_NS, median.unwrap_or_default().p50);
    record.series.push(series);
    record.facts.count("first_ns", first_ns);
    record.facts.count("iterations", iterations);
    record.facts.set("allocations", allocations as f64 / f64::from(COUNTED));
    record.facts.set("allocated_bytes", bytes as f64 / f64::from(COUNTED));
    record.facts.count("first_page_faults", first_page_faults);
    record.facts.set("page_faults", page_faults);
    record.take_usage(clock.cpu());
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_long_enough_and_have_the_time_of_one_operation() {
        let pause = Duration::from_micros(200);
        let record = measure(Sampling { samples: 3, min_ms: 1, iterations: None }, || {
            std::thread::sleep(pause)
        });
        let samples = record.series(SAMPLE).unwrap().values(TIME_NS);
        assert_eq!(samples.len(), 3);
        assert!(samples.iter().all(|ns| *ns >= 200_000.0), "{samples:?}");
        assert!(
            record.facts.value("iterations") >= 1.0 && record.facts.value("first_ns") >= 200_000.0
        );
    }
}
