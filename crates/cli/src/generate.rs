//! `generate`: deterministic archives. The `generate.rs` of each chain's folder writes them.

use crate::answer::Answer;
use crate::args::{Generate, Outputs};
use crate::{bitcoin, ethereum, neo, outputs, stop};
use anyhow::{Context, Result};
use blockmill_archive::output::{Claim, Shape};
use blockmill_pipeline::live::Live;
use std::path::Path;

/// `blockmill generate`.
pub fn run(command: &Generate, json: bool) -> Result<Answer> {
    match command {
        Generate::Ethereum(args) => ethereum::generate::run(args, json),
        Generate::Bitcoin(args) => bitcoin::generate::run(args, json),
        Generate::Neo(args) => neo::generate::run(args, json),
    }
}

/// Writes `out`, of at least this many bytes, and reports how much of `goal` is done.
pub fn write<T>(
    out: &Path,
    (shape, bytes): (Shape, u64),
    outputs: Outputs,
    (unit, goal): (&'static str, u64),
    work: impl FnOnce(&Live) -> Result<T>,
) -> Result<T> {
    let claim = claim(out, shape, outputs, bytes)?;
    let cancel = stop::cancel();
    cancel.live().count("generate", unit, goal);
    let written = work(cancel.live())?;
    claim.done()?;
    Ok(written)
}

/// Claims `out` for at least this many bytes.
fn claim(out: &Path, shape: Shape, outputs: Outputs, bytes: u64) -> Result<Claim> {
    stop::leaves(format!("nothing was written to {}", out.display()));
    stop::writes(out, bytes);
    outputs::expect_room(out, bytes, outputs)
        .with_context(|| format!("cannot write {}", out.display()))?;
    outputs::claim(out, &[], shape, outputs.replace)
}
