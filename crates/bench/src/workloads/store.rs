//! Our stores of keys and values, tables and states with their tries: every operation in a process
//! of its own, on a database that the first one filled.

mod keys;
mod ours;
mod state;
mod workload;

use super::Workload;
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, parsed, setting};
use anyhow::{Context, Result, anyhow, bail, ensure};
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::{RunRecord, TIME_NS};
use blockmill_platform::files::{self, FileKind};
use keys::Draw;
use std::fs;
use std::path::Path;
use std::time::Instant;
use workload::{KeyValueStore, LEAST_KEYS, Measured, Operation};

/// The setting that says which of our stores is measured: `table` (the default), `pages` or
/// `flat-trie`.
const LAYOUT: &str = "layout";

/// The setting that says how many MiB references of pages take in memory: `all` (the default) or a
/// number.
const REFERENCES: &str = "references-mib";

/// The setting that says which keys are read and changed: `uniform` (the default) or `skewed`.
const DRAW: &str = "draw";

/// The setting that says how many bytes of memory there are for each key, in place of all of them.
const PER_KEY: &str = "memory-bytes-per-key";

/// Stores of keys and values.
pub struct Tables;

impl Workload for Tables {
    fn name(&self) -> &'static str {
        "store"
    }

    fn options(&self, _: &Settings) -> Result<Vec<OptionValues>> {
        Ok(vec![])
    }

    fn prepare(&self, settings: &mut Settings, _: &Path, _: &mut dyn FnMut(&str)) -> Result<()> {
        let keys: u64 = parsed(settings, "keys")?;
        ensure!(keys >= LEAST_KEYS, "keys: expected at least {LEAST_KEYS}, found {keys}");
        let bytes = match settings.get(PER_KEY) {
            None => parsed::<u64>(settings, "memory-mib")? << 20,
            Some(_) => (parsed::<f64>(settings, PER_KEY)? * keys as f64) as u64,
        };
        settings.insert("memory-bytes".into(), bytes.to_string());
        draw(settings)?;
        layout(settings).map(|_| ())
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let clock = RunClock::start();
        let name = job.setting("op")?;
        let operation = Operation::by_name(name).with_context(|| format!("no operation {name}"))?;
        let (keys, draw) = (job.parsed("keys")?, draw(&job.settings)?);
        let blocks = if operation == Operation::Blocks { job.parsed("blocks")? } else { 0 };
        let work = workload::Job { operation, keys, draw, blocks };
        let memory = job.parsed("memory-bytes")?;
        let (measured, more) = match layout(&job.settings)? {
            Some(settings) => in_state(&job.folder, &settings, work),
            None => in_table(&job.folder, memory, work),
        }
        .map_err(|error| anyhow!(error))?;
        let mut record = RunRecord::new(blockmill_cli::program::this(), "");
        record.facts.set(TIME_NS, measured.nanoseconds());
        more.iter().for_each(|(name, value)| record.facts.set(name, *value));
        record.facts.count("operations", measured.operations);
        record.facts.count("disk_bytes", bytes_in(&job.folder)?);
        record.answer.insert("bytes".into(), measured.bytes.to_string());
        record.answer.insert("digest".into(), format!("{:#018x}", measured.digest));
        record.take_usage(clock.cpu());
        Ok(record)
    }
}

/// How a state is opened; `None` if a table is measured.
fn layout(settings: &Settings) -> Result<Option<state::Settings>> {
    match settings.get(LAYOUT).map(String::as_str) {
        None | Some("table") => Ok(None),
        Some(name @ ("pages" | "flat-trie")) => {
            let memory = parsed(settings, "memory-bytes")?;
            let owner = setting(settings, "contracts")?;
            let ahead = if name == "pages" { Some(setting(settings, "ahead")?) } else { None };
            let mut opened = state::Settings::new(memory, owner, ahead)?;
            if settings.get(REFERENCES).is_some_and(|most| most != "all") {
                opened.references = Some(parsed::<usize>(settings, REFERENCES)? << 20);
            }
            Ok(Some(opened))
        }
        Some(other) => bail!("{LAYOUT} = '{other}'; available: table, pages, flat-trie"),
    }
}

/// Which keys are read and changed.
fn draw(settings: &Settings) -> Result<Draw> {
    let Some(name) = settings.get(DRAW) else { return Ok(Draw::Uniform) };
    let draw = Draw::by_name(name);
    draw.with_context(|| format!("{DRAW} = '{name}'; available: uniform, skewed"))
}

/// The measurement, and further facts.
type Done = Result<(Measured, Vec<(&'static str, f64)>), workload::Error>;

fn in_table(folder: &Path, memory: usize, work: workload::Job) -> Done {
    let mut store = ours::Ours::open(folder, memory)?;
    Ok((workload::run(&mut store, work)?, vec![]))
}

fn in_state(folder: &Path, settings: &state::Settings, work: workload::Job) -> Done {
    let mut store = state::InState::open(folder, settings)?;
    let mut measured = workload::run(&mut store, work)?;
    if matches!(work.operation, Operation::Update | Operation::Blocks) {
        // changes that are durable in the log must still be written as cells
        let start = Instant::now();
        store.wait_for_background()?;
        measured.time += start.elapsed();
    }
    Ok((measured, store.facts()))
}

fn bytes_in(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    let paths = files::list(folder);
    for path in paths.with_context(|| format!("cannot list {}", folder.display()))? {
        let found = fs::symlink_metadata(&path)?;
        let is_folder = FileKind::of(found.file_type()) == FileKind::Folder;
        bytes += if is_folder { bytes_in(&path)? } else { found.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
