//! Boundaries joined in the order of their blocks: the verdict of a single run over all of them.

use super::boundary::Boundary;
use super::consistent::Inconsistent;
use super::fold::Fold;
use crate::fault::Error;
use crate::import::Options;
use blockmill_verdict::{FaultReport, Shortfall, Status};
use std::fmt;
use std::path::PathBuf;

/// Units that were joined.
#[derive(Debug)]
pub struct Joined {
    /// The boundary of all of them, which can be joined again.
    pub boundary: Boundary,
    /// How a single run over the same blocks would have ended.
    pub outcome: Result<(), Error>,
    /// What the archive lacks: what its units did, and what stopped the run.
    pub shortfalls: Vec<Shortfall>,
    /// The unit, by its index in the order of joining, in which the fault is, where the block that
    /// is named may not be the first one at fault: to be verified again after the units before it.
    pub again: Option<usize>,
}

/// Why boundaries cannot be joined at all.
#[derive(Debug)]
pub enum JoinError {
    /// There are none.
    None,
    /// They were made for different purposes.
    Asked {
        /// What differs.
        what: &'static str,
        /// What the join is asked for.
        expected: String,
        /// What a unit was.
        found: String,
    },
    /// One disagrees with itself.
    Inconsistent {
        /// A file of its unit; empty where it has none.
        file: PathBuf,
        /// What disagrees.
        field: Inconsistent,
    },
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("expected boundaries to join, found none"),
            Self::Asked { what, expected, found } => {
                write!(f, "units can only be joined that were verified alike: ")?;
                write!(f, "{what}: expected {expected}, found {found}")
            }
            Self::Inconsistent { file, field: Inconsistent { field, expected, found } } => {
                write!(f, "the boundary of {} disagrees with itself: {field}: ", file.display())?;
                write!(f, "expected {expected}, found {found}")
            }
        }
    }
}

impl std::error::Error for JoinError {}

impl JoinError {
    /// What the error says of the boundaries.
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

/// Joins units, in the order of their first blocks where all of them tell it, else, and where these
/// are equal, in the order in which they are given: that of files. `options` must ask
/// for what the units were asked for; only chain, level, seals and trusted hashes are looked at.
/// Where there are too many units to be held at once, [`Fold`] takes them one by one.
///
/// # Errors
/// There is nothing to join, what does not belong together, or what disagrees with itself. What is
/// wrong with blocks is in [`Joined::outcome`].
pub fn join(units: &[Boundary], options: &Options) -> Result<Joined, JoinError> {
    let mut order: Vec<&Boundary> = units.iter().collect();
    if order.iter().all(|unit| unit.starts_at().is_some()) {
        order.sort_by_key(|unit| unit.starts_at());
    }
    let mut fold = Fold::new(options);
    order.into_iter().try_for_each(|unit| fold.take(unit))?;
    fold.finish()
}

impl Joined {
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
