//! The peers: real clients that import the same archive as processes of their own.
//!
//! `benchmarks/engines.toml` names them. A peer is loaded, prepared (its tools are looked for and
//! it is built), and then imports an archive, which gives a [`RunRecord`] like a run of ours. A
//! peer that this machine cannot build is left out with one line that says why.

pub mod blocks;
mod engines;
mod measured;
pub(crate) mod process;
pub mod programs;
mod workshop;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use pipeline::machine::Machine;
use pipeline::record::RunRecord;

use engines::{Engine, Values};
use workshop::{Engines, Workshop, utf8};

/// The environment variable that names the folder for what peers need: their programs, ethash
/// caches and the databases of their runs. Without it, `target/peers` beside the `benchmarks`
/// folder is taken.
pub const PEERS_DIR: &str = "BLOCKMILL_PEERS_DIR";

/// A client named in `engines.toml`.
#[derive(Clone, Debug)]
pub struct Peer {
    engine: Engine,
    workshop: Workshop,
}

/// A peer that has been built.
#[derive(Clone, Debug)]
pub struct Ready {
    engine: Engine,
    program: PathBuf,
    home: PathBuf,
}

/// What a peer imports.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file of concatenated header RLP.
    Stream(PathBuf),
    /// era1 files in chain order.
    Era1(Vec<PathBuf>),
}

/// Why a peer takes no part; shown as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of the peer.
    pub peer: String,
    /// The reason, with what to do about it.
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer {} left out: {}", self.peer, self.reason)
    }
}

impl std::error::Error for LeftOut {}

/// Reads the peers from `engines.toml`, in the order of the file.
///
/// # Errors
/// When the file cannot be read, is not as described at its top, or names a tool that it does not
/// describe.
pub fn load(engines_toml: &Path) -> Result<Vec<Peer>> {
    let engines = Engines::read(engines_toml)?;
    let peer = |engine: &Engine| {
        let workshop = engines.workshop(&engine.folder, &engine.needs)?;
        Ok(Peer { engine: engine.clone(), workshop })
    };
    engines.file.engine.iter().map(peer).collect()
}

impl Peer {
    /// Name in `engines.toml`, such as `geth-v1.17.10`.
    pub fn name(&self) -> &str {
        &self.engine.name
    }

    /// Whether it can check seals. One that cannot ignores the frequency that it is given.
    pub fn checks_seals(&self) -> bool {
        self.engine.seals.is_some()
    }

    /// What it verifies and how it stores, in words.
    pub fn checks(&self) -> &str {
        &self.engine.checks
    }

    /// Looks for the tools that the peer needs and builds it. The first build of a peer takes a
    /// minute or two and fetches its packages; a later one is quick.
    ///
    /// # Errors
    /// The line to show instead of the peer's figures.
    pub fn prepare(&self) -> Result<Ready, LeftOut> {
        let left_out = |reason| LeftOut { peer: self.engine.name.clone(), reason };
        self.workshop.find_tools().map_err(left_out)?;
        let program = self.build().map_err(|error| left_out(format!("{error:#}")))?;
        Ok(Ready { engine: self.engine.clone(), program, home: self.workshop.home.clone() })
    }

    /// Runs the build command in the peer's folder and returns the program that it made.
    fn build(&self) -> Result<PathBuf> {
        let programs = self.workshop.home.join("bin");
        fs::create_dir_all(&programs)
            .with_context(|| format!("cannot make {}", programs.display()))?;
        let program = programs.join(&self.engine.name);
        let values = Values { program: Some(utf8(&program)?), ..Values::default() };
        self.workshop.build(&values.fill(&self.engine.build)?)?;
        Ok(program)
    }
}

impl Ready {
    /// Imports an archive into a new database, which is removed afterwards.
    ///
    /// `seal_freq`: the seal of one header in so many is checked, 0 for none, 1 for all.
    /// `chunk`: headers in a batch. In the record, `totals.wall_s` runs from the first byte read to
    /// the database closed; opening it and making ethash caches is `totals.setup_s`, apart from it.
    ///
    /// # Errors
    /// When the client rejects the archive, with the header and its reason; when it cannot be run,
    /// or prints something else than a measured run.
    pub fn import_headers(&self, input: &Input, seal_freq: u32, chunk: u32) -> Result<RunRecord> {
        let label = &self.engine.label;
        let runs = self.home.join("runs");
        fs::create_dir_all(&runs).with_context(|| format!("cannot make {}", runs.display()))?;
        let dir = tempfile::Builder::new().prefix("run-").tempdir_in(&runs)?;
        let values = Values {
            program: Some(utf8(&self.program)?),
            dir: Some(utf8(dir.path())?),
            caches: Some(utf8(&self.home.join("ethash"))?),
            chunk: Some(chunk.to_string()),
            freq: Some(seal_freq.to_string()),
            paths: Some(joined(input.paths())?),
            target: None,
        };
        let line = values.fill(&self.engine.command(input))?;
        let (program, arguments) = line.split_first().context("empty run command")?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ended = process::watch(Command::new(program).args(arguments))
            .with_context(|| format!("cannot run {label}"))?;
        let costs = measured::parse(&ended).with_context(|| label.clone())?;
        let mut record = measured::to_record(&self.engine, costs, &ended)?;
        record.command = line;
        record.started_unix = started.as_secs_f64();
        record.machine = Machine::detect();
        record.data.format = input.format().to_owned();
        for path in input.paths() {
            record.data.paths.push(path.display().to_string());
            record.data.bytes += fs::metadata(path)?.len();
        }
        Ok(record)
    }
}

impl Input {
    fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Stream(path) => std::slice::from_ref(path),
            Self::Era1(paths) => paths,
        }
    }

    fn format(&self) -> &'static str {
        match self {
            Self::Stream(_) => "headers",
            Self::Era1(_) => "era1",
        }
    }
}

/// The paths as the one argument that the programs take.
fn joined(paths: &[PathBuf]) -> Result<String> {
    let mut names = Vec::with_capacity(paths.len());
    for path in paths {
        let name = utf8(path)?;
        if name.contains(',') {
            bail!("{name}: a path with a comma cannot be given to a peer");
        }
        names.push(name);
    }
    Ok(names.join(","))
}

#[cfg(test)]
mod tests;
