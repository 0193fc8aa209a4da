//! Why an archive cannot be converted, and what that says of it.

use crate::error::Error;
use crate::fault::{Cause, Fault, archive_fault};
use blockmill_archive::Format;
use blockmill_verdict::{FaultReport, Shortfall, Status};
use std::fmt;

/// Why an archive cannot be converted.
#[derive(Debug)]
pub enum ConvertError {
    /// Reading or writing failed.
    Archive(blockmill_archive::Error),
    /// A block cannot be decoded or does not follow the one before.
    Fault(Box<Fault>),
    /// A block of a store was executed again, for its receipts, and did not pass.
    Execution(Box<Error>),
    /// The target needs what the source does not have.
    Lacking {
        /// The first block that lacks it.
        block: u64,
        /// What it lacks.
        what: &'static str,
        /// The target.
        format: Format,
    },
    /// There is no block in the range.
    Empty,
    /// The user asked to stop.
    Stopped,
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
            Self::Execution(error) => error.fmt(f),
            Self::Lacking { block, what, format } => {
                let format = format.name();
                write!(f, "block {block}: expected {what}, which the format {format} stores, ")?;
                f.write_str("found none in the source and no way to compute it")
            }
            Self::Empty => f.write_str("the archive has no block, or none in the range asked for"),
            Self::Stopped => f.write_str("stopped before the end"),
        }
    }
}

impl ConvertError {
    /// The status that the error gives.
    pub fn status(&self) -> Status {
        match self {
            Self::Archive(error) => error.status(),
            Self::Fault(fault) => fault.status(),
            Self::Execution(error) => error.status(),
            Self::Lacking { .. } => Status::Usage,
            Self::Empty => Status::Unrecognised,
            Self::Stopped => Status::Interrupted,
        }
    }

    /// What the archive lacks, if that is the reason.
    pub fn shortfall(&self) -> Option<Shortfall> {
        match self {
            Self::Archive(error) if self.status() == Status::Incomplete => Some(error.into()),
            Self::Fault(fault) => fault.shortfall(),
            Self::Execution(error) => error.shortfall(),
            _ => None,
        }
    }

    /// Its parts.
    pub fn report(&self) -> FaultReport {
        match self {
            Self::Fault(fault) => FaultReport { hint: self.hint(), ..fault.report() },
            Self::Execution(error) => error.report(),
            Self::Archive(error) => FaultReport {
                file: error.location().map(|location| location.file.clone()),
                offset: error.location().map(|location| location.offset),
                hint: self.hint(),
                ..FaultReport::new(error.to_string())
            },
            other => FaultReport::new(other.to_string()),
        }
    }

    /// How to convert the part of an archive before a gap.
    fn hint(&self) -> Option<String> {
        let error = match self {
            Self::Archive(error) => error,
            Self::Fault(fault) => match &fault.cause {
                Cause::Archive(error) => error,
                _ => return None,
            },
            _ => return None,
        };
        let blockmill_archive::Error::Gap { expected, found, .. } = error else { return None };
        let last = expected.checked_sub(1).filter(|_| found > expected)?;
        Some(format!("--until {last} writes the blocks before the gap"))
    }
}

impl std::error::Error for ConvertError {}

impl From<blockmill_archive::Error> for ConvertError {
    fn from(error: blockmill_archive::Error) -> Self {
        if let blockmill_archive::Error::Repeated { number, .. } = error {
            return Self::Fault(Box::new(archive_fault(number, error)));
        }
        Self::Archive(error)
    }
}
