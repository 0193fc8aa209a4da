//! Peers: other clients that do the same work, each in its own process.
//!
//! `benchmarks/peers.toml` names them. A peer is prepared (its tools are checked and it is built)
//! and then run. Its last line is the part of a run record that only the peer knows; the rest is
//! added here. A peer that this machine cannot build is left out, with one line that says why.

mod build;
mod file;

use crate::definition::Settings;
use crate::process::{self, Ended, last_line};
use anyhow::{Context, Result, bail, ensure};
use blockmill_pipeline::machine::Machine;
use blockmill_pipeline::record::{
    BlockRef, Facts, PEAK_RSS_BYTES, Program, RunRecord, Series, Stage, unix_time,
};
use build::{Build, PeersFile, utf8};
use file::Entry;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the folder for what peers need: their programs and caches.
/// The default is `target/peers` next to the `benchmarks` folder.
pub const PEERS_DIR: &str = "BLOCKMILL_PEERS_DIR";

/// A client named in `peers.toml`.
#[derive(Clone, Debug)]
pub struct Peer {
    entry: Entry,
    build: Build,
}

/// A peer that has been built.
#[derive(Clone, Debug)]
pub struct Ready {
    entry: Entry,
    program: PathBuf,
}

/// Why a peer is left out; shown as one line.
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

/// The last line that a peer prints: the part of a run record that only the peer knows. A peer that
/// fails sets `error`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Printed {
    version: String,
    error: String,
    facts: Facts,
    series: Vec<Series>,
    stages: Vec<Stage>,
    answer: Settings,
    tip: Option<BlockRef>,
    notes: Vec<String>,
}

/// Reads the peers from `peers.toml`, in the order of the file.
///
/// # Errors
/// Returns an error if the file cannot be read, is not as described at its top, or names a tool
/// that it does not describe.
pub fn load(peers_toml: &Path) -> Result<Vec<Peer>> {
    let file = PeersFile::read(peers_toml)?;
    let peer = |entry: &Entry| {
        let build = file.build_of(&entry.folder, &entry.needs)?;
        Ok(Peer { entry: entry.clone(), build })
    };
    file.file.peer.iter().map(peer).collect()
}

impl Peer {
    /// Name in `peers.toml`, such as `geth-v1.17.10`.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// What it is, and what a reader of its figures should know.
    pub fn about(&self) -> String {
        let Entry { label, checks, .. } = &self.entry;
        if checks.is_empty() { label.clone() } else { format!("{label}: {checks}") }
    }

    /// The settings of a case that its command line asks for.
    pub fn settings(&self) -> impl Iterator<Item = &str> {
        let ours = ["program", "folder"];
        file::placeholders(&self.entry.run).filter(move |name| !ours.contains(name))
    }

    /// Checks the tools that the peer needs and builds it. The first build takes minutes and
    /// fetches packages; later ones are quick.
    ///
    /// # Errors
    /// Returns the line to show instead of the peer's figures.
    pub fn prepare(&self) -> Result<Ready, LeftOut> {
        let left_out = |reason| LeftOut { peer: self.entry.name.clone(), reason };
        self.build.find_tools().map_err(left_out)?;
        let program = self.build.run(&self.entry);
        let program = program.map_err(|error| left_out(format!("{error:#}")))?;
        Ok(Ready { entry: self.entry.clone(), program })
    }
}

impl Ready {
    /// Runs the peer once, with the settings of the case. It writes into `folder`.
    ///
    /// # Errors
    /// Returns an error if the client rejects its input (with its reason), cannot be run, prints no
    /// measured run, or has another version than `peers.toml` says.
    pub fn run(&self, settings: &Settings, folder: &Path) -> Result<RunRecord> {
        self.run_with(&[], settings, folder)
    }

    /// Runs the peer once, with more arguments after those of `peers.toml`.
    ///
    /// # Errors
    /// As [`Ready::run`].
    pub fn run_with(&self, more: &[&str], settings: &Settings, folder: &Path) -> Result<RunRecord> {
        let Entry { label, version, .. } = &self.entry;
        let mut values = settings.clone();
        for (name, path) in [("program", &*self.program), ("folder", &folder.join("peer"))] {
            values.insert(name.to_owned(), utf8(path)?);
        }
        let more = more.iter().map(|argument| (*argument).to_owned());
        let asked: Vec<_> = self.entry.run.iter().cloned().chain(more).collect();
        let mut line = file::fill(&asked, &values)?;
        let (program, arguments) = line.split_first().context("empty run command")?;
        let started_unix = unix_time();
        let ended = process::watch(Command::new(program).args(arguments))
            .with_context(|| format!("cannot run {label}"))?;
        let printed = printed(&ended)?;
        let found = &printed.version;
        ensure!(found.starts_with(version), "{found:?} ran instead of {version:?}");
        // where it was built is of this machine alone
        if let (Some(first), Some(name)) = (line.first_mut(), self.program.file_name()) {
            *first = first.replace(&*self.program.to_string_lossy(), &name.to_string_lossy());
        }
        Ok(RunRecord { command: line, started_unix, ..self.record(printed, &ended) })
    }

    fn record(&self, printed: Printed, ended: &Ended) -> RunRecord {
        let entry = &self.entry;
        let (name, version) = (entry.client.clone(), printed.version);
        let mut record =
            RunRecord::new(Program { name, version, ..Program::default() }, entry.label.clone());
        record.machine = Machine::detect();
        record.facts = printed.facts;
        if record.facts.value(PEAK_RSS_BYTES) == 0.0 {
            // a peer's own figure excludes what it does after its clock has stopped
            record.facts.count(PEAK_RSS_BYTES, ended.peak_rss_bytes);
        }
        record.series = printed.series.into_iter().map(Series::with_percentiles).collect();
        record.stages = printed.stages;
        record.answer = printed.answer;
        if let Some(tip) = printed.tip {
            (record.result.tip_number, record.result.tip_hash) = (tip.number, tip.hash);
        }
        record.notes = printed.notes;
        record.notes.extend((!entry.checks.is_empty()).then(|| entry.checks.clone()));
        record
    }
}

/// Parses the last line of a process.
fn printed(ended: &Ended) -> Result<Printed> {
    let line = ended.stdout.lines().last().unwrap_or_default();
    let printed = serde_json::from_str::<Printed>(line);
    if !ended.status.success() {
        match printed {
            Ok(Printed { error, .. }) if !error.is_empty() => bail!("{error}"),
            _ => bail!("{}: {}", ended.status, last_line(&ended.stderr)),
        }
    }
    let printed = printed.context("its last line is not a measured run")?;
    ensure!(printed.facts.iter().next().is_some(), "its last line has no facts");
    Ok(printed)
}

#[cfg(test)]
mod tests;
