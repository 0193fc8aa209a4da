//! The folder in which benchmarks keep data and stores.

use anyhow::{Context, Result, ensure};
use blockmill_platform::files;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder that no other benchmark uses at the same time: their stores would be mixed up, and
/// neither would measure anything.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Takes `folder`, which is created if it is not there; without one, a folder for temporary
    /// files.
    ///
    /// # Errors
    /// When it cannot be written to, or when another benchmark uses it.
    pub fn claim(folder: Option<&Path>) -> Result<Self> {
        let folder =
            folder.map_or_else(|| std::env::temp_dir().join("blockmill"), Path::to_path_buf);
        let name = folder.display();
        ensure!(
            folder.to_str().is_some_and(|path| !path.contains(',')),
            "{name}: expected a path of UTF-8 without commas, since other programs receive it in \
             a list: name another folder with --scratch"
        );
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {name}"))?;
        let path = folder.join("lock");
        let lock = blockmill_platform::locks::exclusive(&path)
            .with_context(|| format!("cannot lock {}", path.display()))?;
        let lock = lock.with_context(|| {
            format!(
                "{name}: expected a folder that no other benchmark uses, found one that another \
                 process has locked: wait for it, or name another folder with --scratch"
            )
        })?;
        Ok(Self { folder, _lock: lock })
    }

    /// The folder; its name can stand in settings and in lists of them.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Removes a file or a folder, which may not be there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match files::remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
