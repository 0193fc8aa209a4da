//! What this machine and this moment give: cores, the time, a number that nobody could know.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Number of threads that this machine runs at the same time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A number that nobody could know before: the standard library's random keys, hashed.
#[cfg(feature = "ethereum")]
pub fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// The present time, in seconds since 1970.
#[cfg(any(feature = "bitcoin", feature = "ethereum"))]
pub fn unix_seconds() -> u64 {
    since_1970().as_secs()
}

/// The present time as a name for files: seconds since 1970.
pub fn time_stamp() -> String {
    let now = since_1970();
    format!("{}.{:03}", now.as_secs(), now.subsec_millis())
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
