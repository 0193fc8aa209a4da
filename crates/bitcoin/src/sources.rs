//! The block files that a store was created from. A store has no blocks of its own: its index names
//! these files.

use crate::data_folder::INDEX;
use crate::fault::Error;
use crate::index::{self, DAMAGED_LENGTH, FileStamp, Loaded};
use crate::params::Params;
use blockmill_platform::files;
use std::path::{Path, PathBuf};

/// What the index of a store says of its files.
#[derive(Debug)]
pub struct Sources {
    /// The network; none when it is not one of the built-in ones.
    pub params: Option<Params>,
    /// Records of blocks in the files.
    pub records: u64,
    /// The files, in the order in which they were given.
    pub files: Vec<Source>,
}

/// A block file of a store.
#[derive(Debug)]
pub struct Source {
    /// Where it is, or was.
    pub path: PathBuf,
    /// Its bytes; none of a file with damage, which each import scans again.
    pub length: Option<u64>,
    /// What became of it.
    pub state: SourceState,
}

/// What became of a file since it was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It is as it was.
    Same,
    /// It was written to.
    Changed,
    /// It is no longer there.
    Gone,
}

impl Sources {
    /// Reads the index of the store in `folder`; none where there is none.
    ///
    /// # Errors
    /// When the index cannot be read or is damaged.
    pub fn of(folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join(INDEX);
        let mut magic = [0; 4];
        loop {
            match index::load(&path, magic).map_err(Error::Index)? {
                Loaded::Nothing => return Ok(None),
                Loaded::Corrupt(damage) => return Err(Error::Corrupt(damage.to_string())),
                Loaded::Foreign(network) => magic = network,
                Loaded::Index(saved) => {
                    let params = Params::by_magic(magic);
                    let records = saved.found.len() as u64;
                    let files: Result<_, _> = saved.files.into_iter().map(Source::of).collect();
                    let files = files?;
                    return Ok(Some(Self { params, records, files }));
                }
            }
        }
    }

    /// The paths of all files.
    ///
    /// # Errors
    /// [`Error::SourcesGone`] when one is not there.
    pub fn paths(&self, store: &Path) -> Result<Vec<PathBuf>, Error> {
        let is_gone = |file: &&Source| file.state == SourceState::Gone;
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

impl Source {
    fn of(stamp: FileStamp) -> Result<Self, Error> {
        let now = FileStamp::of(&stamp.path, stamp.xor_key);
        let now = files::if_there(&stamp.path, now).map_err(Error::system("open", &stamp.path))?;
        let length = (stamp.length != DAMAGED_LENGTH).then_some(stamp.length);
        let state = match now {
            None => SourceState::Gone,
            Some(now) if now == stamp || length.is_none() => SourceState::Same,
            Some(_) => SourceState::Changed,
        };
        Ok(Self { path: stamp.path, length, state })
    }
}
