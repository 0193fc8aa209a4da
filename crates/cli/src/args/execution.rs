//! Flags of `unwind`, `heal`, `test`, `witness` and `prove`.

use super::{Force, bytes_of, threads};
use clap::{Args, ValueEnum};
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
pub struct Heal {
    /// Folder of a store of Ethereum blocks that was imported --with state=flat+trie
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub struct Test {
    /// Files of ethereum/tests, of the execution specifications or of goevmlab, or folders with
    /// such files: blockchain, engine API, state and transaction tests
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only cases with this text in `NAME (NETWORK)`; the name of a state test ends with its
    /// indexes, [data/gas/value]
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Threads that run tests [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Also write the results to this file, as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the instructions of the only case to standard error, in lines of JSON (EIP-3155), and
    /// then its state root
    #[arg(long)]
    pub trace: bool,
    #[command(flatten)]
    pub replace: Force,
}

/// The shape in which a witness is written.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum WitnessFormat {
    /// JSON with the block
    #[default]
    Whole,
    /// The result of `debug_executionWitness`
    Debug,
    /// go-ethereum's RLP
    Rlp,
}

#[derive(Args, Clone, Debug)]
pub struct Witness {
    /// Files with a block and the state that it needs (docs/formats/witness.md), also compressed;
    /// folders of such files: then a line a block and a summary, with --json in lines, too; or,
    /// with --block, the folder of a store
    #[arg(required = true, value_name = "PATH|DATA")]
    pub files: Vec<PathBuf>,
    /// Folders: threads that execute blocks [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Read nothing where the witness lacks a trie node, as go-ethereum does
    #[arg(long, conflicts_with = "block")]
    pub lenient: bool,
    /// Make the witness of this block of the store
    #[arg(long, value_name = "N", requires = "out")]
    pub block: Option<u64>,
    /// The file to write the witness to
    #[arg(long, value_name = "FILE", requires = "block")]
    pub out: Option<PathBuf>,
    /// --out: the shape of the file; debug and rlp leave out the block
    #[arg(long, value_name = "SHAPE", value_enum, default_value_t, requires = "out")]
    pub format: WitnessFormat,
    /// --out: also write the block to this file, as RLP
    #[arg(long, value_name = "FILE", requires = "out")]
    pub block_out: Option<PathBuf>,
    /// mainnet, sepolia, holesky, hoodi or a genesis.json [default: by the chain's number, or by
    /// what the store holds]
    #[arg(long, value_name = "NAME|FILE")]
    pub chain: Option<String>,
    #[command(flatten)]
    pub replace: Force,
}

#[derive(Args, Clone, Debug)]
pub struct Prove {
    /// Folder of a store of executed Ethereum blocks
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// The account, as 0x and 40 hexadecimal digits
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub account: [u8; 20],
    /// A slot of its storage, as 0x and hexadecimal digits; can be repeated
    #[arg(long = "slot", value_name = "SLOT", value_parser = slot)]
    pub slots: Vec<[u8; 32]>,
    /// Use the state after this block [default: the last one]
    #[arg(long, value_name = "N")]
    pub block: Option<u64>,
}

fn address(text: &str) -> Result<[u8; 20], String> {
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 40);
    let bytes = digits.and_then(bytes_of).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| "expected 0x and 40 hexadecimal digits".into())
}

fn slot(text: &str) -> Result<[u8; 32], String> {
    let digits = text.strip_prefix("0x").filter(|digits| (1..=64).contains(&digits.len()));
    let bytes = digits.and_then(|digits| bytes_of(&format!("{digits:0>64}")));
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| "expected 0x and up to 64 hexadecimal digits".into())
}
