//! Merges shard summaries in the order of their blocks, into the verdict of a single run.

use super::consistent::Inconsistent;
use super::merger::Merger;
use super::summary::ShardSummary;
use crate::error::Error;
use crate::import::Options;
use blockmill_verdict::{FaultReport, Shortfall, Status};
use std::fmt;
use std::path::PathBuf;

/// The result of a merge.
#[derive(Debug)]
pub struct Merged {
    /// The summary of all shards, which can be merged again.
    pub summary: ShardSummary,
    /// How a single run over the same blocks would have ended.
    pub outcome: Result<(), Error>,
    /// The shortfalls of the archive: those of its shards, and the one that stopped the run.
    pub shortfalls: Vec<Shortfall>,
    /// What was not checked, although the level asks for it, in the words of the record of a run.
    pub unchecked: Vec<String>,
    /// The index (in the order of merging) of a shard to verify again after the earlier shards,
    /// because the reported block may not be the first one at fault.
    pub again: Option<usize>,
}

/// Why summaries cannot be merged at all.
#[derive(Debug)]
pub enum MergeError {
    /// There are no summaries.
    None,
    /// The shards were verified with different settings.
    Asked {
        /// The setting.
        what: &'static str,
        /// The value of the merge.
        expected: String,
        /// The value of a shard.
        found: String,
    },
    /// A summary contradicts itself.
    Inconsistent {
        /// A file of its shard; empty if it has none.
        file: PathBuf,
        /// The contradiction.
        field: Inconsistent,
    },
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("expected summaries to merge, found none"),
            Self::Asked { what, expected, found } => {
                write!(f, "shards can only be merged that were verified alike: ")?;
                write!(f, "{what}: expected {expected}, found {found}")
            }
            Self::Inconsistent { file, field: Inconsistent { field, expected, found } } => {
                write!(f, "the summary of {} disagrees with itself: {field}: ", file.display())?;
                write!(f, "expected {expected}, found {found}")
            }
        }
    }
}

impl std::error::Error for MergeError {}

impl MergeError {
    /// What the error says of the summaries.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::None | Self::Asked { .. } => Status::Usage,
            Self::Inconsistent { .. } => Status::Corrupt,
        }
    }

    /// Its parts.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        let report = FaultReport::new(self.to_string());
        match self {
            Self::None | Self::Asked { .. } => report,
            Self::Inconsistent { file, field } => FaultReport {
                file: Some(file.clone()),
                rule: Some(field.field.clone()),
                expected: Some(field.expected.clone()),
                found: Some(field.found.clone()),
                ..report
            },
        }
    }
}

/// Merges shards in the order of their first blocks. If one of these is unknown, or two are equal,
/// the given order counts, which is that of files. `options` must have the chain, level, seals and
/// trusted hashes of the shards. For more shards than fit in memory, use [`Merger`].
///
/// # Errors
/// Returns [`MergeError`] if there are no shards, or they do not belong together, or contradict
/// themselves. Faults of blocks are in [`Merged::outcome`].
pub fn merge(shards: &[ShardSummary], options: &Options) -> Result<Merged, MergeError> {
    let mut order: Vec<&ShardSummary> = shards.iter().collect();
    if order.iter().all(|shard| shard.starts_at().is_some()) {
        order.sort_by_key(|shard| shard.starts_at());
    }
    let mut merger = Merger::new(options);
    order.into_iter().try_for_each(|shard| merger.add(shard))?;
    merger.finish()
}

impl Merged {
    /// The verdict in one word.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.outcome {
            Err(error) => error.status(),
            Ok(()) if !self.shortfalls.is_empty() => Status::Partial,
            Ok(()) => Status::Verified,
        }
    }
}
