//! Finds the block files in paths.

use blockmill_verdict::Location;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lost_key::{expect_one_key, no_blocks};
use super::network::Network;
use super::probe::{Probe, Shape, probe};
use super::xor::{XOR_FILE, XorKey};
use crate::compression::Compression;
use crate::input::{Seekable, copied};
use crate::listing::{files_of, is_input_folder};
use crate::names::{self, block_file_digits, is_undo_file};
use crate::{Error, LeftOut, foreign, listing};

/// Number of files of a folder that [`looks_like`] opens; it may have thousands of something else.
const FEW: usize = 16;

/// A file with blocks.
#[derive(Clone, Debug)]
pub struct BlockFile {
    path: PathBuf,
    length: u64,
    key: XorKey,
    shape: Shape,
    /// The compression of the file.
    compression: Option<Compression>,
    /// The temporary copy, if the file was unpacked or is a pipe.
    copy: Option<Arc<File>>,
}

impl BlockFile {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file, or its temporary copy. Use positioned reads and maps only: the position of a
    /// temporary file is shared.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn open(&self) -> io::Result<File> {
        match &self.copy {
            Some(copy) => copy.try_clone(),
            None => File::open(&self.path),
        }
    }

    /// The compression of the file.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Whether its bytes are in a temporary copy: it was unpacked, or it is a pipe.
    pub fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// The location of a byte.
    pub fn location(&self, offset: u64) -> Location {
        Location { file: self.path.clone(), offset, unpacked: self.compression.is_some() }
    }

    /// Its unpacked length in bytes when it was found.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The key of its obfuscation.
    pub fn key(&self) -> XorKey {
        self.key
    }

    /// The shape of the file.
    pub fn shape(&self) -> Shape {
        self.shape
    }
}

/// Files with blocks of one network, in natural order within each given path.
#[derive(Clone, Debug, Default)]
pub struct BlockFiles {
    files: Vec<BlockFile>,
    network: Option<Network>,
    folders: Vec<PathBuf>,
    left_out: LeftOut,
}

impl BlockFiles {
    /// The files; a [`BlockLocation`](super::BlockLocation) counts them from 0.
    pub fn files(&self) -> &[BlockFile] {
        &self.files
    }

    /// The network; `None` if it was not given and no magic identifies it.
    pub fn network(&self) -> Option<Network> {
        self.network
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.length).sum()
    }

    /// Folders whose `blk*.dat` files are all among these, so that their numbers should have no
    /// holes.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Files of the folders that are not read.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Whether the first file of Bitcoin Core, `blk00000.dat`, is among these.
    pub fn has_first(&self) -> bool {
        self.files.iter().any(|file| number(&file.path) == Some(0))
    }

    /// A note on files that are unpacked or copied to temporary files, if there are any.
    pub fn copied(&self) -> Option<String> {
        let copies = || self.files.iter().filter(|file| file.is_copy());
        let bytes: u64 = copies().map(BlockFile::length).sum();
        (copies().count() > 0).then(|| copied(copies().count(), Some(bytes)))
    }

    /// A part of the files, by their indexes here.
    pub fn only(&self, indexes: &[u32]) -> Self {
        let file = |index: &u32| self.files.get(*index as usize).cloned();
        let files = indexes.iter().filter_map(file).collect();
        Self { files, network: self.network, ..Self::default() }
    }

    /// Numbers that are missing between the `blk*.dat` files of a folder: the folder, and the first
    /// and the last number of each hole.
    pub fn holes(&self) -> Vec<(&Path, u64, u64)> {
        let mut holes = vec![];
        for folder in &self.folders {
            let own = self.files.iter().filter(|file| file.path.parent() == Some(folder));
            let mut numbers: Vec<u64> = own.filter_map(|file| number(&file.path)).collect();
            numbers.sort_unstable();
            let pairs = numbers.iter().zip(numbers.iter().skip(1));
            let apart = pairs.filter(|(one, next)| **next > **one + 1);
            holes.extend(apart.map(|(one, next)| (folder.as_path(), one + 1, next - 1)));
        }
        holes
    }

    fn add(&mut self, path: PathBuf, key: XorKey, found: Probe) -> Result<(), Error> {
        match (self.network, found.network) {
            (Some(first), Some(second)) if first != second => {
                let before = self.files.first().map(|file| file.path.clone());
                return Err(Error::Mixed {
                    first: before.unwrap_or_default(),
                    expected: format!("blocks of {first}"),
                    second: path,
                    found: format!("blocks of {second}"),
                });
            }
            (None, network) => self.network = network,
            _ => {}
        }
        self.files.push(block_file(path, key, found.shape)?);
        Ok(())
    }
}

/// Opens a file. A compressed file or a pipe is copied to a temporary file.
fn block_file(path: PathBuf, key: XorKey, shape: Shape) -> Result<BlockFile, Error> {
    let seekable = Seekable::open(&path)?;
    let length = seekable.file().metadata().map_err(Error::io("cannot open", &path))?.len();
    let copy = seekable.copied.then(|| seekable.file().clone());
    Ok(BlockFile { path, length, key, shape, compression: seekable.compression, copy })
}

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
    files.left_out.forget_sources_of(files.files.iter().map(|file| &*file.path));
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

/// The number in the name of a block file.
fn number(path: &Path) -> Option<u64> {
    std::str::from_utf8(block_file_digits(path.file_name()?.as_encoded_bytes())?).ok()?.parse().ok()
}
