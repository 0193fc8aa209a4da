//! The memory of a Rust peer. Each includes this file, so it needs only the standard library.

/// The largest resident size of this process in bytes, 0 if the kernel does not report it. It is
/// `VmHWM` because the maximum of getrusage(2) starts at the size of the parent at the fork.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map_or(0, |kib| kib << 10)
}
