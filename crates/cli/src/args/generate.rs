//! Flags of `generate`.

use super::{Outputs, target};
use crate::ethereum::generate::{fork, work};
use blockmill_archive::Target;
use clap::{Args, ValueEnum, value_parser};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct GenerateEthereum {
    /// Number of the last header (the genesis block is added)
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub headers: u64,
    /// Generate a chain of full blocks with this many signed transfers instead: an RLP export
    /// and its genesis.json, in a folder
    #[arg(long, value_name = "N", conflicts_with_all = ["headers", "format"])]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub transfers: Option<u64>,
    /// The most transfers in a block [default: as many as 30,000,000 gas go for]
    #[arg(long, value_name = "N", requires = "transfers")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub block_transfers: Option<u64>,
    /// Generate a chain that can be executed instead, whose transactions do this: an RLP export
    /// and its genesis.json, in a folder
    #[arg(long, value_parser = work(), conflicts_with_all = ["headers", "format", "transfers"])]
    pub work: Option<String>,
    #[command(flatten)]
    pub executable: Executable,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Format to write
    #[arg(long, value_parser = target(), default_value = "headers")]
    pub format: &'static Target,
    /// File or folder to write
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    #[command(flatten)]
    pub outputs: Outputs,
}

/// How large a chain is that can be executed, and under which rules.
#[derive(Args, Clone, Debug)]
pub struct Executable {
    /// The rules of all its blocks
    #[arg(long, value_parser = fork(), default_value = "osaka", requires = "work")]
    pub fork: String,
    /// A later fork, which begins after half of the blocks
    #[arg(long, value_parser = fork(), requires = "work")]
    pub next_fork: Option<String>,
    /// Blocks after the genesis block [default: by the kind of work, like the next two]
    #[arg(long, value_name = "N", requires = "work")]
    pub blocks: Option<u64>,
    /// The most transactions in a block
    #[arg(long, value_name = "N", requires = "work")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub block_transactions: Option<u64>,
    /// Accounts that sign transactions; tokens belong to them
    #[arg(long, value_name = "N", requires = "work")]
    #[arg(value_parser = value_parser!(u64).range(16..=1 << 24))]
    pub accounts: Option<u64>,
    /// Slots of the contract that --work storage calls, rounded up to a power of two
    #[arg(long, value_name = "N", requires = "work", default_value_t = 1 << 20)]
    #[arg(value_parser = value_parser!(u64).range(1..=1 << 28))]
    pub slots: u64,
}

#[derive(Args, Clone, Debug)]
pub struct GenerateBitcoin {
    /// Inputs of the whole chain
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub inputs: u64,
    /// Least number of blocks; those that no input is left for are empty
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub blocks: u32,
    /// Inputs after which a block is full
    #[arg(long, default_value_t = 7_000, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub block_inputs: u64,
    /// Unspent coins that there are before blocks look like those of the main network [default: as
    /// many as 8 full blocks spend]
    #[arg(long, value_name = "N")]
    pub coins: Option<u64>,
    /// Extra bytes in each block, for long archives in little time (with --inputs 0)
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub padding: usize,
    /// Blocks name parents that nobody has (only with --inputs 0)
    #[arg(long)]
    pub unlinked: bool,
    /// Inputs of one transaction with scripts of no usual form, alone in the last block: the
    /// worst for whoever checks scripts (with --inputs 0)
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub unusual: u64,
    /// Branches of one or two blocks that lose against the chain
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub stale: u32,
    /// Blocks that are stored twice
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub duplicates: u32,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Order of the blocks in the files
    #[arg(long, value_enum, default_value = "height")]
    pub order: Order,
    /// Obfuscate the files with a random key, which xor.dat holds
    #[arg(long)]
    pub xor: bool,
    /// Most bytes of a file
    #[arg(long, default_value_t = 128 << 20, value_name = "BYTES")]
    pub file_size: u64,
    /// Folder for blk00000.dat and the files after it
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub outputs: Outputs,
}

#[derive(Args, Clone, Debug)]
pub struct GenerateNeo {
    /// Blocks of load; the first block and those that give every account something come on top
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub blocks: u32,
    /// Transactions of a block
    #[arg(long, default_value_t = 500, value_name = "M")]
    pub txs: u32,
    /// Put transactions into one block of so many; the others are empty
    #[arg(long, default_value_t = 1, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..))]
    pub every: u32,
    /// Accounts that send and get
    #[arg(long, default_value_t = 10_000, value_name = "A")]
    #[arg(value_parser = value_parser!(u32).range(1..=2_000_000))]
    pub accounts: u32,
    /// All kinds of transactions instead of transfers of GAS: contracts that are deployed, called,
    /// updated and destroyed, faults, votes, oracle requests and their answers, deposits for
    /// notaries and transactions that they complete, settings
    #[arg(long)]
    pub mixed: bool,
    /// Put state roots into headers
    #[arg(long)]
    pub state_roots: bool,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Folder for chain.acc and chain.yml
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub outputs: Outputs,
}

/// The order of blocks in block files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By height
    Height,
    /// Any
    Shuffled,
    /// The tip first
    Reversed,
    /// Each near its height, as Bitcoin Core downloads them from many peers
    Download,
}
