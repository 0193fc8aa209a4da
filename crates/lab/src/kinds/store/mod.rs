//! Our store of keys and values: every operation in a process of its own, on a database that the
//! first one filled.

mod ours;
mod workload;

use super::Kind;
use crate::definition::Settings;
use crate::job::{Job, parsed};
use crate::shape::OptionValues;
use anyhow::{Context, Result, anyhow, ensure};
use pipeline::record::{RunRecord, TIME_NS};
use std::fs;
use std::path::Path;
use workload::{LEAST_KEYS, Operation};

/// Stores of keys and values.
pub struct Tables;

impl Kind for Tables {
    fn name(&self) -> &'static str {
        "store"
    }

    fn options(&self, _: &Settings) -> Result<Vec<OptionValues>> {
        Ok(vec![])
    }

    fn prepare(&self, settings: &mut Settings, _: &Path, _: &mut dyn FnMut(&str)) -> Result<()> {
        let keys: u64 = parsed(settings, "keys")?;
        ensure!(keys >= LEAST_KEYS, "keys: expected at least {LEAST_KEYS}, found {keys}");
        let bytes = parsed::<usize>(settings, "memory-mib")? << 20;
        settings.insert("memory-bytes".into(), bytes.to_string());
        Ok(())
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let name = job.setting("op")?;
        let operation = Operation::by_name(name).with_context(|| format!("no operation {name}"))?;
        let memory = job.parsed("memory-bytes")?;
        let mut store = ours::Ours::open(&job.folder, memory).map_err(|error| anyhow!(error))?;
        let work = workload::Job { operation, keys: job.parsed("keys")? };
        let measured = workload::run(&mut store, work).map_err(|error| anyhow!(error))?;
        drop(store);
        let mut record = RunRecord::new(program::this(), "");
        record.facts.set(TIME_NS, measured.nanoseconds());
        record.facts.count("operations", measured.operations);
        record.facts.count("disk_bytes", bytes_in(&job.folder)?);
        record.answer.insert("bytes".into(), measured.bytes.to_string());
        record.answer.insert("digest".into(), format!("{:#018x}", measured.digest));
        record.take_usage();
        Ok(record)
    }
}

fn bytes_in(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let file = entry.metadata()?;
        bytes += if file.is_dir() { bytes_in(&entry.path())? } else { file.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
