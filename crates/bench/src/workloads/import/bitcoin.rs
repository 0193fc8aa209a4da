//! One reindex of Bitcoin block files, into a store of its own, and the files.

use super::{PATHS, paths};
use crate::baselines;
use crate::baselines::bitcoin_index::{self, Baseline, BaselineScan};
use crate::definition::Settings;
use crate::job::{Job, parsed, setting};
use crate::progress::goal;
use crate::workloads::data;
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::blkdat::{
    self, BlockFiles, BlockLocation, BlockWriter, BodyReader, Network,
};
use blockmill_archive::blkdat::{FRAME, WriterOptions, XorKey};
use blockmill_bitcoin::import::{Options, import, import_found_by};
use blockmill_bitcoin::index::scan::{FindBlocks, HeaderScan};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::settings::Settings as BitcoinSettings;
use blockmill_bitcoin::types::BlockHash;
use blockmill_bitcoin::{Level, record};
use blockmill_generate::bitcoin::{MOST_PADDING, Order, Recipe, generate};
use blockmill_generate::random::Random;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::RunRecord;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

/// Bytes of Bitcoin Core PR 16981's files.
const PR_BYTES: u64 = 128 << 20;
/// Inputs of the chain whose largest block serves as a full one.
const PR_INPUTS: u64 = 20_000;
/// Inputs after which a block of a chain of spends is full.
const BLOCK_INPUTS: u64 = 7_000;
/// Empty blocks at the end of a chain of spends. Bitcoin Core runs the scripts of blocks that are
/// worth less than two weeks' work below the best header, whatever is assumed valid: 2,016 on
/// regtest.
const EMPTY_BLOCKS: u64 = 2_100;
/// Mixes blocks of given files, and chooses the chains.
const SEED: u64 = 1;

/// Generates the files if they do not exist, and adds settings for peers.
pub fn prepare(
    settings: &mut Settings,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<()> {
    let gb = |settings: &Settings| parsed::<f64>(settings, "gb");
    let cached = match setting(settings, "data")? {
        // one block repeated, whose parent is not in the files: Bitcoin Core PR 16981
        "one-block" => {
            let bytes = PR_BYTES.min((gb(settings)? * 1e9) as u64);
            let block = setting(settings, "block")?.to_owned();
            let block = (!block.is_empty()).then(|| PathBuf::from(block));
            let of = match &block {
                None => format!("{bytes} bytes"),
                Some(block) => format!("{bytes} bytes of {}", stamps(std::slice::from_ref(block))?),
            };
            let repeat = |path: &Path| repeat(block.as_deref(), bytes, path).map(|()| None);
            data::cached(folder, "bitcoin-one-block", &of, progress, repeat)?
        }
        // large blocks, shuffled over the files
        "large-blocks" => {
            let blocks = (gb(settings)? * 1e9 / MOST_PADDING as f64).ceil().max(1.0) as u32;
            let padding = MOST_PADDING;
            let recipe = Recipe { blocks, padding, order: Order::Shuffled, ..chain(0, 0) };
            chain_of(&recipe, folder, progress)?
        }
        // small blocks, shuffled over the files
        "small-blocks" => {
            let blocks = parsed(settings, "blocks")?;
            chain_of(&Recipe { blocks, order: Order::Shuffled, ..chain(0, 0) }, folder, progress)?
        }
        // a chain of signed spends, in order
        "spends" => {
            let coins = match setting(settings, "coins")? {
                "" => None,
                coins => Some(coins.parse().context("coins")?),
            };
            let recipe = Recipe { coins, ..chain(parsed(settings, "inputs")?, EMPTY_BLOCKS) };
            chain_of(&recipe, folder, progress)?
        }
        // one block full of inputs of no usual form, which all go to the script library
        "unusual" => {
            let recipe = Recipe { unusual: parsed(settings, "unusual")?, ..chain(0, 0) };
            chain_of(&recipe, folder, progress)?
        }
        // given files, with their blocks shuffled into one file
        "shuffled" => {
            let from = paths_of(setting(settings, "from")?);
            let shuffle = |path: &Path| shuffle(&from, path).map(|()| None);
            data::cached(folder, "bitcoin-shuffled", &stamps(&from)?, progress, shuffle)?
        }
        other => bail!(
            "data = '{other}'; available: one-block, large-blocks, small-blocks, spends, unusual, \
             shuffled"
        ),
    };
    settings.insert(PATHS.into(), cached.path.display().to_string());
    settings.insert("tip".into(), cached.tip.clone().unwrap_or_default());
    let network = network(&blkdat::open(&[cached.path], None)?)?.name;
    let core = if network == "mainnet" { "main" } else { network };
    settings.insert("network".into(), core.into());
    // in addition to the thread that connects
    let threads: usize = parsed(settings, "threads")?;
    settings.insert("more-threads".into(), threads.saturating_sub(1).to_string());
    Ok(())
}

fn paths_of(list: &str) -> Vec<PathBuf> {
    list.split(',').map(PathBuf::from).collect()
}

/// Reindexes the blocks; the record of the run. The coins are hashed when the clock has stopped.
pub fn measure(job: &Job) -> Result<RunRecord> {
    let files = blkdat::open(&paths(&job.settings)?, None)?;
    let known = [Level::Headers, Level::Bodies, Level::Execution];
    let name = job.setting("level")?;
    let level = known.into_iter().find(|level| level.name() == name);
    let assumed = job.setting("assume-valid")? == "tip";
    let tip = if assumed { Some(job.setting("tip")?) } else { None };
    let (baseline, with) = Baseline::split(&job.with)?;
    let options = Options {
        level: level.with_context(|| format!("level = '{name}': there is none"))?,
        settings: BitcoinSettings::default().with(&with)?,
        threads: job.parsed("threads")?,
        memory: job.parsed::<u64>("cache-mib")? << 20,
        assume_valid: tip.map(parse_id).transpose()?,
        ..Options::new(network(&files)?)
    };
    let mut finder =
        BaselineScan::new(baseline, options.threads, vec![options.params.genesis_hash]);
    let (run, outcome) = match baseline.is_of_product() {
        true => import(&files, &options, &job.folder, |_| {}),
        false => import_found_by(&mut finder, &files, &options, &job.folder, |_| {}),
    };
    let mut record =
        record::of(&run, &outcome, &files, &options, blockmill_cli::program::this(), &job.label);
    outcome?;
    record.options.extend(baselines::recorded(&bitcoin_index::OPTIONS, &job.with));
    record.facts.count("from_memory", finder.counts.from_memory);
    record.facts.count("from_disk", finder.counts.from_disk);
    if options.level == Level::Execution {
        let stored = blockmill_bitcoin::inspect::stored(&job.folder)?
            .context("coins that were committed")?;
        let hash = blockmill_verdict::Reversed(&stored.statistics.hash_serialized).to_string();
        record.answer.insert("coins_hash".into(), hash);
    }
    Ok(record)
}

fn parse_id(text: &str) -> Result<BlockHash> {
    let digits = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2).unwrap_or(""), 16);
    let mut hash = [0; 32];
    for (at, byte) in hash.iter_mut().rev().enumerate() {
        *byte = digits(at).with_context(|| format!("tip {text}"))?;
    }
    Ok(BlockHash(hash))
}

/// The network of the records' magic.
fn network(files: &BlockFiles) -> Result<Params> {
    let params = files.network().and_then(|network| Params::by_magic(network.magic()));
    params.context("cannot progress the network of these blocks")
}

fn chain_of(
    recipe: &Recipe,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<data::Cached> {
    data::cached(folder, "bitcoin", &format!("{recipe:?}"), progress, |path| {
        generated(recipe, path)
    })
}

/// One block repeated. Its parent is not in the file.
fn repeat(block: Option<&Path>, bytes: u64, out: &Path) -> Result<()> {
    let (block, network) = match block {
        Some(path) => {
            let files = blkdat::open(&[path.to_owned()], Some(Network::Mainnet))?;
            (read(&files, |locations| locations.first().copied())?, files.network())
        }
        None => {
            let folder = tempfile::tempdir_in(out.parent().unwrap_or(out))?;
            let chain_folder = folder.path().join("chain");
            generated(&chain(PR_INPUTS, 0), &chain_folder)?;
            let files = blkdat::open(&[chain_folder], None)?;
            let largest = |locations: &[BlockLocation]| {
                locations.iter().copied().max_by_key(|location| location.size)
            };
            (read(&files, largest)?, files.network())
        }
    };
    let count = (bytes / (FRAME + block.len() as u64)).max(1);
    let mut writer = writer(out, network)?;
    for _ in 0..count {
        writer.write(&block)?;
    }
    writer.finish()?;
    Ok(())
}

/// A chain of signed spends with at least this many blocks after the last spend.
fn chain(inputs: u64, more: u64) -> Recipe {
    // weight ends a block before its inputs do; there are blocks for all inputs and as many again
    let filled = if inputs > 0 { 100 + 2 * inputs.div_ceil(BLOCK_INPUTS) } else { 0 };
    Recipe {
        inputs,
        blocks: u32::try_from(filled + more).unwrap_or(u32::MAX),
        block_inputs: BLOCK_INPUTS,
        coins: None,
        padding: 0,
        unlinked: false,
        unusual: 0,
        stale: 0,
        duplicates: 0,
        seed: SEED,
        order: Order::Height,
        xor: false,
        file_size: 128 << 20,
    }
}

fn generated(recipe: &Recipe, out: &Path) -> Result<Option<String>> {
    let threads = available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let live = goal("blocks", recipe.blocks.into());
    let chain = generate(recipe, out, threads, |made| live.reach(made.height.into()))?;
    if let Some(coins) = recipe.coins {
        let Recipe { inputs, .. } = recipe;
        let found = chain.coins;
        ensure!(!chain.falls_short_of(coins), "{inputs} inputs make {found} coins and not {coins}");
    }
    Ok(Some(BlockHash(chain.tip).to_string()))
}

/// All blocks of the files in one file, in any order.
fn shuffle(paths: &[PathBuf], out: &Path) -> Result<()> {
    let files = blkdat::open(paths, None)?;
    let mut locations = locations(&files)?;
    let mut random = Random(SEED);
    for at in (1..locations.len()).rev() {
        locations.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut writer = writer(out, files.network())?;
    let (mut reader, mut block) = (BodyReader::new(&files, 8), vec![]);
    for location in locations {
        reader.read(location, &mut block)?;
        writer.write(&block)?;
    }
    writer.finish()?;
    Ok(())
}

/// Where the blocks of `files` are, in their order.
fn locations(files: &BlockFiles) -> Result<Vec<BlockLocation>> {
    let scan = HeaderScan { threads: 1 }.find_blocks(files, &Cancel::new())?;
    Ok(scan.found.iter().map(|found| found.location()).collect())
}

/// The bytes of the block that `choose` takes.
fn read(
    files: &BlockFiles,
    choose: impl Fn(&[BlockLocation]) -> Option<BlockLocation>,
) -> Result<Vec<u8>> {
    let location = choose(&locations(files)?).context("there is no block")?;
    let mut block = vec![];
    BodyReader::new(files, 1).read(location, &mut block)?;
    Ok(block)
}

/// One file, whatever its size.
fn writer(out: &Path, network: Option<Network>) -> Result<BlockWriter> {
    let network = network.context("cannot progress the network of these blocks")?;
    let options = WriterOptions {
        network,
        key: XorKey::default(),
        max_file: u64::MAX,
        allocate: 0,
        trim: true,
    };
    Ok(BlockWriter::create(out, options)?)
}

/// Names and sizes of files or folders, so that others are seen to be others.
fn stamps(paths: &[PathBuf]) -> Result<String> {
    let stamp = |path: &PathBuf| {
        let found =
            fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        let time = found.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let path = std::path::absolute(path)?;
        Ok(format!("{}, {} bytes, changed at {time:?}", path.display(), found.len()))
    };
    Ok(paths.iter().map(stamp).collect::<Result<Vec<_>>>()?.join("; "))
}
