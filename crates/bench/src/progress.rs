//! What a bench does, on standard error: lines, and how far it is, as all commands show it.

use blockmill_cli::print::{self, Detail};
use blockmill_cli::stop;
use blockmill_pipeline::live::Live;

/// Prints a line.
pub fn line(text: &str) {
    if print::detail() != Detail::Quiet {
        print::err(format_args!("{text}\n"));
    }
}

/// What the bench reports to.
pub fn live() -> Live {
    stop::cancel().live().clone()
}

/// What the phase goes through, once that is known; the rest is reported to the result.
pub fn goal(unit: &'static str, total: u64) -> Live {
    live().goal(unit, total);
    live()
}
