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

/// Has the system read these bytes ahead, so that a read of them later waits less. Nothing happens
/// where the system has no `posix_fadvise`, or does not want to.
#[cfg(target_os = "linux")]
pub fn bring(file: &File, offset: u64, bytes: u64) {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    let (Ok(offset), Ok(bytes)) = (offset.try_into(), bytes.try_into()) else { return };
    let _ = posix_fadvise(file, offset, bytes, PosixFadviseAdvice::POSIX_FADV_WILLNEED);
}

/// Has the system read these bytes ahead, so that a read of them later waits less. Nothing happens
/// where the system has no `posix_fadvise`, or does not want to.
#[cfg(not(target_os = "linux"))]
pub fn bring(_: &File, _: u64, _: u64) {}
