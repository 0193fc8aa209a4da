//! Deterministic regtest chains of any size with signed spends of every kind, valid for Bitcoin
//! Core; and chains of padded blocks for throughput.
//!
//! Transactions are built and signed with the crate `bitcoin`. Its encoding and signature hashes
//! are independent of ours, so the chains also test ours.

mod chain;
mod coins;
mod files;
mod mixture;
mod plan;
mod sign;
mod unusual;
mod wallet;

use self::chain::{Content, Tip};
use crate::random::Random;
use anyhow::{Result, bail};
use files::Archive;
use plan::{Limits, Planner};
use rust_bitcoin::BlockHash;
use rust_bitcoin::hashes::Hash;
use std::num::NonZero;
use std::path::Path;
use unusual::Unusual;
use wallet::Wallet;

/// Weight limit of a block (consensus), minus the coinbase without padding.
const WEIGHT: u64 = 4_000_000 - 2_000;

/// Limit of the padding: a byte weighs four units.
pub const MOST_PADDING: usize = 990_000;

pub use unusual::MOST as MOST_UNUSUAL;

/// Limit of the length of a branch.
const BRANCH: u64 = 2;

/// The order of the blocks in the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By height.
    Height,
    /// Random.
    Shuffled,
    /// The tip first.
    Reversed,
    /// Each block less than 1,024 positions from its height, as in an archive that Bitcoin Core
    /// downloaded from many peers at once (its download window).
    Download,
}

/// What to generate.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Inputs of the whole chain, without coinbases.
    pub inputs: u64,
    /// Minimum number of blocks after the genesis block.
    pub blocks: u32,
    /// Limit of inputs in a block; its weight may be the lower limit.
    pub block_inputs: u64,
    /// Number of unspent coins before blocks resemble mainnet; `None`: as many as 8 full blocks
    /// spend, or the whole chain.
    pub coins: Option<u64>,
    /// Padding of each block in bytes, at most [`MOST_PADDING`].
    pub padding: usize,
    /// Blocks name unknown parents. Only without inputs.
    pub unlinked: bool,
    /// Inputs of a final transaction with unusual scripts, alone in its block; at most
    /// [`MOST_UNUSUAL`]. Only without other inputs.
    pub unusual: u64,
    /// Stale branches of one or two blocks.
    pub stale: u32,
    /// Number of duplicate blocks.
    pub duplicates: u32,
    /// The seed; equal seeds give equal bytes.
    pub seed: u64,
    /// The order of the blocks in the files.
    pub order: Order,
    /// Obfuscates the files with a non-zero key. `xor.dat` is written either way.
    pub xor: bool,
    /// Size limit of a file: a record that would exceed it starts a new file.
    pub file_size: u64,
}

/// The generated chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Height of the last block.
    pub height: u32,
    /// Hash of the last block, in the order of its bytes.
    pub tip: [u8; 32],
    /// Blocks in the files: the chain from the genesis block, branches, duplicates.
    pub records: u64,
    /// Transactions of the chain, with coinbases, after the genesis block.
    pub transactions: u64,
    /// Inputs of the chain, without coinbases.
    pub inputs: u64,
    /// Maximum number of unspent coins after a block; few inputs create few coins.
    pub coins: u64,
    /// Bytes of the blocks, without frames.
    pub bytes: u64,
}

impl Summary {
    /// Reports whether there are fewer coins than requested, beyond the fluctuation of blocks.
    #[must_use]
    pub fn falls_short_of(&self, coins: u64) -> bool {
        self.coins < coins - coins / 100
    }
}

/// Writes the chain of `recipe` into the folder `out`. The number of signing threads does not
/// change the result. `progress` gets the progress so far.
pub fn generate(
    recipe: &Recipe,
    out: &Path,
    threads: NonZero<usize>,
    mut progress: impl FnMut(&Summary),
) -> Result<Summary> {
    check(recipe)?;
    let wallet = Wallet::new(recipe.seed)?;
    let weight = WEIGHT - 4 * recipe.padding as u64;
    let Recipe { inputs, block_inputs, .. } = *recipe;
    let coins = recipe.coins.unwrap_or((8 * block_inputs).min(inputs));
    let limits = Limits { inputs, block_inputs, coins, weight };
    let mut planner = Planner::new(limits, recipe.seed);
    let mut output = Output::create(recipe, out)?;
    let mut random = Random(recipe.seed ^ 0x636f_696e);
    let (genesis, mut tip) = Tip::genesis();
    output.append(&genesis, 0)?;
    let mut unusual = Unusual::new(recipe.unusual, recipe.blocks);
    let least = recipe.blocks.max(unusual.height);
    while planner.spent() < recipe.inputs || tip.height < least.max(output.losing) {
        let height = tip.height + 1;
        let drafts = unusual.block(height).unwrap_or_else(|| planner.block(height));
        let signed = sign::sign(&wallet, &drafts, threads)?;
        let fees = drafts.iter().map(|draft| draft.fee).sum();
        let content = Content { signed: &signed, fees, padding: recipe.padding };
        if recipe.unlinked {
            let mut parent = [0; 32];
            random.fill(&mut parent);
            tip.hash = BlockHash::from_byte_array(parent);
        }
        let block = tip.extend(&wallet, &mut random, &content)?;
        output.append(&block.bytes, height)?;
        output.branch(height, &tip, &wallet, &content)?;
        unusual.connect(&drafts, &signed, block.coinbase);
        planner.connect(&drafts, &signed, block.coinbase);
        tip = block.tip;
        output.summary.coins = output.summary.coins.max(planner.coins());
        output.summary.height = tip.height;
        output.summary.tip = tip.hash.to_byte_array();
        output.summary.transactions += 1 + signed.len() as u64;
        output.summary.inputs += drafts.iter().map(|draft| draft.spends.len() as u64).sum::<u64>();
        progress(&output.summary);
    }
    output.archive.finish()?;
    Ok(output.summary)
}

/// Rejects an impossible recipe.
fn check(recipe: &Recipe) -> Result<()> {
    if recipe.padding > MOST_PADDING {
        bail!("--padding {}: expected at most {MOST_PADDING}", recipe.padding);
    }
    if recipe.inputs > 0 && recipe.padding > MOST_PADDING / 2 {
        bail!("--padding {}: expected at most {}, with inputs", recipe.padding, MOST_PADDING / 2);
    }
    if recipe.unlinked && (recipe.inputs > 0 || recipe.stale > 0) {
        bail!("--unlinked: expected neither inputs nor stale branches");
    }
    if recipe.unusual > MOST_UNUSUAL {
        bail!("--unusual {}: expected at most {MOST_UNUSUAL}", recipe.unusual);
    }
    if recipe.unusual > 0 && (recipe.inputs > 0 || recipe.padding > 0 || recipe.unlinked) {
        bail!("--unusual: expected neither inputs, padding nor unlinked blocks");
    }
    if recipe.block_inputs == 0 {
        bail!("--block-inputs 0: expected at least 1");
    }
    Ok(())
}

/// Writes blocks, branches and duplicates.
struct Output {
    archive: Archive,
    summary: Summary,
    random: Random,
    padding: usize,
    /// Heights with a branch, and heights of duplicates, highest first.
    branches: Vec<u32>,
    duplicates: Vec<u32>,
    /// The height at which the chain has more work than all branches.
    losing: u32,
}

impl Output {
    fn create(recipe: &Recipe, out: &Path) -> Result<Self> {
        let Recipe { order, file_size, xor, seed, .. } = *recipe;
        let mut random = Random(seed ^ 0x7374_616c);
        // no coin can be spent before this height
        let filled = match recipe.inputs {
            0 => 1,
            inputs => 100 + inputs / recipe.block_inputs,
        };
        let heights = filled.max(recipe.blocks.into());
        let mut choose = |count| {
            let mut chosen: Vec<u32> =
                (0..count).map(|_| 1 + random.below(heights) as u32).collect();
            chosen.sort_unstable_by(|a, b| b.cmp(a));
            chosen
        };
        let (branches, duplicates) = (choose(recipe.stale), choose(recipe.duplicates));
        Ok(Self {
            archive: Archive::create(out, order, file_size, xor, seed)?,
            summary: Summary::default(),
            random,
            padding: recipe.padding,
            branches,
            duplicates,
            losing: 0,
        })
    }

    /// Appends a block of the chain, and its duplicate if one was chosen.
    fn append(&mut self, block: &[u8], height: u32) -> Result<()> {
        self.write(block)?;
        while self.duplicates.pop_if(|chosen| *chosen == height).is_some() {
            self.write(block)?;
        }
        Ok(())
    }

    /// Appends the branches at `height`, after `parent`: first a block with the transactions of the
    /// chain's block, then perhaps an empty one.
    fn branch(
        &mut self,
        height: u32,
        parent: &Tip,
        wallet: &Wallet,
        content: &Content,
    ) -> Result<()> {
        while self.branches.pop_if(|chosen| *chosen == height).is_some() {
            let mut block = parent.extend(wallet, &mut self.random, content)?;
            self.write(&block.bytes)?;
            let empty = Content { signed: &[], fees: 0, padding: self.padding };
            for _ in 0..self.random.below(BRANCH) {
                block = block.tip.extend(wallet, &mut self.random, &empty)?;
                self.write(&block.bytes)?;
            }
            self.losing = self.losing.max(block.tip.height + 1);
        }
        Ok(())
    }

    fn write(&mut self, block: &[u8]) -> Result<()> {
        self.summary.records += 1;
        self.summary.bytes += block.len() as u64;
        self.archive.append(block)
    }
}
