//! The Ethereum part of the demo: headers, blocks that are executed, and a corrupt copy of these.

use crate::args::Demo;
use crate::demo::{Steps, copy, flip};
use anyhow::Result;
use blockmill_verdict::grouped;
use std::fs;

/// Imports headers, executes blocks, and has a corrupt copy of them found out.
pub fn run(demo: &Steps<'_>, args: &Demo) -> Result<()> {
    let count = args.headers;
    demo.say(&format!("Ethereum: {} headers.", grouped(count)));
    demo.good(&format!("generate ethereum --headers {count} --out @headers"))?;
    // generated chains have no seals
    demo.good("import @headers --data @headers-store --seal off --record @headers.json")?;
    demo.page("headers")?;

    demo.say("\nEthereum: 100 blocks of random programs, every state root of which is checked.");
    let chain = "--work mixed --blocks 100 --block-transactions 40 --accounts 64";
    demo.good(&format!("generate ethereum {chain} --out @blocks"))?;
    let import = "import @blocks/chain.rlp --data @blocks-store --seal off";
    demo.good(&format!("{import} --record @blocks.json"))?;
    demo.good("unwind @blocks-store --to 60")?;
    demo.good(import)?;
    demo.page("blocks")?;

    let copied = args.out.join("blocks-damaged");
    copy(&args.out.join("blocks"), &copied)?;
    let chain = copied.join("chain.rlp");
    flip(&chain, fs::metadata(&chain)?.len() / 2)?;
    demo.say("\nIn a copy, one bit is flipped:");
    demo.bad("verify @blocks-damaged/chain.rlp --seal off")
}
