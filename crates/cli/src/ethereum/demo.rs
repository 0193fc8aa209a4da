//! The Ethereum part of the demo: blocks and headers of a generated chain, and a corrupt copy.

use crate::args::Demo;
use crate::demo::{Steps, flip};
use anyhow::{Context, Result, ensure};
use blockmill_verdict::Status;
use std::fs;
use std::path::Path;

/// Blocks of the archive that is taken through the level `bodies`.
const BLOCKS: u64 = 20_000;

/// Imports blocks and headers, and has a corrupt copy of the blocks found out.
pub fn run(demo: &Steps<'_>, args: &Demo) -> Result<()> {
    demo.good(&format!("generate ethereum --headers {BLOCKS} --format freezer --out @ancient"))?;
    demo.good("inspect @ancient")?;
    // these chains have no seals, and no state that leads to their roots
    let made = "--seal off --level bodies";
    let record = "--label blocks --record @blocks.json";
    demo.good(&format!("import @ancient --data @block-store {made} {record}"))?;
    demo.good("convert @ancient --to rlp --out @blocks.rlp")?;

    let count = args.headers;
    demo.good(&format!("generate ethereum --headers {count} --out @headers.rlp"))?;
    let record = "--label headers --record @headers.json";
    demo.good(&format!("import @headers.rlp --data @store --seal off {record}"))?;

    corrupt(&args.out.join("blocks.rlp"), &args.out.join("damaged.rlp"))?;
    demo.say("\nOne bit of a copy of the blocks is flipped, which must be found:");
    let exit = demo.run(&format!("verify @damaged.rlp {made}"))?;
    let is_found = matches!(exit, Status::Invalid | Status::Corrupt);
    ensure!(
        is_found,
        "expected the damaged copy to be found damaged, found its verdict to be: {exit}"
    );
    execute(demo)
}

/// Executes a chain of random programs, takes blocks of it back, and executes them once more.
fn execute(demo: &Steps<'_>) -> Result<()> {
    demo.say("\nExecution: 100 blocks of random programs, every state root of which is checked.");
    let chain = "--work mixed --blocks 100 --block-transactions 40 --accounts 64";
    demo.good(&format!("generate ethereum {chain} --out @executable"))?;
    let archive = "@executable/chain.rlp --seal off";
    let store = "--data @executed";
    demo.good(&format!("import {archive} {store} --label executed --record @executed.json"))?;
    demo.good("unwind @executed --to 60")?;
    demo.good(&format!("import {archive} {store}"))
}

/// Copies a file and flips one bit in the middle.
fn corrupt(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    let middle = fs::metadata(to)?.len() / 2;
    flip(to, middle)
}
