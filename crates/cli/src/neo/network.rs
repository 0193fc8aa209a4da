//! Detects the Neo network of dumps.

use crate::paths::is_file;
use anyhow::{Context, Result, bail};
use blockmill_archive::ChunkLimit;
use blockmill_archive::acc::{Batch, Dumps, Reader};
use blockmill_hashes::ManySha256;
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::params::Protocol;
use blockmill_neo::types::{Block, UInt256, hash_blocks};
use std::path::{Path, PathBuf};

/// Finds the network: the user's choice, a configuration next to the first dump, the built-in
/// network with the same genesis block, or the network in `store`.
pub fn detect(chain: Option<&str>, dumps: &Dumps, store: Option<&StoreReader>) -> Result<Protocol> {
    if let Some(chain) = chain {
        return named(chain);
    }
    if let Some(file) = configuration_next_to(dumps)? {
        return from_file(&file);
    }
    if let Some(protocol) = by_first_block(dumps) {
        return Ok(protocol);
    }
    if let Some(protocol) = store.map(StoreReader::protocol).transpose()?.flatten() {
        return Ok(protocol);
    }
    bail!(
        "unknown network: the dumps do not begin with the genesis block of {}, and no \
         configuration of the same name is next to them; name it with --chain NAME, \
         --chain protocol.yml or --chain config.json",
        Protocol::NETWORKS.join(" or ")
    )
}

/// A built-in network, or a configuration of neo-go or of the C# node.
pub fn named(chain: &str) -> Result<Protocol> {
    match Protocol::by_name(chain) {
        Some(protocol) => Ok(protocol),
        None if is_file(Path::new(chain))? => from_file(Path::new(chain)),
        None => bail!(
            "--chain {chain}: expected {} or the path of a configuration (neo-go's protocol.yml, \
             the C# node's config.json), found neither",
            Protocol::NETWORKS.join(", ")
        ),
    }
}

fn from_file(path: &Path) -> Result<Protocol> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    // neo-go has no field of this name
    let is_csharp = text.contains("\"ProtocolConfiguration\"") && text.contains("\"Network\"");
    let read = if is_csharp { Protocol::from_csharp } else { Protocol::from_yaml };
    read(&text).with_context(|| format!("{}", path.display()))
}

/// `x.yml` next to `x.acc`, also next to a compressed one.
pub fn configuration_next_to(dumps: &Dumps) -> Result<Option<PathBuf>> {
    let Some(path) = dumps.files().first().map(|dump| &dump.path) else { return Ok(None) };
    let name = path.file_name().and_then(|name| name.to_str());
    let Some((stem, _)) = name.and_then(|name| name.split_once(".acc")) else { return Ok(None) };
    let file = path.with_file_name(format!("{stem}.yml"));
    Ok(is_file(&file)?.then_some(file))
}

/// The built-in network with this genesis block. Built-in networks have no state roots in headers.
pub fn by_first_block(dumps: &Dumps) -> Option<Protocol> {
    let one = ChunkLimit { blocks: 1, bytes: 0 };
    let (mut batch, mut block) = (Batch::default(), Block::default());
    let first = Reader::new(dumps, 0, one).read(&mut batch).is_ok_and(|more| more);
    if !first || batch.first() != 0 {
        return None;
    }
    block.parse_header(batch.block(0), false).ok()?;
    let signed = block.signed_bytes();
    let mut networks = networks();
    networks.find(|network| network.genesis_block().starts_with(signed))
}

fn networks() -> impl Iterator<Item = Protocol> {
    Protocol::NETWORKS.into_iter().filter_map(Protocol::by_name)
}

/// The built-in network with this genesis hash.
pub fn by_genesis(hash: UInt256) -> Option<Protocol> {
    networks().find(|network| {
        let (mut block, raw) = (Block::default(), network.genesis_block());
        block.parse_header(&raw, network.state_root_in_header).is_ok() && {
            hash_blocks(std::slice::from_mut(&mut block), &ManySha256::scalar());
            block.hash == hash
        }
    })
}
