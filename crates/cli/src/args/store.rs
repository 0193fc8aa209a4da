//! The command line of `bench store`.

use super::Force;
use clap::{Args, value_parser};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct StoreOnce {
    #[arg(long)]
    pub dir: PathBuf,
    #[arg(long)]
    pub case: String,
    #[arg(long)]
    pub op: String,
}

#[derive(Args, Clone, Debug)]
pub struct BenchStore {
    /// Run the other stores of benchmarks/engines.toml on the same keys
    #[arg(long)]
    pub peers: bool,
    /// Rounds; each begins with empty databases
    #[arg(long, default_value_t = 3, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Databases: warm-N has N keys, 1 GiB of memory and its files in the page cache; cold-N has
    /// 64 MiB, and its files are dropped from the page cache before each operation
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    #[arg(default_value = "warm-1000000,cold-1000000,warm-10000000,cold-10000000")]
    pub cases: Vec<String>,
    /// Folder for the databases [default: a temporary one]; 10,000,000 keys take 2 to 6 GB a store
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Folder for the record and tables
    #[arg(long, default_value = "blockmill-report/store", value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub force: Force,
    /// Folder that holds engines.toml and the peers' sources
    #[arg(long, default_value = "benchmarks", value_name = "DIR")]
    pub engines: PathBuf,
}
