//! What an archive does not have, so that nobody takes a part of a chain for the whole.

use crate::grouped;
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
    /// A list of checksums has other files than are there.
    ChecksumList,
}

impl Shortfall {
    /// A shortfall without a location.
    #[must_use]
    pub fn new(kind: ShortfallKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), file: None, offset: None, blocks: None }
    }

    /// Blocks up to `until` were requested, if the `last` one is before it.
    #[must_use]
    pub fn after_last(until: Option<u64>, last: u64) -> Option<Self> {
        let until = until.filter(|until| *until > last)?;
        let [asked, found] = [until, last].map(grouped);
        let text = format!("blocks up to {asked} were requested, the last one is {found}");
        Some(Self::new(ShortfallKind::MissingBlocks, text).of_blocks(until - last))
    }

    /// Blocks from `from` on were requested, if the `first` one is after it. Block 0 is known
    /// without an archive.
    #[must_use]
    pub fn before_first(from: Option<u64>, first: u64) -> Option<Self> {
        let from = from.filter(|from| *from < first && first > 1)?;
        let [asked, found] = [from, first].map(grouped);
        let text = format!("blocks from {asked} on were requested, the first one is {found}");
        Some(Self::new(ShortfallKind::MissingBlocks, text).of_blocks(first - from))
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
