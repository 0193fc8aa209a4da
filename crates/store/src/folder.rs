//! What all parts of a store share: folder, disk, file numbers.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::{
    crash::{CrashPlan, CrashPoint},
    disk::Disk,
    error::{Error, Result, io_error},
    table::Salt,
};

/// The folder of a store that is open.
pub struct Folder {
    /// Its path.
    pub dir: PathBuf,
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    pub(crate) salt: Salt,
    next: AtomicU64,
    crash: Mutex<CrashPlan>,
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Folder").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Folder {
    pub(crate) fn new(dir: &Path, disk: Arc<dyn Disk>, salt: Salt, next: u64) -> Folder {
        let (next, crash) = (AtomicU64::new(next), Mutex::new(CrashPlan(None)));
        Folder { dir: dir.to_path_buf(), disk, salt, next, crash }
    }

    /// A number for a new file; never given twice.
    pub fn take_number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }

    /// The number that is given next.
    pub(crate) fn next_number(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// Removes a file of the store.
    ///
    /// # Errors
    /// Returns [`Error::Io`] where the system refuses it.
    pub fn remove(&self, path: &Path) -> Result<()> {
        self.disk.remove(path).map_err(io_error("remove", path))
    }

    /// Makes the names in the folder durable.
    ///
    /// # Errors
    /// Returns [`Error::Io`] where the system refuses it.
    pub fn sync(&self) -> Result<()> {
        self.disk.sync_folder(&self.dir).map_err(io_error("sync", &self.dir))
    }

    /// Says where commits are to die from now on.
    pub(crate) fn plan(&self, crash: CrashPlan) {
        *self.crash.lock().unwrap_or_else(PoisonError::into_inner) = crash;
    }

    /// Whether the process is to die at this point of a commit.
    pub fn is_due(&self, point: CrashPoint) -> bool {
        self.crash.lock().unwrap_or_else(PoisonError::into_inner).is_due(point)
    }

    /// Dies here if that is the plan: files stay exactly as they are.
    ///
    /// # Errors
    /// Returns [`Error::Crash`] then.
    pub fn reach(&self, point: CrashPoint) -> Result<()> {
        if self.is_due(point) { Err(Error::Crash(point)) } else { Ok(()) }
    }
}
