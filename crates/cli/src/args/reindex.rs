//! Flags of `bench reindex`.

use super::Force;
use bench::reindex::Definition;
use clap::{Args, value_parser};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct BenchReindex {
    /// Block files for `mainnet`, which shuffles their blocks [default: it is left out]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only these of pr (one block again and again, parent unknown), index (shuffled blocks of
    /// 1 MB), mainnet, connect (signed spends), connect-assumed (scripts taken as valid)
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<Definition>,
    /// A file with the block of `pr`, such as mainnet's 413567 [default: a generated one]
    #[arg(long, value_name = "FILE")]
    pub block: Option<PathBuf>,
    /// GB of blocks of `index`; `pr` has 0.134 or, where that is less, as much
    #[arg(long, default_value_t = 1.0, value_name = "GB", value_parser = gigabytes)]
    pub gb: f64,
    /// Inputs of the chain of `connect`
    #[arg(long, default_value_t = 500_000, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub inputs: u64,
    /// Run the rungs master, 16981, ... blockmill on pr and index
    #[arg(long)]
    pub ladder: bool,
    /// Run blockmill with each option at each of its other values, one at a time, on index and
    /// connect
    #[arg(long)]
    pub ablate: bool,
    /// Run the Bitcoin programs of benchmarks/engines.toml on the same blocks
    #[arg(long)]
    pub peers: bool,
    /// Rounds; each round runs everything once, in turn
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub runs: usize,
    /// Threads that verify and run scripts, here and in the peers [default: one for each core]
    #[arg(long, value_name = "N", value_parser = super::threads())]
    pub threads: Option<usize>,
    /// MiB of memory for coins, and for all caches of a peer
    #[arg(long, default_value_t = 450, value_name = "MIB")]
    #[arg(value_parser = value_parser!(u64).range(1..1 << 20))]
    pub cache: u64,
    /// Drop the block files from the page cache before each run
    #[arg(long)]
    pub cold: bool,
    /// Folder for records, tables and charts
    #[arg(long, default_value = "blockmill-report/reindex", value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub force: Force,
    /// Folder for blocks, which are kept, and stores [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Folder that holds engines.toml and the peers' sources
    #[arg(long, default_value = "benchmarks", value_name = "DIR")]
    pub engines: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub struct ReindexOnce {
    pub blocks: PathBuf,
    #[arg(long)]
    pub label: String,
    #[arg(long)]
    pub definition: Definition,
    #[arg(long)]
    pub rung: Option<String>,
    #[arg(long = "with")]
    pub with: Vec<String>,
    #[arg(long)]
    pub threads: usize,
    #[arg(long)]
    pub cache: u64,
    #[arg(long)]
    pub assume_valid: Option<String>,
    #[arg(long)]
    pub digest: bool,
    #[arg(long)]
    pub scratch: PathBuf,
    #[arg(long)]
    pub record: PathBuf,
}

fn gigabytes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(gb) if gb > 0.0 && gb <= 1_000.0 => Ok(gb),
        _ => Err("expected a number above 0, at most 1000".into()),
    }
}
