//! Real blocks, each executed with the part of the state that its witness has. Every block is read
//! from RLP in memory, as a node gets it from its peer: decoded, its senders recovered, executed,
//! and its roots compared.

use super::{Workload, data};
use crate::definition::Settings;
use crate::experiment::OptionValues;
use crate::job::{Job, setting};
use crate::progress::goal;
use crate::statistics::median;
use anyhow::{Context, Result, bail, ensure};
use blockmill_cli::witnesses;
use blockmill_ethereum::execute::CodeCache;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::witness::{Document, Reading, Stateless, Witness};
use blockmill_ethereum::{Hash, U256};
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::{
    BLOCK, BLOCKS, FIRST, MGAS_PER_S, Percentiles, RunRecord, Series,
};
use blockmill_verdict::Hex;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The setting that has the folder of the encoded blocks.
const ENCODED: &str = "encoded";
/// Endings of the two files of a block.
const ENDINGS: [&str; 2] = ["block.rlp", "witness.rlp"];

/// Blocks with witnesses.
pub struct Witnesses;

impl Workload for Witnesses {
    fn name(&self) -> &'static str {
        "witnesses"
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
        let paths = setting(settings, "paths")?.split(',').map(PathBuf::from).collect::<Vec<_>>();
        let jobs = witnesses::jobs(&paths)?;
        ensure!(!jobs.is_empty(), "paths: expected a folder of witnesses, found none in it");
        let mut of = format!("{} witnesses", jobs.len());
        for job in &jobs {
            for path in [Some(&job.file), job.block.as_ref()].into_iter().flatten() {
                of += &format!(" {} {}", path.display(), fs::metadata(path)?.len());
            }
        }
        let cached = data::cached(folder, "witnesses", &of, progress, |to| {
            fs::create_dir_all(to)?;
            let live = goal("witnesses", jobs.len() as u64);
            for (at, job) in jobs.iter().enumerate() {
                live.reach(at as u64);
                encode(job, at, to).with_context(|| job.file.display().to_string())?;
            }
            Ok(None)
        })?;
        settings.insert(ENCODED.into(), cached.path.display().to_string());
        Ok(())
    }

    fn measure(&self, job: &Job) -> Result<RunRecord> {
        let setup = Instant::now();
        let blocks = blocks(Path::new(job.setting(ENCODED)?))?;
        let (threads, rounds): (usize, usize) = (job.parsed("threads")?, job.parsed("rounds")?);
        ensure!(rounds > 0, "rounds: expected one or more, found 0");
        let setup_s = setup.elapsed().as_secs_f64();
        let clock = RunClock::start();
        let mut all = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            all.push(round(&blocks, threads)?);
        }
        let (wall_s, cpu) = (clock.wall_s(), clock.cpu());
        let mut record = RunRecord::new(blockmill_cli::program::this(), "");
        record.data.blocks = (blocks.len() * rounds) as u64;
        record.take_usage(cpu);
        record.took(wall_s);
        record.facts.set("setup_s", setup_s);
        let first = all.first().map_or(&[][..], Vec::as_slice);
        let gas: u64 = first.iter().map(|one| one.done.gas_used).sum();
        record.facts.count("gas", gas * rounds as u64);
        record.facts.set(MGAS_PER_S, (gas * rounds as u64) as f64 / 1e6 / wall_s);
        record.answer.insert("state_roots".into(), digest(first));
        let series = series(&all);
        let times = series.values("decode").iter().zip(series.values("execute"));
        let mut times: Vec<f64> = times.map(|(decode, execute)| decode + execute).collect();
        let Percentiles { p50, p95, p99, max } = Percentiles::from_values(&mut times);
        for (name, seconds) in [("p50", p50), ("p95", p95), ("p99", p99), ("max", max)] {
            record.facts.set(&format!("block_{name}_s"), seconds);
        }
        record.series.push(series);
        Ok(record)
    }
}

/// A block, encoded, and its chain.
struct Encoded {
    spec: Arc<ChainSpec>,
    block: Vec<u8>,
    witness: Vec<u8>,
}

/// An executed block, and how long it took in seconds.
struct Executed {
    done: Stateless,
    decode_s: f64,
    execute_s: f64,
}

/// Writes block and witness of some files, whatever their form, as RLP. The names have the chain
/// id, and the place, which gives the order.
fn encode(job: &witnesses::Job, at: usize, to: &Path) -> Result<()> {
    let read = |path: &Path| -> Result<Document> { Ok(Document::read(&witnesses::read(path)?)?) };
    let witness = match (read(&job.file)?, &job.block) {
        (Document::Whole(witness), _) => witness,
        (Document::Bare(parts), Some(block)) => match read(block)? {
            Document::Block(block) => Witness::from_parts(block, parts),
            _ => bail!("{}: expected a block", block.display()),
        },
        _ => bail!("expected a block with its witness"),
    };
    // of a file without chain id, the main network's
    let chain = witness.chain_id.unwrap_or(1);
    witness.execute(&spec_of(chain)?)?;
    for (ending, bytes) in ENDINGS.iter().zip([witness.block(), &witness.to_rlp()]) {
        fs::write(to.join(format!("{chain}-{at:05}.{ending}")), bytes)?;
    }
    Ok(())
}

fn spec_of(chain: u64) -> Result<ChainSpec> {
    let mut all = ChainSpec::NETWORKS.iter().filter_map(|name| ChainSpec::by_name(name));
    let found = all.find(|spec| spec.chain_id == U256::from(chain));
    found.with_context(|| format!("chain {chain}: expected a public network"))
}

/// The encoded blocks of a folder, in order.
fn blocks(folder: &Path) -> Result<Vec<Encoded>> {
    let mut specs = BTreeMap::new();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(stem) = name.strip_suffix(ENDINGS[0]) else { continue };
        let witness = path.with_file_name(format!("{stem}{}", ENDINGS[1]));
        let numbers = stem.trim_end_matches('.').split_once('-').context("expected CHAIN-PLACE")?;
        let (chain, at): (u64, u64) = (numbers.0.parse()?, numbers.1.parse()?);
        if let std::collections::btree_map::Entry::Vacant(free) = specs.entry(chain) {
            free.insert(Arc::new(spec_of(chain)?));
        }
        let spec = Arc::clone(&specs[&chain]);
        found.insert(at, Encoded { spec, block: fs::read(&path)?, witness: fs::read(witness)? });
    }
    Ok(found.into_values().collect())
}

/// Executes each block once, on so many threads.
fn round(blocks: &[Encoded], threads: usize) -> Result<Vec<Executed>> {
    // codes are analysed anew in each round: a block is only executed once
    let codes = Arc::<CodeCache>::default();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, blocks.len().max(1)) {
            scope.spawn(|| {
                while let at = next.fetch_add(1, Relaxed)
                    && let Some(block) = blocks.get(at)
                {
                    let result = block.execute(&codes);
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

impl Encoded {
    fn execute(&self, codes: &Arc<CodeCache>) -> Result<Executed> {
        let start = Instant::now();
        let (block, parts) = match (Document::read(&self.block)?, Document::read(&self.witness)?) {
            (Document::Block(block), Document::Bare(parts)) => (block, parts),
            _ => bail!("expected a block and its witness"),
        };
        let witness = Witness::from_parts(block, parts);
        let decode_s = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let done = witness.execute_with(&self.spec, codes, Reading::Strict)?;
        drop(witness);
        Ok(Executed { done, decode_s, execute_s: start.elapsed().as_secs_f64() })
    }
}

/// Keccak-256 of all state roots.
fn digest(blocks: &[Executed]) -> String {
    let roots: Vec<Hash> = blocks.iter().map(|one| one.done.state_root).collect();
    Hex(&blockmill_hashes::keccak256(roots.as_flattened())).to_string()
}

/// The times of each block: medians of the rounds.
fn series(rounds: &[Vec<Executed>]) -> Series {
    let blocks = rounds.first().map_or(&[][..], Vec::as_slice);
    let of = |value: &dyn Fn(&Executed) -> f64| -> Vec<f64> { blocks.iter().map(value).collect() };
    let time = |value: &dyn Fn(&Executed) -> f64| -> Vec<f64> {
        let all = |at: usize| rounds.iter().map(|round| value(&round[at])).collect::<Vec<_>>();
        (0..blocks.len()).map(|at| median(&all(at)).unwrap_or_default()).collect()
    };
    Series::new(BLOCK)
        .index(FIRST, "block", of(&|one| one.done.number as f64))
        .index(BLOCKS, "", vec![1.0; blocks.len()])
        .index("gas", "", of(&|one| one.done.gas_used as f64))
        .measured("decode", "s", time(&|one| one.decode_s))
        .measured("execute", "s", time(&|one| one.execute_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_witnesses_and_no_rounds_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let mut settings = Settings::from([("paths".into(), path.clone())]);
        let prepared = Witnesses.prepare(&mut settings, folder.path(), &mut |_| {});
        assert!(prepared.unwrap_err().to_string().contains("expected a folder of witnesses"));
        let values = [(ENCODED, path.as_str()), ("threads", "1"), ("rounds", "0")];
        let settings = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let measured = Witnesses.measure(&Job { settings, ..Job::default() });
        assert!(measured.unwrap_err().to_string().contains("rounds"));
    }

    #[blockmill_testkit::needs(fixtures)]
    #[test]
    fn every_real_block_is_executed_with_each_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let given = blockmill_testkit::fixture("ethereum/witness");
        let mut settings = Settings::from([("paths".into(), given.display().to_string())]);
        Witnesses.prepare(&mut settings, folder.path(), &mut |_| {}).unwrap();
        let mut answers = vec![];
        for (threads, rounds) in [("1", "1"), ("3", "2")] {
            let mut settings = settings.clone();
            settings.insert("threads".into(), threads.into());
            settings.insert("rounds".into(), rounds.into());
            let record = Witnesses.measure(&Job { settings, ..Job::default() }).unwrap();
            let series = record.series(BLOCK).unwrap();
            assert_eq!(series.len(), 22);
            assert!(series.values("execute").iter().all(|seconds| *seconds > 0.0));
            answers.push((record.answer.clone(), series.values("gas").to_vec()));
        }
        assert_eq!(answers[0], answers[1]);
    }
}
