//! Resources that this process has used so far: CPU time and memory. The one file of the crate that
//! differs between systems; if a system does not report a value, it is zero.

pub use blockmill_verdict::CpuTimes;
use std::time::Duration;

/// CPU time that this process has used since it started (getrusage(2)).
pub fn cpu_times() -> CpuTimes {
    os::cpu_times()
}

/// CPU time that this thread has used since it started; zero when not known (clock_gettime(2)).
/// Unlike a clock on the wall, it leaves out what a thread waits for.
pub fn thread_cpu_time() -> Duration {
    os::thread_cpu_time()
}

/// CPU time of all ended child processes, in seconds (getrusage(2)).
pub fn children_cpu_s() -> f64 {
    os::children_cpu_times().total_s()
}

/// The most memory that this process has held at once, in bytes; 0 when not known.
///
/// On Linux this is `VmHWM`. The peak of getrusage(2) is used elsewhere only: Linux carries it
/// over from the program that was replaced by exec, so a small process would show its parent's.
pub fn peak_rss_bytes() -> u64 {
    blockmill_platform::proc::peak_memory("self").unwrap_or_else(os::peak_rss_bytes)
}

/// Page faults of this process so far that needed no disk; 0 when not known (getrusage(2)).
pub fn minor_page_faults() -> u64 {
    os::minor_page_faults()
}

/// Page faults of this process so far that waited for a disk; 0 when not known (getrusage(2)).
pub fn major_page_faults() -> u64 {
    os::major_page_faults()
}

/// Name and release of the kernel, such as `Linux 6.1.0`.
pub(crate) fn kernel() -> String {
    os::kernel().unwrap_or_else(|| std::env::consts::OS.to_owned())
}

#[cfg(unix)]
mod os {
    use nix::libc::c_long;
    use nix::sys::resource::{Usage, UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    use nix::sys::utsname::uname;
    use nix::time::{ClockId, clock_gettime};

    use super::{CpuTimes, Duration};

    pub fn cpu_times() -> CpuTimes {
        times_of(UsageWho::RUSAGE_SELF)
    }

    pub fn children_cpu_times() -> CpuTimes {
        times_of(UsageWho::RUSAGE_CHILDREN)
    }

    pub fn thread_cpu_time() -> Duration {
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
    }

    fn times_of(who: UsageWho) -> CpuTimes {
        getrusage(who).map_or(CpuTimes::default(), |usage| CpuTimes {
            user_s: usage.user_time().num_microseconds() as f64 / 1e6,
            sys_s: usage.system_time().num_microseconds() as f64 / 1e6,
        })
    }

    pub fn peak_rss_bytes() -> u64 {
        // macOS counts bytes, the others kibibytes.
        let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
        let peak = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
        u64::try_from(peak).unwrap_or(0).saturating_mul(unit)
    }

    pub fn minor_page_faults() -> u64 {
        page_faults(Usage::minor_page_faults)
    }

    pub fn major_page_faults() -> u64 {
        page_faults(Usage::major_page_faults)
    }

    fn page_faults(of: impl Fn(&Usage) -> c_long) -> u64 {
        let faults = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| of(&usage));
        u64::try_from(faults).unwrap_or(0)
    }

    pub fn kernel() -> Option<String> {
        let name = uname().ok()?;
        Some(format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy()))
    }
}

#[cfg(not(unix))]
mod os {
    use super::{CpuTimes, Duration};

    pub fn cpu_times() -> CpuTimes {
        CpuTimes::default()
    }

    pub fn thread_cpu_time() -> Duration {
        Duration::ZERO
    }

    pub fn peak_rss_bytes() -> u64 {
        0
    }

    pub fn minor_page_faults() -> u64 {
        0
    }

    pub fn major_page_faults() -> u64 {
        0
    }

    pub fn kernel() -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_thread_counts_only_what_it_works() {
        let before = thread_cpu_time();
        let mut sum = 0u64;
        while thread_cpu_time() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let (before, waits) = (thread_cpu_time(), Duration::from_millis(200));
        std::thread::sleep(waits);
        assert!(thread_cpu_time() - before < waits);
    }

    #[test]
    fn counts_cpu_time_that_was_used() {
        let before = cpu_times();
        let start = std::time::Instant::now();
        let mut sum = 0u64;
        while start.elapsed().as_millis() < 100 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(cpu_times().since(before).total_s() > 0.0);
    }

    #[cfg(unix)]
    #[test]
    fn memory_that_is_touched_first_gives_page_faults() {
        let before = minor_page_faults();
        let block = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(minor_page_faults() > before, "{} bytes", block.len());
    }

    #[cfg(unix)]
    #[test]
    fn peak_memory_covers_what_was_touched() {
        let block = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(peak_rss_bytes() >= block.len() as u64);
    }
}
