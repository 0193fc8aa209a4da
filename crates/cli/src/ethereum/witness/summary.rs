//! A line for each block of many, and what they add up to.

use super::batch::{Executed, Failure, Outcome};
use super::document;
use crate::answer::Answer;
use anyhow::Result;
use blockmill_verdict::{FaultReport, Status, grouped};
use serde_json::json;
use std::time::{Duration, Instant};

/// Percentiles of the block times.
const PERCENTILES: [u32; 3] = [50, 95, 99];
/// Statuses of blocks that are not right, the one that decides first.
const FAILURES: [Status; 6] = [
    Status::Environment,
    Status::Invalid,
    Status::Corrupt,
    Status::Incomplete,
    Status::Usage,
    Status::Unrecognised,
];

/// Counts and times of the blocks so far.
pub struct Summary {
    json: bool,
    threads: usize,
    start: Instant,
    gas: u64,
    /// Of each block that is right, the time from the bytes of its file to the verdict.
    times: Vec<Duration>,
    failures: [u64; FAILURES.len()],
}

impl Summary {
    pub fn new(json: bool, threads: usize) -> Self {
        let (times, failures) = (vec![], [0; FAILURES.len()]);
        Self { json, threads, start: Instant::now(), gas: 0, times, failures }
    }

    /// Adds a block, and prints its line.
    pub fn add(&mut self, outcome: &Outcome) {
        match &outcome.result {
            Ok(executed) => {
                self.gas += executed.done.gas_used;
                self.times.push(executed.decode + executed.execute);
                if self.json { println!("{}", line(outcome)) } else { print(outcome, executed) }
            }
            Err(failure) => {
                let at = FAILURES.iter().position(|status| *status == failure.status);
                self.failures[at.unwrap_or(FAILURES.len() - 1)] += 1;
                if self.json {
                    println!("{}", line(outcome));
                } else {
                    let (status, file) = (failure.status.name(), outcome.file.display());
                    println!("{status:<13}{file}: {}", failure.message);
                }
            }
        }
    }

    /// Prints the sums, and gives the answer.
    pub fn end(mut self, stopped: bool) -> Result<Answer> {
        self.times.sort_unstable();
        let seconds = self.start.elapsed().as_secs_f64();
        let speed = self.gas as f64 / 1e6 / seconds.max(f64::MIN_POSITIVE);
        let (good, bad) = (self.times.len() as u64, self.failures.iter().sum::<u64>());
        let percentiles = PERCENTILES.map(|percent| milliseconds(self.percentile(percent)));
        let failures = FAILURES.iter().zip(self.failures).filter(|(_, count)| *count > 0);
        let failures: Vec<_> = failures.collect();
        let (status, message) = match failures.first() {
            Some((status, _)) => (**status, Some(format!("{bad} of {} blocks failed", good + bad))),
            None if stopped => (Status::Interrupted, None),
            None => (Status::Ok, None),
        };
        if !self.json {
            println!("blocks         {} right of {}", grouped(good), grouped(good + bad));
            for (status, count) in &failures {
                println!("{:<15}{}", status.name(), grouped(*count));
            }
            println!("gas            {}", grouped(self.gas));
            println!("time           {seconds:.3} s on {} threads", self.threads);
            println!("speed          {speed:.1} Mgas/s");
            let [p50, p95, p99] = percentiles;
            println!("block times    p50 {p50:.3} ms, p95 {p95:.3} ms, p99 {p99:.3} ms");
        }
        let failures = failures.into_iter().map(|(status, count)| (status.name(), count));
        let failures: serde_json::Map<_, _> =
            failures.map(|(name, count)| (name.to_owned(), count.into())).collect();
        let [p50, p95, p99] = percentiles;
        let answer = Answer { error: message.map(FaultReport::new), ..Answer::with_status(status) };
        let answer = Answer { in_lines: true, ..answer };
        answer.with(json!({
            "blocks": good, "failures": failures, "gas_used": self.gas, "threads": self.threads,
            "seconds": seconds, "mgas_per_s": speed,
            "block_ms": { "p50": p50, "p95": p95, "p99": p99 },
        }))
    }

    /// The time that this percentage of the sorted blocks do not exceed (nearest rank).
    fn percentile(&self, percent: u32) -> Duration {
        let rank = (self.times.len() * percent as usize).div_ceil(100);
        self.times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// The document of a block, in one line.
fn line(outcome: &Outcome) -> String {
    let document = match &outcome.result {
        Ok(executed) => {
            let mut document = document(&outcome.file, &executed.done);
            document["status"] = Status::Ok.name().into();
            document["decode_ms"] = milliseconds(executed.decode).into();
            document["execute_ms"] = milliseconds(executed.execute).into();
            document
        }
        Err(Failure { status, rule, message }) => json!({
            "file": outcome.file.display().to_string(), "status": status.name(), "rule": rule,
            "error": message,
        }),
    };
    document.to_string()
}

fn print(outcome: &Outcome, executed: &Executed) {
    let Executed { done, decode, execute } = executed;
    let (number, gas) = (grouped(done.number), grouped(done.gas_used));
    let time = milliseconds(*decode + *execute);
    let name = outcome.file.file_name().unwrap_or_default().display();
    // with nodes that are missing
    let word = if done.forgiven.is_some() { "lenient" } else { "ok" };
    println!("{word:<13}{number:>12} {gas:>12} gas {time:>9.3} ms  {name}");
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let mut summary = Summary::new(true, 1);
        assert_eq!(summary.percentile(50), Duration::ZERO);
        for count in [1, 2, 100, 101] {
            summary.times = (1..=count).map(Duration::from_millis).collect();
            for percent in PERCENTILES {
                let least = summary.percentile(percent);
                let within = summary.times.iter().filter(|time| **time <= least).count() as u64;
                assert!(within * 100 >= count * u64::from(percent), "{count} {percent}");
                assert!((within - 1) * 100 < count * u64::from(percent), "{count} {percent}");
            }
        }
    }
}
