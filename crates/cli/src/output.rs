//! What is printed when all is done, and how a run ends.

use crate::answer::Answer;
use anyhow::{Context, Result};
use chain::Status;
use chain::grouped;
use pipeline::record::RunRecord;
use report::Colour;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use store::Recovery;

/// Says what opening the store had to repair.
pub fn recovered(recovery: &Recovery) {
    for error in &recovery.passed_over {
        eprintln!("store: a newer commit could not be used: {error}");
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
    /// What the reader of its error may not know.
    pub hint: Option<&'static str>,
}

/// Writes and prints the record of a run that is over.
pub fn end(
    record: &mut RunRecord,
    to: Option<&Path>,
    ending: &Ending,
    json: bool,
) -> Result<Answer> {
    record.command = bench::child::command_line();
    if let Some(fault) = &mut record.result.fault {
        fault.hint = ending.hint.map(str::to_owned);
    }
    // the run's own result is told whatever becomes of its record
    let saved = save(record, to);
    if !json {
        if record.data.blocks == 0 && ending.resumed && record.result.status.is_success() {
            println!("nothing new: the store already has what {}", ending.source);
        }
        print!("{}", report::summary(record, Colour::of_stdout()));
    }
    match (&saved, to) {
        (Ok(()), Some(path)) if !json => println!("run record: {}", path.display()),
        (Ok(()), _) => {}
        (Err(error), _) => {
            let warning = format!("the run record is not saved: {error:#}");
            eprintln!("warning: {warning}");
            record.notes.push(warning);
        }
    }
    let result = &record.result;
    let stopped = result.error.is_some() || result.status == Status::Interrupted;
    let answer = Answer {
        status: result.status,
        error: result.fault.clone(),
        kept: result.committed.filter(|_| stopped).map(|number| {
            let goes_on = matches!(result.status, Status::Trouble | Status::Interrupted);
            let then = if goes_on { ", and the same command goes on after it" } else { "" };
            kept(ending.unit, number) + then
        }),
        shortfalls: result.shortfalls.clone(),
        notes: record.notes.clone(),
        ..Answer::default()
    };
    if json { answer.with(&*record) } else { Ok(answer) }
}

/// What a run that stopped leaves behind.
pub fn kept(unit: &str, number: u64) -> String {
    let number = grouped(number);
    format!("everything up to {unit} {number} is verified and committed; it stays readable")
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
