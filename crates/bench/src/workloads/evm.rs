//! What instructions and precompiled contracts of the virtual machine cost: each is executed as
//! often as the gas of a transaction allows, with little else, and what else there is is measured
//! alone and subtracted. `docs/formats/evm-programs.md` has the files that peers read.
//!
//! The idea is CartEVM's, which Besu measures its machine with: also one operation after another,
//! in all combinations.

mod accounts;
mod contracts;
mod instructions;
mod machine;
mod measure;
mod plan;
mod program;
mod published;
mod unit;

#[cfg(test)]
mod tests;

use super::{Workload, data};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, parsed, setting};
use anyhow::{Context, Result, ensure};
use blockmill_ethereum::params::Fork;
use blockmill_generate::ethereum::executable::{FORKS, genesis_json};
use blockmill_pipeline::record::RunRecord;
use plan::{Limits, Planner};
use std::fs;
use std::path::Path;
use unit::Unit;

/// The machine of Ethereum.
pub struct Evm;

impl Workload for Evm {
    fn name(&self) -> &'static str {
        "evm"
    }

    fn options(&self, _: &Settings) -> Result<Vec<OptionValues>> {
        Ok(vec![])
    }

    fn prepare(
        &self,
        settings: &mut Settings,
        folder: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let fork = fork_of(settings)?;
        let limits =
            Limits { gas: parsed(settings, "gas")?, code: parsed(settings, "code-bytes")? };
        let most = machine::GAS / 2;
        ensure!(limits.gas <= most, "gas: expected at most {most}, found {}", limits.gas);
        let of = setting(settings, "programs")?;
        let lists = lists(of, settings.get("among").map(String::as_str), fork)?;
        // whatever changes in a unit makes other programs
        let digest = blockmill_hashes::keccak256(format!("{lists:?}").as_bytes());
        let name = format!("{of} of {fork:?}, {limits:?}, {digest:02x?}");
        let cached = data::cached(folder, "evm", &name, progress, |path| {
            write(path, fork, limits, &lists).map(|()| None)
        })?;
        for (name, path) in
            [("plan", cached.path.clone()), ("genesis", cached.path.join(measure::GENESIS))]
        {
            settings.insert(name.into(), path.display().to_string());
        }
        Ok(())
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        measure::once(job, fork_of(&job.settings)?)
    }
}

fn fork_of(settings: &Settings) -> Result<Fork> {
    let name = setting(settings, "fork")?;
    let found = FORKS.iter().find(|(known, ..)| *known == name);
    let names = || FORKS.map(|(name, ..)| name).join(", ");
    let found = found.with_context(|| format!("fork={name}: available: {}", names()))?;
    Ok(found.1)
}

/// What is measured: operations alone, or one after the other.
fn lists(of: &str, among: Option<&str>, fork: Fork) -> Result<Vec<Vec<Unit>>> {
    let alone = |units: Vec<Unit>| units.into_iter().map(|unit| vec![unit]).collect();
    let among = || -> Result<Vec<Unit>> {
        let mut plain = instructions::plain(fork)?;
        if let Some(names) = among.filter(|names| *names != "all") {
            for name in names.split_whitespace() {
                let has = plain.iter().any(|unit| unit.name == name);
                ensure!(has, "among: {fork:?} has no instruction {name}");
            }
            plain.retain(|unit| names.split_whitespace().any(|name| name == unit.name));
        }
        Ok(plain)
    };
    let and = |before: Vec<Vec<Unit>>, units: &[Unit]| {
        let with = |list: &Vec<Unit>| {
            units.iter().map(|unit| [list.clone(), vec![unit.clone()]].concat()).collect::<Vec<_>>()
        };
        before.iter().flat_map(with).collect::<Vec<_>>()
    };
    Ok(match of {
        "instructions" => alone(instructions::all(fork)?),
        "precompiles" => alone(contracts::all(fork)?),
        "published" => alone(published::all(fork)?),
        "pairs" => and(alone(among()?), &among()?),
        "triples" => and(and(alone(among()?), &among()?), &among()?),
        other => anyhow::bail!(
            "programs={other}: available: instructions, precompiles, published, pairs, triples"
        ),
    })
}

/// Makes the files of a plan.
fn write(folder: &Path, fork: Fork, limits: Limits, lists: &[Vec<Unit>]) -> Result<()> {
    let mut planner = Planner::new(fork, limits)?;
    for list in lists {
        match list.as_slice() {
            [unit] => planner.add(unit)?,
            units => planner.add_all(&units.iter().collect::<Vec<_>>())?,
        }
    }
    let (plan, accounts) = planner.finish();
    let genesis =
        genesis_json(fork, None, &accounts).context("no chain can begin with this fork")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, text) in
        [(measure::PLAN, serde_json::to_string(&plan)?), (measure::GENESIS, genesis)]
    {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
