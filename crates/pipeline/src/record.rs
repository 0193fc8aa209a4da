//! The run record: one JSON document with the results of one run, its input, and where the time
//! went.
//!
//! Every table, chart and page is generated from these records and from nothing else, so a figure
//! can always be traced to its run. An import has a record, and so has a measurement of one
//! operation and a run of a peer. The fields are specified in `docs/formats/run-record.md`.

mod facts;
mod file;
mod load;
mod of_run;
mod percentile;
mod profile;
mod series;

use std::collections::BTreeMap;

pub use blockmill_verdict::BlockRef;
use blockmill_verdict::{FaultReport, Shortfall, Status};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::times::{StageTimes, ThreadTimes};
use crate::usage::CpuTimes;
pub use facts::{BLOCKS_PER_S, CPU_SYS_S, CPU_USER_S, Facts, MGAS_PER_S, PEAK_RSS_BYTES, WALL_S};
pub use file::{RecordError, read_json, write_json};
pub use load::{Load, LoadWatch};
pub use percentile::Percentiles;
pub use profile::{Profile, Stack};
pub use series::{
    BLOCK, BLOCKS, CHUNK, ChunkTimes, Column, END_S, FIRST, SAMPLE, SLICE, SLOWEST_BLOCK, START_S,
    Series, TIME_NS,
};

/// The schema version that this program writes and reads.
pub const SCHEMA: u32 = 4;

/// The stage that reads an archive.
pub const READ: &str = "read";
/// The part of the stage `check` that decompresses and decodes.
pub const CHECK_DECODE: &str = "check: decode";
/// The part of the stage `check` that hashes and verifies. With [`WRITE`] one of the two phases
/// that the reference for headers (holiman/headerimport) measures.
pub const CHECK_VERIFY: &str = "check: verify";
/// The part of the stage `check` that recovers the senders of transactions.
pub const CHECK_SENDERS: &str = "check: senders";
/// The stage that ties chunks to the chain.
pub const LINK: &str = "link";
/// The stage that executes transactions in order.
pub const EXECUTE: &str = "execute";
/// The stage that writes to the store.
pub const WRITE: &str = "write";

/// Everything that is recorded about one run.
///
/// When a record is read, unknown fields are ignored. `schema`, `label` and `facts` must be there;
/// any other field that is missing gets its empty value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of this layout; see [`SCHEMA`].
    pub schema: u32,
    /// The program that ran.
    #[serde(default)]
    pub program: Program,
    /// Label of the run in tables: a step of a ladder, a peer, or `import`.
    pub label: String,
    /// The command line, one entry for each argument.
    #[serde(default)]
    pub command: Vec<String>,
    /// When the run started, in seconds since 1970-01-01T00:00:00Z.
    #[serde(default)]
    pub started_unix: f64,
    /// The machine that it ran on.
    #[serde(default)]
    pub machine: Machine,
    /// Load of other processes in the meantime; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// The archive that was imported; empty when none was.
    #[serde(default)]
    pub data: Data,
    /// Verification level: `headers`, `bodies` or `execution`; empty when nothing was verified.
    #[serde(default)]
    pub level: String,
    /// Other settings, by name: `seal`, `threads`, `case`, ...
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The options of `--with` that were set, by name.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Busy and waiting time of each stage, in the order in which data passes them.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// Busy and idle time of each thread that passed data through the stages.
    #[serde(default)]
    pub threads: Vec<Thread>,
    /// Measured and counted values.
    pub facts: Facts,
    /// Values measured along the chain, or repeatedly.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Where its CPU time went, function by function; none unless that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Results other than the last block, by name: `coins_hash`, `digest`, ... Two runs of the same
    /// work agree in all names that both have.
    #[serde(default)]
    pub answer: BTreeMap<String, String>,
    /// How the run ended.
    #[serde(default)]
    pub result: Outcome,
    /// What every reader should know besides the result.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How the work was done, for readers of the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// All rounds of an import that follows a growing archive; the rest of the record is of one of
    /// them. `None` for any other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub following: Option<Rounds>,
}

/// The rounds of an import that follows a growing archive, all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rounds {
    /// How many have begun.
    pub rounds: u64,
    /// How many stored blocks.
    pub stored: u64,
    /// Blocks that they stored.
    pub blocks: u64,
    /// Start of the first one, seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
}

/// Seconds since 1970-01-01T00:00:00Z.
pub fn unix_time() -> f64 {
    std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64()
}

impl RunRecord {
    /// An empty record of the current schema.
    pub fn new(program: Program, label: impl Into<String>) -> Self {
        Self {
            schema: SCHEMA,
            program,
            label: label.into(),
            command: Vec::new(),
            started_unix: 0.0,
            machine: Machine::default(),
            load: None,
            data: Data::default(),
            level: String::new(),
            settings: BTreeMap::new(),
            options: BTreeMap::new(),
            stages: Vec::new(),
            threads: Vec::new(),
            facts: Facts::default(),
            series: Vec::new(),
            profile: None,
            answer: BTreeMap::new(),
            result: Outcome::default(),
            notes: Vec::new(),
            details: Vec::new(),
            following: None,
        }
    }

    /// Sets what follows from the blocks of the run and the time that it took.
    pub fn took(&mut self, wall_s: f64) {
        self.facts.set(WALL_S, wall_s);
        self.facts.set(BLOCKS_PER_S, rate(self.data.blocks, wall_s));
    }

    /// Sets the CPU time of the run, and the most memory that this process has held so far. A
    /// process can do several runs: `cpu` is the difference between the end of this one and its
    /// start.
    pub fn take_usage(&mut self, cpu: CpuTimes) {
        self.facts.set(CPU_USER_S, cpu.user_s);
        self.facts.set(CPU_SYS_S, cpu.sys_s);
        if let peak @ 1.. = crate::usage::peak_rss_bytes() {
            self.facts.count(PEAK_RSS_BYTES, peak);
        }
    }

    /// The whole run on the clock on the wall, in seconds.
    pub fn wall_s(&self) -> f64 {
        self.facts.value(WALL_S)
    }

    /// CPU time of the process during the run, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.facts.value(CPU_USER_S) + self.facts.value(CPU_SYS_S)
    }

    /// The series with rows of this kind.
    pub fn series(&self, row: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.row == row)
    }

    /// Names of the phases that each chunk goes through, in order.
    pub fn phases(&self) -> Vec<&str> {
        let chunks = self.series(CHUNK).into_iter().flat_map(Series::measurements);
        chunks.map(|column| column.name.as_str()).collect()
    }

    /// Busy time of a phase over the whole run; 0 when the run has no such phase.
    pub fn busy_s(&self, phase: &str) -> f64 {
        let chunks = self.series(CHUNK).and_then(|chunks| chunks.column(phase));
        chunks.map_or(0.0, Column::sum)
    }

    /// Everything in which runs of the same work must agree, by name.
    pub fn answers(&self) -> BTreeMap<&str, String> {
        let mut all: BTreeMap<&str, String> =
            self.answer.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        if !self.result.tip_hash.is_empty() {
            all.insert("tip_number", self.result.tip_number.to_string());
            all.insert("tip_hash", self.result.tip_hash.clone());
        }
        all
    }
}

/// Items in a second; 0 when the time is too short to have been measured.
pub fn rate(items: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { items as f64 / seconds } else { 0.0 }
}

/// The program that ran, ours or a peer's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// Such as `blockmill` or `go-ethereum`.
    pub name: String,
    /// Version as the program prints it.
    pub version: String,
    /// Revision of its source; empty when not known.
    pub revision: String,
    /// The allocator that it was built with; empty when not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub allocator: String,
    /// The Cargo profile that it was built with, such as `release` or `dist`; empty when not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
}

/// The archive that was imported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Data {
    /// The paths that were given.
    pub paths: Vec<String>,
    /// Archive format: `era1`, `freezer`, `rlp`, ...
    pub format: String,
    /// Name of the network, such as `mainnet`.
    pub chain: String,
    /// Number of the first block.
    pub first: u64,
    /// Number of the last block, included.
    pub last: u64,
    /// How many blocks were processed.
    pub blocks: u64,
    /// Bytes read from the archive.
    pub bytes: u64,
    /// A checksum of the blocks, as `algorithm:hex`; `None` if no block was verified.
    pub checksum: Option<String>,
}

/// Busy and waiting time of one stage of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stage {
    /// The name that the pipeline gave it.
    pub name: String,
    /// Threads that can be in the stage at the same time.
    pub threads: u32,
    /// Time spent working, summed over the threads.
    pub busy_s: f64,
    /// Time in which it did not work, summed over the threads.
    pub wait_s: f64,
    /// Items that passed the stage.
    pub items: u64,
    /// Bytes that passed the stage.
    pub bytes: u64,
}

impl Stage {
    /// The times of a stage that this many items and bytes passed.
    pub fn from_times(times: &StageTimes, items: u64, bytes: u64) -> Self {
        Self {
            name: times.name.into(),
            threads: times.threads,
            busy_s: times.busy.as_secs_f64(),
            wait_s: times.wait.as_secs_f64(),
            items,
            bytes,
        }
    }
}

/// One thread of the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thread {
    /// Time in stages.
    pub busy_s: f64,
    /// Time in none.
    pub idle_s: f64,
}

impl From<&ThreadTimes> for Thread {
    fn from(times: &ThreadTimes) -> Self {
        Self { busy_s: times.busy.as_secs_f64(), idle_s: times.idle.as_secs_f64() }
    }
}

/// The work of a Bitcoin chain: how many hashes its blocks took on average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// From the genesis block to the tip, 64 hexadecimal digits, as Bitcoin Core's `chainwork`.
    pub chain: String,
    /// That which the chain of this network had when the program was released; `None` where there
    /// is none to compare with.
    pub known: Option<String>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Number of the last block that was verified.
    pub tip_number: u64,
    /// Its hash, `0x` and hexadecimal digits.
    pub tip_hash: String,
    /// When it was made, as its header says: seconds since 1970-01-01T00:00:00Z.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip_time: Option<u64>,
    /// Work of the chain of block files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// Total difficulty at the tip, decimal; `None` if the chain has none or the run began in the
    /// middle of it.
    pub total_difficulty: Option<String>,
    /// The trusted block if the archive begins in the middle of the chain; `None` if the run began
    /// at the genesis block.
    pub anchor: Option<BlockRef>,
    /// Blocks whose hash the user gave, and which matched.
    pub trusted: Vec<BlockRef>,
    /// Accumulators of era1 and ere files that were recomputed and found equal.
    pub accumulators: u64,
    /// The last block that a later run will not repeat; `None` if nothing was stored.
    pub committed: Option<u64>,
    /// Why the run stopped before the end; none after success.
    pub error: Option<String>,
    /// How it ended, in one word.
    pub status: Status,
    /// The error in parts; none after success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultReport>,
    /// Parts that the archive lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<Shortfall>,
    /// What was checked of every block, each in a few words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checked: Vec<String>,
    /// Parts of the input that were not checked, each in a sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
}
