//! The program `blockmill-bench` in the place of this one: for `bench`, and for `report` of its
//! records.

use crate::answer::Answer;
use crate::args::{AUTO, General, Report};
use anyhow::Result;
use blockmill_platform::{exec, files};
use blockmill_verdict::{FaultReport, Status};
use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// The name of the program.
const NAME: &str = "blockmill-bench";

/// How to get it.
const HINT: &str = "build it from the same source: cargo build --release -p blockmill-bench";

/// `blockmill bench`.
pub fn run(args: &[OsString], general: &General) -> Result<Answer> {
    // the name of a command, if any, comes first
    let begins_with_word =
        args.first().is_some_and(|arg| !arg.as_encoded_bytes().starts_with(b"-"));
    let (word, rest) = args.split_at(usize::from(begins_with_word));
    let general = flags(general);
    start(word.iter().chain(&general).chain(rest).cloned().collect())
}

/// `blockmill report` of records of `blockmill-bench`.
pub fn report(args: &Report, general: &General) -> Result<Answer> {
    let mut words: Vec<OsString> = vec!["report".into(), "--out".into(), args.out.clone().into()];
    words.extend(flags(general));
    words.push("--".into());
    words.extend(args.records.iter().map(OsString::from));
    start(words)
}

/// The flags that every command has, as they were given.
fn flags(general: &General) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![];
    let given =
        [("--json", general.json), ("--quiet", general.quiet), ("--verbose", general.verbose)];
    words.extend(given.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag.into()));
    if general.color != AUTO {
        words.push(format!("--color={}", general.color).into());
    }
    for (flag, file) in [("--config", &general.config), ("--log", &general.log)] {
        if let Some(file) = file {
            words.extend([flag.into(), file.into()]);
        }
    }
    words
}

/// Replaces this process by the program, which is looked for next to this one, then on `PATH`.
/// Returns only if it cannot be started.
fn start(args: Vec<OsString>) -> Result<Answer> {
    let program = next_to_this()?;
    let place = program.clone().unwrap_or_else(|| NAME.into());
    let error = exec::exec(Command::new(place).args(args));
    let message = match &program {
        Some(program) => format!("cannot start {}: {error}", program.display()),
        None => {
            format!("cannot start {NAME}: {error}; it is neither next to this program nor on PATH")
        }
    };
    let error = FaultReport { hint: Some(HINT.into()), ..FaultReport::new(message) };
    Ok(Answer { error: Some(error), ..Answer::with_status(Status::Environment) })
}

/// The program in the folder of this one, if it is there.
fn next_to_this() -> Result<Option<PathBuf>> {
    let Ok(this) = std::env::current_exe() else { return Ok(None) };
    let path = this.with_file_name(format!("{NAME}{EXE_SUFFIX}"));
    Ok(files::is_file(&path)?.then_some(path))
}
