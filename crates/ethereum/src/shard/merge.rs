//! Shard summaries merged in the order of their blocks: the verdict of a single run over all of them.

use super::consistent::Inconsistent;
use super::merger::Merger;
use super::summary::ShardSummary;
use crate::fault::Error;
use crate::import::Options;
use blockmill_verdict::{FaultReport, Shortfall, Status};
use std::fmt;
use std::path::PathBuf;

/// Shards that were merged.
#[derive(Debug)]
pub struct Merged {
    /// The summary of all of them, which can be merged again.
    pub summary: ShardSummary,
    /// How a single run over the same blocks would have ended.
    pub outcome: Result<(), Error>,
    /// What the archive lacks: what its shards did, and what stopped the run.
    pub shortfalls: Vec<Shortfall>,
    /// The shard, by its index in the order of merging, in which the fault is, where the block that
    /// is named may not be the first one at fault: to be verified again after the shards before it.
    pub again: Option<usize>,
}

/// Why summaries cannot be merged at all.
#[derive(Debug)]
pub enum MergeError {
    /// There are none.
    None,
    /// They were made for different purposes.
    Asked {
        /// What differs.
        what: &'static str,
        /// What the merge is asked for.
        expected: String,
        /// What a shard was.
        found: String,
    },
    /// One disagrees with itself.
    Inconsistent {
        /// A file of its shard; empty where it has none.
        file: PathBuf,
        /// What disagrees.
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

/// Merges shards, in the order of their first blocks where all of them tell it, else, and where these
/// are equal, in the order in which they are given: that of files. `options` must ask
/// for what the shards were asked for; only chain, level, seals and trusted hashes are looked at.
/// Where there are too many shards to be held at once, [`Merger`] takes them one by one.
///
/// # Errors
/// There is nothing to merge, what does not belong together, or what disagrees with itself. What is
/// wrong with blocks is in [`Merged::outcome`].
pub fn merge(shards: &[ShardSummary], options: &Options) -> Result<Merged, MergeError> {
    let mut order: Vec<&ShardSummary> = shards.iter().collect();
    if order.iter().all(|shard| shard.starts_at().is_some()) {
        order.sort_by_key(|shard| shard.starts_at());
    }
    let mut merger = Merger::new(options);
    order.into_iter().try_for_each(|shard| merger.take(shard))?;
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
