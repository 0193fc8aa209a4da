//! Verified blocks written as tables: whole runs from an archive to Parquet, compared with runs
//! that verify the same and write nothing.

use super::Workload;
use super::import::{self, ethereum as archives};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, setting};
use anyhow::{Context, Result, bail};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::record;
use blockmill_ethereum::settings::Settings as EthereumSettings;
use blockmill_export::ethereum::{consumer, tables};
use blockmill_export::{Cells, Facts, FileEntry, TableReader, tables_named};
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::RunRecord;
use blockmill_verdict::{CpuTimes, Hex, RunOutcome};
use std::fs;
use std::path::{Path, PathBuf};

/// The option that says whether tables are written: [`OFF`] or on.
const OPTION: &str = "export";
/// Blocks are verified alone.
const OFF: &str = "off";

/// Exports.
pub struct Export;

impl Workload for Export {
    fn name(&self) -> &'static str {
        "export"
    }

    fn options(&self, settings: &Settings) -> Result<Vec<OptionValues>> {
        match setting(settings, "chain")? {
            "ethereum" => {}
            other => bail!("chain = '{other}'; available: ethereum"),
        }
        let values = [OFF, "on"].map(str::to_owned).to_vec();
        let about = "Are tables written, or is the archive only verified?".to_owned();
        let (name, default) = (OPTION.into(), "on".into());
        let said =
            ["Verifies the archive and writes no tables", "Writes tables of the verified blocks"];
        let said = said.map(str::to_owned).to_vec();
        let own = OptionValues { name, values, default, about, said };
        let mut all = import::options_of::<EthereumSettings>(&[]);
        all.push(own);
        Ok(all)
    }

    fn prepare(
        &self,
        settings: &mut Settings,
        folder: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        archives::prepare(settings, folder, progress)
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let (own, with): (Vec<_>, Vec<_>) = job.with.iter().cloned().partition(|with| is_own(with));
        let writes = !own.iter().any(|with| with.ends_with(OFF));
        let (archive, mut options) = archives::opened(job, &with)?;
        let mut writing = None;
        if writes {
            let names: Vec<_> = job.setting("tables")?.split(',').map(str::to_owned).collect();
            let tables = tables_named(&tables::ALL, &tables::ALL, &names)?;
            let export =
                blockmill_export::Export::new(&tables, facts(job, &options)?, options.threads)?;
            options.consumer = Some(consumer(export.clone(), &tables, archive.format()));
            writing = Some(export);
        }
        let (run, outcome) = import(&archive, &options, &mut Sink::Discard, |_| {});
        let after = RunClock::start();
        let files = match writing.filter(|_| outcome.is_ok()) {
            Some(export) => finish(&export, run.outcome(&outcome))?,
            None => vec![],
        };
        let (wall_s, cpu) = (run.wall_s + after.wall_s(), after.cpu());
        let cpu =
            CpuTimes { user_s: run.cpu.user_s + cpu.user_s, sys_s: run.cpu.sys_s + cpu.sys_s };
        let this = blockmill_cli::program::this();
        let mut record = record::of(&run, &outcome, &archive, &options, this, &job.label);
        outcome?;
        record.took(wall_s);
        record.take_usage(cpu);
        if writes {
            count(&mut record, &files, job.setting("tables")?);
        }
        if job.setting("digest")? == "true" && writes {
            let sum = digest(&job.folder, &files)?;
            record.answer.insert("transactions_digest".into(), format!("{sum:#018x}"));
        }
        Ok(record)
    }

    fn inputs(&self, settings: &Settings) -> Vec<PathBuf> {
        import::paths(settings).unwrap_or_default()
    }
}

/// Is it a value of [`OPTION`], and none of the chain's options?
fn is_own(with: &str) -> bool {
    with.split_once('=').is_some_and(|(name, _)| name == OPTION)
}

/// What the files say of the chain, in a folder that is there.
fn facts(job: &Job, options: &Options) -> Result<Facts> {
    let folder = job.folder.clone();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let program = blockmill_cli::program::this();
    Ok(Facts {
        folder,
        chain: options.spec.name.clone(),
        genesis: Hex(&options.spec.genesis.hash).to_string(),
        level: options.level.name(),
        program: format!("{} {} {}", program.name, program.version, program.revision),
        rules: format!("seal {}, seed {}", options.seal.mode, options.seal.seed),
        ..Facts::default()
    })
}

/// Writes the last files and the manifest.
fn finish(export: &blockmill_export::Export, outcome: RunOutcome) -> Result<Vec<FileEntry>> {
    let manifest = export.manifest(outcome.into(), export.finish()?);
    manifest.write(&export.facts().folder, false)?;
    Ok(manifest.files)
}

/// How many rows each of these tables has, and what a row of any costs.
fn count(record: &mut RunRecord, files: &[FileEntry], tables: &str) {
    let (mut rows, mut bytes) = (0, 0);
    for table in tables.split(',') {
        let own = || files.iter().filter(|file| file.table == table);
        let found: u64 = own().map(|file| file.rows).sum();
        record.answer.insert(format!("rows_{table}"), found.to_string());
        rows += found;
        bytes += own().map(|file| file.bytes).sum::<u64>();
    }
    record.facts.count("rows", rows);
    record.facts.count("tables_bytes", bytes);
    record.facts.set("row_cpu_ns", record.cpu_s() * 1e9 / rows as f64);
}

/// A digest of all transactions in the tables, independent of order: the sum of the first 8 bytes
/// of the SHA-256 of each row's text. Peers compute the same digest.
fn digest(folder: &Path, files: &[FileEntry]) -> Result<u64> {
    let mut sum = 0u64;
    for file in files.iter().filter(|file| file.table == tables::TRANSACTIONS.name) {
        for cells in TableReader::open(&folder.join(&file.file), &tables::TRANSACTIONS)? {
            let cells = cells?;
            for row in 0..cells.rows() {
                let hash = blockmill_hashes::sha256(text(&cells, row)?.as_bytes());
                let first = hash.first_chunk().context("a hash of 8 bytes or more")?;
                sum = sum.wrapping_add(u64::from_be_bytes(*first));
            }
        }
    }
    Ok(sum)
}

/// A row of transactions as text.
fn text(cells: &Cells, row: usize) -> Result<String> {
    let to = cells.maybe_fixed::<20>("to_address", row)?;
    let to = to.map(|to| Hex(&to).to_string()).unwrap_or_default();
    Ok(format!(
        "{} {} {} {} {to} {} {} {} {}",
        cells.int("block_number", row)?,
        cells.int("transaction_index", row)?,
        Hex(&cells.fixed::<32>("hash", row)?),
        Hex(&cells.fixed::<20>("from_address", row)?),
        cells.int("nonce", row)?,
        cells.wei("value", row)?,
        cells.int("gas", row)?,
        cells.wei("gas_price", row)?,
    ))
}
