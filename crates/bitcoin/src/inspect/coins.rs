//! Inspects a folder with coins: a store, or a Bitcoin Core datadir.

use crate::chainstate::{CHAINSTATE, Opened};
use crate::coins::{self, CoinsError, Counter, PackedCoin, Statistics};
use crate::datadir::{self, Datadir};
use crate::error::Error;
use crate::params::Params;
use crate::run::Tip;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_platform::{files, remote};
use blockmill_store::StoreOptions;
use std::path::{Path, PathBuf};

/// Memory for reading all coins of a store, in bytes.
const MEMORY: usize = 16 << 20;

/// The state of a store.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The network. `None` if it is not built in.
    pub params: Option<Params>,
    /// The last connected block.
    pub tip: Tip,
    /// Size of its undo data in bytes.
    pub undo_bytes: u64,
    /// Statistics of all coins.
    pub statistics: Statistics,
}

/// Returns whether this is the folder of a store with coins.
///
/// # Errors
/// Returns [`Error::System`] if the folder cannot be read.
pub fn is_store(folder: &Path) -> Result<bool, Error> {
    let manifest = folder.join(CHAINSTATE).join("manifest");
    files::is_file(&manifest).map_err(Error::system("open", &manifest))
}

/// Reads the coins of a store. `None` if nothing was committed to it. No other process may have the
/// store open.
///
/// # Errors
/// Returns [`Error::Store`] or [`Error::Corrupt`] if the store is open in another process, cannot
/// be read, or is corrupt.
pub fn stored(folder: &Path) -> Result<Option<Stored>, Error> {
    let Opened { coins, undo, state, .. } =
        Opened::open(folder, &StoreOptions::default().disk, MEMORY)?;
    let Some(state) = state else { return Ok(None) };
    let statistics = coins::statistics(&coins).map_err(|error| match error {
        CoinsError::Store(error) => Error::Store(error),
        malformed @ CoinsError::Malformed { .. } => Error::Corrupt(malformed.to_string()),
    })?;
    let params = Params::by_genesis(&state.genesis);
    Ok(Some(Stored { params, tip: state.tip, undo_bytes: undo.len(), statistics }))
}

/// The state of a datadir.
#[derive(Clone, Debug)]
pub struct CoreState {
    /// The block after which the coins are unspent.
    pub best: Tip,
    /// Number of blocks in its index, including those with a header only.
    pub blocks: u64,
    /// Statistics of all coins.
    pub statistics: Statistics,
}

/// Returns whether this folder has a block index and coins of Bitcoin Core.
///
/// # Errors
/// Returns [`Error::System`] if the folder cannot be read.
pub fn is_datadir(folder: &Path) -> Result<bool, Error> {
    let is_folder = |path: PathBuf| files::is_folder(&path).map_err(Error::system("open", &path));
    Ok(is_folder(folder.join("blocks/index"))? && is_folder(folder.join("chainstate"))?)
}

/// The datadir or store that has its unspent coins in `folder`.
///
/// # Errors
/// Returns [`Error::System`] if the folder cannot be read.
pub fn coins_owner(folder: &Path) -> Result<Option<&Path>, Error> {
    let Some(whose) = folder.parent() else { return Ok(None) };
    // the parent of a bare name
    let whose = if whose.as_os_str().is_empty() { Path::new(".") } else { whose };
    let is_of = |name: &str| folder.file_name().is_some_and(|found| found == name);
    let is_core = is_of("chainstate") && is_datadir(whose)?;
    Ok((is_core || is_of(CHAINSTATE) && is_store(whose)?).then_some(whose))
}

/// The Bitcoin Core datadir that these block files are in.
///
/// # Errors
/// Returns [`Error::System`] if a folder cannot be read.
pub fn datadir_of(files: &BlockFiles) -> Result<Option<PathBuf>, Error> {
    // nothing is known of a folder above those that a server was asked for
    let is_here = |path: &Path| !remote::is_remote(path);
    let above =
        |path: &Path| Some(path.parent()?.parent()?.to_path_buf()).filter(|_| is_here(path));
    let Some(folder) = files.files().first().and_then(|file| above(file.path())) else {
        return Ok(None);
    };
    Ok(is_datadir(&folder)?.then_some(folder))
}

/// Describes what verifying these block files does not check in their datadir. `proven`: whether
/// the coin multiset hash proved coins and undo data. `None` for block files alone.
///
/// # Errors
/// Returns [`Error::System`] if the folder cannot be read.
pub fn unchecked(files: &BlockFiles, proven: bool) -> Result<Option<String>, Error> {
    let first = files.files().first().and_then(|file| file.path().parent());
    let Some(blocks) = first else { return Ok(None) };
    let is_there = |path: &Path| files::is_there(path).map_err(Error::system("open", path));
    let mut parts = vec![];
    // nothing is known of a folder above those that a server was asked for
    let is_of_datadir = blocks.ends_with("blocks") && !remote::is_remote(blocks);
    if let Some(datadir) = blocks.parent().filter(|_| is_of_datadir)
        && !proven
        && is_there(&datadir.join("chainstate"))?
    {
        parts.push("the chainstate");
    }
    if !proven && has_undo_files(blocks)? {
        parts.push("the undo files (rev*.dat)");
    }
    if is_there(&blocks.join("index"))? {
        parts.push("the block index (blocks/index)");
    }
    let last = parts.pop();
    let listed = match (parts.join(", "), last) {
        (_, None) => return Ok(None),
        (before, Some(last)) if before.is_empty() => last.to_owned(),
        (before, Some(last)) => format!("{before} and {last}"),
    };
    let of = blocks.display();
    let proves =
        if proven { "" } else { "; `verify --with coins=multiset` proves coins and undo data" };
    Ok(Some(format!(
        "{listed} of the datadir of {of}; `inspect --deep` reads them and their checksums{proves}"
    )))
}

fn has_undo_files(blocks: &Path) -> Result<bool, Error> {
    let all = files::list(blocks).map_err(Error::system("list", blocks))?;
    let names = all.iter().filter_map(|path| path.file_name()).map(|name| name.as_encoded_bytes());
    Ok(names.into_iter().any(|name| name.starts_with(b"rev") && name.ends_with(b".dat")))
}

/// Reads the index and the coins of a datadir. Bitcoin Core must not be running on it.
///
/// # Errors
/// Returns [`datadir::Error`] if a database cannot be read, or the index lacks the block of the
/// coins.
pub fn core_state(folder: &Path) -> Result<CoreState, datadir::Error> {
    let datadir = Datadir::open(folder)?;
    let mut coins = datadir.coins()?;
    let hash = coins.best_block();
    let Some(entry) = datadir.block(&hash) else {
        let what = format!("block {hash}, to which the coins belong,");
        return Err(datadir::Error::Missing { path: folder.join("blocks/index"), what });
    };
    let best = Tip { height: entry.height, hash };
    let mut counter = Counter::default();
    coins.each_in_order(|key, packed| {
        // a packed coin can be unpacked
        PackedCoin::unpack(packed).iter().for_each(|coin| counter.add(key, coin));
        Ok::<_, datadir::Error>(())
    })?;
    let blocks = datadir.blocks().count() as u64;
    Ok(CoreState { best, blocks, statistics: counter.finish() })
}
