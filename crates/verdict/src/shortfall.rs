//! What an archive does not have, so that nobody takes a part of a chain for the whole.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// One thing that is missing from an archive, or is there and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shortfall {
    /// What it is.
    pub kind: ShortfallKind,
    /// The same in a sentence, with what was expected and what was found.
    pub text: String,
    /// The file where it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::path::serialize_option")]
    pub file: Option<PathBuf>,
    /// And the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How many blocks are concerned, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
}

/// The ways in which an archive can be less than it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ShortfallKind {
    /// Blocks between others, or of a stated range, are not there.
    MissingBlocks,
    /// Blocks are there that follow none of the others.
    Unconnected,
    /// A record or a file ends before its end.
    Cut,
    /// A record, or what should be one, cannot be used.
    CorruptRecord,
    /// A file was not read that may hold blocks.
    Unread,
}

impl Shortfall {
    /// A shortfall without a location.
    #[must_use]
    pub fn new(kind: ShortfallKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), file: None, offset: None, blocks: None }
    }

    /// With the file and the byte where it shows.
    #[must_use]
    pub fn at(self, file: impl Into<PathBuf>, offset: u64) -> Self {
        Self { file: Some(file.into()), offset: Some(offset), ..self }
    }

    /// With the number of blocks that it concerns.
    #[must_use]
    pub fn of_blocks(self, blocks: u64) -> Self {
        Self { blocks: Some(blocks), ..self }
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.offset) {
            (Some(file), Some(offset)) => write!(f, "{} at byte {offset}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, _) => {}
        }
        f.write_str(&self.text)
    }
}
