//! What a run leaves on disk: coins and undo data, both as of one block.
//!
//! The coins' manifest carries that block and the length of the undo journal, so a commit is one
//! rename: what the journal has beyond is cut off when the store is opened again.

use crate::Hash;
use crate::data_folder::refuse_foreign;
use crate::fault::Error;
use crate::options::Options;
use crate::run::Tip;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::Journal;
use store::points::{PointOptions, PointReader, PointStore};

/// Name of the coins' folder in that of the store.
pub(crate) const COINS: &str = "coins";
/// Name of the undo data's.
pub(crate) const UNDO: &str = "undo";
/// Bytes of memory for a look at a store.
const CHECK_MEMORY: u64 = 16 << 20;
/// Bytes of a file of undo data.
pub(crate) const UNDO_FILE: u64 = 128 << 20;
/// What the state in the manifest begins with.
const STATE_MAGIC: [u8; 8] = *b"bmcoins1";
/// Its bytes: magic, genesis hash, tip's hash, height, length of the undo journal.
const STATE_BYTES: usize = 8 + 32 + 32 + 4 + 8;

/// Coins and undo data.
pub struct Ledger {
    genesis: Hash,
    coins: Mutex<PointStore>,
    log: Log,
}

/// The undo data of the blocks from height 1 on, and the last of those blocks.
pub(crate) struct Log {
    undo: Journal,
    tip: Tip,
}

/// Says when it is time to commit, so that a crash costs minutes, however much memory there is.
pub(crate) struct CommitClock {
    start: Instant,
    /// The last commit, in milliseconds since the start.
    last: AtomicU64,
    every: Duration,
}

impl CommitClock {
    /// Begins to run.
    pub fn new(every: Duration) -> Self {
        Self { start: Instant::now(), last: AtomicU64::new(0), every }
    }

    /// Has the last commit been long ago?
    pub fn is_due(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last) >= self.every
    }

    fn reset(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }
}

impl Log {
    /// The last block.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// Takes note of the next blocks, which are connected and verified: the undo data of each, and
    /// the last of them.
    pub fn append<'a>(
        &mut self,
        undo: impl Iterator<Item = &'a [u8]>,
        tip: Tip,
    ) -> Result<(), store::Error> {
        self.undo.append_all(undo)?;
        self.tip = tip;
        Ok(())
    }
}

impl Ledger {
    /// Opens the store in `data`, or makes an empty one.
    pub fn open(data: &Path, options: &Options) -> Result<Self, Error> {
        let genesis = options.params.genesis_hash;
        // before anything is made, cut or removed
        refuse_foreign(data, &options.params)?;
        let points = PointOptions::new(usize::try_from(options.memory).unwrap_or(usize::MAX));
        let (coins, state) = PointStore::open(&data.join(COINS), &points)?;
        let (tip, undo_bytes) = match state.is_empty() {
            true => (Tip { height: 0, hash: genesis }, 0),
            false => {
                let State { tip, undo_end, .. } = State::read(&state)?;
                (tip, undo_end)
            }
        };
        let undo = Journal::open(&data.join(UNDO), UNDO_FILE, undo_bytes)?;
        Ok(Self { genesis, coins: Mutex::new(coins), log: Log { undo, tip } })
    }

    /// The last block.
    pub fn tip(&self) -> Tip {
        self.log.tip
    }

    /// Gives other threads the coins on disk.
    pub(crate) fn reader(&self) -> PointReader {
        lock(&self.coins).reader()
    }

    /// The coins and the undo data, for one thread each.
    pub(crate) fn parts(&mut self) -> (&Mutex<PointStore>, &mut Log, Commit) {
        (&self.coins, &mut self.log, Commit { genesis: self.genesis })
    }

    /// The coins.
    pub fn coins(&self) -> MutexGuard<'_, PointStore> {
        lock(&self.coins)
    }

    /// The undo data of each block from height 1 on, as the ends of its records.
    ///
    /// # Errors
    /// When the journal is damaged.
    pub fn undo_ends(&self) -> Result<Vec<u64>, Error> {
        let mut ends = vec![0; self.log.tip.height as usize + 1];
        let (mut end, mut record) = (self.log.undo.len(), vec![]);
        for place in ends.iter_mut().rev() {
            *place = end;
            if end > 0 {
                end = self.log.undo.read(end, &mut record)?;
            }
        }
        Ok(ends)
    }

    /// Reads the undo data that ends at `end` of the journal; returns where it starts.
    ///
    /// # Errors
    /// When the journal is damaged.
    pub fn read_undo(&self, end: u64, out: &mut Vec<u8>) -> Result<u64, Error> {
        Ok(self.log.undo.read(end, out)?)
    }

    /// The end of the undo data.
    pub fn undo_end(&self) -> u64 {
        self.log.undo.len()
    }

    /// Makes the coins durable as they are, as those of block `tip`, whose undo data ends at
    /// `undo_end`; only then the rest of the journal is cut off.
    pub(crate) fn go_back(&mut self, tip: Tip, undo_end: u64) -> Result<(), Error> {
        self.log.tip = tip;
        let state = write_state(&self.genesis, tip, undo_end);
        lock(&self.coins).commit(&state)?;
        Ok(self.log.undo.cut(undo_end)?)
    }
}

/// Makes coins and undo data durable together.
#[derive(Clone, Copy)]
pub(crate) struct Commit {
    genesis: Hash,
}

impl Commit {
    /// Writes out `coins` as those of the last block of `log`.
    pub fn commit(
        self,
        coins: &Mutex<PointStore>,
        log: &mut Log,
        clock: &CommitClock,
    ) -> Result<(), store::Error> {
        log.undo.sync()?;
        lock(coins).commit(&write_state(&self.genesis, log.tip, log.undo.len()))?;
        clock.reset();
        Ok(())
    }
}

/// The last block of the store in `data`, read again from the disk with its undo data; none where
/// nothing was committed. Nobody may have the store open.
///
/// # Errors
/// When the store cannot be read, is damaged or of another chain.
pub fn committed(data: &Path, options: &Options) -> Result<Option<Tip>, Error> {
    if !data.join(COINS).is_dir() {
        return Ok(None);
    }
    let options = Options { memory: CHECK_MEMORY, ..options.clone() };
    let ledger = Ledger::open(data, &options)?;
    let tip = ledger.tip();
    if tip.height == 0 {
        return Ok(None);
    }
    ledger.read_undo(ledger.undo_end(), &mut vec![])?;
    Ok(Some(tip))
}

/// A thread that held the coins and panicked ends the run: what it left is never committed.
pub(crate) fn lock(coins: &Mutex<PointStore>) -> MutexGuard<'_, PointStore> {
    coins.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_state(genesis: &Hash, tip: Tip, undo_end: u64) -> Vec<u8> {
    let mut state = Vec::with_capacity(STATE_BYTES);
    state.extend(STATE_MAGIC);
    state.extend(genesis);
    state.extend(tip.hash);
    state.extend(tip.height.to_le_bytes());
    state.extend(undo_end.to_le_bytes());
    state
}

/// What the state in the manifest says.
pub(crate) struct State {
    /// Hash of the genesis block.
    pub genesis: Hash,
    /// The last block.
    pub tip: Tip,
    /// Length of the undo journal.
    pub undo_end: u64,
}

impl State {
    /// Reads a state that is not empty.
    pub fn read(state: &[u8]) -> Result<Self, Error> {
        let damaged = || {
            let expected = "a state of 84 bytes that begins with bmcoins1";
            Error::Damaged(format!("expected {expected}, found {} bytes", state.len()))
        };
        let (magic, rest) = state.split_first_chunk::<8>().ok_or_else(damaged)?;
        let (genesis, rest) = rest.split_first_chunk::<32>().ok_or_else(damaged)?;
        let (hash, rest) = rest.split_first_chunk::<32>().ok_or_else(damaged)?;
        let (height, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let end = <[u8; 8]>::try_from(rest).map_err(|_| damaged())?;
        if *magic != STATE_MAGIC {
            return Err(damaged());
        }
        let tip = Tip { height: u32::from_le_bytes(*height), hash: *hash };
        Ok(Self { genesis: *genesis, tip, undo_end: u64::from_le_bytes(end) })
    }
}
