//! Finds block files in paths.

use std::path::{Path, PathBuf};

use super::files::{BlockFile, BlockFiles};
use super::lost_key::{expect_one_key, no_blocks};
use super::network::Network;
use super::probe::{Probe, Shape, probe};
use super::xor::{XOR_FILE, XorKey};
use crate::listing::{files_of, is_input_folder};
use crate::names::{self, block_file_digits, is_undo_file};
use crate::{Error, foreign, listing};

/// Number of files of a folder that [`looks_like`] opens; it may have thousands of something else.
const FEW: usize = 16;

/// Finds the block files in `paths`: a datadir, its `blocks` folder or the folder of a network in
/// it, any other folder of files with blocks, or such files. `network` is needed if no magic
/// identifies it (raw blocks, hex), and selects among the networks of a datadir.
///
/// With `network`, a file with the name of a block file is accepted even if its content cannot be
/// recognised, because a corrupt file may have no valid magic.
///
/// # Errors
///
/// Returns [`Error::UnknownFormat`] or [`Error::Foreign`] if a path has no blocks, [`Error::Mixed`]
/// if networks differ, and [`Error::Io`] if a path cannot be read.
pub fn open(paths: &[PathBuf], network: Option<Network>) -> Result<BlockFiles, Error> {
    let mut files = BlockFiles { network, ..BlockFiles::default() };
    for path in paths {
        if !is_input_folder(path)? {
            let key = XorKey::of_folder(path.parent().unwrap_or(Path::new("")))?;
            let found = match foreign::recognise(path) {
                Some(foreign) => return Err(foreign),
                None => match (probe(path, key, network)?, network) {
                    (Some(found), _) => found,
                    (None, Some(network)) if names::is_block_file(path) => records_of(network),
                    (None, _) => return Err(no_blocks(path, std::slice::from_ref(path), key)?),
                },
            };
            files.add(path.clone(), key, found)?;
        } else if let Some(folder) = folder_of_network(path, network)? {
            add_folder(&mut files, &folder, network)?;
        } else {
            let before = files.files.len();
            let key = XorKey::of_folder(path)?;
            let visible = files_of(path, is_no_key)?;
            for path in visible.iter().cloned() {
                match probe(&path, key, network)? {
                    Some(found) => files.add(path, key, found)?,
                    None => files.left_out.add(path)?,
                }
            }
            if files.files.len() == before {
                return match foreign::recognise(path) {
                    Some(foreign) => Err(foreign),
                    None => Err(no_blocks(path, &visible, key)?),
                };
            }
        }
    }
    files.left_out.forget_sources_of(files.files.iter().map(BlockFile::path));
    Ok(files)
}

/// Whether a path has Bitcoin blocks. Checks names, which identify corrupt files, too, and the
/// first MiB of a few files.
///
/// # Errors
///
/// Returns [`Error::Io`] if a folder or a file in it cannot be opened, and [`Error::Special`] for a
/// device.
pub fn looks_like(path: &Path) -> Result<bool, Error> {
    if !is_input_folder(path)? {
        return is_of_blocks(path);
    }
    match folder_of_network(path, None) {
        Ok(Some(_)) | Err(Error::Mixed { .. }) => return Ok(true),
        Err(error @ Error::Io { .. }) => return Err(error),
        _ => {}
    }
    for file in files_of(path, is_no_key)?.iter().take(FEW) {
        if is_of_blocks(file)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file has blocks, or the name of a block file. Corruption is reported when it is read.
fn is_of_blocks(path: &Path) -> Result<bool, Error> {
    if names::is_block_file(path) {
        return Ok(true);
    }
    let key = XorKey::of_folder(path.parent().unwrap_or(Path::new("")));
    match key.and_then(|key| probe(path, key, None)) {
        Err(error @ Error::Io { .. }) => Err(error),
        found => Ok(matches!(found, Ok(Some(_)))),
    }
}

/// Adds the block files of a folder of one network. The first file that identifies the network does
/// so for all.
fn add_folder(
    files: &mut BlockFiles,
    folder: &Path,
    network: Option<Network>,
) -> Result<(), Error> {
    let key = XorKey::of_folder(folder)?;
    let paths = files_of(folder, is_block_file)?;
    for path in files_of(folder, |name| !is_block_file(name))? {
        files.left_out.add(path)?;
    }
    expect_one_key(&paths, key)?;
    let mut found = None;
    for path in &paths {
        let records = |found: &Probe| matches!(found.shape, Shape::Records { .. });
        found = probe(path, key, network)?.filter(records);
        if found.is_some() {
            break;
        }
    }
    let found = match (found, network) {
        (Some(found), _) => found,
        (None, Some(network)) => records_of(network),
        (None, None) => return Err(no_blocks(folder, &paths, key)?),
    };
    files.folders.push(folder.to_path_buf());
    paths.into_iter().try_for_each(|path| files.add(path, key, found))
}

/// The shape of a block file of this network, if its content does not reveal it.
fn records_of(network: Network) -> Probe {
    let shape = Shape::Records { magic: network.magic() };
    Probe { shape, network: Some(network), compression: None }
}

/// The folder with the `blk*.dat` files of `path`, if there is one.
fn folder_of_network(path: &Path, network: Option<Network>) -> Result<Option<PathBuf>, Error> {
    if has_block_files(path)? {
        return Ok(Some(path.to_path_buf()));
    }
    let all = Network::NAMED.into_iter();
    let mut folders = vec![];
    for known in
        all.filter(|known| network.is_none_or(|network| network.folder() == known.folder()))
    {
        let base = known.folder().map_or_else(|| path.to_path_buf(), |name| path.join(name));
        let blocks = base.join("blocks");
        if listing::is_folder(&blocks)? && has_block_files(&blocks)? {
            folders.push(blocks);
        }
    }
    // with the network's name, the folder of that network itself, or a copy of it
    let blocks = path.join("blocks");
    if let Some(network) = network.filter(|_| folders.is_empty())
        && listing::is_folder(&blocks)?
        && has_block_files(&blocks)?
    {
        let is_own = network.folder().is_some_and(|name| path.ends_with(name));
        if is_own || is_of(&blocks, network)? {
            folders.push(blocks);
        }
    }
    match (folders.len(), folders.first()) {
        (1, Some(folder)) => Ok(Some(folder.clone())),
        (_, Some(first)) => Err(Error::Mixed {
            first: first.clone(),
            expected: "blocks of one network, or its name".into(),
            second: folders[1].clone(),
            found: "blocks of another network".into(),
        }),
        (_, None) => Ok(None),
    }
}

/// The folder with the block files of a folder or a datadir; `None` if there are none, or several.
pub(crate) fn folder(path: &Path) -> Result<Option<PathBuf>, Error> {
    match folder_of_network(path, None) {
        Err(Error::Mixed { .. }) => Ok(None),
        found => found,
    }
}

fn has_block_files(folder: &Path) -> Result<bool, Error> {
    Ok(!files_of(folder, is_block_file)?.is_empty())
}

/// Whether the first block files in a folder belong to this network.
fn is_of(folder: &Path, network: Network) -> Result<bool, Error> {
    let key = XorKey::of_folder(folder)?;
    for path in files_of(folder, is_block_file)?.iter().take(FEW) {
        if probe(path, key, None)?.is_some_and(|found| found.network == Some(network)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file is neither the key nor undo data, whose records have the magic of blocks.
fn is_no_key(name: &[u8]) -> bool {
    name != XOR_FILE.as_bytes() && !is_undo_file(name)
}

/// `blk`, digits, `.dat`; compressed ones too.
fn is_block_file(name: &[u8]) -> bool {
    block_file_digits(name).is_some()
}
