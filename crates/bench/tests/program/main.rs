//! The program as its users run it: one test program, so that it is linked once and its tests fill
//! all cores.

#[path = "../../../cli/tests/program/process.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod process;
#[path = "../../../cli/tests/program/signals.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod signals;

mod bodies;
mod comparison;
mod ends;
mod export;
mod reindex;
mod rlp;

use process::{Scratch, command, document, run, succeed, succeed_json};
use std::process::Command;

/// A command line of the program: `words` are split at spaces.
fn bench(words: &str) -> Command {
    command(env!("CARGO_BIN_EXE_blockmill-bench"), words)
}
