//! Block files of one network.

use std::io;
use std::path::{Path, PathBuf};

use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Location;

use super::network::Network;
use super::probe::{Probe, Shape};
use super::xor::XorKey;
use crate::compression::Compression;
use crate::input::{Seekable, copied};
use crate::names::block_file_digits;
use crate::{Error, LeftOut};

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
    copy: Option<InputFile>,
}

impl BlockFile {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file, or its temporary copy.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn open(&self) -> io::Result<InputFile> {
        match &self.copy {
            Some(copy) => Ok(copy.clone()),
            None => InputFile::open(&self.path),
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

    fn has_headers_only(&self) -> bool {
        self.shape == Shape::Headers
    }
}

/// Files with blocks of one network, in natural order within each given path.
#[derive(Clone, Debug, Default)]
pub struct BlockFiles {
    pub(super) files: Vec<BlockFile>,
    pub(super) network: Option<Network>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) left_out: LeftOut,
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

    /// The first file, if the files hold headers without blocks.
    pub fn headers_only(&self) -> Option<&Path> {
        self.files.first().filter(|file| file.has_headers_only()).map(BlockFile::path)
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

    /// Adds a file.
    ///
    /// # Errors
    /// Returns [`Error::Mixed`] if it belongs to another network.
    pub(super) fn add(&mut self, path: PathBuf, key: XorKey, found: Probe) -> Result<(), Error> {
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
        let is_headers = found.shape == Shape::Headers;
        if let Some(first) = self.files.first().filter(|it| it.has_headers_only() != is_headers) {
            let what = |headers| if headers { "headers without blocks" } else { "blocks" };
            return Err(Error::Mixed {
                first: first.path.clone(),
                expected: what(!is_headers).into(),
                second: path,
                found: what(is_headers).into(),
            });
        }
        // headers are never obfuscated
        let key = if is_headers { XorKey::default() } else { key };
        self.files.push(block_file(path, key, found.shape)?);
        Ok(())
    }
}

/// Opens a file. A compressed file or a pipe is copied to a temporary file.
fn block_file(path: PathBuf, key: XorKey, shape: Shape) -> Result<BlockFile, Error> {
    let seekable = Seekable::open(&path)?;
    let length = seekable.file().length().map_err(Error::io("cannot open", &path))?;
    let copy = seekable.copied.then(|| seekable.file().clone());
    Ok(BlockFile { path, length, key, shape, compression: seekable.compression, copy })
}

/// The number in the name of a block file.
fn number(path: &Path) -> Option<u64> {
    std::str::from_utf8(block_file_digits(path.file_name()?.as_encoded_bytes())?).ok()?.parse().ok()
}
