//! What is printed when all is done, and how a run ends.

use crate::progress::grouped;
use anyhow::{Context, Result};
use pipeline::record::RunRecord;
use report::Colour;
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

/// What the record of a run does not say about its end.
pub struct Ending {
    /// Whose blocks they are, as in "this archive holds".
    pub source: &'static str,
    /// What tells them apart: a block's number or its height.
    pub unit: &'static str,
    /// Did the run go on behind blocks of an earlier one?
    pub resumed: bool,
    /// Did it stop because the user asked for it?
    pub stopped: bool,
    /// What the reader of its error may not know.
    pub hint: Option<&'static str>,
}

/// Writes and prints the record of a run that is over.
pub fn end(record: &mut RunRecord, to: Option<&Path>, ending: &Ending, json: bool) -> Result<Exit> {
    record.command = std::env::args().collect();
    save(record, to)?;
    if json {
        println!("{}", serde_json::to_string_pretty(record)?);
    } else {
        if record.data.blocks == 0 && ending.resumed {
            println!("nothing new: the store already has what {}", ending.source);
        }
        print!("{}", report::summary(record, Colour::of_stdout()));
        if let Some(path) = to {
            println!("run record: {}", path.display());
        }
    }
    match &record.result.error {
        Some(error) => {
            failure(error, ending.hint, ending.unit, record.result.committed);
            Ok(Exit::Failure)
        }
        None if ending.stopped => Ok(Exit::Interrupted),
        None => Ok(Exit::Success),
    }
}

/// Says on standard error what stopped an import, and what that means for the blocks before it.
pub fn failure(error: &str, hint: Option<&str>, unit: &str, committed: Option<u64>) {
    eprintln!("error: {error}");
    if let Some(hint) = hint {
        eprintln!("hint: {hint}");
    }
    if let Some(number) = committed {
        let number = grouped(number);
        eprintln!("everything up to {unit} {number} is verified and committed; it stays readable");
    }
}

/// Writes the run record, where one is wanted.
fn save(record: &RunRecord, to: Option<&Path>) -> Result<()> {
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
