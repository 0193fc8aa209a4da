//! Information of Linux on the system and its processes, as text under `/proc`; empty on other
//! systems.

use std::fs;

/// Returns the text of `/proc/PATH`; empty if there is none.
#[must_use]
pub fn text(path: &str) -> String {
    fs::read_to_string(format!("/proc/{path}")).unwrap_or_default()
}

/// Returns the peak memory of a process in bytes, `self` or a number; `None` if the system does not
/// report it or there is no such process.
#[must_use]
pub fn peak_memory(process: &str) -> Option<u64> {
    bytes(&text(&format!("{process}/status")), "VmHWM")
}

/// The value of a line `key:   N kB` in bytes; `None` when there is none.
#[must_use]
pub fn bytes(text: &str, key: &str) -> Option<u64> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_found_by_their_whole_key() {
        assert_eq!(bytes("MemFree: 1 kB\nMemTotal:   16 kB\n", "MemTotal"), Some(16 * 1024));
        assert_eq!(bytes("MemTotalX: 16 kB", "MemTotal"), None);
        assert_eq!(bytes("MemTotal: 16", "MemTotal"), None);
        assert_eq!(bytes("MemTotal: 99999999999999999999 kB", "MemTotal"), None);
    }

    #[test]
    fn what_is_not_there_is_unknown() {
        assert_eq!(text("no/such/file"), "");
        assert_eq!(peak_memory("no-such-process"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn peak_memory_covers_what_was_touched() {
        let block = std::hint::black_box(vec![1u8; 16 << 20]);
        assert!(peak_memory("self").unwrap() >= block.len() as u64);
    }
}
