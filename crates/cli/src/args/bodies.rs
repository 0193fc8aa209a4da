//! Flags of `bench bodies`.

use super::Force;
use clap::{Args, value_parser};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct BenchBodies {
    /// Transfers of the generated chain
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub transfers: u64,
    /// The most transfers in a block [default: as many as 30,000,000 gas go for]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub block_transfers: Option<u64>,
    /// Run the rungs: senders one by one, in lanes, in batches across blocks, stages overlapped
    #[arg(long)]
    pub ladder: bool,
    /// Run blockmill with each option of this level at each of its other values, one at a time
    #[arg(long)]
    pub ablate: bool,
    /// Rounds; each round runs everything once, in turn
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub runs: usize,
    /// Threads that verify [default: one for each core]
    #[arg(long, value_name = "N", value_parser = super::threads())]
    pub threads: Option<usize>,
    /// Folder for records, tables, charts and the page
    #[arg(long, default_value = "blockmill-report/bodies", value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub force: Force,
    /// Folder for the chain, which is kept, and stores [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub struct BodiesOnce {
    pub folder: PathBuf,
    #[arg(long)]
    pub label: String,
    #[arg(long = "with")]
    pub with: Vec<String>,
    #[arg(long)]
    pub threads: usize,
    #[arg(long)]
    pub scratch: PathBuf,
    #[arg(long)]
    pub record: PathBuf,
}
