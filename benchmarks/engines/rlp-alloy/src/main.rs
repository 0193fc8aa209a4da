//! One RLP or hash operation of alloy on one object, measured, as one line of JSON.

mod allocations;
mod arguments;
mod measure;
mod objects;
mod operations;

use std::io;
use std::process::ExitCode;

use alloy_primitives::B256;
use serde::Serialize;

use arguments::Arguments;
use measure::Costs;

/// The line that a run prints.
#[derive(Serialize)]
struct Line<'a> {
    engine: &'a str,
    version: &'a str,
    case: &'a str,
    op: &'a str,
    bytes: usize,
    digest: String,
    #[serde(flatten)]
    costs: Costs,
}

/// What an operation gives.
struct Answer {
    /// Length of the encoding; with `hash-each` the sum over all objects.
    bytes: usize,
    /// Keccak-256 of the encoding, or of the concatenated hashes with `hash-each`.
    digest: B256,
}

/// Why there is no line.
enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// The system refused something.
    System(io::Error),
}

impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Self::Usage(sentence)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

fn main() -> ExitCode {
    match line() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(Failure::Usage(sentence)) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
        Err(Failure::System(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the command line asks for.
fn line() -> Result<String, Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let (costs, answer) = operations::run(&arguments)?;
    // here, so that the first operation of the process is the measured one
    objects::check_lengths();
    let line = Line {
        engine: env!("ENGINE"),
        version: env!("VERSIONS"),
        case: &arguments.case_name,
        op: &arguments.op_name,
        bytes: answer.bytes,
        digest: answer.digest.to_string(),
        costs,
    };
    Ok(serde_json::to_string(&line).map_err(io::Error::from)?)
}
