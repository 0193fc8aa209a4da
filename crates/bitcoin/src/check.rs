//! Checks a store: coins, undo data, block index.

use crate::chainstate::{CHAINSTATE, COINS, State, UNDO, UNDO_FILE};
use crate::coins::PackedCoin;
use crate::data_folder::{INDEX, kept_signet, stored_state};
use crate::error::Error;
use crate::index::{self, Loaded, has_tip};
use crate::params::Params;
use crate::run::Tip;
use crate::undo;
use blockmill_platform::files;
use blockmill_store::{LogFile, Store, Table};
use std::fs;
use std::path::{Path, PathBuf};

/// A part of a store. How to repair a store depends on its corrupt parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorePart {
    /// The coins. No block can be connected without them.
    Coins,
    /// Undo data, which disconnects blocks.
    Undo,
    /// The block index, which can be rebuilt from the block files.
    Index,
    /// The challenge of a custom signet, which the user knows.
    Challenge,
}

/// Corruption of a store.
#[derive(Debug)]
pub struct Corruption {
    /// The part of the store.
    pub part: StorePart,
    /// File and offset, if known.
    pub location: Option<(PathBuf, u64)>,
    /// Expected and found value.
    pub what: String,
    /// The height of the block, if it concerns one.
    pub height: Option<u32>,
}

/// The result of checking a store.
#[derive(Debug, Default)]
pub struct Checked {
    /// The network, if known.
    pub network: Option<&'static str>,
    /// The last connected block. `None` if no coins were committed.
    pub tip: Option<Tip>,
    /// Number of unspent coins.
    pub coins: u64,
    /// Number of blocks whose undo data was read.
    pub undo_blocks: u64,
    /// Number of records of the block index.
    pub indexed: u64,
    /// What is corrupt.
    pub corruption: Vec<Corruption>,
    /// Whether the check was stopped.
    pub stopped: bool,
}

/// Number of bytes that [`check`] reads.
#[must_use]
pub fn bytes_to_check(folder: &Path) -> u64 {
    let size = |path: PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let below = |folder: PathBuf| -> u64 {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| size(entry.path())).sum()
    };
    below(folder.join(CHAINSTATE)) + size(folder.join(INDEX))
}

/// Reads the whole store without changing it. Calls `watch` with numbers of bytes read, and ends
/// when it returns false.
///
/// # Errors
/// Returns [`Error`] if the store is open elsewhere or cannot be read. Corruption is no error.
pub fn check(folder: &Path, watch: &mut dyn FnMut(u64) -> bool) -> Result<Checked, Error> {
    let mut checked = Checked::default();
    let state = stored_state(folder);
    let tip = state.as_ref().ok().and_then(Option::as_ref).map(|state| state.tip);
    checked.index(folder, tip)?;
    if let Err(error) = kept_signet(folder) {
        checked.add(StorePart::Challenge, error)?;
    }
    if !watch(0) {
        checked.stopped = true;
        return Ok(checked);
    }
    let state = match state {
        Err(error) => {
            checked.add(StorePart::Coins, error)?;
            return Ok(checked);
        }
        Ok(state) => state,
    };
    let survey = Table::check(&folder.join(CHAINSTATE), COINS, watch, |_, value| {
        PackedCoin::unpack(value).is_some()
    })?;
    checked.stopped = survey.stopped;
    checked.coins = survey.live;
    for error in survey.corruption {
        checked.add(StorePart::Coins, error.into())?;
    }
    if let Some(state) = state.filter(|_| !checked.stopped) {
        let network = Params::by_genesis(&state.genesis);
        checked.network = network.map(|params| params.name).or(checked.network);
        checked.tip = Some(state.tip);
        checked.undo(folder, &state, watch)?;
    }
    Ok(checked)
}

/// Removes the corrupt parts of the store in `folder`: the block index alone, coins and undo data
/// together, because each needs the other. The next import rebuilds them from the block files.
///
/// # Errors
/// Returns [`Error::Store`] if the store is open elsewhere, and other errors if a file cannot be
/// removed.
pub fn repair(folder: &Path, corruption: &[Corruption]) -> Result<(), Error> {
    if corruption
        .iter()
        .any(|corruption| matches!(corruption.part, StorePart::Coins | StorePart::Undo))
    {
        let chainstate = folder.join(CHAINSTATE);
        files::expect_no_link(&chainstate).map_err(Error::system("open", &chainstate))?;
        Store::remove(&chainstate, &[COINS, UNDO])?;
    }
    if corruption.iter().any(|corruption| corruption.part == StorePart::Index) {
        let index = folder.join(INDEX);
        fs::remove_file(&index).map_err(Error::system("remove", &index))?;
    }
    Ok(())
}

impl Checked {
    /// Records an error of corruption. Returns all other errors.
    fn add(&mut self, part: StorePart, error: Error) -> Result<(), Error> {
        let (location, what) = match error {
            Error::Store(blockmill_store::Error::Corrupt {
                path,
                offset,
                what,
                expected,
                found,
            }) => (Some((path, offset)), format!("{what}: expected {expected}, found {found}")),
            Error::Corrupt(what) => (None, what),
            other => return Err(other),
        };
        self.corruption.push(Corruption { part, location, what, height: None });
        Ok(())
    }

    /// Checks the block index: it has one checksum, and a record of the last connected block.
    fn index(&mut self, folder: &Path, tip: Option<Tip>) -> Result<(), Error> {
        let path = folder.join(INDEX);
        // the file names its network
        let magics = Params::all().into_iter().map(|params| (params.magic, params.name));
        let mut loaded = index::load(&path, [0; 4]).map_err(Error::Index)?;
        if let Loaded::Foreign(magic) = loaded {
            self.network = magics.into_iter().find(|(own, _)| *own == magic).map(|(_, name)| name);
            loaded = index::load(&path, magic).map_err(Error::Index)?;
        }
        match loaded {
            Loaded::Index(saved) => {
                self.indexed = saved.found.len() as u64;
                if let Some(Tip { height, hash }) = tip.filter(|tip| !has_tip(&saved.found, *tip)) {
                    let what = format!(
                        "block files of another chain: expected block {height} ({hash}), the last \
                         one of the coins, found {} records without it",
                        self.indexed
                    );
                    self.corruption.push(Corruption {
                        part: StorePart::Index,
                        location: Some((path, 0)),
                        what,
                        height: None,
                    });
                }
            }
            Loaded::Corrupt(corruption) => {
                let index::Corruption { path, what, expected, found } = corruption;
                let what = format!("{what}: expected {expected}, found {found}");
                let location = Some((path, 0));
                self.corruption.push(Corruption {
                    part: StorePart::Index,
                    location,
                    what,
                    height: None,
                });
            }
            Loaded::Nothing | Loaded::Foreign(_) => {}
        }
        Ok(())
    }

    /// Checks the undo data of every block, from the last to the first.
    fn undo(
        &mut self,
        folder: &Path,
        state: &State,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), Error> {
        let log = LogFile::open_read_only(&folder.join(CHAINSTATE), UNDO, UNDO_FILE)?;
        let (mut end, mut record) = (log.len(), vec![]);
        for height in (1..=state.tip.height).rev() {
            let start = match log.read(end, &mut record) {
                Ok(start) => start,
                Err(error @ blockmill_store::Error::Corrupt { .. }) => {
                    self.add(StorePart::Undo, error.into())?;
                    self.at(height);
                    return Ok(());
                }
                Err(blockmill_store::Error::Mismatch { what, expected, found }) => {
                    let what = format!("{what}: expected {expected}, found {found}");
                    self.corruption.push(Corruption {
                        part: StorePart::Undo,
                        location: None,
                        what,
                        height: None,
                    });
                    self.at(height);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            if let Err(malformed) = undo::read_through(&record) {
                let what = format!("undo data of block {height}: {malformed}");
                self.corruption.push(Corruption {
                    part: StorePart::Undo,
                    location: None,
                    what,
                    height: Some(height),
                });
            }
            self.undo_blocks += 1;
            if !watch(end - start) {
                self.stopped = true;
                return Ok(());
            }
            end = start;
        }
        if end > 0 {
            let what =
                format!("undo data: expected none before that of block 1, found {end} bytes");
            self.corruption.push(Corruption {
                part: StorePart::Undo,
                location: None,
                what,
                height: None,
            });
        }
        Ok(())
    }

    /// Sets the height of the last corruption.
    fn at(&mut self, height: u32) {
        if let Some(last) = self.corruption.last_mut() {
            last.height = Some(height);
        }
    }
}
