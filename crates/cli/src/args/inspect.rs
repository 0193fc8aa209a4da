//! Flags of `inspect`.

use super::{Force, Remote};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct Inspect {
    /// Archives: files or folders; or a store of ours, or a Bitcoin Core datadir
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Read and decode every record; of Bitcoin blocks check all that needs no coins
    #[arg(long)]
    pub deep: bool,
    /// Compare the files with this list of SHA-256 checksums first [default: checksums.txt next to
    /// them, if there is one]
    #[arg(long, value_name = "FILE")]
    pub checksums: Option<PathBuf>,
    #[command(flatten)]
    pub remote: Remote,
    /// Write a list of the SHA-256 checksums of the files
    #[arg(long, value_name = "FILE")]
    pub checksums_out: Option<PathBuf>,
    #[command(flatten)]
    pub replace: Force,
    /// Store of Neo blocks: a block, its transactions, the state root after it
    #[arg(long, value_name = "HEIGHT")]
    pub block: Option<u32>,
    /// Store of executed Neo blocks: a transaction and its application log
    #[arg(long, value_name = "HASH")]
    pub transaction: Option<String>,
    /// Store of executed Neo blocks: what an account has, and its transfers
    #[arg(long, value_name = "ADDRESS|HASH")]
    pub account: Option<String>,
    /// --account: the network whose rules contracts are asked by [default: that of the store]
    #[arg(long, value_name = "NAME|FILE", requires = "account")]
    pub chain: Option<String>,
}

impl Inspect {
    /// An inspection of paths as a whole.
    pub fn whole(paths: Vec<PathBuf>, deep: bool) -> Self {
        Self {
            paths,
            deep,
            checksums: None,
            remote: Remote::default(),
            checksums_out: None,
            replace: Force::default(),
            block: None,
            transaction: None,
            account: None,
            chain: None,
        }
    }
}
