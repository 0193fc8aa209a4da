//! The peers of `bench rlp`: programs that measure one operation on one object and print it as a
//! line of JSON.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use pipeline::writer_record::{WriterEngine, WriterLine};

use super::LeftOut;
use super::engines::ProgramEngine;
use super::process::{self, Ended, last_line};
use super::workshop::{Engines, Workshop};
use crate::writers::{Case, Op, Sampling};

/// A peer named in `engines.toml`.
#[derive(Clone, Debug)]
pub struct WriterPeer {
    engine: ProgramEngine,
    pub(super) workshop: Workshop,
}

/// A peer that has been built.
#[derive(Clone, Debug)]
pub struct ReadyWriter {
    engine: ProgramEngine,
    program: PathBuf,
}

/// Reads the peers of `bench rlp` from `engines.toml`, in the order of the file.
///
/// # Errors
/// When the file cannot be read, is not as described at its top, or names a tool that it does not
/// describe.
pub fn load(engines_toml: &Path) -> Result<Vec<WriterPeer>> {
    let engines = Engines::read(engines_toml)?;
    let peer = |engine: &ProgramEngine| {
        let workshop = engines.workshop(&engine.folder, &engine.needs)?;
        Ok(WriterPeer { engine: engine.clone(), workshop })
    };
    engines.file.rlp.iter().map(peer).collect()
}

impl WriterPeer {
    /// Name in `engines.toml`, such as `alloy-asm`.
    pub fn name(&self) -> &str {
        &self.engine.name
    }

    /// Looks for the tools that the peer needs and builds it. The first build takes minutes and
    /// fetches its packages; a later one is quick.
    ///
    /// # Errors
    /// The line to show instead of the peer's figures.
    pub fn prepare(&self) -> Result<ReadyWriter, LeftOut> {
        let left_out = |reason| LeftOut { peer: self.engine.name.clone(), reason };
        self.workshop.find_tools().map_err(left_out)?;
        let program = self
            .workshop
            .make("rlp", &self.engine)
            .map_err(|error| left_out(format!("{error:#}")))?;
        Ok(ReadyWriter { engine: self.engine.clone(), program })
    }
}

impl ReadyWriter {
    /// The engine, for the record.
    pub fn engine(&self) -> WriterEngine {
        WriterEngine {
            name: self.engine.name.clone(),
            label: self.engine.label.clone(),
            client: self.engine.client.clone(),
            version: self.engine.version.clone(),
        }
    }

    /// Measures one operation on one object, in a process of its own.
    ///
    /// # Errors
    /// When it cannot be run, prints something else, or is of another version than `engines.toml`
    /// says.
    pub fn measure(&self, case: Case, op: Op, sampling: Sampling) -> Result<WriterLine> {
        let mut command = Command::new(&self.program);
        command.args(["-case", &case.to_string(), "-op", op.name()]);
        command.args(["-samples", &sampling.samples.to_string()]);
        command.args(["-min-ms", &sampling.min_ms.to_string()]);
        let ended = process::watch(&mut command)
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let line = read_line(&ended)?;
        let expected = &self.engine.version;
        ensure!(line.version.starts_with(expected), "{} ran instead of {expected}", line.version);
        Ok(line)
    }
}

/// The line that a measuring process printed.
///
/// # Errors
/// Its own message when it failed, or what is wrong with what it printed.
pub(crate) fn read_line(ended: &Ended) -> Result<WriterLine> {
    if !ended.status.success() {
        bail!("{}: {}", ended.status, last_line(&ended.stderr));
    }
    let line: WriterLine = serde_json::from_str(ended.stdout.lines().last().unwrap_or_default())
        .context("what it printed is not a measurement")?;
    let sound = |ns: &f64| ns.is_finite() && *ns >= 0.0;
    ensure!(
        !line.samples_ns.is_empty() && line.samples_ns.iter().all(sound),
        "what it printed has no usable samples"
    );
    Ok(line)
}
