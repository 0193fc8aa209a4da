//! Checks a datadir, except its blocks, by its checksums: block index, undo files, chainstate.
//! Checksums do not prove that coins and undo data are those of the chain.

use super::block_index::{BlockEntry, FileEntry, Status as Have};
use super::flat::file_name;
use super::{Datadir, Error};
use crate::coins::compress::Malformed;
use crate::{BlockHash, undo};
use blockmill_leveldb as leveldb;
use blockmill_verdict::Status;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maximum number of listed errors.
const MAX_LISTED: usize = 100;
/// Number of blocks that a thread claims at a time.
const BATCH: usize = 256;

/// The result of checking a datadir.
#[derive(Debug, Default)]
pub struct CheckedDatadir {
    /// Number of blocks in the index.
    pub indexed: u64,
    /// Number of blocks with undo data.
    pub undo_blocks: u64,
    /// Number of coins in the chainstate.
    pub coins: u64,
    /// Errors by part; at most 100.
    pub corruption: Vec<(DatadirPart, Error)>,
    /// Number of errors.
    pub corruption_count: u64,
}

/// A part of a datadir.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatadirPart {
    /// The database `blocks/index`.
    Index,
    /// The files `rev*.dat`.
    Undo,
    /// The database `chainstate`.
    Chainstate,
}

impl DatadirPart {
    /// Its name for users.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "block index",
            Self::Undo => "undo files",
            Self::Chainstate => "chainstate",
        }
    }
}

impl CheckedDatadir {
    /// Records corruption of a part. Returns all other errors.
    fn add(&mut self, part: DatadirPart, outcome: Result<(), Error>) -> Result<(), Error> {
        match outcome {
            Err(error) if error.status() == Status::Corrupt => {
                self.corruption_count += 1;
                if self.corruption.len() < MAX_LISTED {
                    self.corruption.push((part, error));
                }
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Reads a database. Returns whether it is free of corruption.
    fn database(&mut self, part: DatadirPart, folder: &Path) -> Result<bool, Error> {
        let checked = leveldb::check(folder)?;
        let unlisted = checked.corruption_count - checked.corruption.len() as u64;
        for error in checked.corruption {
            self.add(part, Err(error.into()))?;
        }
        self.corruption_count += unlisted;
        Ok(checked.corruption_count == 0)
    }
}

/// Reads index, undo files and chainstate of the datadir `folder` on `threads` threads, without
/// changing it. Bitcoin Core must not be running on it.
///
/// # Errors
/// Returns [`Error`] if a file cannot be read. Corruption is no error.
pub fn check(folder: &Path, threads: usize) -> Result<CheckedDatadir, Error> {
    let mut checked = CheckedDatadir::default();
    let mut datadir = None;
    if checked.database(DatadirPart::Index, &folder.join("blocks/index"))? {
        let outcome = Datadir::open(folder).map(|found| datadir = Some(found));
        checked.add(DatadirPart::Index, outcome)?;
    }
    if let Some(datadir) = &datadir {
        index(datadir, folder, &mut checked)?;
        undo_data(datadir, threads, &mut checked)?;
    }
    if checked.database(DatadirPart::Chainstate, &folder.join("chainstate"))? {
        let outcome = coins(folder, datadir.as_ref(), &mut checked.coins);
        checked.add(DatadirPart::Chainstate, outcome)?;
    }
    Ok(checked)
}

/// Checks the index: header hash and parent of each block, length of each file.
fn index(datadir: &Datadir, folder: &Path, checked: &mut CheckedDatadir) -> Result<(), Error> {
    let path = folder.join("blocks/index");
    for (hash, entry) in datadir.blocks() {
        checked.indexed += 1;
        let found = entry.hash();
        let parent = datadir.block(&entry.parent());
        let follows = match entry.height {
            0 => entry.parent() == BlockHash::default(),
            height => parent.is_some_and(|parent| parent.height + 1 == height),
        };
        let what = if found != *hash {
            format!("block {hash}: expected its header, found that of {found}; the entry")
        } else if !follows {
            format!("block {hash}: the block before it, at height {} - 1,", entry.height)
        } else {
            continue;
        };
        checked.add(DatadirPart::Index, Err(Error::Missing { path: path.clone(), what }))?;
    }
    for (number, entry) in (0..).zip(datadir.files()) {
        let FileEntry { data_bytes, undo_bytes, .. } = *entry;
        for (kind, part, needed) in
            [("blk", DatadirPart::Index, data_bytes), ("rev", DatadirPart::Undo, undo_bytes)]
        {
            let path = folder.join("blocks").join(file_name(kind, number));
            let needed = u64::from(needed);
            let outcome = match blockmill_platform::files::is_there(&path)
                .map_err(Error::io(&path, "cannot open"))?
            {
                false if needed == 0 || entry.blocks == 0 => Ok(()),
                // a pruned file has an entry of zeros
                false => Err(Error::Missing { path, what: "a file of the block index".into() }),
                true => is_long_enough(&path, needed),
            };
            checked.add(part, outcome)?;
        }
    }
    Ok(())
}

fn is_long_enough(path: &Path, needed: u64) -> Result<(), Error> {
    let metadata = path.metadata().map_err(Error::io(path, "cannot ask for the size of"))?;
    let available = metadata.len();
    let what = "the bytes that the block index counts";
    match available >= needed {
        true => Ok(()),
        false => Err(Error::at(path, 0)(Malformed::Truncated { what, needed, available })),
    }
}

/// Checks the undo data of all blocks, in the order of the files.
fn undo_data(datadir: &Datadir, threads: usize, checked: &mut CheckedDatadir) -> Result<(), Error> {
    let mut entries: Vec<&BlockEntry> = datadir
        .blocks()
        .map(|(_, entry)| entry)
        .filter(|it| it.status.has(Have::HAVE_UNDO))
        .collect();
    entries.sort_unstable_by_key(|entry| (entry.file, entry.undo_at));
    checked.undo_blocks = entries.len() as u64;
    let magic = magic(datadir)?;
    let (next, found) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let batches: Vec<&[&BlockEntry]> = entries.chunks(BATCH).collect();
    let work = || {
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            for entry in *batch {
                if let Err(error) = one_undo(datadir, entry, magic) {
                    let place = (entry.file, entry.undo_at);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((place, error));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(batches.len()) {
            // if the system has no thread left, this thread does the work
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(place, _)| *place);
    for (_, error) in found {
        checked.add(DatadirPart::Undo, Err(error))?;
    }
    Ok(())
}

/// The magic of the block files, from the record of the genesis block, if there is one.
fn magic(datadir: &Datadir) -> Result<Option<[u8; 4]>, Error> {
    let genesis = datadir.blocks().find(|(_, entry)| entry.height == 0);
    let Some((_, genesis)) = genesis else { return Ok(None) };
    match datadir.read_block(genesis) {
        Ok(found) => Ok(found.map(|found| found.magic)),
        // blocks are checked elsewhere
        Err(error) if error.status() == Status::Corrupt => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks frame, checksum and encoding of the undo data of a block.
fn one_undo(datadir: &Datadir, entry: &BlockEntry, magic: Option<[u8; 4]>) -> Result<(), Error> {
    let (path, at) = datadir.undo_place(&entry.hash());
    let Some(found) = datadir.read_undo(entry)? else { return Ok(()) };
    if let Some(expected) = magic.filter(|magic| *magic != found.magic) {
        let (what, number) = ("the magic before undo data", u32::from_le_bytes);
        let (expected, found) = (number(expected).into(), number(found.magic).into());
        return Err(Error::at(&path, at)(Malformed::Unexpected { what, expected, found }));
    }
    let spent = undo::read_through(&found.data).map_err(Error::at(&path, at))?;
    let expected = u64::from(entry.transactions).saturating_sub(1);
    match spent == expected {
        true => Ok(()),
        false => {
            let what = "transactions with undo data";
            Err(Error::at(&path, at)(Malformed::Count { what, expected, found: spent }))
        }
    }
}

/// Decodes every coin, and finds their block in the index.
fn coins(folder: &Path, datadir: Option<&Datadir>, count: &mut u64) -> Result<(), Error> {
    let path: PathBuf = folder.join("chainstate");
    let mut coins = super::Coins::open(&path)?;
    while coins.next_coin()?.is_some() {
        *count += 1;
    }
    let best = coins.best_block();
    match datadir.is_none_or(|datadir| datadir.block(&best).is_some()) {
        true => Ok(()),
        false => {
            let what = format!("block {best}, to which the coins belong,");
            Err(Error::Missing { path: folder.join("blocks/index"), what })
        }
    }
}
