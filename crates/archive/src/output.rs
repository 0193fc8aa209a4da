//! Outputs appear complete or not at all, and never replace anything else.
//!
//! An unfinished output is next to its destination, under a name that ends with [`UNFINISHED`], and
//! is locked while its writer lives. So no partial output has the name of a complete one, and the
//! next writer can distinguish what a dead process left from what a living one is writing. A file
//! that `--force` replaces is [set aside](Claim) until the new output is complete.

mod claim;
mod file;
mod folder;
pub(crate) mod identity;

pub use claim::{Claim, Shape, is_numbered, keep_apart, keep_store_apart};
pub use file::OutputFile;
pub use folder::OutputFolder;
pub(crate) use identity::sync_folder_of;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use blockmill_platform::files::{self, FileKind};

use crate::{Error, listing};

/// Ending of the names of unfinished outputs.
pub const UNFINISHED: &str = ".blockmill.part";

/// Ending of the names of files and folders that are set aside until their replacement is complete.
pub const SET_ASIDE: &str = ".blockmill.old";

/// Number of attempts of an ending process to lock the list of its outputs, and to remove each of
/// them.
const TRIES: u32 = 100;

/// Unfinished outputs of this process.
static BEING_WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the unfinished outputs of this process. For a process that ends at once.
pub fn remove_unfinished() {
    // a thread holds this lock for a moment only, or was stopped for ever
    for _ in 0..TRIES {
        if let Ok(mut paths) = BEING_WRITTEN.try_lock() {
            while let Some(path) = paths.pop_first() {
                remove_in_use(&path);
            }
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Removes an output that another thread may still be writing. If that thread creates a file in a
/// folder at the same time, the folder stays, and the next attempt removes both.
fn remove_in_use(path: &Path) {
    for _ in 0..TRIES {
        match files::remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {}
            _ => return,
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Removes the unfinished outputs of dead processes at `out`, and in it if it is a folder. Returns
/// their paths.
///
/// # Errors
///
/// Returns [`Error::Unwritable`] if a living process is writing there, and [`Error::Io`] if a file
/// cannot be removed.
pub fn remove_leftovers(out: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = vec![named(out, UNFINISHED)];
    if listing::is_folder(out)? {
        let inside = files::list(out).map_err(Error::io("cannot list", out))?;
        let is_unfinished =
            |path: &PathBuf| path.as_os_str().as_encoded_bytes().ends_with(UNFINISHED.as_bytes());
        found.extend(inside.into_iter().filter(is_unfinished));
    }
    let mut removed = vec![];
    for path in found {
        if remove_leftover(&path)? {
            removed.push(path);
        }
    }
    Ok(removed)
}

/// Removes the unfinished output of a dead process at `path`; returns whether there was one.
fn remove_leftover(path: &Path) -> Result<bool, Error> {
    let found = files::kind_of_name(path).map_err(Error::io("cannot open", path))?;
    let expected = |expected: &str| Error::Unwritable {
        path: path.to_path_buf(),
        expected: expected.into(),
        found: "something else".into(),
    };
    match found {
        FileKind::Absent => return Ok(false),
        FileKind::File | FileKind::Folder => {}
        _ => return Err(expected("a file or a folder that blockmill created")),
    }
    if let Ok(file) = File::open(path) {
        // dropped, and so unlocked, when nothing of that name is left
        lock(&file, path)?;
    }
    files::remove(path).map_err(Error::io("cannot remove", path))?;
    Ok(true)
}

/// Locks `path` for as long as `file` is open. On a file system without locks nothing happens.
fn lock(file: &File, path: &Path) -> Result<(), Error> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Unwritable {
            path: path.to_path_buf(),
            expected: "an output that nobody is writing".into(),
            found: "another process at work on it".into(),
        }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// `path` with `ending` appended to its name.
fn named(path: &Path, ending: &str) -> PathBuf {
    // "folder/." and "folder/" are the folder
    let path: PathBuf = path.components().collect();
    let mut name: OsString = path.file_name().unwrap_or_default().to_os_string();
    name.push(ending);
    path.with_file_name(name)
}

/// Registers a folder of this process for [`remove_unfinished`].
pub fn will_go(path: &Path) {
    note(path);
}

fn note(path: &Path) {
    let mut paths = BEING_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    paths.insert(path.to_path_buf());
}

fn forget(path: &Path) {
    BEING_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
}

/// Removes a file or a folder. An error is ignored, because the name says that the file is
/// unfinished.
fn remove(path: &Path) {
    let _ = files::remove(path);
}

/// Fails if `path` exists. An empty folder is allowed if a folder is to be written.
fn expect_free(path: &Path, folder: bool) -> Result<(), Error> {
    let found = match files::kind_of_name(path).map_err(Error::io("cannot open", path))? {
        FileKind::Absent => return Ok(()),
        FileKind::Folder if folder => {
            if files::list(path).map_err(Error::io("cannot list", path))?.is_empty() {
                return Ok(());
            }
            "a folder with files in it"
        }
        FileKind::Folder => "a folder of that name",
        FileKind::Link => "a link of that name",
        _ => "a file of that name",
    };
    let expected = if folder { "a new or empty folder" } else { "a new file" };
    Err(Error::Unwritable {
        path: path.to_path_buf(),
        expected: expected.into(),
        found: found.into(),
    })
}
