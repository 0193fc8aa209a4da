//! One RLP or hash operation of alloy on one object, measured, as one line of JSON.

mod allocations;
mod arguments;
mod measure;
#[path = "../../measure/memory.rs"]
mod memory;
mod objects;
mod operations;

use std::io;
use std::process::ExitCode;

use alloy_primitives::B256;
use serde::Serialize;

use arguments::Arguments;
use measure::{Costs, Facts};

/// The line that a run prints: the part of a run record that it alone knows.
#[derive(Serialize)]
struct Line {
    version: &'static str,
    facts: Facts,
    series: [Series; 1],
    answer: AnswerTexts,
}

/// The samples.
#[derive(Serialize)]
struct Series {
    row: &'static str,
    columns: [Column; 1],
}

/// One operation, from each sample.
#[derive(Serialize)]
struct Column {
    name: &'static str,
    unit: &'static str,
    values: Vec<f64>,
}

#[derive(Serialize)]
struct AnswerTexts {
    bytes: String,
    digest: String,
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
    let (Costs { facts, samples_ns }, answer) = operations::run(&arguments)?;
    // here, so that the first operation of the process is the measured one
    objects::check_lengths();
    let samples = Column { name: "time_ns", unit: "ns", values: samples_ns };
    let line = Line {
        version: env!("VERSIONS"),
        facts,
        series: [Series { row: "sample", columns: [samples] }],
        answer: AnswerTexts { bytes: answer.bytes.to_string(), digest: answer.digest.to_string() },
    };
    Ok(serde_json::to_string(&line).map_err(io::Error::from)?)
}
