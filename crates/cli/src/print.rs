//! Printing to outputs that may be closed.
//!
//! The standard library's `println!` panics when a pipe is closed (`blockmill ... | head -1`) or
//! when the disk of standard output is full. In this crate the three macros have the same names, so
//! that all output uses them, and never panic: a closed pipe is no error, and the run ends with the
//! exit code of its verdict. Any other error of standard output is reported once on standard error
//! and turns success into [`Status::Environment`].

use crate::args::General;
use crate::{log, progress};
use anstream::ColorChoice;
use blockmill_report::Colour;
use blockmill_verdict::Status;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// A name and its value, below the first line of an answer.
pub fn row(name: &str, value: &str) {
    println!("  {name:<13}{value}");
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
    WRAPS.store(!general.json, Ordering::Relaxed);
    match general.color.as_str() {
        "always" => ColorChoice::Always.write_global(),
        "never" => ColorChoice::Never.write_global(),
        _ => {}
    }
}

/// Whether lines are broken to fit the terminal: documents are not.
static WRAPS: AtomicBool = AtomicBool::new(true);

/// How much of what a command prints is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    All,
    /// The rest of the first line.
    FirstLine,
    Nothing,
}

static SHOWN: Mutex<Shown> = Mutex::new(Shown::All);

/// Runs a command of which only the first line is shown: its answer.
pub fn first_line<T>(command: impl FnOnce() -> T) -> T {
    showing(Shown::FirstLine, command)
}

/// Runs a command that shows nothing.
pub fn silently<T>(command: impl FnOnce() -> T) -> T {
    showing(Shown::Nothing, command)
}

fn showing<T>(shown: Shown, command: impl FnOnce() -> T) -> T {
    let set = |shown| *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = shown;
    set(shown);
    let ended = command();
    set(Shown::All);
    ended
}

/// What is shown of a text.
fn shown(text: String) -> String {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match (*shown, text.find('\n')) {
        (Shown::All, _) | (Shown::FirstLine, None) => text,
        (Shown::FirstLine, Some(end)) => {
            *shown = Shown::Nothing;
            text[..=end].to_owned()
        }
        (Shown::Nothing, _) => String::new(),
    }
}

/// Prints to standard output.
pub fn out(text: Arguments<'_>) {
    log_too(text);
    if detail() == Detail::Quiet {
        return;
    }
    let text = shown(text.to_string());
    let text = format_args!("{text}");
    match blockmill_report::width().filter(|_| WRAPS.load(Ordering::Relaxed)) {
        Some(width) => write_out(format_args!("{}", fitted(&text.to_string(), width))),
        None => write_out(text),
    }
}

/// Prints a script or a document to standard output: its lines stay as they are.
pub fn raw(text: Arguments<'_>) {
    log_too(text);
    write_out(text);
}

fn write_out(text: Arguments<'_>) {
    progress::hidden(|| write_visible(text));
}

fn write_visible(text: Arguments<'_>) {
    let mut trouble = TROUBLE.lock().unwrap_or_else(PoisonError::into_inner);
    if trouble.is_none() {
        *trouble = io::stdout().lock().write_fmt(text).err();
    }
}

/// Prints to standard error. An error is ignored, as it cannot be reported.
pub fn err(text: Arguments<'_>) {
    log_too(text);
    let _ = progress::hidden(|| match blockmill_report::error_width() {
        Some(width) => io::stderr().lock().write_all(fitted(&text.to_string(), width).as_bytes()),
        None => io::stderr().lock().write_fmt(text),
    });
}

/// The lines of `text`, of which those that are too long continue below the place where their
/// value begins: after a name and two spaces or more.
fn fitted(text: &str, width: usize) -> String {
    let fits = |line: &str| {
        // a command line is there to be copied
        if line.starts_with("$ ") {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start().len();
        let after_name = line[indent..].find("  ").map_or(0, |gap| {
            let value = line[indent + gap..].trim_start();
            line.len() - value.len()
        });
        let is_name = (1..=MOST_INDENT.min(width / 2)).contains(&after_name);
        let indent = if is_name { after_name } else { indent.min(MOST_INDENT) };
        blockmill_report::wrap(line, Some(width), &" ".repeat(indent))
    };
    text.split('\n').map(fits).collect::<Vec<_>>().join("\n")
}

/// Columns after which no text continues in the next line.
const MOST_INDENT: usize = 24;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_continue_below_their_values() {
        let text =
            "  tip        height 4,521 and a long hash\n$ blockmill verify some/long/path/x\nok";
        let expected = "  tip        height 4,521 and\n             a long hash\n\
                        $ blockmill verify some/long/path/x\nok";
        assert_eq!(fitted(text, 30), expected);
        assert_eq!(fitted(text, 80), text);
        assert_eq!(fitted("    one two three\n", 12), "    one two\n    three\n");
    }
}
