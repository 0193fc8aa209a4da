//! The verdict over an archive as a value.

use super::{VerifyOptions, answers};
use crate::answer::{Answer, Payload};
use blockmill_pipeline::record::{BlockRef, RunRecord};
use blockmill_verdict::{FaultReport, Shortfall, Status};
use std::fmt;
use std::path::Path;

/// An archive that is verified.
#[derive(Clone, Debug)]
pub struct Verified {
    /// [`Status::Verified`], or [`Status::Partial`] if blocks are missing and may be.
    pub status: Status,
    /// The record of the run: what was read, how deep it was verified, the time of each stage.
    pub record: Box<RunRecord>,
    /// What the archive lacks; empty if the status is [`Status::Verified`].
    pub shortfalls: Vec<Shortfall>,
    /// What a reader of the result should know.
    pub notes: Vec<String>,
}

/// Why there is no success: the archive is not complete and valid, or the run did not complete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The kind of failure.
    pub status: Status,
    /// The error: its message, and the file, block, rule, expected and found value if they are
    /// known. `None` if blocks are missing or the run was interrupted.
    pub fault: Option<Box<FaultReport>>,
    /// What the archive lacks.
    pub shortfalls: Vec<Shortfall>,
    /// What a reader of the result should know.
    pub notes: Vec<String>,
    /// What the run left on disk, as a sentence.
    pub kept: Option<String>,
    /// The record of the run, if it began.
    pub record: Option<Box<RunRecord>>,
}

/// Verifies an archive: files or folders of one chain. Blocks this thread until the run ends.
///
/// # Errors
/// Returns an [`Outcome`] with [`Status::Invalid`] if a block breaks a rule, [`Status::Incomplete`]
/// if blocks are missing, [`Status::Corrupt`] if stored bytes are damaged,
/// [`Status::Unrecognised`] if no archive is found, [`Status::Usage`] if the options contradict
/// each other or a path does not exist, [`Status::Environment`] if this machine fails, and
/// [`Status::Interrupted`] if `options.cancel` was set.
pub fn verify(paths: &[impl AsRef<Path>], options: &VerifyOptions) -> Result<Verified, Outcome> {
    Verified::from_answer(answers::verify(paths, options))
}

impl Verified {
    /// The verdict of an answer.
    pub(super) fn from_answer(answer: Answer) -> Result<Self, Outcome> {
        if !answer.status.is_success() {
            return Err(answer.into());
        }
        let Answer { status, shortfalls, notes, result, .. } = answer;
        match result {
            Some(Payload::Record(record)) => Ok(Self { status, record, shortfalls, notes }),
            result => Err(Answer { result, ..Answer::with_status(Status::Environment) }.into()),
        }
    }

    /// Number of verified blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.record.data.blocks
    }

    /// Number of the first block; `None` if there are no blocks.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        (self.blocks() > 0).then_some(self.record.data.first)
    }

    /// Number of the last block; `None` if there are no blocks.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        (self.blocks() > 0).then_some(self.record.data.last)
    }

    /// The last block of the chain, with its hash in the notation of the chain.
    #[must_use]
    pub fn tip(&self) -> BlockRef {
        let result = &self.record.result;
        BlockRef { number: result.tip_number, hash: result.tip_hash.clone() }
    }
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        let Answer { status, error, kept, shortfalls, notes, result, .. } = answer;
        let record = match result {
            Some(Payload::Record(record)) => Some(record),
            _ => None,
        };
        Self { status, fault: error.map(Box::new), shortfalls, notes, kept, record }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fault) = &self.fault {
            return f.write_str(&fault.message);
        }
        let Some((first, others)) = self.shortfalls.split_first() else {
            return self.status.fmt(f);
        };
        write!(f, "{}: {first}", self.status)?;
        others.iter().try_for_each(|shortfall| write!(f, "; {shortfall}"))
    }
}

impl std::error::Error for Outcome {}
