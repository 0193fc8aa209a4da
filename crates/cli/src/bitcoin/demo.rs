//! The Bitcoin part of the demo: a small chain from shuffled, obfuscated block files, and a copy
//! in which one byte of a signature is wrong.

use crate::demo::{Steps, copy, flip};
use crate::{host, stop};
use anyhow::{Context, Result, bail};
use blockmill_archive::blkdat::{self, BodyReader};
use blockmill_bitcoin::inspect::inspect;
use blockmill_bitcoin::types::Block;
use blockmill_verdict::Span;
use std::path::Path;

/// Generates a chain in `out`, imports it, and has a corrupt copy refused.
pub fn run(demo: &Steps<'_>, out: &Path) -> Result<()> {
    demo.say("\nBitcoin: 2,000 inputs with signatures, blocks in any order, files obfuscated.");
    let chain = "--inputs 2000 --block-inputs 100 --stale 2 --order shuffled --xor";
    demo.good(&format!("generate bitcoin {chain} --out @bitcoin"))?;
    demo.good("inspect @bitcoin")?;
    demo.good("import @bitcoin --data @bitcoin-store --record @bitcoin.json")?;
    demo.page("bitcoin")?;
    let height = corrupt(&out.join("bitcoin"), &out.join("bitcoin-damaged"))?;
    demo.say(&format!("\nIn a copy, one byte of a signature in block {height} is changed:"));
    demo.bad("verify @bitcoin-damaged")
}

/// Copies block files and changes one byte of a signature in the middle of the chain. Returns the
/// block's height.
fn corrupt(from: &Path, to: &Path) -> Result<u32> {
    copy(from, to)?;
    let files = blkdat::open(&[to.to_path_buf()], None)?;
    let inspection = inspect(&files, host::cores(), false, None, stop::cancel().live())?;
    let tree = &inspection.tree;
    let mut reader = BodyReader::new(&files, 1);
    let (mut block, nodes) = (Block::default(), tree.best_chain());
    for node in nodes.iter().skip(nodes.len() / 2) {
        let Some(found) = tree.record(*node) else { continue };
        reader.read(found.location(), &mut block.raw)?;
        block.decode()?;
        let Some(signature) = signature(&block) else { continue };
        let middle = u64::from(signature.start) + signature.len() as u64 / 2;
        let file = files.files().get(found.file as usize).context("the file of a block")?;
        flip(file.path(), found.offset + middle)?;
        return Ok(tree.height(*node));
    }
    bail!("no block of the generated chain has a signature")
}

/// The first input script with a signature in it; that of a coinbase has none.
fn signature(block: &Block) -> Option<Span> {
    let mut scripts = block.inputs.iter().skip(1).map(|input| input.script);
    scripts.find(|script| script.len() > 70)
}
