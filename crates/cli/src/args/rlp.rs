//! The command line of `bench rlp`.

use super::Force;
use clap::{Args, value_parser};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct RlpOnce {
    #[arg(long)]
    pub case: String,
    #[arg(long)]
    pub op: String,
    #[arg(long)]
    pub writer: String,
    #[arg(long)]
    pub samples: u32,
    #[arg(long)]
    pub min_ms: u32,
    #[arg(long)]
    pub iterations: Option<u64>,
}

#[derive(Args, Clone, Debug)]
pub struct BenchRlp {
    /// Run the other libraries of benchmarks/engines.toml on the same objects
    #[arg(long)]
    pub peers: bool,
    /// Rounds; each round runs everything once, in turn
    #[arg(long, default_value_t = 3, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Sizes of lists and blocks
    #[arg(long, default_value = "8,80,320,640,1280", value_name = "N", value_delimiter = ',')]
    pub transactions: Vec<usize>,
    /// Objects: transaction, header, transactions-N, block-N, headers-N [default: both, and each
    /// list and block of the sizes of --transactions]
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub cases: Vec<String>,
    /// Samples in a process; the more, the steadier their median
    #[arg(long, default_value_t = 21, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000))]
    pub samples: u32,
    /// Least time of a sample in milliseconds
    #[arg(long, default_value_t = 5, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(..=60_000))]
    pub min_ms: u32,
    /// Count instructions with valgrind instead of measuring time, and compare with the counts of
    /// benchmarks/record/rlp-instructions.csv
    #[arg(long, conflicts_with_all = ["peers", "runs", "samples", "min_ms"])]
    pub instructions: bool,
    /// Folder for the record, tables and charts
    #[arg(long, default_value = "blockmill-report/rlp", value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub force: Force,
    /// Folder that holds engines.toml and the peers' sources
    #[arg(long, default_value = "benchmarks", value_name = "DIR")]
    pub engines: PathBuf,
}
