//! The limit of open files of a process.

/// Raises the limit of open files of this process to its maximum, which is often far above the
/// initial limit: a state on disk has an open file for every 64 MiB. An error is ignored.
#[cfg(target_os = "linux")]
pub fn allow_most() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE)
        && now < most
    {
        // after an error the limit is unchanged
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Nothing elsewhere than on Linux.
#[cfg(not(target_os = "linux"))]
pub fn allow_most() {}
