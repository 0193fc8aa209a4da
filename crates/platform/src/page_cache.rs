//! What the system keeps of files in memory.

use std::fs::File;
use std::io;

/// Drops the file's pages from the page cache, so that the next read comes from the disk. Unwritten
/// pages stay: sync the file before.
///
/// # Errors
///
/// Returns `Unsupported` if the system has no `posix_fadvise`, else the error of the operating
/// system.
#[cfg(target_os = "linux")]
pub fn forget(file: &File) -> io::Result<()> {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    Ok(posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?)
}

/// Drops the file's pages from the page cache, so that the next read comes from the disk. Unwritten
/// pages stay: sync the file before.
///
/// # Errors
///
/// Returns `Unsupported` if the system has no `posix_fadvise`, else the error of the operating
/// system.
#[cfg(not(target_os = "linux"))]
pub fn forget(_: &File) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no posix_fadvise"))
}

/// Makes the system read these bytes in advance, so that a later read waits less. Does nothing on
/// systems without `posix_fadvise`; errors are ignored.
#[cfg(target_os = "linux")]
pub fn bring(file: &File, offset: u64, bytes: u64) {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    let (Ok(offset), Ok(bytes)) = (offset.try_into(), bytes.try_into()) else { return };
    let _ = posix_fadvise(file, offset, bytes, PosixFadviseAdvice::POSIX_FADV_WILLNEED);
}

/// Makes the system read these bytes in advance, so that a later read waits less. Does nothing on
/// systems without `posix_fadvise`; errors are ignored.
#[cfg(not(target_os = "linux"))]
pub fn bring(_: &File, _: u64, _: u64) {}
