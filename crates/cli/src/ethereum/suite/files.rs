//! The files of tests, and threads that work on them.

use anyhow::{Context, Result};
use blockmill_platform::files::{self, FileKind};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A file that may hold tests, or the reason why it cannot be reached.
pub type Found = (PathBuf, Result<()>);

/// The files that may hold tests at and below some paths.
///
/// # Errors
/// Returns an error if one of the paths does not exist.
pub fn find(paths: &[PathBuf]) -> Result<Vec<Found>> {
    let (mut found, mut seen) = (vec![], HashSet::new());
    for path in paths {
        // a path that the user names must exist
        fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        search(path, &mut seen, &mut found);
    }
    Ok(found)
}

/// Adds the files at and below a path, in the order of their names. Folders that were seen are
/// passed over, as links may lead back.
fn search(path: &Path, seen: &mut HashSet<(u64, u64)>, files: &mut Vec<Found>) {
    let mut add = |found: io::Result<()>| {
        let found = found.with_context(|| format!("cannot read {}", path.display()));
        files.push((path.to_path_buf(), found));
    };
    match fs::metadata(path) {
        Ok(found) if FileKind::of(found.file_type()) == FileKind::Folder => {
            if !seen.insert((found.dev(), found.ino())) {
                return;
            }
        }
        Ok(_) => return add(Ok(())),
        Err(error) => return add(Err(error)),
    }
    let entries = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return add(Err(error)),
    };
    entries.sort();
    for entry in entries {
        let is_json = entry.extension().is_some_and(|ending| ending == "json");
        // what cannot be reached may be a folder
        if is_json || files::kind(&entry).map_or(true, |kind| kind == FileKind::Folder) {
            search(&entry, seen, files);
        }
    }
}

/// Applies `each` to the items on several threads; the results are in the order of the items.
pub fn parallel<'i, T: Sync, R: Send>(
    threads: usize,
    items: &'i [T],
    each: impl Fn(&'i T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = vec![];
        while let Some((place, item)) = {
            let place = next.fetch_add(1, Relaxed);
            items.get(place).map(|item| (place, item))
        } {
            done.push((place, each(item)));
        }
        done
    };
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        // a panic of another thread is passed on
        results.extend(others.into_iter().flat_map(|other| match other.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        results
    });
    results.sort_unstable_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}
