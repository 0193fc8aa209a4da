//! Where an item is on disk.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A byte of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file.
    #[serde(serialize_with = "crate::path::serialize")]
    pub file: PathBuf,
    /// Offset of the item's first byte.
    pub offset: u64,
    /// True when `offset` counts the bytes that a compressed file unpacks to, not those on disk.
    pub unpacked: bool,
}

impl Location {
    /// The byte at `offset` of `file`.
    pub fn new(file: impl Into<PathBuf>, offset: u64) -> Self {
        Self { file: file.into(), offset, unpacked: false }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unpacked = if self.unpacked { "unpacked " } else { "" };
        write!(f, "{} at {unpacked}byte {}", self.file.display(), self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_say_whether_the_offset_counts_unpacked_bytes() {
        let mut location = Location::new("x.rlp.gz", 7);
        assert_eq!(location.to_string(), "x.rlp.gz at byte 7");
        location.unpacked = true;
        assert_eq!(location.to_string(), "x.rlp.gz at unpacked byte 7");
    }
}
