//! The run record: one JSON document that says what one run did, on what, and where the time went.
//!
//! Every table, chart and page is made from these records and from nothing else, so a figure can
//! always be traced to the run that gave it. The fields are specified in
//! `docs/formats/run-record.md`. Times are seconds, sizes are bytes.

use std::collections::BTreeMap;

use chain::{FaultReport, Shortfall, Status};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::percentile::Percentiles;
pub use crate::record_file::RecordError;
use crate::record_schema_1;
use crate::times::{StageTimes, ThreadTimes};

/// The schema version that this program writes, and the newest one that it reads.
pub const SCHEMA: u32 = 2;

/// One of the two phases that the reference for headers (holiman/headerimport) measures, and so
/// does everything that is compared with it.
pub const VALIDATION: &str = "validation";
/// The other of the two.
pub const WRITE: &str = "write";

/// Everything that is recorded about one run.
///
/// When a record is read, unknown fields are ignored. `schema`, `label`, `data` and `totals` must
/// be there; any other field that is missing gets its empty value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of this layout; see [`SCHEMA`].
    pub schema: u32,
    /// The program that ran.
    #[serde(default)]
    pub program: Program,
    /// What the run is called in tables: the name of a rung or of a peer, or `import`.
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
    /// The archive that was imported.
    pub data: Data,
    /// Verification level: `headers`, `bodies` or `execution`.
    #[serde(default)]
    pub level: String,
    /// The switches that were set, by name.
    #[serde(default)]
    pub variants: BTreeMap<String, String>,
    /// How seals were checked; none for a program or a chain that checks no seals.
    #[serde(default)]
    pub seal: Option<Seal>,
    /// Busy and waiting time of each stage, in the order in which data passes them.
    #[serde(default)]
    pub stages: Vec<Stage>,
    /// Busy and idle time of each thread that passed data through the stages.
    #[serde(default)]
    pub threads: Vec<Thread>,
    /// Names of the phases that each chunk goes through, in order: what the busy times and the
    /// percentiles below are of.
    #[serde(default)]
    pub phases: Vec<String>,
    /// The series over the chain, in chain order.
    #[serde(default)]
    pub chunks: Vec<ChunkTimes>,
    /// The sums.
    pub totals: Totals,
    /// Percentiles over the chunks, for each phase.
    #[serde(default, deserialize_with = "record_schema_1::percentiles")]
    pub percentiles: Vec<Percentiles>,
    /// What only a run over Bitcoin block files has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reindex: Option<Reindex>,
    /// How the run ended.
    #[serde(default)]
    pub result: Outcome,
    /// What a reader of the figures should know.
    #[serde(default)]
    pub notes: Vec<String>,
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
            data: Data::default(),
            level: String::new(),
            variants: BTreeMap::new(),
            seal: None,
            stages: Vec::new(),
            threads: Vec::new(),
            phases: Vec::new(),
            chunks: Vec::new(),
            totals: Totals::default(),
            percentiles: Vec::new(),
            reindex: None,
            result: Outcome::default(),
            notes: Vec::new(),
        }
    }

    /// Fills what follows from the other fields: the sums over the chunks, the percentiles and the
    /// rate. `phases`, `totals.wall_s` and `data.blocks` must have been set.
    pub fn sum_up(&mut self) {
        let phases = 0..self.phases.len();
        self.totals.busy_s = phases.map(|phase| self.times(phase).sum()).collect();
        self.totals.blocks_per_s = rate(self.data.blocks, self.totals.wall_s);
        self.take_percentiles();
    }

    /// The percentiles of the chunks.
    pub(crate) fn take_percentiles(&mut self) {
        let of = |phase| Percentiles::of(&mut self.times(phase).collect::<Vec<_>>());
        self.percentiles = (0..self.phases.len()).map(of).collect();
    }

    /// The busy times of the chunks in a phase.
    fn times(&self, phase: usize) -> impl Iterator<Item = f64> + '_ {
        self.chunks.iter().map(move |chunk| chunk.busy_s.get(phase).copied().unwrap_or(0.0))
    }

    /// The place of a phase in the lists of busy times.
    pub fn phase(&self, name: &str) -> Option<usize> {
        self.phases.iter().position(|phase| phase == name)
    }

    /// Busy time of a phase over the whole run; 0 when the run has no such phase.
    pub fn busy_s(&self, phase: &str) -> f64 {
        let found = self.phase(phase).and_then(|at| self.totals.busy_s.get(at));
        found.copied().unwrap_or(0.0)
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
    /// A checksum of the blocks, as `algorithm:hex`; none when no block was verified.
    pub checksum: Option<String>,
}

/// How seals (proof of work) were checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seal {
    /// `off`, `all`, or a share such as `1/100`.
    pub mode: String,
    /// The seed of the random sample: the same seed picks the same headers again.
    pub seed: u64,
    /// How many seals were checked.
    pub checked: u64,
}

/// Busy and waiting time of one stage of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stage {
    /// The name that the pipeline gave it.
    pub name: String,
    /// Threads that could be in the stage at the same time.
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
    /// The times of a stage through which so many blocks and bytes went.
    pub fn of(times: &StageTimes, items: u64, bytes: u64) -> Self {
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

/// The times of one chunk of blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChunkTimes {
    /// Number of the first block of the chunk.
    pub first: u64,
    /// How many blocks the chunk holds.
    pub blocks: u64,
    /// Busy time in each phase.
    pub busy_s: Vec<f64>,
    /// When the chunk left the last phase, counted from the start of the run.
    pub end_s: f64,
}

/// Sums over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// The whole run on the clock on the wall.
    pub wall_s: f64,
    /// Busy time in each phase.
    pub busy_s: Vec<f64>,
    /// Work done once before the first block, such as making an ethash cache.
    pub setup_s: f64,
    /// CPU time of the process outside the kernel.
    pub cpu_user_s: f64,
    /// CPU time of the process inside the kernel.
    pub cpu_sys_s: f64,
    /// The most memory that the process held at once; 0 when not known.
    pub peak_rss_bytes: u64,
    /// Blocks in a second of `wall_s`.
    pub blocks_per_s: f64,
}

/// A run over Bitcoin block files: the index of their headers, then the blocks connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reindex {
    /// Name of the benchmark definition; empty for an import.
    pub definition: String,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Bytes read from them to find blocks; those of a memory map are not counted.
    pub index_bytes: u64,
    /// Blocks found, each as often as it is there.
    pub found: u64,
    /// Blocks that stand before their parents.
    pub out_of_order: u64,
    /// Of which were still in memory when their parents turned up.
    pub from_memory: u64,
    /// Of which were read again.
    pub from_disk: u64,
    /// Blocks without a parent in the files.
    pub orphans: u64,
    /// Blocks in branches beside the best chain.
    pub stale: u64,
    /// Finding and hashing headers.
    pub scan_s: f64,
    /// All of the index: scan, order, header rules, best chain, its file.
    pub index_s: f64,
    /// Connecting: from the end of the index to the last commit.
    pub connect_s: f64,
    /// Of which writing coins and undo data to disk.
    pub commit_s: f64,
    /// Times that was done.
    pub commits: u64,
    /// Transactions connected.
    pub transactions: u64,
    /// Inputs connected, those of coinbases not counted.
    pub inputs: u64,
    /// Inputs whose scripts ran.
    pub scripts: u64,
    /// Of which the script library decided.
    pub by_library: u64,
    /// Coins in the set at the end.
    pub coins: u64,
    /// Their hash, as `hash_serialized_3` of `gettxoutsetinfo`; empty when it was not computed.
    pub coins_hash: String,
    /// Bytes of memory that the tree of headers took, which is held throughout.
    pub tree_memory: u64,
    /// The most memory that the coins took at once, in bytes.
    pub coins_memory: u64,
    /// Blocks that a better chain left.
    pub disconnected: u64,
}

/// A block by its number and hash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockRef {
    /// Number of the block.
    pub number: u64,
    /// Its hash, `0x` and hexadecimal digits.
    pub hash: String,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Number of the last block that was verified.
    pub tip_number: u64,
    /// Its hash, `0x` and hexadecimal digits.
    pub tip_hash: String,
    /// Total difficulty at the tip, decimal; none when the chain has none or the run began in the
    /// middle of it.
    pub total_difficulty: Option<String>,
    /// The block that was believed without proof because the archive begins in the middle of the
    /// chain; none when the run began at the genesis block.
    pub anchor: Option<BlockRef>,
    /// Blocks whose hash the user gave, and which had it.
    pub trusted: Vec<BlockRef>,
    /// era1 accumulators that were recomputed and found equal.
    pub accumulators: u64,
    /// The last block that a later run will not repeat; none when nothing was stored.
    pub committed: Option<u64>,
    /// Why the run stopped before the end; none after success.
    pub error: Option<String>,
    /// How it ended, in one word.
    pub status: Status,
    /// The error in parts; none after success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultReport>,
    /// What the archive lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<Shortfall>,
}
