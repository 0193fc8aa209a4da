//! The block files that a store was created from. A store does not copy blocks: its index lists
//! these files.

use crate::data_folder::INDEX;
use crate::error::Error;
use crate::index::{self, CORRUPT_LENGTH, FileStamp, Loaded};
use crate::params::Params;
use blockmill_platform::{files, remote};
use std::path::{Path, PathBuf};

/// The block files in the index of a store.
#[derive(Debug)]
pub struct Sources {
    /// The network. `None` if it is not built in.
    pub params: Option<Params>,
    /// Number of records in the files.
    pub records: u64,
    /// The files, in the order of the import.
    pub files: Vec<SourceBlockFile>,
}

/// A block file of a store.
#[derive(Debug)]
pub struct SourceBlockFile {
    /// Its path.
    pub path: PathBuf,
    /// Its length in bytes; of a corrupt file, which each import scans again, that of now. `None`
    /// for a corrupt file that is gone or on a server.
    pub length: Option<u64>,
    /// Its state.
    pub state: SourceState,
}

/// The state of a file since it was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It is unchanged.
    Same,
    /// It was modified.
    Changed,
    /// It does not exist any more.
    Gone,
    /// It is on a server, which is not asked before the file is read.
    Remote,
}

impl Sources {
    /// Reads the index of the store in `folder`. `None` if there is none.
    ///
    /// # Errors
    /// Returns [`Error::Index`] if the index cannot be read, and [`Error::Corrupt`] if it is
    /// corrupt.
    pub fn load(folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join(INDEX);
        let mut magic = [0; 4];
        loop {
            match index::load(&path, magic).map_err(Error::Index)? {
                Loaded::Nothing => return Ok(None),
                Loaded::Corrupt(corruption) => return Err(Error::Corrupt(corruption.to_string())),
                Loaded::Foreign(network) => magic = network,
                Loaded::Index(saved) => {
                    let params = Params::by_magic(magic);
                    let records = saved.found.len() as u64;
                    let files: Result<_, _> =
                        saved.files.into_iter().map(SourceBlockFile::from_stamp).collect();
                    let files = files?;
                    return Ok(Some(Self { params, records, files }));
                }
            }
        }
    }

    /// The paths of all files.
    ///
    /// # Errors
    /// Returns [`Error::SourcesGone`] if a file does not exist any more.
    pub fn paths(&self, store: &Path) -> Result<Vec<PathBuf>, Error> {
        let is_gone = |file: &&SourceBlockFile| file.state == SourceState::Gone;
        if let Some(first) = self.files.iter().find(is_gone) {
            return Err(Error::SourcesGone {
                store: store.to_path_buf(),
                gone: self.files.iter().filter(is_gone).count(),
                of: self.files.len(),
                first: first.path.clone(),
            });
        }
        Ok(self.files.iter().map(|file| file.path.clone()).collect())
    }
}

impl SourceBlockFile {
    fn from_stamp(stamp: FileStamp) -> Result<Self, Error> {
        let is_corrupt = stamp.length == CORRUPT_LENGTH;
        if remote::is_remote(&stamp.path) {
            let length = (!is_corrupt).then_some(stamp.length);
            return Ok(Self { path: stamp.path, length, state: SourceState::Remote });
        }
        let now = FileStamp::read(&stamp.path, stamp.xor_key);
        let now = files::if_there(&stamp.path, now).map_err(Error::system("open", &stamp.path))?;
        let length = match &now {
            Some(now) if is_corrupt => Some(now.length),
            _ => (!is_corrupt).then_some(stamp.length),
        };
        let state = match now {
            None => SourceState::Gone,
            Some(now) if now == stamp || is_corrupt => SourceState::Same,
            Some(_) => SourceState::Changed,
        };
        Ok(Self { path: stamp.path, length, state })
    }
}
