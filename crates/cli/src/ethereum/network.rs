//! Which Ethereum chain an archive is of.

use crate::paths::{is_file, is_folder};
use anyhow::{Context, Result, bail};
use blockmill_archive::{Archive, ChunkLimit, Packed, Want};
use blockmill_ethereum::header::{HeaderView, block_hash};
use blockmill_ethereum::params::{ChainSpec, KeptError, Reached, expect_same_rules, kept_in};
use blockmill_platform::input_file::InputFile;
use blockmill_store::ChainStore;
use std::path::{Path, PathBuf};

/// A chain, and where its rules were read.
pub struct Found {
    pub spec: ChainSpec,
    /// The genesis.json; `None` for a built-in network.
    pub file: Option<PathBuf>,
}

impl From<ChainSpec> for Found {
    fn from(spec: ChainSpec) -> Self {
        Self { spec, file: None }
    }
}

/// Determines the chain: what the user says, else block 0, else the genesis.json that a store among
/// the paths keeps or that is in the folder of the archive, else the archive's name, else what the
/// store keeps.
///
/// # Errors
/// No chain is found; a genesis.json cannot be used, or differs from the one that the store keeps.
pub fn detect(
    chain: Option<&str>,
    archive: &Archive,
    paths: &[PathBuf],
    store: Option<&ChainStore>,
) -> Result<Found> {
    let found = find(chain, archive, paths, store)?;
    if let Some(store) = store {
        expect_rules_of(store, chain, &found)?;
    }
    for path in paths {
        if ChainStore::is_in(path)? {
            expect_rules_of(&ChainStore::open_read_only(path)?.0, chain, &found)?;
        }
    }
    Ok(found)
}

fn find(
    chain: Option<&str>,
    archive: &Archive,
    paths: &[PathBuf],
    store: Option<&ChainStore>,
) -> Result<Found> {
    if let Some(chain) = chain {
        return named(chain, store);
    }
    if let Some(spec) = by_first_block(archive)? {
        return Ok(spec.into());
    }
    for path in paths {
        if ChainStore::is_in(path)?
            && let Some(file) = kept_in(path)?
        {
            return from_file(&file, Some(&ChainStore::open_read_only(path)?.0));
        }
    }
    for path in paths {
        if let Some(file) = genesis_next_to(path)? {
            return from_file(&file, store);
        }
    }
    if let Some(spec) = archive.genesis().and_then(|hash| ChainSpec::by_genesis_hash(&hash)) {
        return Ok(spec.into());
    }
    if let Some(spec) = archive.network_hint().and_then(ChainSpec::by_name) {
        return Ok(spec.into());
    }
    if let Some(found) = store.map(of_store).transpose()?.flatten() {
        return Ok(found);
    }
    bail!(
        "cannot tell which chain this archive is of: it does not begin with the genesis block of \
         {}, and there is no genesis.json next to it; use --chain NAME or --chain genesis.json",
        ChainSpec::NETWORKS.join(", ")
    )
}

/// The chain of a store: the genesis.json that it keeps, or the built-in network with the same
/// first block; `None` if it has neither.
///
/// # Errors
/// What it keeps is corrupt.
pub fn of_store(store: &ChainStore) -> Result<Option<Found>> {
    if let Some(file) = kept_in(store.dir())? {
        return from_file(&file, Some(store)).map(Some);
    }
    let spec = store.tip().and_then(|tip| ChainSpec::by_genesis_hash(&tip.chain));
    Ok(spec.map(Found::from))
}

/// Refuses a genesis.json with other rules than the one that the store keeps for its blocks.
pub fn expect_rules_of(store: &ChainStore, chain: Option<&str>, found: &Found) -> Result<()> {
    let (Some(tip), Some(file)) = (store.tip(), &found.file) else { return Ok(()) };
    if tip.chain != found.spec.genesis.hash {
        // the import reports which chain was expected
        return Ok(());
    }
    let kept = match kept_in(store.dir()) {
        Ok(Some(kept)) => kept,
        // the import writes it again
        Ok(None) | Err(KeptError::Corrupt { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let header = store.header(tip.number)?.unwrap_or_default();
    let header = HeaderView::decode(&header).context("the last header of the store")?;
    let reached = Reached { number: tip.number, time: header.timestamp };
    expect_same_rules(&kept, file, reached).with_context(|| {
        let named = if chain.is_some() { "--chain " } else { "" };
        format!("{named}{}", file.display())
    })
}

/// A built-in network, or a genesis.json, which is perhaps that of a store.
pub fn named(chain: &str, store: Option<&ChainStore>) -> Result<Found> {
    match ChainSpec::by_name(chain) {
        Some(spec) => Ok(spec.into()),
        None if is_file(Path::new(chain))? => from_file(Path::new(chain), store),
        None => bail!(
            "--chain {chain}: expected {} or the path of a genesis.json, found neither",
            ChainSpec::NETWORKS.join(", ")
        ),
    }
}

fn from_file(path: &Path, store: Option<&ChainStore>) -> Result<Found> {
    let file = Some(path.to_path_buf());
    // if the first block is verified, the accounts, which may be millions, need not be read
    let stored = store.and_then(|store| store.header(0).ok().flatten());
    if let Some(spec) = stored.and_then(|header| ChainSpec::behind_genesis(path, &header)) {
        return Ok(Found { spec, file });
    }
    let text = InputFile::open(path).and_then(|file| file.read_text());
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let spec = ChainSpec::from_genesis_json(&text);
    Ok(Found { spec: spec.with_context(|| format!("{}", path.display()))?, file })
}

/// The network whose genesis block is the first block of the archive.
pub fn by_first_block(archive: &Archive) -> Result<Option<ChainSpec>> {
    if archive.range().is_some_and(|(first, _)| first != 0) {
        return Ok(None);
    }
    let one = ChunkLimit { blocks: 1, ..ChunkLimit::default() };
    let mut reader = archive.reader(Want::default(), one, 0..=0)?;
    let (mut packed, mut chunk) = (Packed::new(), blockmill_archive::Chunk::new());
    if !reader.read(&mut packed)? {
        return Ok(None);
    }
    packed.unpack(&mut chunk)?;
    let header = chunk.headers.iter().next();
    Ok(header.and_then(|raw| ChainSpec::by_genesis_hash(&block_hash(raw))))
}

/// A genesis.json in the same folder.
pub fn genesis_next_to(path: &Path) -> Result<Option<PathBuf>> {
    let folder = if is_folder(path)? { Some(path) } else { path.parent() };
    let Some(file) = folder.map(|folder| folder.join("genesis.json")) else { return Ok(None) };
    Ok(is_file(&file)?.then_some(file))
}
