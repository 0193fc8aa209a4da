//! Flags of `check`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct Check {
    /// Folder of a store; or a snapshot, as `convert --to snapshot` writes it
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Rebuild a corrupt index; cut a store of Ethereum or Neo blocks back to the last block before
    /// any other corruption; give up a corrupt state of Ethereum or corrupt coins of Bitcoin, which
    /// the next import builds again, or a corrupt undo log of Neo
    #[arg(long)]
    pub repair: bool,
    /// Threads that read [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub threads: Option<u64>,
}
