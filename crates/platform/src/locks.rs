//! Files that say that a process is at work.

use crate::files;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// Locks the file at `path`, which is created if it is missing, until the returned file is closed.
/// `None` if another process has locked it.
///
/// # Errors
///
/// Returns the error of the operating system if the file cannot be created or is a link, or if the
/// file system has no locks.
pub fn exclusive(path: &Path) -> io::Result<Option<File>> {
    files::expect_no_link(path)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_locked_once_until_it_is_closed() {
        let path = std::env::temp_dir().join(format!("blockmill-locks-{}", std::process::id()));
        let first = exclusive(&path).unwrap();
        assert!(first.is_some());
        assert!(exclusive(&path).unwrap().is_none());
        drop(first);
        assert!(exclusive(&path).unwrap().is_some());
        std::fs::remove_file(&path).unwrap();
    }
}
