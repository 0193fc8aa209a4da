//! One import of an Ethereum archive, into a store of its own.

use super::designs::Earlier;
use super::{PATHS, data, paths};
use crate::definition::Settings;
use crate::job::{Job, parsed, setting};
use ::ethereum::commit::Sink;
use ::ethereum::ethash::Caches;
use ::ethereum::import::{Options, import};
use ::ethereum::option_table::Setting;
use ::ethereum::params::ChainSpec;
use ::ethereum::seal::{SealMode, SealPolicy};
use ::ethereum::{Level, record};
use anyhow::{Context, Result, bail};
use archive::{Archive, ChunkLimit, Format};
use generate::ethereum as generated;
use pipeline::Cancel;
use pipeline::record::RunRecord;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::ChainStore;

/// Seed of the seal sample: the same in every run, so that all check the same seals.
const SEAL_SEED: u64 = 1;

/// The archive is made if it is not there, and peers are told what it is and how seals are checked.
pub fn prepare(settings: &mut Settings, folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<()> {
    match setting(settings, "data")? {
        "headers" => {
            let (headers, seed): (u64, u64) =
                (parsed(settings, "headers")?, parsed(settings, "seed")?);
            let of = format!("{headers} headers, seed {seed}");
            let made = data::made(folder, "ethereum-headers", &of, tell, |path| {
                let recipe = generated::Recipe {
                    last: headers,
                    seed,
                    format: Format::HeaderStream,
                    gzip: false,
                };
                generated::generate(&recipe, path, |_| {}).map(|()| None)
            })?;
            settings.insert(PATHS.into(), text(&made.path)?);
        }
        "transfers" => {
            let (transfers, seed) = (parsed(settings, "transfers")?, parsed(settings, "seed")?);
            let block_transfers = parsed(settings, "block-transfers")?;
            let recipe = generated::transfers::Recipe { transfers, block_transfers, seed };
            let of = format!("{recipe:?}");
            let made = data::made(folder, "ethereum-transfers", &of, tell, |path| {
                generated::transfers::generate(&recipe, path, |_| {}).map(|_| None)
            })?;
            settings.insert("genesis".into(), text(&made.path.join("genesis.json"))?);
            settings.insert(PATHS.into(), text(&made.path.join(generated::transfers::FILE))?);
        }
        "files" => drop(setting(settings, PATHS)?),
        other => bail!("data = '{other}'; available: headers, transfers, files"),
    }
    let input = match Archive::open(&paths(settings)?)?.format() {
        Format::Era1 => "era",
        Format::HeaderStream => "stream",
        other => other.name(),
    };
    settings.insert("input".into(), input.into());
    // peers check one seal in so many; 0 stands for none
    let every = match setting(settings, "seal")?.parse()? {
        SealMode::Off => 0,
        SealMode::Sample(one_in) => one_in,
        SealMode::All => 1,
    };
    settings.insert("seal-every".into(), every.to_string());
    let caches = folder.join("ethash");
    settings.insert("caches".into(), text(&caches)?);
    Ok(())
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    anyhow::ensure!(!text.contains(','), "{text}: a path with a comma cannot be given to a run");
    Ok(text.to_owned())
}

/// Imports the archive; the record of the run.
pub fn measure(job: &Job) -> Result<RunRecord> {
    let spec = match job.settings.get("genesis") {
        Some(path) => {
            let genesis = fs::read_to_string(path);
            ChainSpec::from_genesis_json(&genesis.with_context(|| format!("cannot read {path}"))?)?
        }
        None => ChainSpec::by_name("mainnet").context("mainnet is not built in")?,
    };
    let seal = SealPolicy { mode: job.setting("seal")?.parse()?, seed: SEAL_SEED };
    let caches = Caches::new(job.settings.get("caches").map(PathBuf::from), 2);
    if seal.mode != SealMode::Off {
        // the peers load their first cache before the clock starts, too
        caches.get(0)?;
    }
    let archive = Archive::open(&paths(&job.settings)?)?;
    let setting = Setting::default().with(&job.with)?;
    let options = Options {
        spec: Arc::new(spec),
        level: level(job.setting("level")?)?,
        seal,
        setting,
        threads: job.parsed("threads")?,
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: false,
        trust: vec![],
        caches,
        now: None,
        cancel: Cancel::new(),
    };
    let plan = setting.plan();
    let mut sink = match Earlier::is_described_by(&plan) {
        true => Sink::Design(Box::new(Earlier::open(&job.folder, plan)?)),
        false => {
            let (store, _) = ChainStore::open(&job.folder, &store::Options::default())?;
            Sink::Segments(Box::new(store))
        }
    };
    let (run, outcome) = import(&archive, &options, &mut sink, |_| {});
    let record = record::of(&run, &outcome, &archive, &options, program::this(), &job.label);
    drop(sink);
    outcome?;
    Ok(record)
}

fn level(name: &str) -> Result<Level> {
    let known = [Level::Headers, Level::Bodies];
    let found = known.into_iter().find(|level| level.name() == name);
    found.with_context(|| format!("level = '{name}'; available: headers, bodies"))
}
