//! Flags of `unwind`, `test` and `witness`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct Unwind {
    /// Folder of a store of Ethereum or Neo blocks
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// The block that is the last one afterwards
    #[arg(long, value_name = "N")]
    pub to: u64,
}

#[derive(Args, Clone, Debug)]
pub struct Test {
    /// Files of ethereum/tests, or folders with such files
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub struct Witness {
    /// Files with a block and the state that it needs, as JSON, also compressed (gzip, zstd)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// mainnet, sepolia, holesky, hoodi or a genesis.json [default: by the chain's number]
    #[arg(long, value_name = "NAME|FILE")]
    pub chain: Option<String>,
}
