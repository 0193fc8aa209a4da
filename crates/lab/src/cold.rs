//! Drops files from the page cache, so that a run must read them from disk.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::path::Path;

/// Drops every file in and below `folder`.
pub fn evict(folder: &Path) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            evict(&path)?;
            continue;
        }
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        // pages that are not written yet stay
        file.sync_all().with_context(|| format!("cannot sync {}", path.display()))?;
        system::page_cache::forget(&file)
            .with_context(|| format!("cannot drop {}", path.display()))?;
    }
    Ok(())
}
