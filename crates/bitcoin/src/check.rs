//! Reading all of a store: coins, undo data, block index.

use crate::chainstate::{CHAINSTATE, COINS, State, UNDO, UNDO_FILE};
use crate::coins::PackedCoin;
use crate::data_folder::{INDEX, kept_signet, stored_state};
use crate::fault::Error;
use crate::index::{self, Loaded};
use crate::params::Params;
use crate::run::Tip;
use crate::undo;
use blockmill_platform::files;
use blockmill_store::{LogFile, Store, Table};
use std::fs;
use std::path::{Path, PathBuf};

/// What of a store is damaged, and so what repairs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The coins: nothing can be connected without them.
    Coins,
    /// Undo data: needed when the chain has to go back.
    Undo,
    /// The block index: found again in the block files.
    Index,
    /// The challenge of a signet that is not built in: the user knows it.
    Challenge,
}

/// Something that is not as it was written.
#[derive(Debug)]
pub struct Corruption {
    /// Where it belongs.
    pub part: Part,
    /// The file and the byte, where they are known.
    pub location: Option<(PathBuf, u64)>,
    /// What was expected and what was found.
    pub what: String,
    /// The height that is concerned, where it is one.
    pub height: Option<u32>,
}

/// What a store holds.
#[derive(Debug, Default)]
pub struct Checked {
    /// The network; none when nothing tells.
    pub network: Option<&'static str>,
    /// The last connected block; none when no coins were committed.
    pub tip: Option<Tip>,
    /// Unspent coins.
    pub coins: u64,
    /// Blocks whose undo data was read.
    pub undo_blocks: u64,
    /// Records of the block index.
    pub indexed: u64,
    /// What is damaged.
    pub damage: Vec<Corruption>,
    /// The check was ended early.
    pub stopped: bool,
}

/// Bytes that [`check`] reads.
#[must_use]
pub fn bytes_to_check(folder: &Path) -> u64 {
    let size = |path: PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let below = |folder: PathBuf| -> u64 {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| size(entry.path())).sum()
    };
    below(folder.join(CHAINSTATE)) + size(folder.join(INDEX))
}

/// Reads everything in the store and changes nothing. `watch` gets the bytes that were read now and
/// then; when it says no, the check ends.
///
/// # Errors
/// When the store is open elsewhere or the system refuses to read. Corruption is no error.
pub fn check(folder: &Path, watch: &mut dyn FnMut(u64) -> bool) -> Result<Checked, Error> {
    let mut checked = Checked::default();
    checked.index(folder)?;
    if let Err(error) = kept_signet(folder) {
        checked.add(Part::Challenge, error)?;
    }
    if !watch(0) {
        checked.stopped = true;
        return Ok(checked);
    }
    let state = match stored_state(folder) {
        Err(error) => {
            checked.add(Part::Coins, error)?;
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
        checked.add(Part::Coins, error.into())?;
    }
    if let Some(state) = state.filter(|_| !checked.stopped) {
        let network = Params::by_genesis(&state.genesis);
        checked.network = network.map(|params| params.name).or(checked.network);
        checked.tip = Some(state.tip);
        checked.undo(folder, &state, watch)?;
    }
    Ok(checked)
}

/// Gives up what is damaged in the store in `folder`: the block index by itself, coins and undo
/// data together, as each is of use only with the other. The next import builds it again from the
/// block files.
///
/// # Errors
/// [`Error::Store`] when the store is open elsewhere; a file cannot be removed.
pub fn repair(folder: &Path, damage: &[Corruption]) -> Result<(), Error> {
    if damage.iter().any(|damage| matches!(damage.part, Part::Coins | Part::Undo)) {
        let chainstate = folder.join(CHAINSTATE);
        files::expect_no_link(&chainstate).map_err(Error::system("open", &chainstate))?;
        Store::remove(&chainstate, &[COINS, UNDO])?;
    }
    if damage.iter().any(|damage| damage.part == Part::Index) {
        let index = folder.join(INDEX);
        fs::remove_file(&index).map_err(Error::system("remove", &index))?;
    }
    Ok(())
}

impl Checked {
    /// Takes an error as damage, unless it is trouble of another kind.
    fn add(&mut self, part: Part, error: Error) -> Result<(), Error> {
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
        self.damage.push(Corruption { part, location, what, height: None });
        Ok(())
    }

    /// The block index: a checksum over all of it.
    fn index(&mut self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(INDEX);
        // whose it is, it says itself
        let magics = Params::all().into_iter().map(|params| (params.magic, params.name));
        let mut loaded = index::load(&path, [0; 4]).map_err(Error::Index)?;
        if let Loaded::Foreign(magic) = loaded {
            self.network = magics.into_iter().find(|(own, _)| *own == magic).map(|(_, name)| name);
            loaded = index::load(&path, magic).map_err(Error::Index)?;
        }
        match loaded {
            Loaded::Index(saved) => self.indexed = saved.found.len() as u64,
            Loaded::Corrupt(damage) => {
                let index::Corruption { path, what, expected, found } = damage;
                let what = format!("{what}: expected {expected}, found {found}");
                let location = Some((path, 0));
                self.damage.push(Corruption { part: Part::Index, location, what, height: None });
            }
            Loaded::Nothing | Loaded::Foreign(_) => {}
        }
        Ok(())
    }

    /// The undo data of every block, from the last one back to the first.
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
                    self.add(Part::Undo, error.into())?;
                    self.at(height);
                    return Ok(());
                }
                Err(blockmill_store::Error::Mismatch { what, expected, found }) => {
                    let what = format!("{what}: expected {expected}, found {found}");
                    self.damage.push(Corruption {
                        part: Part::Undo,
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
                self.damage.push(Corruption {
                    part: Part::Undo,
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
            self.damage.push(Corruption { part: Part::Undo, location: None, what, height: None });
        }
        Ok(())
    }

    /// Adds the height to the last damage.
    fn at(&mut self, height: u32) {
        if let Some(last) = self.damage.last_mut() {
            last.height = Some(height);
        }
    }
}
