//! Printing to outputs that may be closed.
//!
//! The standard library's `println!` panics when a pipe is closed (`blockmill ... | head -1`) or
//! when the disk of standard output is full. In this crate the three macros have the same names, so
//! that all output uses them, and never panic: a closed pipe is no error, and the run ends with the
//! exit code of its verdict. Any other error of standard output is reported once on standard error
//! and turns success into [`Status::Environment`].

use crate::args::General;
use crate::log;
use anstream::ColorChoice;
use blockmill_report::Colour;
use blockmill_verdict::Status;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Prints to standard output.
macro_rules! print {
    ($($arg:tt)*) => { $crate::print::out(format_args!($($arg)*)) };
}

/// Prints a line to standard output.
macro_rules! println {
    ($($arg:tt)*) => { $crate::print::out(format_args!("{}\n", format_args!($($arg)*))) };
}

/// Prints a line to standard error.
macro_rules! eprintln {
    ($($arg:tt)*) => { $crate::print::err(format_args!("{}\n", format_args!($($arg)*))) };
}

/// The first thing that went wrong on standard output. After it nothing more is printed there: a
/// document with a hole in it is worse than one that ends early.
static TROUBLE: Mutex<Option<io::Error>> = Mutex::new(None);

/// How much is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Errors only, and documents.
    Quiet,
    /// A short answer.
    #[default]
    Short,
    /// Also what was found and measured.
    Verbose,
}

/// What the command line asks for. A program that uses the library has a short answer.
static DETAIL: OnceLock<Detail> = OnceLock::new();

/// How much is printed.
pub fn detail() -> Detail {
    DETAIL.get().copied().unwrap_or_default()
}

/// Sets how much is printed, and in which colours: once, before anything is printed.
pub fn set_up(general: &General) {
    let detail = match (general.quiet && !general.json, general.verbose) {
        (true, _) => Detail::Quiet,
        (false, true) => Detail::Verbose,
        (false, false) => Detail::Short,
    };
    let _ = DETAIL.set(detail);
    match general.color.as_str() {
        "always" => ColorChoice::Always.write_global(),
        "never" => ColorChoice::Never.write_global(),
        _ => {}
    }
}

/// Prints to standard output.
pub fn out(text: Arguments<'_>) {
    log_too(text);
    if detail() == Detail::Quiet {
        return;
    }
    let mut trouble = TROUBLE.lock().unwrap_or_else(PoisonError::into_inner);
    if trouble.is_none() {
        *trouble = io::stdout().lock().write_fmt(text).err();
    }
}

/// Prints to standard error. An error is ignored, as it cannot be reported.
pub fn err(text: Arguments<'_>) {
    log_too(text);
    let _ = io::stderr().lock().write_fmt(text);
}

/// Nothing is formatted twice unless there is a log.
fn log_too(text: Arguments<'_>) {
    if log::is_open() {
        log::add(&text.to_string());
    }
}

/// Prints the help or the version that the parser of the command line has to show.
pub fn parser(error: &clap::Error) {
    match (error.render(), Colour::of_stdout()) {
        (text, Colour::On) => print!("{}", text.ansi()),
        (text, Colour::Off) => print!("{text}"),
    }
}

/// The exit code of a run that would end with `exit`, when all that it printed has arrived.
pub fn ended(exit: ExitCode) -> ExitCode {
    let mut trouble = TROUBLE.lock().unwrap_or_else(PoisonError::into_inner);
    if trouble.is_none() {
        *trouble = io::stdout().lock().flush().err();
    }
    match &*trouble {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to standard output: {error}");
            let is_good = exit == ExitCode::SUCCESS;
            if is_good { ExitCode::from(Status::Environment.exit_code()) } else { exit }
        }
        _ => exit,
    }
}
