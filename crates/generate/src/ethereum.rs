//! Deterministic Ethereum chains of any length that obey every mainnet rule except the seal.
//!
//! Four kinds:
//! - bare headers with pseudo-random roots, for the benchmark. A test compares the bytes with those
//!   of go-ethereum's rules for the same random choices;
//! - whole blocks with the roots of generated transactions and receipts;
//! - blocks full of [`transfers`], on their own chain;
//! - [`executable`] chains with the state roots of their blocks.

pub mod assembly;
mod blocks;
pub mod executable;
mod headers;
mod signers;
pub mod transfers;

use anyhow::{Result, bail};
use blockmill_archive::{ArchiveWriter, Chunk, Format, ReceiptEncoding, WriteOptions};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::receipts;
use blocks::{Blocks, Content};
use signers::Signers;
use std::path::Path;

pub use headers::HeaderChain;

/// Number of blocks that are written at once.
const CHUNK: usize = 2048;

/// The last block that can be generated: forks up to London are known by block number, later forks
/// by times that a generated chain reaches at other heights.
pub const LAST: u64 = 14_999_999;

/// What to generate.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Number of the last block; block 0 is the genesis block of the main network.
    pub last: u64,
    /// The seed; equal seeds give equal bytes.
    pub seed: u64,
    /// Archive format. Header streams get bare headers, all others whole blocks.
    pub format: Format,
    /// Whether to compress with gzip, if the format supports it.
    pub gzip: bool,
}

/// Writes the archive of `recipe` to `out`. `progress` gets the number of written blocks.
pub fn generate(recipe: &Recipe, out: &Path, mut progress: impl FnMut(u64)) -> Result<()> {
    if recipe.last > LAST {
        bail!("--headers {}: expected at most {LAST}", recipe.last);
    }
    let Some(spec) = ChainSpec::by_name("mainnet") else { bail!("mainnet is not built in") };
    let options = WriteOptions { gzip: recipe.gzip, network: spec.name.clone(), replace: false };
    let mut writer = ArchiveWriter::create(recipe.format, out, &options)?;
    let mut source = BlockGenerator::new(&spec, recipe)?;
    let mut chunk = Chunk::new();
    let mut next = 0;
    while next <= recipe.last {
        chunk.clear();
        chunk.first = Some(next);
        while next <= recipe.last && chunk.blocks() < CHUNK {
            source.push(next, &mut chunk)?;
            next += 1;
        }
        writer.append(&chunk)?;
        progress(next);
    }
    writer.finish()?;
    Ok(())
}

/// Generates consecutive blocks.
struct BlockGenerator<'a> {
    chain: HeaderChain<'a>,
    blocks: Option<Blocks<'a>>,
    /// How receipts are encoded.
    encoding: ReceiptEncoding,
}

impl<'a> BlockGenerator<'a> {
    fn new(spec: &'a ChainSpec, recipe: &Recipe) -> Result<Self> {
        let parts = recipe.format.parts();
        let signers = parts.bodies.then(|| Signers::new(recipe.seed)).transpose()?;
        Ok(Self {
            chain: HeaderChain::new(spec, recipe.seed)?,
            blocks: signers.map(|signers| Blocks::new(spec, recipe.seed, signers)),
            encoding: parts.receipts.unwrap_or(ReceiptEncoding::Consensus),
        })
    }

    /// Appends block `number` to `chunk`.
    fn push(&mut self, number: u64, chunk: &mut Chunk) -> Result<()> {
        let Some(blocks) = &mut self.blocks else {
            chunk.headers.push(if number == 0 { self.chain.tip() } else { self.chain.next(None) });
            return Ok(());
        };
        let content = match number {
            0 => Content::empty(),
            _ => blocks.content(number, self.chain.least_gas_limit())?,
        };
        let header = match number {
            0 => self.chain.tip(),
            _ => self.chain.next(Some(&content)),
        };
        chunk.headers.push(header);
        chunk.bodies.push(&content.body);
        let mut encoded = vec![];
        let how = (ReceiptEncoding::Consensus, self.encoding);
        receipts::recode(&content.receipts, how, [], &mut encoded)?;
        chunk.receipts.push(&encoded);
        chunk.receipt_encoding = self.encoding;
        chunk.total_difficulties.push(self.chain.total_difficulty().to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes_in_every_format() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, seed, format| {
            let out = dir.path().join(name);
            let recipe = Recipe { last: 300, seed, format, gzip: false };
            generate(&recipe, &out, |_| {}).unwrap();
            out
        };
        let one = std::fs::read(make("a", 1, Format::HeaderStream)).unwrap();
        let same = std::fs::read(make("b", 1, Format::HeaderStream)).unwrap();
        let other = std::fs::read(make("c", 2, Format::HeaderStream)).unwrap();
        assert_eq!(one, same);
        assert_ne!(one, other);
        let blocks = std::fs::read(make("d", 1, Format::RlpExport)).unwrap();
        let ere = make("f", 1, Format::Ere);
        assert_eq!(std::fs::read_dir(ere).unwrap().count(), 1);
        let blocks_again = std::fs::read(make("e", 1, Format::RlpExport)).unwrap();
        assert_eq!(blocks, blocks_again);
    }

    /// The same choices made with go-ethereum v1.17.10: difficulty, encoding, hashes by its code.
    #[test]
    fn headers_are_those_that_go_ethereum_makes_of_the_same_choices() {
        let spec = ChainSpec::by_name("mainnet").unwrap();
        let mut chain = HeaderChain::new(&spec, 5).unwrap();
        (0..3_000).for_each(|_| {
            chain.next(None);
        });
        let geth = "af09d382e18574ebc2c98980178e5b70b970ce7dbbdfd30bd3ed505ae09422bd";
        let hash = blockmill_hashes::keccak256(chain.tip());
        assert_eq!(hash.map(|byte| format!("{byte:02x}")).concat(), geth);
    }

    #[test]
    fn chains_that_would_meet_forks_by_time_are_refused() {
        let recipe = Recipe { last: LAST + 1, seed: 1, format: Format::HeaderStream, gzip: false };
        assert!(generate(&recipe, Path::new("never-written"), |_| {}).is_err());
    }
}
