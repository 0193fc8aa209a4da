//! Which file a path leads to, as far as the system tells.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use blockmill_platform::{files, folders};

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

/// The path without links, as far as it exists; the rest stays as it is, but for `..` in it, which
/// takes a name away.
///
/// # Errors
/// When the system does not say where a link on the way leads.
pub fn resolved(path: &Path) -> Result<PathBuf, Error> {
    let mut found = std::env::current_dir().map_err(Error::io("cannot resolve", path))?;
    for part in path.components() {
        match part {
            Component::ParentDir => _ = found.pop(),
            part => found.push(part),
        }
        match found.canonicalize() {
            Ok(resolved) => found = resolved,
            // not there, or open and without a name, as the pipes in /dev/fd
            Err(error) => {
                files::kind(&found).map_err(Error::io("cannot resolve", path))?;
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    return Err(Error::io("cannot resolve", path)(error));
                }
            }
        }
    }
    Ok(found)
}

/// Makes a new name in the folder of `path` durable.
pub fn sync_folder_of(path: &Path) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    folders::sync(folder).map_err(Error::io("cannot sync", folder))
}
