//! One run of ours, in a process of its own.

use super::Definition;
use anyhow::{Context, Result};
use archive::blkdat::{self, BlockFiles};
use bitcoin::import::{Options, import};
use bitcoin::option_table::Setting;
use bitcoin::params::Params;
use bitcoin::{BlockHash, record};
use chain::Reversed;
use pipeline::record::RunRecord;
use std::path::{Path, PathBuf};

/// What a child process is asked to do.
#[derive(Clone, Debug)]
pub struct Once {
    /// Folder of the block files.
    pub blocks: PathBuf,
    /// What the run is called in tables.
    pub label: String,
    /// The definition that it belongs to.
    pub definition: Definition,
    /// The rung of the ladder to begin from; none for the default.
    pub rung: Option<String>,
    /// Settings of switches, `name=value`, applied to that.
    pub with: Vec<String>,
    /// Threads that verify.
    pub threads: usize,
    /// MiB of memory for coins.
    pub cache: u64,
    /// Scripts up to this block are taken as valid.
    pub assume_valid: Option<BlockHash>,
    /// Hash the coins afterwards, outside of the time.
    pub digest: bool,
    /// A folder for the store that does not exist yet.
    pub scratch: PathBuf,
}

/// Reindexes the blocks once, into a new store.
pub fn once(once: &Once) -> Result<RunRecord> {
    let variants = match &once.rung {
        None => Setting::default(),
        Some(rung) => Setting::rung(rung).with_context(|| format!("there is no rung {rung}"))?,
    };
    let variants = variants.with(&once.with)?;
    let files = blkdat::open(std::slice::from_ref(&once.blocks), None)?;
    let options = Options {
        level: once.definition.level(),
        setting: variants,
        threads: once.threads,
        memory: once.cache << 20,
        assume_valid: once.assume_valid,
        ..Options::new(network(&files)?)
    };
    let (run, outcome) = import(&files, &options, &once.scratch, |_| {});
    let mut record = record::of(&run, &outcome, &files, &options, program::this(), &once.label);
    outcome?;
    record.command = crate::child::command_line();
    if let Some(reindex) = &mut record.reindex {
        reindex.definition = once.definition.name().into();
        if once.digest {
            reindex.coins_hash = coins_hash(&once.scratch)?;
        }
    }
    Ok(record)
}

/// The network whose magic the records begin with.
pub(super) fn network(files: &BlockFiles) -> Result<Params> {
    let params = files.network().and_then(|network| Params::by_magic(network.magic()));
    params.context("cannot tell the network of these blocks")
}

fn coins_hash(store: &Path) -> Result<String> {
    let stored = bitcoin::inspect::stored(store)?.context("coins that were committed")?;
    Ok(Reversed(&stored.statistics.hash_serialized).to_string())
}
