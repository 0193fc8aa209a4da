//! The identity of the file at a path, through links.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use blockmill_platform::{files, folders};

use crate::Error;

/// Whether both paths are the same file or folder, through any links.
pub fn same(a: &Path, b: &Path) -> bool {
    let is_same = |a: &Path, b: &Path| Some(identity(a)? == identity(b)?);
    is_same(a, b).unwrap_or(false)
}

/// What distinguishes a file from all others.
#[cfg(unix)]
pub(crate) type Identity = (u64, u64);

/// What distinguishes a file from all others.
#[cfg(not(unix))]
pub(crate) type Identity = PathBuf;

/// Device and number of a file; two names of one file have both in common.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// On systems without file numbers the path is the identity.
#[cfg(not(unix))]
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok()
}

/// The number of the file system of a path.
#[cfg(unix)]
pub fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| found.dev())
}

/// The number of the file system of a path.
#[cfg(not(unix))]
pub fn device(_: &Path) -> Option<u64> {
    None
}

/// The path without links, as far as it exists. The rest is unchanged, except that `..` removes a
/// name.
///
/// # Errors
///
/// Returns [`Error::Io`] if a link cannot be resolved.
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
