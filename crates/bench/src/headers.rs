//! `bench headers`: the ladder of designs, the ablation of each switch, and the peers, on the same
//! headers, in turn, each run in a process of its own.

use crate::ours::{self, Import};
use crate::peers::{self, Input, LeftOut, Ready};
use crate::rounds::{self, Rounds};
use crate::scratch::Scratch;
use anyhow::{Result, bail};
use archive::{Archive, Format};
use ethereum::Level;
use ethereum::ethash::Caches;
use ethereum::option_table::{NamedOption, RUNGS, Setting};
use ethereum::params::ChainSpec;
use ethereum::seal::{SealMode, SealPolicy};
use pipeline::record::RunRecord;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seed of the seal sample: the same in every run, so that all check the same seals.
const SEAL_SEED: u64 = 1;

/// Switches that have nothing to do in headers.
const OF_BODIES: [&str; 2] = ["sender-batches", "signatures"];

/// One run of one design: what a child process is asked to do.
#[derive(Clone, Debug)]
pub struct Once {
    /// The archive.
    pub paths: Vec<PathBuf>,
    /// What the run is called in tables.
    pub label: String,
    /// Settings of switches, `name=value`, applied to `rung`.
    pub with: Vec<String>,
    /// The rung of the ladder to begin from.
    pub rung: String,
    /// Which seals to check.
    pub seal: SealMode,
    /// Threads that verify.
    pub threads: usize,
    /// An empty folder for the store.
    pub scratch: PathBuf,
    /// Folder of the ethash caches.
    pub ethash_cache: PathBuf,
}

/// Imports the archive once, into a new store that is removed afterwards.
pub fn once(once: &Once) -> Result<RunRecord> {
    let Some(rung) = Setting::rung(&once.rung) else {
        bail!("--rung {}: there is no such rung", once.rung)
    };
    let Some(spec) = ChainSpec::by_name("mainnet") else { bail!("mainnet is not built in") };
    let caches = Caches::new(Some(once.ethash_cache.clone()), 2);
    if once.seal != SealMode::Off {
        // the peers load their first cache before the clock starts, too
        caches.get(0)?;
    }
    ours::once(Import {
        paths: &once.paths,
        spec,
        level: Level::Headers,
        seal: SealPolicy { mode: once.seal, seed: SEAL_SEED },
        caches,
        variants: rung.with(&once.with)?,
        threads: once.threads,
        scratch: &once.scratch,
        label: &once.label,
    })
}

/// What to compare.
#[derive(Debug)]
pub struct Plan {
    /// The archive.
    pub paths: Vec<PathBuf>,
    /// Run the rungs of the ladder.
    pub ladder: bool,
    /// Run the default with each switch that headers meet turned back.
    pub ablate: bool,
    /// The file that names the peers, when they are to run.
    pub engines: Option<PathBuf>,
    /// Rounds.
    pub runs: usize,
    /// Which seals to check.
    pub seal: SealMode,
    /// Threads that verify.
    pub threads: usize,
    /// Folder for records; their charts are drawn beside them.
    pub out: PathBuf,
    /// Folder for stores.
    pub scratch: Scratch,
    /// The program to run as a child, `blockmill` itself.
    pub program: PathBuf,
}

/// A contestant: a design of ours or a peer.
enum Contestant {
    Ours { label: String, rung: String, with: Vec<String> },
    Peer(Box<Ready>),
}

impl Contestant {
    fn ours(label: &str, rung: &str, with: Vec<String>) -> Self {
        Self::Ours { label: label.into(), rung: rung.into(), with }
    }
}

/// Runs everything that `plan` names, round by round; the records of all runs. Fails when two runs
/// do not end with the same block.
pub fn run(plan: &Plan, mut tell: impl FnMut(&str)) -> Result<Vec<RunRecord>> {
    let archive = Archive::open(&plan.paths)?;
    let (contestants, left_out) = contestants(plan, &mut tell)?;
    left_out.iter().for_each(|line| tell(&line.to_string()));
    let folder = plan.out.join("records");
    let rounds = Rounds { runs: plan.runs, folder, prefix: String::new() };
    let run = |contestant: &Contestant, _, path: &Path| match contestant {
        Contestant::Ours { label, rung, with } => plan.child(label, rung, with, path),
        Contestant::Peer(ready) => {
            let record = ready.import_headers(&input(&archive)?, freq(plan.seal), 2048)?;
            record.write(path)?;
            Ok(record)
        }
    };
    rounds.alternate(&contestants, run, rounds::same_tip, tell)
}

/// The contestants of `plan`, and the peers that cannot take part.
fn contestants(
    plan: &Plan,
    tell: &mut impl FnMut(&str),
) -> Result<(Vec<Contestant>, Vec<LeftOut>)> {
    let mut contestants = vec![];
    let mut left_out = vec![];
    if plan.ladder {
        contestants.extend(RUNGS.iter().map(|(name, _)| Contestant::ours(name, name, vec![])));
    }
    contestants.push(Contestant::ours("blockmill", "blockmill", vec![]));
    if let Some(engines) = &plan.engines {
        for peer in peers::load(engines)? {
            if plan.seal != SealMode::Off && !peer.checks_seals() {
                let reason = "it checks no seals; compare it with --seal off".to_string();
                left_out.push(LeftOut { peer: peer.name().to_string(), reason });
                continue;
            }
            tell(&format!("preparing peer {}", peer.name()));
            match peer.prepare() {
                Ok(ready) => contestants.push(Contestant::Peer(Box::new(ready))),
                Err(line) => left_out.push(line),
            }
        }
    }
    if plan.ablate {
        for (switch, value, _) in Setting::default().neighbours().filter(|row| ablates(row.0)) {
            let slow = format!("{}={value}", switch.name);
            contestants.push(Contestant::ours(&slow, "blockmill", vec![slow.clone()]));
        }
    }
    Ok((contestants, left_out))
}

/// Does a switch change what is done with headers?
fn ablates(switch: &NamedOption) -> bool {
    !OF_BODIES.contains(&switch.name)
}

impl Plan {
    /// Runs one of our designs as a child process, which leaves its record at `path`.
    fn child(&self, label: &str, rung: &str, with: &[String], path: &Path) -> Result<RunRecord> {
        let store = self.scratch.store();
        let _ = fs::remove_dir_all(&store);
        let mut command = Command::new(&self.program);
        command.args(["bench", "headers-once", "--label", label, "--rung", rung]);
        command.args(["--seal", &self.seal.to_string()]);
        command.args(["--threads", &self.threads.to_string()]);
        command.arg("--scratch").arg(&store).arg("--record").arg(path);
        command.arg("--ethash-cache").arg(self.scratch.folder().join("ethash"));
        with.iter().for_each(|assignment| {
            command.args(["--with", assignment]);
        });
        let record = rounds::child(command.args(&self.paths), label, path);
        let _ = fs::remove_dir_all(&store);
        record
    }
}

/// The archive as peers take it.
fn input(archive: &Archive) -> Result<Input> {
    match (archive.format(), archive.files()) {
        (Format::Era1, files) => Ok(Input::Era1(files.to_vec())),
        (Format::HeaderStream, [file]) => Ok(Input::Stream(file.clone())),
        _ => bail!("peers take era1 files or one header stream; use `blockmill convert`"),
    }
}

/// Peers check one seal in this many; 0 stands for none.
fn freq(seal: SealMode) -> u32 {
    match seal {
        SealMode::Off => 0,
        SealMode::Sample(one_in) => one_in,
        SealMode::All => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethereum::option_table::OPTIONS;

    #[test]
    fn switches_of_bodies_are_not_turned_back_on_headers() {
        let left_out = OPTIONS.iter().filter(|switch| !ablates(switch));
        assert_eq!(left_out.map(|switch| switch.name).collect::<Vec<_>>(), OF_BODIES);
    }
}
