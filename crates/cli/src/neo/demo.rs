//! The Neo part of the demo: imports a dump of mixed load, and verifies a copy with a wrong
//! signature.

use crate::demo::{Steps, copy, flip};
use anyhow::{Context, Result};
use blockmill_generate::neo::FILE;
use std::fs;
use std::path::Path;

/// Generates a dump in `out`, imports it, and verifies a corrupt copy.
pub fn run(demo: &Steps<'_>, out: &Path) -> Result<()> {
    demo.say("\nNeo: 60 blocks of transfers, contracts, votes, oracle requests and faults.");
    demo.good("generate neo --blocks 60 --txs 20 --accounts 40 --mixed --out @neo")?;
    demo.good("inspect @neo/chain.acc")?;
    demo.good("import @neo/chain.acc --data @neo-store --record @neo.json")?;
    demo.page("neo")?;
    corrupt(&out.join("neo"), &out.join("neo-damaged"))?;
    demo.say("\nIn a copy, one bit of the last transaction's signature is flipped:");
    demo.bad("verify @neo-damaged/chain.acc")
}

/// Copies a dump and its configuration, and flips a bit of the last signature in it.
fn corrupt(from: &Path, to: &Path) -> Result<()> {
    copy(from, to)?;
    let dump = to.join(FILE);
    let bytes = fs::read(&dump)?;
    let mut signed = bytes.windows(SIGNED.len() + SIGNATURE + BY_KEY.len());
    let last = signed.rposition(|part| part.starts_with(SIGNED) && part.ends_with(BY_KEY));
    let last = last.context("no transaction of the generated dump has a signature")?;
    flip(&dump, (last + SIGNED.len() + SIGNATURE / 2) as u64)
}

/// Before a signature: a script of 66 bytes that pushes 64.
const SIGNED: &[u8] = &[66, 0x0c, 64];
const SIGNATURE: usize = 64;
/// After a signature: a script of 40 bytes that pushes a key of 33.
const BY_KEY: &[u8] = &[40, 0x0c, 33];
