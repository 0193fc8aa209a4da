//! The Bitcoin part of the demo: a small chain from shuffled, obfuscated block files, and a copy
//! in which one byte of a signature is wrong.

use crate::demo::{Steps, flip};
use crate::host;
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::blkdat::{self, BodyReader};
use blockmill_bitcoin::inspect::inspect;
use blockmill_bitcoin::types::Block;
use blockmill_verdict::{Span, Status};
use std::fs;
use std::path::{Path, PathBuf};

/// Generates a chain in `out`, imports it, and has a corrupt copy refused.
pub fn run(demo: &Steps<'_>, out: &Path) -> Result<()> {
    demo.say("\nBitcoin: 2,000 inputs with signatures, blocks in any order, files obfuscated.");
    let chain = "--inputs 2000 --block-inputs 100 --stale 2 --order shuffled --xor";
    demo.good(&format!("generate bitcoin {chain} --out @bitcoin"))?;
    demo.good("inspect @bitcoin")?;
    let record = "--label bitcoin --record @bitcoin.json";
    demo.good(&format!("import @bitcoin --data @bitcoin-store {record}"))?;
    demo.good("inspect @bitcoin-store")?;

    let height = corrupt(&out.join("bitcoin"), &out.join("bitcoin-damaged"))?;
    demo.say(&format!("\nIn a copy, one byte of a signature in block {height} is changed:"));
    let exit = demo.run("verify @bitcoin-damaged")?;
    ensure!(
        exit == Status::Invalid,
        "expected a fault in the damaged copy, found its verdict to be: {exit}"
    );
    Ok(())
}

/// Copies block files and changes one byte of a signature in the middle of the chain. Returns the
/// block's height.
fn corrupt(from: &Path, to: &Path) -> Result<u32> {
    copy(from, to)?;
    let files = blkdat::open(&[to.to_path_buf()], None)?;
    let inspection = inspect(&files, host::cores(), false, None)?;
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

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().context("the name of a file")?;
        let copied = fs::copy(&path, to.join(name));
        copied.with_context(|| format!("cannot copy {}", path.display()))?;
    }
    Ok(())
}
