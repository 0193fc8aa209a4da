//! Which file a path leads to, as far as the system tells.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::Error;

/// Do both paths lead to the same file or folder, through whatever links?
pub fn same(a: &Path, b: &Path) -> bool {
    let is_same = |a: &Path, b: &Path| Some(identity(a)? == identity(b)?);
    is_same(a, b).unwrap_or(false)
}

/// Device and number of a file; two names of one file have both in common.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Without such numbers a file is its path.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The file system on which something stands.
#[cfg(unix)]
pub fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| found.dev())
}

/// The file system on which something stands.
#[cfg(not(unix))]
pub fn device(_: &Path) -> Option<u64> {
    None
}

/// The path without links, as far as it exists; the rest stays as it is.
pub fn resolved(path: &Path) -> PathBuf {
    let mut rest = vec![];
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut there = absolute.as_path();
    loop {
        if let Ok(found) = there.canonicalize() {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (there.parent(), there.file_name()) {
            (Some(above), Some(name)) => {
                rest.push(name);
                there = above;
            }
            _ => return absolute,
        }
    }
}

/// Makes a new name in the folder of `path` durable.
pub fn sync_folder_of(path: &Path) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // only on Unix can a folder be opened and synced
    if cfg!(unix) {
        let sync = File::open(folder).and_then(|folder| folder.sync_all());
        sync.map_err(Error::io("cannot sync", folder))?;
    }
    Ok(())
}
