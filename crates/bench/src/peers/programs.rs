//! Peers that measure one operation in a process of their own and print it as a line of JSON: of
//! `bench rlp` and `bench store`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use pipeline::writer_record::{WriterEngine, WriterLine};

use super::LeftOut;
use super::engines::{EnginesFile, ProgramEngine};
use super::process::{self, Ended, last_line};
use super::workshop::{Engines, Workshop};

/// Which peers of `engines.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Those of `bench rlp`.
    Rlp,
    /// Those of `bench store`.
    Store,
}

/// A peer named in `engines.toml`.
#[derive(Clone, Debug)]
pub struct ProgramPeer {
    engine: ProgramEngine,
    kind: &'static str,
    pub(super) workshop: Workshop,
}

/// A peer that has been built.
#[derive(Clone, Debug)]
pub struct ReadyProgram {
    engine: ProgramEngine,
    program: PathBuf,
}

impl Peers {
    fn of(self, file: &EnginesFile) -> &[ProgramEngine] {
        match self {
            Self::Rlp => &file.rlp,
            Self::Store => &file.store,
        }
    }

    /// Reads these peers from `engines.toml`, in the order of the file.
    ///
    /// # Errors
    /// When the file cannot be read, is not as described at its top, or names a tool that it does
    /// not describe.
    pub fn load(self, engines_toml: &Path) -> Result<Vec<ProgramPeer>> {
        let engines = Engines::read(engines_toml)?;
        let kind = match self {
            Self::Rlp => "rlp",
            Self::Store => "store",
        };
        let peer = |engine: &ProgramEngine| {
            let workshop = engines.workshop(&engine.folder, &engine.needs)?;
            Ok(ProgramPeer { engine: engine.clone(), kind, workshop })
        };
        self.of(&engines.file).iter().map(peer).collect()
    }

    /// Builds these peers; those that this machine cannot build are told and noted, and left out.
    ///
    /// # Errors
    /// Those of [`Peers::load`].
    pub fn prepare_all(
        self,
        engines_toml: &Path,
        notes: &mut Vec<String>,
        tell: &mut impl FnMut(&str),
    ) -> Result<Vec<ReadyProgram>> {
        let mut all = vec![];
        for peer in self.load(engines_toml)? {
            tell(&format!("preparing peer {}", peer.name()));
            match peer.prepare() {
                Ok(ready) => all.push(ready),
                Err(left_out) => {
                    tell(&left_out.to_string());
                    notes.push(left_out.to_string());
                }
            }
        }
        Ok(all)
    }
}

impl ProgramPeer {
    /// Name in `engines.toml`, such as `alloy-asm`.
    pub fn name(&self) -> &str {
        &self.engine.name
    }

    /// Looks for the tools that the peer needs and builds it. The first build takes minutes and
    /// fetches its packages; a later one is quick.
    ///
    /// # Errors
    /// The line to show instead of the peer's figures.
    pub fn prepare(&self) -> Result<ReadyProgram, LeftOut> {
        let left_out = |reason| LeftOut { peer: self.engine.name.clone(), reason };
        self.workshop.find_tools().map_err(left_out)?;
        let program = self
            .workshop
            .make(self.kind, &self.engine)
            .map_err(|error| left_out(format!("{error:#}")))?;
        Ok(ReadyProgram { engine: self.engine.clone(), program })
    }
}

impl ReadyProgram {
    /// The engine, for the record.
    pub fn engine(&self) -> WriterEngine {
        WriterEngine {
            name: self.engine.name.clone(),
            label: self.engine.label.clone(),
            client: self.engine.client.clone(),
            version: self.engine.version.clone(),
        }
    }

    /// Measures one operation in a process of its own, which gets these arguments.
    ///
    /// # Errors
    /// When it cannot be run, prints something else, or is of another version than `engines.toml`
    /// says.
    pub fn measure(&self, arguments: &[(&str, String)]) -> Result<WriterLine> {
        let mut command = Command::new(&self.program);
        for (name, value) in arguments {
            command.arg(name).arg(value);
        }
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
    let mut line: WriterLine =
        serde_json::from_str(ended.stdout.lines().last().unwrap_or_default())
            .context("what it printed is not a measurement")?;
    line.peak_rss_kb = line.peak_rss_kb.max(ended.peak_rss_bytes >> 10);
    let sound = |ns: &f64| ns.is_finite() && *ns >= 0.0;
    ensure!(
        !line.samples_ns.is_empty() && line.samples_ns.iter().all(sound),
        "what it printed has no usable samples"
    );
    Ok(line)
}
