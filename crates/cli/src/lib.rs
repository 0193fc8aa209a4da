//! The program `blockmill`, which imports blockchain archives, verifies them, and shows where the
//! time went: [`main`] is all of it. Other programs call the commands as functions: [`library`].

// first, because its macros stand in for those of the standard library in all that follows
#[macro_use]
mod print;

mod answer;
mod args;
mod bench;
mod bitcoin;
mod check;
mod config;
mod convert;
mod data_folder;
mod demo;
mod documents;
mod ethereum;
mod export;
mod generate;
mod host;
mod import;
mod inspect;
pub mod library;
mod log;
mod manual;
mod neo;
mod outputs;
mod paths;
mod profile;
mod progress;
mod report;
mod serve;
mod stop;
mod unit;
mod unwind;

use answer::Answer;
use anyhow::Result;
use args::{Cli, Command};
use blockmill_bench::counting;
use blockmill_pipeline::Cancel;
use blockmill_verdict::{FaultReport, Status};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::hint::black_box;
use std::process::ExitCode;

/// Bytes of stack that the first thread takes at once.
const STACK: usize = 384 << 10;

/// The program, with the arguments of this process. The first thread of the process calls it.
pub fn main() -> ExitCode {
    counting::when_exhausted(stop::end_without_memory);
    stop::watch_threads();
    take_stack();
    blockmill_pipeline::disk::report_file_size_limit();
    blockmill_platform::open_files::allow_most();
    blockmill_ethereum::stored::register();
    let args: Vec<OsString> = std::env::args_os().collect();
    // known before the command line is understood, as it may never be
    let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let (name, answer) = match config::with_config(args) {
        Ok(args) => answer(args),
        Err(error) => (String::new(), Answer::failed(&error)),
    };
    answer.tell(&name, json);
    print::ended((&answer).into())
}

/// Has the system give this thread as much stack as it may need. It grows page by page otherwise,
/// and where a limit of memory does not let it, a signal ends the process without a word.
#[inline(never)]
fn take_stack() {
    black_box([0u8; STACK]);
}

/// The name of the command that `args` ask for, and how it ended.
fn answer(args: Vec<OsString>) -> (String, Answer) {
    let parsed = Cli::command().try_get_matches_from(args).and_then(|matches| {
        let name = matches.subcommand_name().unwrap_or_default().to_owned();
        Ok((name, Cli::from_arg_matches(&matches)?))
    });
    match parsed {
        Ok((name, mut cli)) => {
            let logged = cli.log.as_deref().map_or(Ok(()), log::to);
            let ready = logged.and_then(|()| {
                stop::leaves(left_by(&cli.command));
                stop::on_signal(&name, cli.json)
            });
            let answer = ready
                .and_then(|()| run(&mut cli, stop::cancel()))
                .unwrap_or_else(|error| Answer::failed(&error));
            let answer = if stop::was_asked() { stop::answer(answer) } else { answer };
            let answer = stop::without_room(answer);
            (name, answer)
        }
        Err(error) => (String::new(), not_understood(&error)),
    }
}

/// What there is when a signal comes before the command has begun.
fn left_by(command: &Command) -> &'static str {
    match command {
        Command::Verify(_) => "verify keeps nothing",
        _ => "nothing was written",
    }
}

/// Prints the help that was asked for, or says what is wrong with the command line.
fn not_understood(error: &clap::Error) -> Answer {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        print::parser(error);
        return Answer::ok();
    }
    usage(error)
}

/// Says what is wrong with the command line.
fn usage(error: &clap::Error) -> Answer {
    let text = error.render().to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    Answer { error: Some(FaultReport::new(message)), ..Answer::of(Status::Usage) }
}

fn run(cli: &mut Cli, cancel: Cancel) -> Result<Answer> {
    bitcoin::sources::resolve(&mut cli.command)?;
    match &cli.command {
        Command::Import(args) => import::run_import(args, cli.json, cancel),
        Command::Verify(args) => import::run_verify(args, cli.json, cancel),
        Command::Inspect(args) => inspect::run(args, cli.json),
        Command::Check(args) => check::run(args, cli.json, cancel),
        Command::Unwind(args) => unwind::run(args, cli.json, &cancel),
        Command::Witness(args) => ethereum::witness::run(args, cli.json, &cancel),
        Command::Heal(args) => ethereum::heal::run(args, cli.json, &cancel),
        Command::Prove(args) => ethereum::prove::run(args, cli.json, &cancel),
        Command::Test(args) => ethereum::suite::run(args, cli.json, &cancel),
        Command::Convert(args) => convert::run(args, cli.json, cancel),
        Command::Export(args) => export::run(args, cli.json, cancel),
        Command::Bench(command) => bench::run(command, cli.json),
        Command::Generate(command) => generate::run(command, cli.json),
        Command::Report(args) => report::run(args, cli.json),
        Command::Serve(args) => serve::run(args, &cancel),
        Command::Demo(args) => demo::run(args, cli.json),
        Command::Completions { shell } => {
            // the generator panics when it cannot write, so it writes to memory
            let mut script = vec![];
            clap_complete::generate(*shell, &mut Cli::command(), "blockmill", &mut script);
            let script = String::from_utf8_lossy(&script);
            if cli.json {
                return Answer::ok().with(script);
            }
            print!("{script}");
            Ok(Answer::ok())
        }
        Command::Man { folder, force } => manual::run(folder, *force),
    }
}
