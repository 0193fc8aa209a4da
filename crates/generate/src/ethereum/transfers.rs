//! A chain of plain ether transfers: full blocks, signed by accounts that the genesis block funds.

use super::CHUNK;
use super::blocks::{Blocks, Content};
use super::headers::HeaderChain;
use super::signers::Signers;
use anyhow::{Context, Result, ensure};
use blockmill_archive::output::OutputFolder;
use blockmill_archive::{ArchiveWriter, Chunk, Format, WriteOptions};
use blockmill_ethereum::params::ChainSpec;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The rules of April 2021, the last ones without a base fee, which full blocks would raise without
/// limit.
const FORKS: [&str; 10] = [
    "homesteadBlock",
    "eip150Block",
    "eip155Block",
    "eip158Block",
    "byzantiumBlock",
    "constantinopleBlock",
    "petersburgBlock",
    "istanbulBlock",
    "muirGlacierBlock",
    "berlinBlock",
];

/// The chain id.
const CHAIN_ID: u64 = 1_337;

/// Gas limit of the genesis block; later limits vary around it. It is mainnet's limit from 2021 to
/// 2025. A full block has 1,428 transfers.
const GAS_LIMIT: u64 = 30_000_000;

/// Initial balance of each account in wei, in hexadecimal; more than it can spend.
const BALANCE: &str = "0x200000000000000000000000000000000000000000000000000000000000000";

/// The file of blocks in the folder that [`generate`] writes: an RLP export.
pub const FILE: &str = "chain.rlp";

/// What to generate.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Transfers of the whole chain.
    pub transfers: u64,
    /// Limit of transfers in a block; its gas limit may be lower.
    pub block_transfers: u64,
    /// The seed; equal seeds give equal bytes.
    pub seed: u64,
}

/// Writes the blocks and the genesis.json of `recipe` to `folder`. Returns the number of the last
/// block. `progress` gets the number of transfers so far.
pub fn generate(recipe: &Recipe, folder: &Path, mut progress: impl FnMut(u64)) -> Result<u64> {
    ensure!(recipe.block_transfers > 0, "blocks of 0 transfers: expected at least one");
    let output = OutputFolder::create(folder)?;
    let folder = output.path();
    let signers = Signers::new(recipe.seed)?;
    let genesis = genesis(&signers);
    let spec = ChainSpec::from_genesis_json(&genesis)?;
    let path = folder.join("genesis.json");
    fs::write(&path, genesis).with_context(|| format!("cannot write {}", path.display()))?;

    let options = WriteOptions { gzip: false, network: spec.name.clone(), replace: false };
    let mut writer = ArchiveWriter::create(Format::RlpExport, &folder.join(FILE), &options)?;
    let mut chain = HeaderChain::new(&spec, recipe.seed)?;
    let mut blocks = Blocks::new(&spec, recipe.seed, signers);
    let (mut number, mut made) = (0, 0);
    let mut chunk = Chunk::new();
    chunk.headers.push(chain.tip());
    chunk.bodies.push(&Content::empty().body);
    while made < recipe.transfers {
        number += 1;
        let most = recipe.block_transfers.min(recipe.transfers - made);
        let (content, count) = blocks.transfers(number, chain.least_gas_limit(), most)?;
        made += count;
        chunk.headers.push(chain.next(Some(&content)));
        chunk.bodies.push(&content.body);
        progress(made);
        if chunk.blocks() == CHUNK {
            writer.append(&chunk)?;
            chunk.clear();
        }
    }
    writer.append(&chunk)?;
    writer.finish()?;
    output.finish()?;
    Ok(number)
}

/// The genesis.json: rules, and accounts with their balances.
fn genesis(signers: &Signers) -> String {
    let mut text = format!("{{\n  \"config\": {{\n    \"chainId\": {CHAIN_ID}");
    for fork in FORKS {
        // writing to a String does not fail
        let _ = write!(text, ",\n    \"{fork}\": 0");
    }
    let _ = write!(text, "\n  }},\n  \"gasLimit\": {GAS_LIMIT},\n  \"difficulty\": 131072,\n");
    text.push_str("  \"alloc\": {");
    for (i, address) in signers.addresses().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let address = address.map(|byte| format!("{byte:02x}")).concat();
        let _ = write!(text, "{comma}\n    \"{address}\": {{ \"balance\": \"{BALANCE}\" }}");
    }
    text.push_str("\n  }\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_archive::{Archive, ChunkLimit, Packed, Want};
    use blockmill_ethereum::body::BodyView;
    use blockmill_ethereum::header::HeaderView;

    #[test]
    fn blocks_are_full_and_the_same_seed_gives_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, seed| {
            let out = folder.path().join(name);
            let recipe = Recipe { transfers: 3_000, block_transfers: u64::MAX, seed };
            assert_eq!(generate(&recipe, &out, |_| {}).unwrap(), 3);
            (fs::read(out.join(FILE)).unwrap(), fs::read(out.join("genesis.json")).unwrap())
        };
        let one = make("a", 1);
        assert_eq!(one, make("b", 1));
        assert_ne!(one, make("c", 2));

        let archive = Archive::open(&[folder.path().join("a").join(FILE)]).unwrap();
        let want = Want { bodies: true, receipts: false };
        let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX).unwrap();
        let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
        assert!(reader.read(&mut packed).unwrap());
        packed.unpack(&mut chunk).unwrap();
        let counts = (0..4).map(|i| {
            let header = HeaderView::decode(chunk.headers.get(i)).unwrap();
            let body = BodyView::decode(chunk.bodies.get(i)).unwrap();
            let count = body.transaction_count() as u64;
            assert_eq!(header.gas_used, 21_000 * count);
            if i == 1 || i == 2 {
                assert!(header.gas_limit - header.gas_used < header.gas_limit / 256);
            }
            count
        });
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts[0], 0);
        assert_eq!(counts.iter().sum::<u64>(), 3_000);
    }
}
