//! What paths lead to, with their names in the errors.

use anyhow::{Context, Result};
use blockmill_platform::files;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Returns whether the path is a regular file, after links.
pub fn is_file(path: &Path) -> Result<bool> {
    files::is_file(path).with_context(|| cannot_open(path))
}

/// Returns whether the path is a folder, after links.
pub fn is_folder(path: &Path) -> Result<bool> {
    files::is_folder(path).with_context(|| cannot_open(path))
}

/// Returns whether the path exists, after links.
pub fn is_there(path: &Path) -> Result<bool> {
    files::is_there(path).with_context(|| cannot_open(path))
}

/// Paths of what is in a folder; nothing where there is no folder.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    files::list(folder).with_context(|| format!("cannot list {}", folder.display()))
}

/// A folder that cannot be created. Whatever the system says of it, the machine is at fault.
#[derive(Debug, thiserror::Error)]
#[error("cannot create {}: {source}", .path.display())]
pub struct NotCreated {
    path: PathBuf,
    source: io::Error,
}

/// Checks that a folder is there or can be created, and leaves everything as it was.
pub fn expect_folder(path: &Path) -> Result<(), NotCreated> {
    let is_new = |path: &&Path| files::is_there(path).is_ok_and(|is_there| !is_there);
    let new: Vec<&Path> = path.ancestors().take_while(is_new).collect();
    let created = fs::create_dir_all(path);
    for folder in new {
        // what another process has put into it stays
        let _ = fs::remove_dir(folder);
    }
    created.map_err(|source| NotCreated { path: path.to_path_buf(), source })
}

/// Creates a folder, with those above it.
pub fn create_folder(path: &Path) -> Result<(), NotCreated> {
    fs::create_dir_all(path).map_err(|source| NotCreated { path: path.to_path_buf(), source })
}

fn cannot_open(path: &Path) -> String {
    format!("cannot open {}", path.display())
}
