//! `bench bodies`: what the senders of transactions cost. The ladder of designs and the ablation of
//! the switches of this level, on the same chain of transfers, in turn, each run in a process of
//! its own.

use crate::generate::transfers;
use crate::ours::{self, Import};
use crate::rounds::{self, Rounds};
use crate::scratch::Scratch;
use anyhow::{Context, Result};
use ethereum::Level;
use ethereum::ethash::Caches;
use ethereum::option_table::Setting;
use ethereum::params::ChainSpec;
use ethereum::seal::SealPolicy;
use pipeline::record::RunRecord;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rungs of the ladder below our default, and how each differs from it.
pub const RUNGS: [(&str, &[&str]); 3] = [
    ("one by one", &["signatures=scalar", "sender-batches=block", "stages=serial"]),
    ("lanes", &["sender-batches=block", "stages=serial"]),
    ("chunk batches", &["stages=serial"]),
];

/// The switches that change what is done with bodies.
const OF_BODIES: [&str; 4] = ["hash", "sender-batches", "signatures", "stages"];

/// One run of one design: what a child process is asked to do.
#[derive(Clone, Debug)]
pub struct Once {
    /// Folder of the generated chain.
    pub folder: PathBuf,
    /// What the run is called in tables.
    pub label: String,
    /// Settings of switches, `name=value`, applied to the default.
    pub with: Vec<String>,
    /// Threads that verify.
    pub threads: usize,
    /// An empty folder for the store.
    pub scratch: PathBuf,
}

/// Imports the chain once, into a new store.
pub fn once(once: &Once) -> Result<RunRecord> {
    let genesis = once.folder.join("genesis.json");
    let genesis = fs::read_to_string(&genesis)
        .with_context(|| format!("cannot read {}", genesis.display()))?;
    ours::once(Import {
        paths: &[once.folder.join(transfers::FILE)],
        spec: ChainSpec::from_genesis_json(&genesis)?,
        level: Level::Bodies,
        seal: SealPolicy::OFF,
        caches: Caches::new(None, 1),
        variants: Setting::default().with(&once.with)?,
        threads: once.threads,
        scratch: &once.scratch,
        label: &once.label,
    })
}

/// What to compare.
#[derive(Debug)]
pub struct Plan {
    /// The chain.
    pub chain: transfers::Recipe,
    /// Run the rungs of the ladder.
    pub ladder: bool,
    /// Run the default with each switch of this level at each of its other values.
    pub ablate: bool,
    /// Rounds.
    pub runs: usize,
    /// Threads that verify.
    pub threads: usize,
    /// Folder for records; their charts are drawn beside them.
    pub out: PathBuf,
    /// Folder for the chain, which is kept, and stores.
    pub scratch: Scratch,
    /// The program to run as a child, `blockmill` itself.
    pub program: PathBuf,
}

/// A design: its label and how it differs from the default.
type Design = (String, Vec<String>);

/// Runs everything that `plan` names, round by round; the records of all runs. Fails when two runs
/// do not end with the same block.
pub fn run(plan: &Plan, mut tell: impl FnMut(&str)) -> Result<Vec<RunRecord>> {
    let folder = plan.chain(&mut tell)?;
    let records = plan.out.join("records");
    let rounds = Rounds { runs: plan.runs, folder: records, prefix: String::new() };
    let run = |design: &Design, _, path: &Path| plan.child(design, &folder, path);
    rounds.alternate(&plan.designs(), run, rounds::same_tip, tell)
}

impl Plan {
    /// The folder of the generated chain, made once.
    fn chain(&self, tell: &mut impl FnMut(&str)) -> Result<PathBuf> {
        let transfers::Recipe { transfers, block_transfers, seed, .. } = self.chain;
        let name = format!("transfers-{transfers}-{block_transfers}-{seed}");
        let folder = self.scratch.folder().join(name);
        if !folder.exists() {
            tell(&format!("generating {transfers} transfers"));
            transfers::generate(&self.chain, &folder, |_| {})?;
        }
        Ok(folder)
    }

    fn designs(&self) -> Vec<Design> {
        let mut designs = vec![];
        if self.ladder {
            designs.extend(RUNGS.iter().map(|(label, with)| {
                (label.to_string(), with.iter().map(ToString::to_string).collect())
            }));
        }
        designs.push(("blockmill".to_string(), vec![]));
        if self.ablate {
            let default = Setting::default();
            let of_bodies = default.neighbours().filter(|row| OF_BODIES.contains(&row.0.name));
            designs.extend(of_bodies.map(|(switch, value, _)| {
                let setting = format!("{}={value}", switch.name);
                (setting.clone(), vec![setting])
            }));
        }
        designs
    }

    /// Runs a design as a child process, which leaves its record at `path`.
    fn child(&self, (label, with): &Design, folder: &Path, path: &Path) -> Result<RunRecord> {
        let store = self.scratch.store();
        let _ = fs::remove_dir_all(&store);
        let mut command = Command::new(&self.program);
        command.args(["bench", "bodies-once", "--label", label]);
        command.args(["--threads", &self.threads.to_string()]);
        command.arg("--scratch").arg(&store).arg("--record").arg(path);
        with.iter().for_each(|setting| {
            command.args(["--with", setting]);
        });
        let record = rounds::child(command.arg(folder), label, path);
        let _ = fs::remove_dir_all(&store);
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethereum::option_table::OPTIONS;

    #[test]
    fn switches_and_rungs_are_those_of_the_table() {
        for name in OF_BODIES {
            assert!(OPTIONS.iter().any(|switch| switch.name == name), "{name}");
        }
        let mut before = usize::MAX;
        for (label, with) in RUNGS {
            let with: Vec<_> = with.iter().map(ToString::to_string).collect();
            assert!(Setting::default().with(&with).is_ok(), "{label}");
            assert!(with.len() < before, "{label} changes more than the rung below");
            before = with.len();
        }
    }
}
