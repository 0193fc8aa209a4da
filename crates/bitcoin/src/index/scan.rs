//! Reads and hashes the headers of all blocks in files, without bodies.
//!
//! Blocks are in the order of [`BlockFiles`] and of offsets. The result
//! does not depend on the number of threads. [`Tree::build`](crate::index::Tree::build) links the
//! headers.

pub(crate) mod files;

use crate::index::Found;
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFiles, FileReport};
use blockmill_pipeline::Cancel;

/// Finds the blocks of files: the reading half of pass 1.
///
/// The program uses [`HeaderScan`]. The crate `blockmill-bench` implements baselines.
pub trait FindBlocks {
    /// Finds all blocks of `files`. Corruption is no error: see [`Scan::reports`].
    ///
    /// # Errors
    /// Returns [`Error::Io`] if a file cannot be read, and with
    /// [`Interrupted`](std::io::ErrorKind::Interrupted) soon after `cancel` was set.
    fn find_blocks(&mut self, files: &BlockFiles, cancel: &Cancel) -> Result<Scan, Error>;
}

/// Reads frames and headers, several files at once.
#[derive(Clone, Copy, Debug)]
pub struct HeaderScan {
    /// Number of threads that read files.
    pub threads: usize,
}

impl FindBlocks for HeaderScan {
    fn find_blocks(&mut self, files: &BlockFiles, cancel: &Cancel) -> Result<Scan, Error> {
        files::scan(files, self.threads, cancel)
    }
}

/// The blocks of some files.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// All blocks in the order of the files. A block that occurs twice is listed twice.
    pub found: Vec<Found>,
    /// For each file, its corrupt ranges, and zeros at its end.
    pub reports: Vec<FileReport>,
    /// Bytes read from the files.
    pub bytes_read: u64,
}
