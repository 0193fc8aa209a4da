//! The line of JSON that a peer prints, as a run record.

use anyhow::{Context, Result, bail};
use pipeline::record::{ChunkTimes, Program, RunRecord, Seal, VALIDATION, WRITE};
use serde::Deserialize;

use super::engines::Engine;
use super::process::{Ended, last_line};

/// What a program of `benchmarks/engines/geth-headers` prints after a run; times are seconds.
#[derive(Debug, Deserialize)]
pub struct Costs {
    client: String,
    go: String,
    freq: u64,
    headers: u64,
    open_s: f64,
    cache_warm_s: f64,
    wall_s: f64,
    cpu_user_s: f64,
    cpu_sys_s: f64,
    peak_rss_bytes: u64,
    head: u64,
    head_hash: String,
    chunks: Vec<Chunk>,
}

/// One batch of headers.
#[derive(Debug, Deserialize)]
struct Chunk {
    first: u64,
    count: u64,
    decode_s: f64,
    validate_s: f64,
    write_s: f64,
    end_s: f64,
}

/// What it prints when it stops at a header, or before.
#[derive(Debug, Deserialize)]
struct Failure {
    error: String,
    stage: Option<String>,
    index: Option<u64>,
}

/// Reads what a program printed.
///
/// # Errors
/// The client's own reason if it stopped, or what it printed if that is not a measured run.
pub fn parse(ended: &Ended) -> Result<Costs> {
    let line = ended.stdout.lines().last().unwrap_or_default();
    if ended.status.success() {
        return serde_json::from_str(line).context("what it printed is not a measured run");
    }
    match serde_json::from_str::<Failure>(line) {
        Ok(Failure { error, stage: Some(stage), index: Some(index) }) => {
            bail!("{stage} stopped at header {index} of the input: {error}")
        }
        Ok(Failure { error, .. }) => bail!("{error}"),
        Err(_) => bail!("{}: {}", ended.status, last_line(&ended.stderr)),
    }
}

/// The record of a run, without what the caller knows: command, time, machine and input files.
///
/// # Errors
/// When the figures contradict each other, or another version ran than `engine` names.
pub fn to_record(engine: &Engine, costs: Costs, ended: &Ended) -> Result<RunRecord> {
    check(engine, &costs)?;
    let program = Program {
        name: engine.client.clone(),
        version: engine.version.clone(),
        revision: String::new(),
    };
    let mut record = RunRecord::new(program, engine.label.clone());
    record.level = "headers".to_owned();
    record.data.chain = "mainnet".to_owned();
    record.data.blocks = costs.headers;
    record.data.first = costs.chunks.first().map_or(0, |chunk| chunk.first);
    record.data.last = costs.head;
    record.phases = ["decode", VALIDATION, WRITE].map(String::from).to_vec();
    record.chunks = costs.chunks.iter().map(ChunkTimes::from).collect();
    record.totals.wall_s = costs.wall_s;
    record.totals.setup_s = costs.open_s + costs.cache_warm_s;
    record.totals.cpu_user_s = costs.cpu_user_s;
    record.totals.cpu_sys_s = costs.cpu_sys_s;
    record.totals.peak_rss_bytes = costs.peak_rss_bytes.max(ended.peak_rss_bytes);
    record.result.tip_number = costs.head;
    record.result.tip_hash = costs.head_hash.clone();
    record.result.committed = Some(costs.head);
    record.notes = notes(engine, &costs, ended);
    if engine.seals.is_some() {
        record.seal = Some(seal(&costs));
    }
    record.sum_up();
    Ok(record)
}

/// How seals were checked. The client draws its own sample in each batch and does not tell its
/// size, which is at least this.
fn seal(costs: &Costs) -> Seal {
    let mode = match costs.freq {
        0 => "off".to_owned(),
        1 => "all".to_owned(),
        n => format!("1/{n}"),
    };
    let in_batch = |chunk: &Chunk| chunk.count.checked_div(costs.freq).unwrap_or(0);
    Seal { mode, seed: 0, checked: costs.chunks.iter().map(in_batch).sum() }
}

fn notes(engine: &Engine, costs: &Costs, ended: &Ended) -> Vec<String> {
    let mut notes = vec![
        engine.checks.clone(),
        format!("built with {}", costs.go),
        "decode includes reading and decompressing".to_owned(),
        format!(
            "the process took {:.3} s, of which {:.3} s opened the database and {:.3} s made \
             ethash caches before the clock of wall_s was started",
            ended.elapsed.as_secs_f64(),
            costs.open_s,
            costs.cache_warm_s
        ),
    ];
    if engine.seals.is_some() && costs.freq > 1 {
        notes.push(
            "the number of seals is the least: the last header of a batch comes on top".to_owned(),
        );
    }
    notes
}

/// Holds the figures against each other.
fn check(engine: &Engine, costs: &Costs) -> Result<()> {
    if costs.client != engine.version {
        bail!("{}: {} ran instead of {}", engine.name, costs.client, engine.version);
    }
    let in_chunks: u64 = costs.chunks.iter().map(|chunk| chunk.count).sum();
    if costs.headers == 0 || in_chunks != costs.headers {
        bail!("{}: {} headers, {in_chunks} in its chunks", engine.name, costs.headers);
    }
    let digits = costs.head_hash.strip_prefix("0x").unwrap_or_default();
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        bail!("{}: {:?} is not a block hash", engine.name, costs.head_hash);
    }
    Ok(())
}

impl From<&Chunk> for ChunkTimes {
    fn from(chunk: &Chunk) -> Self {
        Self {
            first: chunk.first,
            blocks: chunk.count,
            busy_s: vec![chunk.decode_s, chunk.validate_s, chunk.write_s],
            end_s: chunk.end_s,
        }
    }
}
