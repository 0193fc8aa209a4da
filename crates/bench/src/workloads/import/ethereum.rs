//! One import of an Ethereum archive, into a store of its own.

use super::{PATHS, options_of, paths};
use crate::baselines::ethereum_headers::{self, Baseline};
use crate::baselines::{BaselineOption, recorded};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, parsed, setting};
use crate::progress::goal;
use crate::workloads::data;
use anyhow::{Context, Result, bail};
use blockmill_archive::{Archive, ChunkLimit, Format, Output, Target};
use blockmill_ethereum::commit::executed_store::{ExecutedStore, Limits};
use blockmill_ethereum::commit::{BlockSink, Sink};
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::{Options, Setup, Wiring, import_wired};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings as EthereumSettings;
use blockmill_ethereum::state::DiskOptions;
use blockmill_ethereum::{Level, record};
use blockmill_generate::ethereum as generated;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::{CPU_SYS_S, CPU_USER_S, MGAS_PER_S, RunRecord};
use blockmill_verdict::Hex;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Seed of the seal sample: the same in every run, so that all check the same seals.
const SEAL_SEED: u64 = 1;

/// Generates the archive if it does not exist, and adds settings for peers: its kind, its paths and
/// the share of seals to check.
pub fn prepare(
    settings: &mut Settings,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<()> {
    match setting(settings, "data")? {
        "headers" => {
            let (headers, seed): (u64, u64) =
                (parsed(settings, "headers")?, parsed(settings, "seed")?);
            let of = format!("{headers} headers, seed {seed}");
            let cached = data::cached(folder, "ethereum-headers", &of, progress, |path| {
                let recipe = generated::Recipe {
                    last: headers,
                    seed,
                    format: Format::HeaderStream,
                    gzip: false,
                };
                let live = goal("headers", headers + 1);
                generated::generate(&recipe, path, |done| live.reach(done)).map(|()| None)
            })?;
            settings.insert(PATHS.into(), cached.path.display().to_string());
        }
        "blocks" => blocks(settings, folder, progress)?,
        "transfers" => {
            let (transfers, seed) = (parsed(settings, "transfers")?, parsed(settings, "seed")?);
            let block_transfers = parsed(settings, "block-transfers")?;
            let recipe = generated::transfers::Recipe { transfers, block_transfers, seed };
            let of = format!("{recipe:?}");
            let cached = data::cached(folder, "ethereum-transfers", &of, progress, |path| {
                let live = goal("transfers", transfers);
                let report = |done| live.reach(done);
                generated::transfers::generate(&recipe, path, report).map(|_| None)
            })?;
            settings
                .insert("genesis".into(), cached.path.join("genesis.json").display().to_string());
            settings.insert(
                PATHS.into(),
                cached.path.join(generated::transfers::FILE).display().to_string(),
            );
        }
        "executable" => executable(settings, folder, progress)?,
        "files" => drop(setting(settings, PATHS)?),
        other => {
            bail!("data = '{other}'; available: headers, blocks, transfers, executable, files")
        }
    }
    // what peers that execute ask for
    settings.entry("genesis".into()).or_insert_with(|| MAINNET.into());
    let input = match Archive::open(&paths(settings)?)?.format() {
        Format::Era1 => "era",
        Format::HeaderStream => "stream",
        other => other.name(),
    };
    settings.insert("input".into(), input.into());
    // peers check one seal in this many; 0 means none
    let every = match setting(settings, "seal")?.parse()? {
        SealMode::Off => 0,
        SealMode::Sample(one_in) => one_in,
        SealMode::All => 1,
    };
    settings.insert("seal-every".into(), every.to_string());
    let caches = folder.join("ethash");
    settings.insert("caches".into(), caches.display().to_string());
    Ok(())
}

/// Whole blocks, in a format of archives.
fn blocks(settings: &mut Settings, folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<()> {
    let (last, seed) = (parsed(settings, "blocks")?, parsed(settings, "seed")?);
    let name = setting(settings, "format")?;
    let (format, gzip) = match Target::by_name(name).map(|target| target.output) {
        Some(Output::Blocks(format, gzip)) => (format, gzip),
        _ => bail!("format = '{name}': expected a format of blocks of Ethereum"),
    };
    let of = format!("{last} blocks as {name}, seed {seed}");
    let cached = data::cached(folder, "ethereum-blocks", &of, progress, |path| {
        let recipe = generated::Recipe { last, seed, format, gzip };
        let live = goal("blocks", last + 1);
        generated::generate(&recipe, path, |done| live.reach(done)).map(|()| None)
    })?;
    settings.insert(PATHS.into(), cached.path.display().to_string());
    Ok(())
}

/// A chain that can be executed.
fn executable(
    settings: &mut Settings,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<()> {
    use generated::executable::{FILE, FORKS, Recipe, Work, generate};
    let work = setting(settings, "work")?;
    let work = Work::named(work).with_context(|| format!("work = '{work}': there is none"))?;
    let fork = setting(settings, "fork")?;
    let known = FORKS.iter().find(|(name, ..)| *name == fork);
    let recipe = Recipe {
        work,
        fork: known.with_context(|| format!("fork = '{fork}': there is none"))?.1,
        next_fork: None,
        blocks: parsed(settings, "blocks")?,
        block_transactions: parsed(settings, "block-transactions")?,
        accounts: parsed(settings, "accounts")?,
        slots: parsed(settings, "slots")?,
        seed: parsed(settings, "seed")?,
    };
    let cached =
        data::cached(folder, "ethereum-executable", &format!("{recipe:?}"), progress, |path| {
            let live = goal("blocks", recipe.blocks);
            let chain = generate(&recipe, path, |done| live.reach(done))?;
            Ok(Some(Hex(&chain.hash).to_string()))
        })?;
    settings.insert("genesis".into(), cached.path.join("genesis.json").display().to_string());
    settings.insert(PATHS.into(), cached.path.join(FILE).display().to_string());
    settings.insert("tip".into(), cached.tip.unwrap_or_default());
    Ok(())
}

/// The chain of archives that come without a genesis.json.
const MAINNET: &str = "mainnet";

/// The archive and the options of its import: `with` in addition to the options of every variant.
pub(in crate::workloads) fn opened(job: &Job, with: &[String]) -> Result<(Archive, Options)> {
    let path = job.setting("genesis")?;
    let spec = match ChainSpec::by_name(path) {
        Some(spec) => spec,
        None => {
            let genesis = fs::read_to_string(path);
            ChainSpec::from_genesis_json(&genesis.with_context(|| format!("cannot read {path}"))?)?
        }
    };
    let seal = SealPolicy { mode: job.setting("seal")?.parse()?, seed: SEAL_SEED };
    let caches = Caches::new(job.settings.get("caches").map(PathBuf::from), 2);
    if seal.mode != SealMode::Off {
        // the peers load their first cache before the clock starts, too
        caches.get(0)?;
    }
    let archive = Archive::open(&paths(&job.settings)?)?;
    let options = Options {
        spec: Arc::new(spec),
        level: level(job.setting("level")?)?,
        seal,
        settings: EthereumSettings::default().with(&always(&job.settings))?.with(with)?,
        threads: job.parsed("threads")?,
        chunk: ChunkLimit::default(),
        from: None,
        until: job.settings.get("until").map(|_| job.parsed("until")).transpose()?,
        partial: false,
        recheck: true,
        trust: vec![],
        caches,
        now: None,
        consumer: None,
        cancel: Cancel::new(),
    };
    Ok((archive, options))
}

/// The options of the chain, and of headers alone the baselines too.
pub(super) fn options(settings: &Settings) -> Result<Vec<OptionValues>> {
    let baselines = ethereum_headers::OPTIONS.iter().map(BaselineOption::values);
    let only_headers = level(setting(settings, "level")?)? == Level::Headers;
    let own = options_of::<EthereumSettings>(&always(settings));
    Ok(baselines.filter(|_| only_headers).chain(own).collect())
}

/// Imports the archive; the record of the run.
pub fn measure(job: &Job) -> Result<RunRecord> {
    let (baseline, with) = match level(job.setting("level")?)? {
        Level::Headers => Baseline::split(&job.with)?,
        _ => (Baseline::default(), job.with.clone()),
    };
    let (archive, options) = opened(job, &with)?;
    let mut sink: Box<dyn BlockSink> = match options.level {
        Level::Execution => Box::new(executed(job, &options)?),
        _ => baseline.sink(&job.folder, &options.cancel)?,
    };
    let checks = baseline.checks(&options.cancel);
    let wiring = Wiring { headers: checks.as_ref(), sink: sink.as_mut() };
    let (run, outcome) = import_wired(&archive, &options, wiring, |_| {});
    let mut record =
        record::of(&run, &outcome, &archive, &options, blockmill_cli::program::this(), &job.label);
    drop(sink);
    outcome?;
    if options.level == Level::Headers {
        record.options.extend(recorded(&ethereum_headers::OPTIONS, &job.with));
    }
    if let Some(setup) = run.setup {
        leave_out(&mut record, &setup);
    }
    Ok(record)
}

/// A store with its state.
fn executed(job: &Job, options: &Options) -> Result<Sink> {
    let settings = &options.settings;
    let memory = match job.settings.get("cache-mib") {
        Some(_) => job.parsed::<usize>("cache-mib")? << 20,
        None => DiskOptions::MEMORY,
    };
    let (state, disk) = (settings.state, settings.disk(memory, options.threads));
    let limits = Limits { state, disk, ..Limits::default() };
    let store = blockmill_store::Options::default();
    let (store, _) = ExecutedStore::open(&job.folder, &store, limits)?;
    Ok(Sink::Executed(Box::new(store)))
}

/// The options that every variant has, from the setting `with`.
pub(super) fn always(settings: &Settings) -> Vec<String> {
    let with = settings.get("with").map_or("", String::as_str);
    with.split_whitespace().map(str::to_owned).collect()
}

/// Takes what came before the first block off the times: the state that the chain begins with. The
/// peers make it before their clocks start, too.
fn leave_out(record: &mut RunRecord, setup: &Setup) {
    let wall = record.wall_s() - setup.wall_s;
    record.took(wall);
    record.facts.set("setup_s", setup.wall_s);
    for (name, before) in [(CPU_USER_S, setup.cpu.user_s), (CPU_SYS_S, setup.cpu.sys_s)] {
        let all = record.facts.value(name);
        record.facts.set(name, (all - before).max(0.0));
    }
    record.facts.set(MGAS_PER_S, record.facts.value("gas") / 1e6 / wall);
}

fn level(name: &str) -> Result<Level> {
    let known = [Level::Headers, Level::Bodies, Level::Execution];
    let found = known.into_iter().find(|level| level.name() == name);
    found.with_context(|| format!("level = '{name}'; available: headers, bodies, execution"))
}
