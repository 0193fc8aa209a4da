//! One restore of a Neo dump, into a ledger of its own, and the dump.

use super::{PATHS, paths};
use crate::definition::Settings;
use crate::job::{Job, parsed, setting};
use crate::progress::goal;
use crate::workloads::data;
use anyhow::{Context, Result, bail};
use blockmill_archive::acc;
use blockmill_generate::neo::{CONFIGURATION, FILE, Recipe, generate};
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import};
use blockmill_neo::ledger::Ledger;
use blockmill_neo::params::Protocol;
use blockmill_neo::settings::Settings as NeoSettings;
use blockmill_neo::{Level, record};
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::RunRecord;
use std::fs;
use std::path::Path;

/// Where the network's configuration is.
const CONFIG: &str = "config";
/// Hash of the last block.
const TIP: &str = "tip";

/// Generates the dump if it does not exist, and adds settings for peers: the configuration's path.
pub fn prepare(
    settings: &mut Settings,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<()> {
    let mixed = match setting(settings, "data")? {
        "transfers" => false,
        "mixed" => true,
        other => bail!("data = '{other}'; available: transfers, mixed"),
    };
    let recipe = Recipe {
        blocks: parsed(settings, "blocks")?,
        transactions: parsed(settings, "txs")?,
        every: parsed(settings, "every")?,
        accounts: parsed(settings, "accounts")?,
        mixed,
        state_roots: parsed(settings, "state-roots")?,
        seed: parsed(settings, "seed")?,
    };
    let cached = data::cached(folder, "neo", &format!("{recipe:?}"), progress, |path| {
        let live = goal("blocks", recipe.all_blocks().into());
        Ok(Some(generate(&recipe, path, |done| live.reach(done))?.tip.to_string()))
    })?;
    for (name, file) in [(PATHS, FILE), (CONFIG, CONFIGURATION)] {
        settings.insert(name.into(), cached.path.join(file).display().to_string());
    }
    settings.insert(TIP.into(), cached.tip.unwrap_or_default());
    Ok(())
}

/// Restores the dump and returns the record. The digest is computed after the clock has stopped.
pub fn measure(job: &Job) -> Result<RunRecord> {
    let path = job.setting(CONFIG)?;
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let protocol = Protocol::from_yaml(&text).with_context(|| path.to_owned())?;
    let state_root = protocol.state_root_in_header;
    let dumps = acc::open(&paths(&job.settings)?)?;
    let assumed = match job.setting("verify")? {
        "full" => None,
        "none" => Some(job.setting(TIP)?.parse()?),
        other => bail!("verify = '{other}'; available: full, none"),
    };
    let options = Options {
        level: Level::Execution,
        settings: NeoSettings::default().with(&job.with)?,
        threads: job.parsed("threads")?,
        assume_valid: assumed,
        ..Options::new(protocol)
    };
    let ledger = Ledger::open(&job.folder, &blockmill_store::Options::default())?;
    let mut sink = Sink::Ledger(Box::new(ledger));
    let (run, outcome) = import(&dumps, &options, &mut sink, |_| {});
    let mut record =
        record::of(&run, &outcome, &dumps, &options, blockmill_cli::program::this(), &job.label);
    outcome?;
    if let (true, Sink::Ledger(ledger)) = (job.parsed("digest")?, &sink) {
        let digest = ledger.digest(state_root)?.map(|byte| format!("{byte:02x}")).concat();
        record.answer.insert("digest".into(), digest);
    }
    Ok(record)
}
