//! The peers of `bench reindex`: programs that reindex Bitcoin block files in a new datadir, tell
//! what it took as a line of JSON, and give statistics of the coins afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use pipeline::machine::Machine;
use pipeline::record::{Program, Reindex, RunRecord, Stage};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::LeftOut;
use super::engines::ProgramEngine;
use super::process::{self, Ended, last_line};
use super::workshop::{Engines, Workshop, utf8};

/// A peer named in `engines.toml`.
#[derive(Clone, Debug)]
pub struct BlockPeer {
    engine: ProgramEngine,
    pub(super) workshop: Workshop,
}

/// A peer that has been built.
#[derive(Clone, Debug)]
pub struct ReadyBlocks {
    engine: ProgramEngine,
    program: PathBuf,
    home: PathBuf,
}

/// What a peer is to do.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Folder of the block files.
    pub blocks: &'a Path,
    /// The network, by our name.
    pub chain: &'a str,
    /// Threads that run scripts, the one that connects included.
    pub threads: usize,
    /// MiB of all caches.
    pub cache: u64,
    /// Scripts up to the block of this hash are taken as valid.
    pub assume_valid: Option<&'a str>,
    /// The block files are dropped from the page cache before.
    pub cold: bool,
    /// Count and hash the coins afterwards, outside of the time.
    pub digest: bool,
}

/// What `reindex` prints; times are seconds.
#[derive(Debug, Deserialize)]
struct Times {
    version: String,
    files: u64,
    bytes: u64,
    height: u64,
    tip: String,
    open_s: f64,
    load_s: f64,
    connect_s: f64,
    flush_s: f64,
    total_s: f64,
    peak_memory_kib: u64,
}

/// What `utxo` prints.
#[derive(Debug, Deserialize)]
struct Coins {
    tip: String,
    coins: u64,
    hash_serialized_3: String,
}

/// Reads the peers of `bench reindex` from `engines.toml`, in the order of the file.
///
/// # Errors
/// When the file cannot be read, is not as described at its top, or names a tool that it does not
/// describe.
pub fn load(engines_toml: &Path) -> Result<Vec<BlockPeer>> {
    let engines = Engines::read(engines_toml)?;
    let peer = |engine: &ProgramEngine| {
        let workshop = engines.workshop(&engine.folder, &engine.needs)?;
        Ok(BlockPeer { engine: engine.clone(), workshop })
    };
    engines.file.bitcoin.iter().map(peer).collect()
}

impl BlockPeer {
    /// Name in `engines.toml`, such as `bitcoin-core`.
    pub fn name(&self) -> &str {
        &self.engine.name
    }

    /// Looks for the tools that the peer needs and builds it. The first build takes minutes and
    /// fetches its packages; a later one is quick.
    ///
    /// # Errors
    /// The line to show instead of the peer's figures.
    pub fn prepare(&self) -> Result<ReadyBlocks, LeftOut> {
        let left_out = |reason| LeftOut { peer: self.engine.name.clone(), reason };
        self.workshop.find_tools().map_err(left_out)?;
        let program = self.workshop.make("bitcoin", &self.engine);
        let program = program.map_err(|error| left_out(format!("{error:#}")))?;
        let home = self.workshop.home.clone();
        Ok(ReadyBlocks { engine: self.engine.clone(), program, home })
    }
}

impl ReadyBlocks {
    /// Reindexes into a new datadir, which is removed afterwards. In the record, `totals.wall_s`
    /// is all stages together; `reindex.connect_s` has the last write, as ours has.
    ///
    /// # Errors
    /// When the program refuses the blocks, cannot be run, prints something else than a measured
    /// run, or is of another version than `engines.toml` says.
    pub fn reindex(&self, job: &Job) -> Result<RunRecord> {
        let label = &self.engine.label;
        let runs = self.home.join("runs");
        fs::create_dir_all(&runs).with_context(|| format!("cannot make {}", runs.display()))?;
        let dir = tempfile::Builder::new().prefix("run-").tempdir_in(&runs)?;
        // the program wants to make it
        let datadir = dir.path().join("datadir");
        let line = self.command(job, &datadir)?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ended = self.run(&line)?;
        let times: Times = parse(&ended).with_context(|| label.clone())?;
        let mut record = self.record(job, &times, &ended)?;
        record.command = line;
        record.started_unix = started.as_secs_f64();
        if job.digest {
            let coins = self.coins(job, &datadir)?;
            ensure!(coins.tip == times.tip, "{label}: its coins are those of {}", coins.tip);
            if let Some(reindex) = &mut record.reindex {
                reindex.coins = coins.coins;
                reindex.coins_hash = coins.hash_serialized_3;
            }
        }
        Ok(record)
    }

    fn command(&self, job: &Job, datadir: &Path) -> Result<Vec<String>> {
        let mut line = vec![utf8(&self.program)?, "reindex".into(), "--keep".into()];
        let mut add = |name: &str, value: String| line.extend([name.to_owned(), value]);
        add("--dir", utf8(datadir)?);
        add("--chain", core_name(job.chain).to_owned());
        add("--threads", job.threads.saturating_sub(1).to_string());
        add("--cache", job.cache.to_string());
        if let Some(hash) = job.assume_valid {
            add("--assume-valid", hash.to_owned());
        }
        if job.cold {
            line.push("--cold".into());
        }
        line.push(utf8(job.blocks)?);
        Ok(line)
    }

    fn coins(&self, job: &Job, datadir: &Path) -> Result<Coins> {
        let mut line = vec![utf8(&self.program)?, "utxo".into()];
        line.extend(["--dir".into(), utf8(datadir)?]);
        line.extend(["--chain".into(), core_name(job.chain).into()]);
        parse(&self.run(&line)?).with_context(|| format!("{}: its coins", self.engine.label))
    }

    fn run(&self, line: &[String]) -> Result<Ended> {
        let (program, arguments) = line.split_first().context("empty command")?;
        process::watch(Command::new(program).args(arguments))
            .with_context(|| format!("cannot run {}", self.engine.label))
    }

    /// The record of a run, without its command, its start and its coins.
    fn record(&self, job: &Job, times: &Times, ended: &Ended) -> Result<RunRecord> {
        let engine = &self.engine;
        let expected = &engine.version;
        ensure!(times.version == *expected, "{} ran instead of {expected}", times.version);
        let digits = times.tip.bytes().all(|digit| digit.is_ascii_hexdigit());
        ensure!(times.tip.len() == 64 && digits, "{:?} is not a block hash", times.tip);
        let program = Program {
            name: engine.client.clone(),
            version: engine.version.clone(),
            ..Program::default()
        };
        let mut record = RunRecord::new(program, engine.label.clone());
        record.machine = Machine::detect();
        record.level = "execution".into();
        record.data.paths = vec![job.blocks.display().to_string()];
        record.data.format = "blk".into();
        record.data.chain = job.chain.into();
        record.data.last = times.height;
        record.data.blocks = times.height;
        record.data.bytes = times.bytes;
        record.stages = stages(times);
        record.totals.wall_s = times.total_s;
        record.sum_up();
        record.totals.peak_rss_bytes = ended.peak_rss_bytes.max(times.peak_memory_kib * 1024);
        record.result.tip_number = times.height;
        record.result.tip_hash = times.tip.clone();
        record.result.committed = Some(times.height);
        record.reindex = Some(Reindex {
            files: times.files,
            file_bytes: times.bytes,
            index_s: times.load_s,
            connect_s: times.connect_s + times.flush_s,
            commit_s: times.flush_s,
            ..Reindex::default()
        });
        Ok(record)
    }
}

/// The parts of a run, one after the other.
fn stages(times: &Times) -> Vec<Stage> {
    let stage =
        |name: &str, busy_s| Stage { name: name.into(), threads: 1, busy_s, ..Stage::default() };
    vec![
        stage("open", times.open_s),
        stage("load", times.load_s),
        stage("connect", times.connect_s),
        stage("close", times.flush_s),
    ]
}

/// Bitcoin Core's name of a network.
fn core_name(chain: &str) -> &str {
    if chain == "mainnet" { "main" } else { chain }
}

/// The line that the program printed.
fn parse<T: DeserializeOwned>(ended: &Ended) -> Result<T> {
    if !ended.status.success() {
        bail!("{}: {}", ended.status, last_line(&ended.stderr));
    }
    let line = ended.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(line).context("what it printed is not a measured run")
}
