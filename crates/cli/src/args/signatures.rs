//! Flags of `bench signatures`.

use super::Force;
use clap::{Args, value_parser};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct BenchSignatures {
    /// Operations: ecdsa, ecdsa-uncompressed, schnorr, tweaks, recover, p256, p256-repeated
    /// [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub operations: Vec<String>,
    /// Signatures in a batch
    #[arg(long, default_value = "8,32,256,1024", value_name = "N", value_delimiter = ',')]
    #[arg(value_parser = value_parser!(u32).range(1..=65_536))]
    pub batches: Vec<u32>,
    /// Threads that work at once, each on its own signatures [default: 1, and one for each core]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub threads: Vec<u32>,
    /// Rounds; each round measures every variant twice, in turn
    #[arg(long, default_value_t = 7, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Least time of a measurement in milliseconds
    #[arg(long, default_value_t = 30, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(..=60_000))]
    pub min_ms: u32,
    /// Folder for the record, tables and chart
    #[arg(long, default_value = "blockmill-report/signatures", value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub force: Force,
}
