//! Which Ethereum chain an archive is of.

use anyhow::{Context, Result, bail};
use archive::{Archive, ChunkLimit, Packed, Want};
use ethereum::params::ChainSpec;
use std::path::{Path, PathBuf};
use store::ChainStore;

/// Finds the chain: what the user says, else block 0, else a genesis.json beside the archive,
/// else the archive's name, else what the store holds.
pub fn detect(
    chain: Option<&str>,
    archive: &Archive,
    paths: &[PathBuf],
    store: Option<&ChainStore>,
) -> Result<ChainSpec> {
    if let Some(chain) = chain {
        return named(chain, store);
    }
    if let Some(spec) = by_first_block(archive)? {
        return Ok(spec);
    }
    if let Some(file) = paths.iter().find_map(|path| genesis_beside(path)) {
        return from_file(&file, store);
    }
    if let Some(spec) = archive.genesis().and_then(|hash| ChainSpec::by_genesis_hash(&hash)) {
        return Ok(spec);
    }
    if let Some(spec) = archive.network_hint().and_then(ChainSpec::by_name) {
        return Ok(spec);
    }
    let stored = store.and_then(ChainStore::tip);
    if let Some(spec) = stored.and_then(|tip| ChainSpec::by_genesis_hash(&tip.chain)) {
        return Ok(spec);
    }
    bail!(
        "cannot tell which chain this archive is of: it does not begin with the genesis block of \
         {}, and no genesis.json lies beside it; name it with --chain NAME or --chain genesis.json",
        ChainSpec::NETWORKS.join(", ")
    )
}

/// A built-in network, or a genesis.json, which is perhaps that of a store.
pub fn named(chain: &str, store: Option<&ChainStore>) -> Result<ChainSpec> {
    match ChainSpec::by_name(chain) {
        Some(spec) => Ok(spec),
        None if Path::new(chain).is_file() => from_file(Path::new(chain), store),
        None => bail!(
            "--chain {chain}: expected {} or the path of a genesis.json, found neither",
            ChainSpec::NETWORKS.join(", ")
        ),
    }
}

fn from_file(path: &Path, store: Option<&ChainStore>) -> Result<ChainSpec> {
    // who has verified the first block need not read the accounts, which may be millions
    let stored = store.and_then(|store| store.header(0).ok().flatten());
    if let Some(spec) = stored.and_then(|header| ChainSpec::behind_genesis(path, &header)) {
        return Ok(spec);
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    ChainSpec::from_genesis_json(&text).with_context(|| format!("{}", path.display()))
}

/// The network whose genesis block stands first in the archive.
pub fn by_first_block(archive: &Archive) -> Result<Option<ChainSpec>> {
    if archive.range().is_some_and(|(first, _)| first != 0) {
        return Ok(None);
    }
    let one = ChunkLimit { blocks: 1, ..ChunkLimit::default() };
    let mut reader = archive.reader(Want::default(), one, 0..=0)?;
    let (mut packed, mut chunk) = (Packed::new(), archive::Chunk::new());
    if !reader.read(&mut packed)? {
        return Ok(None);
    }
    packed.unpack(&mut chunk)?;
    let header = chunk.headers.iter().next();
    Ok(header.and_then(|raw| ChainSpec::by_genesis_hash(&crypto::keccak256(raw))))
}

/// A genesis.json in the same folder.
pub fn genesis_beside(path: &Path) -> Option<PathBuf> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    Some(folder.join("genesis.json")).filter(|file| file.is_file())
}
