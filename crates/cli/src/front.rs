//! From the arguments of a process to its exit code: the part that both programs share.

use crate::answer::Answer;
use crate::args::General;
use crate::{config, log, print, stop};
use anyhow::Result;
use blockmill_pipeline::Cancel;
use blockmill_platform::heap;
use blockmill_verdict::{FaultReport, Status};
use clap::Parser;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::hint::black_box;
use std::process::ExitCode;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Bytes of stack that the first thread takes at once.
const STACK: usize = 384 << 10;

/// The command line of a program.
pub trait CommandLine: Parser {
    /// The name, in answers and in the config file, of what the program does without the name of a
    /// command; empty if it always needs one.
    const UNNAMED: &'static str;

    /// The flags that every command has.
    fn general(&self) -> &General;

    /// What is left if a signal arrives before the command has started.
    fn leaves(&self) -> &'static str {
        "nothing was written"
    }

    /// Runs the command.
    ///
    /// # Errors
    /// Returns what ended the command; its kind gives the exit code.
    fn run(&mut self, cancel: Cancel) -> Result<Answer>;
}

/// Runs a program with the arguments of this process. The first thread of the process calls it.
#[must_use]
pub fn main<C: CommandLine>() -> ExitCode {
    heap::when_exhausted(stop::end_without_memory);
    stop::watch_threads();
    take_stack();
    blockmill_pipeline::disk::report_file_size_limit();
    blockmill_platform::open_files::allow_most();
    crate::ethereum::register();
    trace();
    let args: Vec<OsString> = std::env::args_os().collect();
    // known before the command line is understood, as it may never be
    let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let (name, answer) = match config::with_config(args, C::command(), C::UNNAMED) {
        Ok(args) => answer::<C>(args),
        Err(error) => (String::new(), Answer::failed(&error)),
    };
    answer.tell(&name, json);
    print::ended((&answer).into())
}

/// Prints events of the levels and crates that `RUST_LOG` names, such as `blockmill=debug` or
/// `blockmill_store=trace`, to standard error. Without the variable each event costs the reading of
/// one number.
fn trace() {
    let Ok(text) = std::env::var("RUST_LOG") else { return };
    match text.parse::<Targets>() {
        Ok(targets) => {
            let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
            tracing_subscriber::registry().with(lines.with_filter(targets)).init();
        }
        Err(error) => eprintln!("RUST_LOG={text}: {error}; nothing is logged"),
    }
}

/// Makes the operating system allocate the whole stack of this thread now. Otherwise it grows page
/// by page, and under a limit of memory a signal ends the process without a message.
#[inline(never)]
fn take_stack() {
    black_box([0u8; STACK]);
}

/// The name of the command that `args` ask for, and how it ended.
fn answer<C: CommandLine>(args: Vec<OsString>) -> (String, Answer) {
    let parsed = C::command().try_get_matches_from(args).and_then(|matches| {
        let name = matches.subcommand_name().unwrap_or(C::UNNAMED).to_owned();
        Ok((name, C::from_arg_matches(&matches)?))
    });
    match parsed {
        Ok((name, mut line)) => {
            print::set_up(line.general());
            let logged = line.general().log.as_deref().map_or(Ok(()), log::to);
            let ready = logged.and_then(|()| {
                stop::leaves(line.leaves());
                stop::on_signal(&name, line.general().json)
            });
            let answer = ready
                .and_then(|()| line.run(stop::cancel()))
                .unwrap_or_else(|error| Answer::failed(&error));
            let answer = if stop::was_asked() { stop::answer(answer) } else { answer };
            let answer = stop::without_room(answer);
            (name, answer)
        }
        Err(error) => (String::new(), not_understood(&error)),
    }
}

/// Prints the requested help, or the error of the command line.
fn not_understood(error: &clap::Error) -> Answer {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        print::parser(error);
        return Answer::ok();
    }
    usage(error)
}

/// Says what is wrong with the command line.
pub(crate) fn usage(error: &clap::Error) -> Answer {
    let text = error.render().to_string();
    let (message, help) = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ("expected a command, found none".to_owned(), Some(text.trim_end().to_owned()))
        }
        _ => (text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned(), None),
    };
    Answer { error: Some(FaultReport::new(message)), help, ..Answer::with_status(Status::Usage) }
}
