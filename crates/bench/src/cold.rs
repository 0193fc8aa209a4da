//! Drops files from the page cache, so that a run must read them from disk.

use anyhow::{Context, Result};
use blockmill_platform::files;
use std::fs::File;
use std::path::Path;

/// Drops a file, or every file in and below a folder.
pub fn evict(path: &Path) -> Result<()> {
    let unreadable = || format!("cannot read {}", path.display());
    if files::is_folder(path).with_context(unreadable)? {
        return files::list(path).with_context(unreadable)?.iter().try_for_each(|path| evict(path));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    // pages that are not written yet stay
    file.sync_all().with_context(|| format!("cannot sync {}", path.display()))?;
    blockmill_platform::page_cache::forget(&file)
        .with_context(|| format!("cannot drop {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_and_folders_are_dropped_and_stay_as_they_are() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("below"))?;
        let file = folder.path().join("below/file");
        fs::write(&file, b"bytes")?;
        for path in [folder.path(), &file] {
            evict(path)?;
        }
        assert_eq!(fs::read(&file)?, b"bytes");
        assert!(evict(&folder.path().join("none")).is_err());
        Ok(())
    }
}
