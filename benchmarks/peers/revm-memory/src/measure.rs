//! What a run costs.

use crate::memory;
use alloy_consensus::Header;
use alloy_primitives::B256;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// Blocks of a chunk.
const CHUNK: usize = 64;

/// The line that a run prints: the part of a run record that it alone knows.
#[derive(Default, Serialize)]
pub struct Line {
    version: &'static str,
    facts: BTreeMap<&'static str, f64>,
    series: Vec<Series>,
    answer: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tip: Option<Tip>,
    notes: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Series {
    row: &'static str,
    columns: Vec<Column>,
}

#[derive(Serialize)]
struct Column {
    name: &'static str,
    unit: &'static str,
    values: Vec<f64>,
}

#[derive(Serialize)]
struct Tip {
    number: u64,
    hash: String,
}

impl Line {
    /// Of a run that failed.
    pub fn failed(version: &'static str, error: String) -> Self {
        Self { version, error: Some(error), ..Self::default() }
    }
}

/// Some blocks: the first, how many, when they ended, and their parts.
#[derive(Clone, Copy, Default)]
struct Chunk {
    first: f64,
    blocks: f64,
    end_s: f64,
    parts: [f64; 3],
}

/// The clocks of a run.
pub struct Costs {
    began: Instant,
    /// The last moment that was looked at.
    lap: Instant,
    cpu: [f64; 2],
    setup_s: f64,
    wall_s: f64,
    peak: f64,
    chunks: Vec<Chunk>,
    /// Number, gas and parts of each block.
    blocks: Vec<(f64, f64, [f64; 3])>,
    /// Since the last block.
    parts: [f64; 3],
    transactions: usize,
    gas: u64,
    stopped: Instant,
}

impl Costs {
    /// The clock of what comes before the blocks runs.
    pub fn begin() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            lap: now,
            cpu: [0.0; 2],
            setup_s: 0.0,
            wall_s: 0.0,
            peak: 0.0,
            chunks: vec![],
            blocks: vec![],
            parts: [0.0; 3],
            transactions: 0,
            gas: 0,
            stopped: now,
        }
    }

    /// The blocks begin.
    pub fn start(&mut self) {
        self.setup_s = self.began.elapsed().as_secs_f64();
        // the peak from here on; where the kernel does not do that it is that of the whole process
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        self.cpu = cpu_seconds();
        self.began = Instant::now();
        self.lap = self.began;
    }

    fn lap(&mut self) -> f64 {
        let before = std::mem::replace(&mut self.lap, Instant::now());
        (self.lap - before).as_secs_f64()
    }

    /// A block is decoded.
    pub fn decoded(&mut self) {
        self.parts[0] = self.lap();
    }

    /// Its senders are known.
    pub fn recovered(&mut self) {
        self.parts[1] = self.lap();
    }

    /// It is executed.
    pub fn executed(&mut self, header: &Header, transactions: usize) {
        self.parts[2] = self.lap();
        self.gas += header.gas_used;
        self.transactions += transactions;
        self.blocks.push((header.number as f64, header.gas_used as f64, self.parts));
        if self.chunks.last().is_none_or(|chunk| chunk.blocks as usize == CHUNK) {
            self.chunks.push(Chunk { first: header.number as f64, ..Chunk::default() });
        }
        let end_s = (self.lap - self.began).as_secs_f64();
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.blocks += 1.0;
            chunk.end_s = end_s;
            chunk.parts.iter_mut().zip(self.parts).for_each(|(all, part)| *all += part);
        }
    }

    /// The last block is executed.
    pub fn stop(&mut self) {
        self.stopped = Instant::now();
        self.wall_s = (self.stopped - self.began).as_secs_f64();
        let cpu = cpu_seconds();
        self.cpu = [cpu[0] - self.cpu[0], cpu[1] - self.cpu[1]];
        self.peak = memory::peak_rss_bytes() as f64;
    }

    /// What to print.
    pub fn line(&self, version: &'static str, last: &Header, root: B256) -> Line {
        let blocks: f64 = self.chunks.iter().map(|chunk| chunk.blocks).sum();
        let facts = [
            ("setup_s", self.setup_s),
            ("wall_s", self.wall_s),
            ("cpu_user_s", self.cpu[0]),
            ("cpu_sys_s", self.cpu[1]),
            ("peak_rss_bytes", self.peak),
            ("root_s", self.stopped.elapsed().as_secs_f64()),
            ("blocks", blocks),
            ("blocks_per_s", blocks / self.wall_s),
            ("transactions", self.transactions as f64),
            ("gas", self.gas as f64),
            ("mgas_per_s", self.gas as f64 / 1e6 / self.wall_s),
        ];
        let of = |value: fn(&Chunk) -> f64| self.chunks.iter().map(value).collect();
        let column = |name, unit, values| Column { name, unit, values };
        let columns = vec![
            column("first", "block", of(|chunk| chunk.first)),
            column("blocks", "", of(|chunk| chunk.blocks)),
            column("end_s", "s", of(|chunk| chunk.end_s)),
            column("decode", "s", of(|chunk| chunk.parts[0])),
            column("senders", "s", of(|chunk| chunk.parts[1])),
            column("execute", "s", of(|chunk| chunk.parts[2])),
        ];
        let of = |value: fn(&(f64, f64, [f64; 3])) -> f64| self.blocks.iter().map(value).collect();
        let blocks = vec![
            column("first", "block", of(|block| block.0)),
            column("blocks", "", vec![1.0; self.blocks.len()]),
            column("gas", "gas", of(|block| block.1)),
            column("decode", "s", of(|block| block.2[0])),
            column("senders", "s", of(|block| block.2[1])),
            column("execute", "s", of(|block| block.2[2])),
        ];
        let series = |row, columns| Series { row, columns };
        Line {
            version,
            facts: facts.into(),
            series: vec![series("chunk", columns), series("block", blocks)],
            answer: [("state_root", root.to_string())].into(),
            tip: Some(Tip { number: last.number, hash: last.hash_slow().to_string() }),
            notes: vec!["the state root is made once, after the clock (root_s)"],
            error: None,
        }
    }
}

/// CPU time of this process, outside the kernel and inside.
fn cpu_seconds() -> [f64; 2] {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return [0.0; 2] };
    [usage.user_time(), usage.system_time()].map(|time| time.num_microseconds() as f64 / 1e6)
}
