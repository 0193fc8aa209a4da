//! What files take.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of a file on disk, without holes; 0 if there is no file.
#[must_use]
pub fn disk_bytes(path: &Path) -> u64 {
    // the system counts in blocks of 512 bytes
    fs::metadata(path).map_or(0, |file| file.blocks() * 512)
}
