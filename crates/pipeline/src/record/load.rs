//! The load of other processes during a measurement.

use blockmill_platform::proc;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// CPU time that others took during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// CPU time of all other processes, and what the host of a virtual machine kept for others.
    pub others_s: f64,
    /// CPU time that there was: cores times wall time.
    pub available_s: f64,
}

impl Load {
    /// The share of the machine that others took.
    pub fn share(&self) -> f64 {
        if self.available_s > 0.0 { self.others_s / self.available_s } else { 0.0 }
    }
}

/// A watch of the machine from its start on.
#[derive(Clone, Copy, Debug)]
pub struct LoadWatch {
    start: Instant,
    busy_s: f64,
    cores: f64,
}

impl LoadWatch {
    /// Starts now; `None` if the system does not report the load.
    pub fn begin() -> Option<Self> {
        let (busy_s, cores) = busy(&proc::text("stat"))?;
        Some(Self { start: Instant::now(), busy_s, cores })
    }

    /// CPU time of other processes until now, when this one used `own_s`.
    pub fn end(&self, own_s: f64) -> Option<Load> {
        let (busy_s, _) = busy(&proc::text("stat"))?;
        let available_s = self.start.elapsed().as_secs_f64() * self.cores;
        Some(Load { others_s: (busy_s - self.busy_s - own_s).max(0.0), available_s })
    }
}

/// Busy CPU time since the machine started, in seconds, and its cores, from `/proc/stat`
/// (proc_stat(5)): user, nice, system, irq, softirq and steal of all cores, a hundredth each.
fn busy(stat: &str) -> Option<(f64, f64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let busy: f64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|at| ticks.get(*at)).sum();
    let is_core = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let cores = stat.lines().filter(is_core).count();
    (ticks.len() >= 4).then_some((busy / 100.0, cores.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 20 30 9000 70 5 6 7 0 0\ncpu0 50 10 15 4500 35 2 3 3 0 0\n\
                        cpu1 50 10 15 4500 35 3 3 4 0 0\nintr 1 2 3\n";

    #[test]
    fn idle_and_waiting_cores_are_not_busy() {
        assert_eq!(busy(STAT), Some((1.68, 2.0)));
        assert_eq!(busy(""), None);
        assert_eq!(busy("cpu  1 2\n"), None);
    }

    #[test]
    fn a_share_is_of_all_cores() {
        assert_eq!(Load { others_s: 0.5, available_s: 4.0 }.share(), 0.125);
        assert_eq!(Load::default().share(), 0.0);
    }
}
