//! Whose store a folder holds, found before anything is written to it.

use crate::BlockHash;
use crate::chainstate::{CHAINSTATE, COINS, State, UNDO};
use crate::fault::Error;
use crate::index::INDEX_MAGIC;
use crate::params::Params;
use blockmill_platform::files;
use blockmill_store::{ChainStore, Store};
use blockmill_verdict::Digits;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// Name of the block index in the folder of a store.
pub(crate) const INDEX: &str = "index";
/// Name of the file with the challenge of a signet of somebody's.
const CHALLENGE: &str = "signet";
/// What it begins with, as `--chain` has it.
const SIGNET: &str = "signet:";
/// Files that a store of Ethereum has, in this format or an older one, and ours has not.
const OF_ETHEREUM: [&str; 2] = ["checkpoint", "hashes.00000"];

/// Has this folder anything that an import of Bitcoin blocks makes?
///
/// # Errors
/// When the system does not say it.
pub fn holds_bitcoin(folder: &Path) -> Result<bool, Error> {
    let chainstate = folder.join(CHAINSTATE);
    if files::is_folder(&chainstate).map_err(Error::system("open", &chainstate))? {
        return Ok(true);
    }
    let index = first_bytes(&folder.join(INDEX))?;
    Ok(index.is_some_and(|bytes| bytes.starts_with(&INDEX_MAGIC)))
}

/// Refuses a folder in which an import of this network would mix chains or write over what is not
/// its own.
///
/// # Errors
/// [`Error::OtherChain`] names both chains; [`Error::Corrupt`] says what stands in the way.
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
    if let Some(head) = first_bytes(&index)? {
        if !head.is_empty() && !head.starts_with(&INDEX_MAGIC) {
            let (expected, found) =
                (INDEX_MAGIC.escape_ascii(), head[..head.len().min(8)].escape_ascii());
            let what = format!("expected a file that begins with {expected}, found {found}");
            let advice = "`blockmill check DATA --repair` removes it, and the next import scans \
                          the block files again";
            return Err(Error::Corrupt(format!("{}: {what}; {advice}", index.display())));
        }
        let magic = head.get(8..12).filter(|magic| *magic != params.magic);
        if let Some(magic) = magic.filter(|_| head.starts_with(&INDEX_MAGIC)) {
            let stored = Params::all().into_iter().find(|network| network.magic == magic);
            return other(stored.map_or_else(
                || format!("a signet of its own, magic {}", Digits(magic)),
                |stored| format!("Bitcoin {}", stored.name),
            ));
        }
    }
    match stored_state(folder)? {
        Some(state) if state.genesis != params.genesis_hash => other(name_of(&state.genesis)),
        _ => Ok(()),
    }
}

/// What the coins in a folder are those of; `None` when nothing was committed.
///
/// # Errors
/// When the manifest is damaged, or gone where coins or undo data are.
pub(crate) fn stored_state(folder: &Path) -> Result<Option<State>, Error> {
    match Store::read_state(&folder.join(CHAINSTATE), &[COINS, UNDO])? {
        Some(state) if !state.is_empty() => State::read(&state).map(Some),
        _ => Ok(None),
    }
}

/// A network by its first block.
fn name_of(genesis: &BlockHash) -> String {
    let params = Params::by_genesis(genesis);
    let unknown = || format!("the chain that begins with {genesis}");
    params.map_or_else(unknown, |params| format!("Bitcoin {}", params.name))
}

/// Keeps the challenge of a signet that is not built in: its blocks say its hash only.
///
/// # Errors
/// The file cannot be written.
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

/// The signet that a store keeps the challenge of; none of a network that is built in.
///
/// # Errors
/// [`Error::Corrupt`] where the file is no challenge, or that of another signet than the blocks;
/// the file cannot be read.
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
    let damaged = |what: &str| Error::Corrupt(format!("{}: {what}; {advice}", path.display()));
    let challenge = challenge.ok_or_else(|| damaged("expected signet: and digits"))?;
    let params = Params::signet_with(challenge);
    let head = first_bytes(&folder.join(INDEX))?.unwrap_or_default();
    match head.get(8..12) {
        Some(magic) if head.starts_with(&INDEX_MAGIC) && magic != params.magic => {
            Err(damaged("expected the challenge of the stored blocks, found another"))
        }
        _ => Ok(Some(params)),
    }
}

/// Up to twelve bytes of a file; none where there is no file, empty for one that is too short to
/// say anything.
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
