//! The clocks of one run: wall time and CPU time from its start on. A process can do several runs,
//! so a run's CPU time is a difference and never all that the process has used.

use crate::usage::{CpuTimes, cpu_times};
use std::time::Instant;

/// Wall clock and CPU clock, started together.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    began: Instant,
    used_before: CpuTimes,
}

impl RunClock {
    /// Starts both.
    #[must_use]
    pub fn start() -> Self {
        Self { began: Instant::now(), used_before: cpu_times() }
    }

    /// When they were started.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Wall time since then, in seconds.
    #[must_use]
    pub fn wall_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// CPU time of this process since then.
    #[must_use]
    pub fn cpu(&self) -> CpuTimes {
        cpu_times().since(self.used_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_the_process_used_before_is_left_out() {
        let mut sum = 0u64;
        while cpu_times().total_s() < 0.2 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let before = cpu_times();
        let clock = RunClock::start();
        let cpu = clock.cpu();
        assert!(cpu.total_s() <= cpu_times().since(before).total_s());
        assert!(cpu.total_s() + before.total_s() <= cpu_times().total_s());
    }
}
