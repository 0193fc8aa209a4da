//! Bitcoin Core's own code, as a library, put to the work that blockmill does.
//!
//! `bitcoin-core open` opens a datadir as it is, without reindexing, and prints what it finds
//! as one line of JSON; `reindex` reindexes block files and measures it; `utxo` prints statistics
//! of the coins. README.md lists the options.

mod branch;
mod kernel;
#[path = "../../measure/memory.rs"]
mod memory;
mod reindex;
mod spent;

use bitcoinkernel::{Block, ChainType, ChainstateManager, ContextBuilder, ProcessBlockResult};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What the command line asks for.
#[derive(Default)]
struct Options {
    dir: PathBuf,
    chain: String,
    next: Vec<PathBuf>,
    spent: bool,
    reorganise: usize,
    log: bool,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let done = match arguments.next().as_deref() {
        Some("open") => options(arguments).and_then(|options| open(&options)),
        Some("reindex") => reindex::options(arguments).and_then(|it| reindex::reindex(&it)),
        Some("utxo") => reindex::options(arguments).and_then(|it| reindex::utxo(&it)),
        _ => {
            Err("usage: bitcoin-core open|reindex|utxo --dir DIR --chain CHAIN [option ...]".into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bitcoin-core: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options { chain: "main".into(), ..Options::default() };
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--spent" => options.spent = true,
            "--log" => options.log = true,
            _ => {
                let value = arguments.next().ok_or(format!("{name} needs a value"))?;
                match name.as_str() {
                    "--dir" => options.dir = value.into(),
                    "--chain" => options.chain = value,
                    "--next" => options.next.push(value.into()),
                    "--reorganise" => options.reorganise = value.parse()?,
                    _ => return Err(format!("unknown option {name}").into()),
                }
            }
        }
    }
    Ok(options)
}

fn chain_type(name: &str) -> Result<ChainType, Box<dyn Error>> {
    Ok(match name {
        "main" => ChainType::Mainnet,
        "testnet3" => ChainType::Testnet,
        "testnet4" => ChainType::Testnet4,
        "signet" => ChainType::Signet,
        "regtest" => ChainType::Regtest,
        _ => return Err(format!("unknown chain {name}").into()),
    })
}

/// Opens the datadir, does what the options say, and prints a line of JSON.
fn open(options: &Options) -> Result<(), Box<dyn Error>> {
    let _logger = match options.log {
        true => Some(bitcoinkernel::Logger::new(Stderr)?),
        false => {
            bitcoinkernel::disable_logging();
            None
        }
    };
    let context = ContextBuilder::new().chain_type(chain_type(&options.chain)?).build()?;
    let blocks = options.dir.join("blocks");
    let path = |path: &PathBuf| path.to_str().map(str::to_string).ok_or("a path that is no UTF-8");
    let began = Instant::now();
    let core = ChainstateManager::new(&context, &path(&options.dir)?, &path(&blocks)?)?;
    let opened = began.elapsed();
    let mut fields = vec![format!("\"open_s\":{:.4}", opened.as_secs_f64()), tip(&core, "tip")];
    if options.spent {
        fields.push(spent::read_all(&core)?);
    }
    for file in &options.next {
        let block = Block::new(&std::fs::read(file)?)?;
        accept(&core, &block)?;
        fields.push(tip(&core, "next"));
    }
    if options.reorganise > 0 {
        branch::there_and_back(&core, options.reorganise)?;
        fields.push(format!("\"disconnected\":{}", options.reorganise));
        fields.push(tip(&core, "reorganised"));
    }
    println!("{{{}}}", fields.join(","));
    Ok(())
}

/// Hands Core a block, which it must not know and must not reject.
fn accept(core: &ChainstateManager, block: &Block) -> Result<(), Box<dyn Error>> {
    match core.process_block(block) {
        ProcessBlockResult::NewBlock => Ok(()),
        other => Err(format!("block {}: expected a new one, found {other:?}", block.hash()).into()),
    }
}

/// Height and hash of the best block, as JSON.
fn tip(core: &ChainstateManager, name: &str) -> String {
    let tip = core.active_chain().tip();
    format!("\"{name}\":{{\"height\":{},\"hash\":\"{}\"}}", tip.height(), tip.block_hash())
}

struct Stderr;

impl bitcoinkernel::Log for Stderr {
    fn log(&self, message: &str) {
        eprint!("{message}");
    }
}
