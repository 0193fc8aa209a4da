//! Identifies the store in a folder before anything is written to it.

use crate::BlockHash;
use crate::chainstate::{CHAINSTATE, COINS, State, UNDO};
use crate::error::Error;
use crate::index::{self, INDEX_MAGIC, Loaded};
use crate::params::Params;
use blockmill_platform::files;
use blockmill_store::{ChainStore, Store};
use blockmill_verdict::Digits;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// Name of the index file in the folder of a store.
pub(crate) const INDEX: &str = "index";
/// Name of the file with the challenge of a custom signet.
const CHALLENGE: &str = "signet";
/// The beginning of its content, as in `--chain`.
const SIGNET: &str = "signet:";
/// Files of Ethereum stores (of this or an older format) that Bitcoin stores do not have.
const OF_ETHEREUM: [&str; 2] = ["checkpoint", "hashes.00000"];

/// Returns whether the folder has any file of a Bitcoin store.
///
/// # Errors
/// Returns [`Error::System`] if the folder cannot be read.
pub fn holds_bitcoin(folder: &Path) -> Result<bool, Error> {
    let chainstate = folder.join(CHAINSTATE);
    if files::is_folder(&chainstate).map_err(Error::system("open", &chainstate))? {
        return Ok(true);
    }
    let index = first_bytes(&folder.join(INDEX))?;
    Ok(index.is_some_and(|bytes| bytes.starts_with(&INDEX_MAGIC)))
}

/// Checks that an import of this network neither mixes chains in this folder nor overwrites foreign
/// files.
///
/// # Errors
/// Returns [`Error::OtherChain`] for a store of another chain, and [`Error::Corrupt`] for other
/// files.
pub fn expect_own(folder: &Path, params: &Params) -> Result<(), Error> {
    let other = |expected: String| {
        let found = format!("Bitcoin {}", params.name);
        Err(Error::OtherChain { expected, found })
    };
    for name in OF_ETHEREUM {
        let path = folder.join(name);
        if files::is_file(&path).map_err(Error::system("open", &path))? {
            return other("an Ethereum chain".into());
        }
    }
    if ChainStore::is_in(folder)? {
        return other("an Ethereum chain".into());
    }
    let index = folder.join(INDEX);
    if let Some(head) = first_bytes(&index)?
        && !head.is_empty()
        && !head.starts_with(&INDEX_MAGIC)
    {
        let (expected, found) =
            (INDEX_MAGIC.escape_ascii(), head[..head.len().min(8)].escape_ascii());
        let what = format!("expected a file that begins with {expected}, found {found}");
        let advice = "`blockmill check DATA --repair` removes it, and the next import scans \
                      the block files again";
        return Err(Error::Corrupt(format!("{}: {what}; {advice}", index.display())));
    }
    if let Some(magic) = foreign_index(folder, params)? {
        let stored = Params::by_magic(magic);
        return other(stored.map_or_else(
            || format!("a signet of its own, magic {}", Digits(&magic)),
            |stored| format!("Bitcoin {}", stored.name),
        ));
    }
    match stored_state(folder)? {
        Some(state) if state.genesis != params.genesis_hash => other(name_of(&state.genesis)),
        _ => Ok(()),
    }
}

/// The state of the coins in a folder. `None` if nothing was committed.
///
/// # Errors
/// Returns [`Error::Store`] or [`Error::Corrupt`] if the manifest is corrupt, or missing although
/// there are coins or undo data.
pub(crate) fn stored_state(folder: &Path) -> Result<Option<State>, Error> {
    match Store::read_state(&folder.join(CHAINSTATE), &[COINS, UNDO])? {
        Some(state) if !state.is_empty() => State::read(&state).map(Some),
        _ => Ok(None),
    }
}

/// The name of a network with this genesis block.
fn name_of(genesis: &BlockHash) -> String {
    let params = Params::by_genesis(genesis);
    let unknown = || format!("the chain that begins with {genesis}");
    params.map_or_else(unknown, |params| format!("Bitcoin {}", params.name))
}

/// Stores the challenge of a custom signet: its blocks have only the hash.
///
/// # Errors
/// Returns an [`io::Error`] if the file cannot be written.
pub fn keep_challenge(folder: &Path, params: &Params) -> io::Result<()> {
    let Some(challenge) = &params.signet_challenge else { return Ok(()) };
    if Params::by_magic(params.magic).is_some() {
        return Ok(());
    }
    let text = format!("{SIGNET}{}\n", Digits(challenge));
    let path = folder.join(CHALLENGE);
    if fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let temporary = path.with_extension("new");
    files::expect_no_link(&temporary)?;
    let mut file = File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, &path)
}

/// The custom signet of a store. `None` for a built-in network.
///
/// # Errors
/// Returns [`Error::Corrupt`] if the file is not a challenge, or is that of another signet, and
/// [`Error::System`] if it cannot be read.
pub fn kept_signet(folder: &Path) -> Result<Option<Params>, Error> {
    let path = folder.join(CHALLENGE);
    let text = files::if_there(&path, fs::read(&path)).map_err(Error::system("read", &path))?;
    let Some(text) = text else { return Ok(None) };
    let challenge = str::from_utf8(&text).ok().and_then(|text| {
        let digits = text.strip_suffix('\n')?.strip_prefix(SIGNET)?.as_bytes();
        let (pairs, []) = digits.as_chunks::<2>() else { return None };
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4 | digit(*low)?) as u8);
        pairs.iter().map(byte).collect::<Option<Vec<u8>>>()
    });
    let advice = "import again with --chain signet:CHALLENGE: that writes it";
    let corrupt = |what: &str| Error::Corrupt(format!("{}: {what}; {advice}", path.display()));
    let challenge = challenge.ok_or_else(|| corrupt("expected signet: and digits"))?;
    let params = Params::signet_with(challenge);
    match foreign_index(folder, &params)? {
        Some(_) => Err(corrupt("expected the challenge of the stored blocks, found another")),
        None => Ok(Some(params)),
    }
}

/// The magic of the index in this folder if it is complete and that of another network. A corrupt
/// index says nothing about the network: the blocks are scanned again.
fn foreign_index(folder: &Path, params: &Params) -> Result<Option<[u8; 4]>, Error> {
    let path = folder.join(INDEX);
    let head = first_bytes(&path)?.unwrap_or_default();
    if !head.starts_with(&INDEX_MAGIC) || head.get(8..12) == Some(&params.magic) {
        return Ok(None);
    }
    match index::load(&path, params.magic).map_err(Error::Index)? {
        Loaded::Foreign(magic) => Ok(Some(magic)),
        Loaded::Nothing | Loaded::Index(_) | Loaded::Corrupt(_) => Ok(None),
    }
}

/// Up to twelve bytes of a file. `None` if there is no file; empty if it is too short.
fn first_bytes(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    if !files::is_file(path).map_err(Error::system("open", path))? {
        return Ok(None);
    }
    let mut head = vec![];
    let file = File::open(path).map_err(Error::system("open", path))?;
    file.take(12).read_to_end(&mut head).map_err(Error::system("read", path))?;
    if head.len() < 8 {
        head.clear();
    }
    Ok(Some(head))
}
