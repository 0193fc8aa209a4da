//! Which Bitcoin network block files are of.

use crate::args::bytes_of;
use anyhow::{Context, Result, bail};
use blockmill_archive::blkdat::{self, BlockFiles, Network};
use blockmill_bitcoin::data_folder::kept_signet;
use blockmill_bitcoin::params::Params;
use std::path::PathBuf;

/// Fails if the files hold headers without blocks.
pub fn refuse_headers(files: &BlockFiles) -> Result<()> {
    let Some(path) = files.headers_only() else { return Ok(()) };
    bail!(
        "{}: these are headers of Bitcoin without blocks: `blockmill verify --level headers` \
         checks them; for more than that give block files (blk*.dat)",
        path.display()
    )
}

/// Opens block files, or headers without blocks, and determines their network: that of the user,
/// else that of one of `stores` (a custom signet), else that of the files.
pub fn open<'p>(
    paths: &[PathBuf],
    chain: Option<&str>,
    stores: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<(BlockFiles, Params)> {
    let named = chain.map(named).transpose()?;
    let network = named.as_ref().map(network_of);
    if let Some(network) = network {
        refuse_others(paths, network)?;
    }
    let files = blkdat::open(paths, network)?;
    if let Some(network) = network {
        refuse_other_work(&files, network)?;
    }
    let found = || files.network().and_then(|network| Params::by_magic(network.magic()));
    if let Some(params) = named.or_else(found) {
        return Ok((files, params));
    }
    let magic = files.network().map(|network| network.magic());
    for store in stores {
        if let Some(params) = kept_signet(store)?.filter(|params| Some(params.magic) == magic) {
            return Ok((files, params));
        }
    }
    bail!("cannot tell the network of these blocks: name it with --chain; available: {}", names())
}

/// Fails if the files clearly belong to another network than the user says. The name is required if
/// the files do not determine it, or if a datadir has several networks.
fn refuse_others(paths: &[PathBuf], expected: Network) -> Result<()> {
    let files = match blkdat::open(paths, None) {
        Ok(files) => files,
        Err(error @ blockmill_archive::Error::Io { .. }) => return Err(error.into()),
        // the name of the network may be what lacks
        Err(_) => return Ok(()),
    };
    match (files.network(), files.files().first()) {
        (Some(found), Some(file)) if found != expected => {
            let file = file.path().display();
            bail!("--chain: expected blocks of {expected}, found blocks of {found} in {file}")
        }
        _ => Ok(()),
    }
}

/// Says so when the proof of work and the difficulty of raw blocks, which have no magic, are not
/// those of the network.
fn refuse_other_work(files: &BlockFiles, expected: Network) -> Result<()> {
    for file in files.files() {
        let cannot_read = || format!("cannot read {}", file.path().display());
        let Some(header) = blkdat::first_header(file).with_context(cannot_read)? else { continue };
        if expected.could_have(&header) {
            continue;
        }
        let possible = Network::NAMED.iter().filter(|network| network.could_have(&header));
        let names: Vec<String> = possible.map(ToString::to_string).collect();
        let found = match &names[..] {
            [] => "no proof of work of any network".to_owned(),
            names => format!("the proof of work and difficulty of {}", names.join(" or ")),
        };
        let path = file.path().display();
        bail!("--chain: expected a block of {expected}, found {found} in {path}");
    }
    Ok(())
}

/// How files name the network; what has no name of its own is a signet of somebody's.
pub fn network_of(params: &Params) -> Network {
    let magic = params.magic;
    Network::from_magic(magic).unwrap_or(Network::Signet { magic })
}

/// Returns whether this is the name of a network of Bitcoin only. The main network of Ethereum has
/// the same name.
pub fn is_named(chain: &str) -> bool {
    chain != "mainnet" && named(chain).is_ok()
}

/// The network of this name: one of the built-in ones, or `signet:` and a challenge in hex.
fn named(chain: &str) -> Result<Params> {
    if let Some(params) = Params::by_name(chain) {
        return Ok(params);
    }
    if let Some(digits) = chain.strip_prefix("signet:") {
        let challenge = bytes_of(digits);
        let challenge =
            challenge.with_context(|| format!("--chain {chain}: expected pairs of hex digits"))?;
        return Ok(Params::signet_with(challenge));
    }
    bail!("--chain {chain}: expected {} or signet:CHALLENGE", names())
}

fn names() -> String {
    Params::all().map(|params| params.name).join(", ")
}
