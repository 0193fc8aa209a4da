//! Executable chains: every header has the results of its block, as this program's own execution
//! computes them, on top of a genesis.json with the needed accounts.
//!
//! A chain has one kind of [`Work`], the rules of one fork, and a state of any size. Other clients
//! compute the same roots.

mod accounts;
mod builder;
mod contracts;
mod draft;
mod genesis;
mod instructions;
mod mixed;
mod program;
mod work;

pub use genesis::{CHAIN_ID, FIRST_TIME, FORKS, GAS_LIMIT, text as genesis_json};

use super::signers::Signers;
use crate::random::Random;
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::output::OutputFolder;
use blockmill_archive::{ArchiveWriter, Chunk, Format, WriteOptions};
use blockmill_ethereum::Hash;
use blockmill_ethereum::params::{ChainSpec, Fork};
use builder::Builder;
use std::fs;
use std::path::Path;
use work::TransactionGenerator;

/// The file of blocks in the folder that [`generate`] writes: an RLP export.
pub const FILE: &str = "chain.rlp";

/// Bytes of blocks that are written at once.
const CHUNK: usize = 1 << 20;

/// The kind of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Ether transfers.
    Transfers,
    /// ERC-20 transfers; one receiver in twenty is new.
    Erc20,
    /// A contract reads and writes its slots in random order until its gas is nearly used up.
    Storage,
    /// Hashes, arithmetic and memory until the gas is nearly used up.
    Compute,
    /// Contracts are created, called and destroyed.
    Contracts,
    /// Everything in the fork: random programs, all types of transactions, precompiled contracts,
    /// withdrawals, requests, ommers.
    Mixed,
}

impl Work {
    /// All kinds with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("transfers", Self::Transfers),
        ("erc20", Self::Erc20),
        ("storage", Self::Storage),
        ("compute", Self::Compute),
        ("contracts", Self::Contracts),
        ("mixed", Self::Mixed),
    ];

    /// The kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, work)| *work)
    }

    /// The first fork with the instructions of its contracts.
    fn least_fork(self) -> Fork {
        match self {
            Self::Erc20 | Self::Storage | Self::Compute => Fork::Petersburg,
            _ => Fork::Frontier,
        }
    }

    /// Default numbers of blocks, transactions in each, and accounts.
    fn usual(self) -> (u64, u64, u64) {
        match self {
            Self::Transfers => (500, 200, 20_000),
            Self::Erc20 => (300, 200, 50_000),
            Self::Storage => (200, 2, 64),
            Self::Compute => (100, 3, 64),
            Self::Contracts => (100, 50, 64),
            Self::Mixed => (100, 40, 64),
        }
    }
}

/// What to generate.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The kind of transactions.
    pub work: Work,
    /// The fork, one of [`FORKS`].
    pub fork: Fork,
    /// A later fork, which begins after half of the blocks.
    pub next_fork: Option<Fork>,
    /// Blocks after the genesis block.
    pub blocks: u64,
    /// Limit of transactions in a block; its gas limit may be lower.
    pub block_transactions: u64,
    /// Number of signing accounts.
    pub accounts: u64,
    /// Slots of [`Work::Storage`], a power of two.
    pub slots: u64,
    /// The seed; equal seeds give equal bytes.
    pub seed: u64,
}

impl Recipe {
    /// The default recipe for some work, under the newest fork.
    #[must_use]
    pub fn for_work(work: Work) -> Self {
        let (blocks, block_transactions, accounts) = work.usual();
        let fork = Fork::Osaka;
        Self {
            work,
            fork,
            next_fork: None,
            blocks,
            block_transactions,
            accounts,
            slots: 1 << 20,
            seed: 1,
        }
    }

    /// The fork of the last block.
    fn last_fork(&self) -> Fork {
        self.next_fork.unwrap_or(self.fork)
    }

    fn check(&self) -> Result<()> {
        let (work, least) = (self.work, self.work.least_fork());
        ensure!(self.fork >= least, "{:?}: {work:?} needs {least:?} or a later fork", self.fork);
        let (fork, last) = (self.fork, self.last_fork());
        ensure!(last >= fork, "{last:?} after {fork:?}: expected a later fork");
        ensure!(self.slots.is_power_of_two(), "{} slots: expected a power of two", self.slots);
        ensure!(self.accounts > draft::AUTHORITIES, "{} accounts: too few", self.accounts);
        ensure!(self.block_transactions > 0, "blocks of 0 transactions: expected at least one");
        Ok(())
    }
}

/// The generated chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Number of the last block.
    pub last: u64,
    /// Its hash.
    pub hash: Hash,
    /// The state root after it.
    pub state_root: Hash,
    /// Transactions of all blocks.
    pub transactions: u64,
    /// Their gas.
    pub gas: u64,
}

/// Writes the blocks and the genesis.json of `recipe` to `folder`. `progress` gets the number of
/// blocks so far.
pub fn generate(
    recipe: &Recipe,
    folder: &Path,
    mut progress: impl FnMut(u64),
) -> Result<Generated> {
    recipe.check()?;
    let output = OutputFolder::create(folder)?;
    let folder = output.path();
    let signers = Signers::with_count(recipe.seed, recipe.accounts)?;
    let mut random = Random(recipe.seed ^ 0x0065_7865_6375_7465);
    let alloc = accounts::alloc(recipe, &signers, &mut random)?;
    let next = recipe.next_fork.map(|fork| (fork, builder::time_of(recipe.blocks / 2 + 1)));
    let Some(genesis) = genesis::text(recipe.fork, next, &alloc) else {
        bail!("{:?}: no chain can begin with this fork", recipe.fork)
    };
    drop(alloc);
    let spec = ChainSpec::from_genesis_json(&genesis)?;
    let path = folder.join("genesis.json");
    fs::write(&path, genesis).with_context(|| format!("cannot write {}", path.display()))?;

    let options = WriteOptions { gzip: false, network: spec.name.clone(), replace: false };
    let mut writer = ArchiveWriter::create(Format::RlpExport, &folder.join(FILE), &options)?;
    let mut chunk = Chunk::new();
    chunk.headers.push(&spec.genesis.raw);
    chunk.bodies.push(builder::genesis_body(&spec.genesis.header));
    let mut builder = Builder::new(&spec, random.clone())?;
    let mut source = TransactionGenerator::new(recipe, &signers, random)?;
    for number in 1..=recipe.blocks {
        let mut block = builder.begin();
        let drafts = source.block(&mut block, &builder)?;
        let [header, body, list] = builder.finish(block, &drafts, &signers)?;
        chunk.headers.push(&header);
        chunk.bodies.push(&body);
        chunk.push_access_list(&list);
        progress(number);
        if chunk.bodies.bytes.len() > CHUNK {
            writer.append(&chunk)?;
            chunk.clear();
        }
    }
    writer.append(&chunk)?;
    writer.finish()?;
    output.finish()?;
    Ok(builder.generated())
}

#[cfg(test)]
mod tests;
