//! How many files a process may have open.

/// Lets this process have as many files open as it may have at most, which is often far more than
/// it begins with: a state on disk has an open file for every 64 MiB. Where that cannot be had,
/// nothing changes.
#[cfg(target_os = "linux")]
pub fn allow_most() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE)
        && now < most
    {
        // without it there are as many as before
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Nothing elsewhere than on Linux.
#[cfg(not(target_os = "linux"))]
pub fn allow_most() {}
