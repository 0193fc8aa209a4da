//! What is printed when all is done, and how a run ends.

use crate::progress::grouped;
use anyhow::{Context, Result};
use ethereum::error::Rule;
use ethereum::fault::{Cause, Error};
use ethereum::import::Run;
use pipeline::record::RunRecord;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use store::Recovery;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Success,
    /// The archive is not what it should be.
    Failure,
    /// The user asked to stop.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failure => Self::from(1),
            // what shells give a program that Ctrl-C ended
            Exit::Interrupted => Self::from(130),
        }
    }
}

/// Says what opening the store had to repair.
pub fn recovered(recovery: &Recovery) {
    for error in &recovery.passed_over {
        eprintln!("store: a newer checkpoint could not be used: {error}");
    }
    if recovery.cut_bytes > 0 {
        let bytes = grouped(recovery.cut_bytes);
        eprintln!("store: {bytes} bytes that an earlier run had not committed were cut off");
    }
    if recovery.index_runs_built > 0 {
        eprintln!("store: {} parts of the hash index were built again", recovery.index_runs_built);
    }
}

/// Says on standard error what stopped an import, and what that means.
pub fn failure(error: &Error, run: &Run, stores: bool) {
    eprintln!("error: {error}");
    if let Some(hint) = hint(error) {
        eprintln!("hint: {hint}");
    }
    if let (Some(tip), true) = (&run.tip, stores) {
        let number = grouped(tip.id.number);
        eprintln!("everything up to block {number} is verified and committed; it stays readable");
    }
}

/// What the reader of an error may not know.
fn hint(error: &Error) -> Option<&'static str> {
    if matches!(error, Error::OtherChain { .. }) {
        return Some("use another --data folder for it");
    }
    let Error::Fault(fault) = error else { return None };
    let Cause::Rule(violation) = &fault.cause else { return None };
    match violation.rule {
        Rule::SealMixHash | Rule::SealBoundary => {
            Some("generated and test chains carry no proof of work: use --seal off for them")
        }
        Rule::Genesis | Rule::ParentHash if fault.block <= 1 => {
            Some("this may be an archive of another chain: see --chain")
        }
        Rule::ParentHash => {
            Some("this header or the one before it is damaged, or they are foreign")
        }
        Rule::KnownBlock => {
            Some("the store holds another block of this number: use another --data folder")
        }
        _ => None,
    }
}

/// Writes the run record, where one is wanted.
pub fn save(record: &RunRecord, to: Option<&Path>) -> Result<()> {
    let Some(path) = to else { return Ok(()) };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    record.write(path).with_context(|| format!("cannot write {}", path.display()))
}

/// The present time, in seconds since 1970.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The present time as a name for files: seconds since 1970.
pub fn time_stamp() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:03}", now.as_secs(), now.subsec_millis())
}
