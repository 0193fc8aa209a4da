//! What the system keeps of files in memory.

use std::fs::File;
use std::io;

/// Drops the file's pages from the page cache, so that the next read comes from the disk. Pages
/// that are not written yet stay: sync the file before.
///
/// # Errors
/// `Unsupported` where the system has no `posix_fadvise`; else what it says.
#[cfg(target_os = "linux")]
pub fn forget(file: &File) -> io::Result<()> {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    Ok(posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
}

/// Drops the file's pages from the page cache, so that the next read comes from the disk. Pages
/// that are not written yet stay: sync the file before.
///
/// # Errors
/// `Unsupported` where the system has no `posix_fadvise`; else what it says.
#[cfg(not(target_os = "linux"))]
pub fn forget(_: &File) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no posix_fadvise"))
}
