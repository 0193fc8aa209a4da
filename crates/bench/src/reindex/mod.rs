//! `bench reindex`: the reference's ladder of designs, the ablation of each switch, and the peers,
//! on the same block files, in turn, each run in a process of its own.

mod data;
mod definition;
mod once;

pub use data::Sources;
pub use definition::Definition;
pub use once::{Once, once};

use crate::cold;
use crate::peers::blocks::{self, Job, ReadyBlocks};
use crate::rounds::{self, Rounds};
use crate::scratch::Scratch;
use anyhow::{Result, ensure};
use bitcoin::option_table::{RUNGS, Setting};
use data::Data;
use pipeline::record::RunRecord;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to compare.
#[derive(Debug)]
pub struct Plan {
    /// The definitions, in order; of all of them when none is named, those that can be made.
    pub only: Vec<Definition>,
    /// Their data.
    pub sources: Sources,
    /// Run the rungs of the ladder.
    pub ladder: bool,
    /// Run the default with each switch at each of its other values.
    pub ablate: bool,
    /// The file that names the peers, when they are to run.
    pub engines: Option<PathBuf>,
    /// Rounds.
    pub runs: usize,
    /// Threads that verify; a peer's script threads.
    pub threads: usize,
    /// MiB of memory for coins; all caches of a peer.
    pub cache: u64,
    /// Drop the block files from the page cache before each run.
    pub cold: bool,
    /// Folder for records; their charts are drawn beside them.
    pub out: PathBuf,
    /// Folder for data and stores.
    pub scratch: Scratch,
    /// The program to run as a child, `blockmill` itself.
    pub program: PathBuf,
}

/// A contestant: a design of ours or a peer.
enum Contestant<'a> {
    Ours { label: String, rung: Option<&'static str>, with: Option<String> },
    Peer(&'a ReadyBlocks),
}

/// Runs everything that `plan` names, definition by definition and round by round; the records of
/// all runs. Fails when two runs of a definition do not end with the same block and coins.
pub fn run(plan: &Plan, mut tell: impl FnMut(&str)) -> Result<Vec<RunRecord>> {
    let peers = plan.peers(&mut tell)?;
    let scratch = plan.scratch.folder().join("reindex");
    let named = if plan.only.is_empty() { &Definition::ALL[..] } else { &plan.only[..] };
    let mut records = vec![];
    for definition in named {
        let name = definition.name();
        let Some(data) = plan.sources.data(*definition, &scratch, &mut tell)? else {
            ensure!(plan.only.is_empty(), "{name}: expected block files, found no path");
            tell(&format!("{name} left out: no block files given"));
            continue;
        };
        tell(&format!("{name}:"));
        let contest = Contest { plan, definition: *definition, data, store: scratch.join("store") };
        let folder = plan.out.join("records");
        let rounds = Rounds { runs: plan.runs, folder, prefix: format!("{name}-") };
        let run =
            |contestant: &Contestant, round, path: &Path| contest.run(contestant, round == 1, path);
        let contestants = contest.contestants(&peers);
        records.extend(rounds.alternate(&contestants, run, same_answer, &mut tell)?);
    }
    Ok(records)
}

impl Plan {
    /// The peers that can be built.
    fn peers(&self, tell: &mut impl FnMut(&str)) -> Result<Vec<ReadyBlocks>> {
        let mut ready = vec![];
        let Some(engines) = &self.engines else { return Ok(ready) };
        for peer in blocks::load(engines)? {
            tell(&format!("preparing peer {}", peer.name()));
            match peer.prepare() {
                Ok(peer) => ready.push(peer),
                Err(line) => tell(&line.to_string()),
            }
        }
        Ok(ready)
    }
}

/// One definition and its data.
struct Contest<'a> {
    plan: &'a Plan,
    definition: Definition,
    data: Data,
    /// Folder for the store of a run.
    store: PathBuf,
}

impl Contest<'_> {
    fn contestants<'a>(&self, peers: &'a [ReadyBlocks]) -> Vec<Contestant<'a>> {
        let ours = |label: &str, rung, with| Contestant::Ours { label: label.into(), rung, with };
        let mut contestants = vec![];
        if self.plan.ladder && self.definition.climbs() {
            contestants.extend(RUNGS.iter().map(|(name, _)| ours(name, Some(*name), None)));
        }
        contestants.push(ours("blockmill", None, None));
        contestants.extend(peers.iter().map(Contestant::Peer));
        if self.plan.ablate {
            for (switch, value, _) in Setting::default().neighbours() {
                if self.definition.ablates(switch) {
                    let setting = format!("{}={value}", switch.name);
                    contestants.push(ours(&setting, None, Some(setting.clone())));
                }
            }
        }
        contestants
    }

    /// Runs a contestant; `digest` asks for the hash of the coins, too.
    fn run(&self, contestant: &Contestant, digest: bool, path: &Path) -> Result<RunRecord> {
        let digest = digest && !self.definition.climbs();
        match contestant {
            Contestant::Ours { label, rung, with } => {
                if self.plan.cold {
                    cold::evict(&self.data.blocks)?;
                }
                let mut command = self.command(label, digest, path);
                rung.iter().for_each(|rung| {
                    command.args(["--rung", rung]);
                });
                with.iter().for_each(|setting| {
                    command.args(["--with", setting]);
                });
                let _ = fs::remove_dir_all(&self.store);
                let record = rounds::child(&mut command, label, path);
                let _ = fs::remove_dir_all(&self.store);
                record
            }
            Contestant::Peer(peer) => {
                let mut record = peer.reindex(&Job {
                    blocks: &self.data.blocks,
                    chain: self.data.chain,
                    threads: self.plan.threads,
                    cache: self.plan.cache,
                    assume_valid: self.assume_valid(),
                    cold: self.plan.cold,
                    digest,
                })?;
                if let Some(reindex) = &mut record.reindex {
                    reindex.definition = self.definition.name().into();
                }
                record.write(path)?;
                Ok(record)
            }
        }
    }

    /// The command line of one of our designs, without what sets it apart.
    fn command(&self, label: &str, digest: bool, path: &Path) -> Command {
        let mut command = Command::new(&self.plan.program);
        command.args(["bench", "reindex-once", "--label", label]);
        command.args(["--definition", self.definition.name()]);
        command.args(["--threads", &self.plan.threads.to_string()]);
        command.args(["--cache", &self.plan.cache.to_string()]);
        command.arg("--scratch").arg(&self.store).arg("--record").arg(path);
        if let Some(hash) = self.assume_valid() {
            command.args(["--assume-valid", hash]);
        }
        if digest {
            command.arg("--digest");
        }
        command.arg(&self.data.blocks);
        command
    }

    fn assume_valid(&self) -> Option<&str> {
        match self.definition {
            Definition::ConnectAssumed => self.data.tip.as_deref(),
            _ => None,
        }
    }
}

/// All runs must end with the same block, and with the same coins where they tell them.
fn same_answer(first: &RunRecord, record: &RunRecord) -> Result<()> {
    rounds::same_tip(first, record)?;
    let (Some(one), Some(other)) = (&first.reindex, &record.reindex) else { return Ok(()) };
    ensure!(
        one.coins == 0 || other.coins == 0 || one.coins == other.coins,
        "{} has {} coins, {} has {}",
        first.label,
        one.coins,
        record.label,
        other.coins
    );
    let (one, other) = (&one.coins_hash, &other.coins_hash);
    ensure!(
        one.is_empty() || other.is_empty() || one == other,
        "the coins of {} have the hash {one}, those of {} have {other}",
        first.label,
        record.label
    );
    Ok(())
}

#[cfg(test)]
mod tests;
