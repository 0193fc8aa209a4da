//! The state on disk: coins and undo data as of one block.
//!
//! Both are parts of one store. Its manifest has the block, so a commit is one rename.

use crate::BlockHash;
use crate::data_folder::expect_own;
use crate::error::Error;
use crate::options::Options;
use crate::run::Tip;
use blockmill_platform::files;
use blockmill_store::disk::Disk;
use blockmill_store::{LogFile, Store, StoreOptions, Table, TableOptions, TableReader};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Name of the folder of coins and undo data in a store.
pub(crate) const CHAINSTATE: &str = "coins";
/// Name of the table of coins.
pub(crate) const COINS: &str = "coins";
/// Name of the log file of undo data.
pub(crate) const UNDO: &str = "undo";
/// Memory for checking a store, in bytes.
const CHECK_MEMORY: u64 = 16 << 20;
/// Size of a file of undo data, in bytes.
pub(crate) const UNDO_FILE: u64 = 128 << 20;
/// The first bytes of the state in the manifest.
const STATE_MAGIC: [u8; 8] = *b"bmcoins2";
/// Size of the state: magic, genesis hash, hash and height of the tip.
const STATE_BYTES: usize = 8 + 32 + 32 + 4;

/// Coins and undo data.
pub struct Chainstate {
    genesis: BlockHash,
    coins: Mutex<Table>,
    undo: Undo,
}

/// The undo data of the blocks from height 1 on, and the last of those blocks.
pub(crate) struct Undo {
    store: Store,
    file: LogFile,
    tip: Tip,
}

/// The parts of a chainstate, as they were opened.
pub(crate) struct Opened {
    pub store: Store,
    pub coins: Table,
    pub undo: LogFile,
    /// The state of the last commit. `None` if there was none.
    pub state: Option<State>,
}

impl Opened {
    /// Opens the chainstate of the store in `data` on `disk`, or creates an empty one. Coins take
    /// `memory` bytes.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the store is open in another process, cannot be read, or is
    /// corrupt.
    pub fn open(data: &Path, disk: &Arc<dyn Disk>, memory: usize) -> Result<Self, Error> {
        let options = StoreOptions { disk: disk.clone(), ..StoreOptions::default() };
        let folder = data.join(CHAINSTATE);
        // a link may lead to the chainstate of another program
        files::expect_no_link(&folder).map_err(Error::system("open", &folder))?;
        let mut opening = Store::open(&folder, &options)?;
        let coins = opening.table(COINS, &TableOptions::read_once(memory))?;
        let undo = opening.log(UNDO, UNDO_FILE)?;
        let (store, state) = opening.finish()?;
        let state = if state.is_empty() { None } else { Some(State::read(&state)?) };
        Ok(Self { store, coins, undo, state })
    }
}

/// Decides when to commit, so that a crash costs minutes for any size of memory.
pub(crate) struct CommitClock {
    start: Instant,
    /// The last commit, in milliseconds since the start.
    last: AtomicU64,
    every: Duration,
}

impl CommitClock {
    /// Starts the clock.
    pub fn new(every: Duration) -> Self {
        Self { start: Instant::now(), last: AtomicU64::new(0), every }
    }

    /// Returns whether a commit is due.
    pub fn is_due(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last) >= self.every
    }

    fn reset(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }
}

impl Undo {
    /// The last block.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// Appends the undo data of the next blocks, which are connected and verified, with the last of
    /// them.
    pub fn append<'a>(
        &mut self,
        undo: impl Iterator<Item = &'a [u8]>,
        tip: Tip,
    ) -> Result<(), blockmill_store::Error> {
        self.file.append_all(undo)?;
        self.tip = tip;
        Ok(())
    }

    fn commit(
        &mut self,
        coins: &mut Table,
        genesis: &BlockHash,
    ) -> Result<(), blockmill_store::Error> {
        let state = write_state(genesis, self.tip);
        self.store.commit(&mut [coins.into(), (&mut self.file).into()], &state)
    }
}

impl Chainstate {
    /// Opens the store in `data`, or creates an empty one.
    pub fn open(data: &Path, options: &Options) -> Result<Self, Error> {
        let genesis = options.params.genesis_hash;
        // check before creating, truncating or removing files
        expect_own(data, &options.params)?;
        let memory = usize::try_from(options.memory).unwrap_or(usize::MAX);
        let Opened { store, coins, undo, state } = Opened::open(data, &options.disk, memory)?;
        let tip = state.map_or(Tip { height: 0, hash: genesis }, |state| state.tip);
        Ok(Self { genesis, coins: Mutex::new(coins), undo: Undo { store, file: undo, tip } })
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.undo.tip
    }

    /// A reader of the coins on disk, for other threads.
    pub(crate) fn reader(&self) -> TableReader {
        lock(&self.coins).reader()
    }

    /// The coins and the undo data, each for one thread.
    pub(crate) fn parts(&mut self) -> (&Mutex<Table>, &mut Undo, Commit) {
        (&self.coins, &mut self.undo, Commit { genesis: self.genesis })
    }

    /// The coins.
    pub fn coins(&self) -> MutexGuard<'_, Table> {
        lock(&self.coins)
    }

    /// The end of the undo data of each block from height 1 on.
    ///
    /// # Errors
    /// Returns [`Error::Store`] or [`Error::Corrupt`] if the log file cannot be read or is corrupt.
    pub fn undo_ends(&self) -> Result<Vec<u64>, Error> {
        let mut ends = vec![0; self.undo.tip.height as usize + 1];
        let (mut end, mut record) = (self.undo.file.len(), vec![]);
        for at in ends.iter_mut().rev() {
            *at = end;
            if end > 0 {
                end = self.undo.file.read(end, &mut record)?;
            }
        }
        Ok(ends)
    }

    /// Reads the undo data that ends at `end` of the log file. Returns its start.
    ///
    /// # Errors
    /// Returns [`Error::Store`] or [`Error::Corrupt`] if the log file cannot be read or is corrupt.
    pub fn read_undo(&self, end: u64, out: &mut Vec<u8>) -> Result<u64, Error> {
        Ok(self.undo.file.read(end, out)?)
    }

    /// The end of the undo data.
    pub fn undo_end(&self) -> u64 {
        self.undo.file.len()
    }

    /// Commits the coins as those of block `tip`, with the undo data up to `undo_end`.
    pub(crate) fn go_back(&mut self, tip: Tip, undo_end: u64) -> Result<(), Error> {
        self.undo.tip = tip;
        self.undo.file.cut(undo_end)?;
        let mut coins = lock(&self.coins);
        self.undo.commit(&mut coins, &self.genesis)?;
        Ok(())
    }
}

/// Commits coins and undo data together.
#[derive(Clone, Copy)]
pub(crate) struct Commit {
    genesis: BlockHash,
}

impl Commit {
    /// Commits `coins` as those of the last block of `undo`.
    pub fn commit(
        self,
        coins: &Mutex<Table>,
        undo: &mut Undo,
        clock: &CommitClock,
    ) -> Result<(), blockmill_store::Error> {
        undo.commit(&mut lock(coins), &self.genesis)?;
        clock.reset();
        Ok(())
    }
}

/// Reads the last block of the store in `data` back from disk, with its undo data. `None` if
/// nothing was committed. No process may have the store open.
///
/// # Errors
/// Returns [`Error::Store`] or [`Error::Corrupt`] if the store cannot be read or is corrupt, and
/// [`Error::OtherChain`] if it belongs to another chain.
pub fn committed(data: &Path, options: &Options) -> Result<Option<Tip>, Error> {
    let folder = data.join(CHAINSTATE);
    if !files::is_folder(&folder).map_err(Error::system("open", &folder))? {
        return Ok(None);
    }
    let options = Options { memory: CHECK_MEMORY, ..options.clone() };
    let chainstate = Chainstate::open(data, &options)?;
    let tip = chainstate.tip();
    if tip.height == 0 {
        return Ok(None);
    }
    chainstate.read_undo(chainstate.undo_end(), &mut vec![])?;
    Ok(Some(tip))
}

/// Locks the coins. If a thread panicked while it held them, the run ends without a commit.
pub(crate) fn lock(coins: &Mutex<Table>) -> MutexGuard<'_, Table> {
    coins.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_state(genesis: &BlockHash, tip: Tip) -> Vec<u8> {
    let mut state = Vec::with_capacity(STATE_BYTES);
    state.extend(STATE_MAGIC);
    state.extend(genesis.0);
    state.extend(tip.hash.0);
    state.extend(tip.height.to_le_bytes());
    state
}

/// The state in the manifest.
pub(crate) struct State {
    /// Hash of the genesis block.
    pub genesis: BlockHash,
    /// The last block.
    pub tip: Tip,
}

impl State {
    /// Decodes a state that is not empty.
    pub fn read(state: &[u8]) -> Result<Self, Error> {
        let corrupt = || {
            let expected = "a state of 76 bytes that begins with bmcoins2";
            Error::Corrupt(format!("expected {expected}, found {} bytes", state.len()))
        };
        let (magic, rest) = state.split_first_chunk::<8>().ok_or_else(corrupt)?;
        let (genesis, rest) = rest.split_first_chunk::<32>().ok_or_else(corrupt)?;
        let (hash, rest) = rest.split_first_chunk::<32>().ok_or_else(corrupt)?;
        let height = <[u8; 4]>::try_from(rest).map_err(|_| corrupt())?;
        if *magic != STATE_MAGIC {
            return Err(corrupt());
        }
        let tip = Tip { height: u32::from_le_bytes(height), hash: BlockHash(*hash) };
        Ok(Self { genesis: BlockHash(*genesis), tip })
    }
}
