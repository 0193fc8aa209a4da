//! Reading all of a chain store: which bytes are not what was written, which blocks stand in them,
//! and what is left when they are given up.
//!
//! Every piece of every segmented file is held to its sum, every run of the index to the hashes.
//! Whether the bytes are those of a true chain is for the caller to find out.

use std::{
    ops::{Range, RangeInclusive},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use crate::{
    chain_open,
    chain_store::{ChainStore, Options},
    error::{Error, Result},
    opening::Purpose,
    tip::Tip,
};

/// Bytes that a thread reads between two looks at whether it should stop: whole pieces.
const TASK: u64 = 16 << 20;

/// Something in a store that is not what was written there.
#[derive(Debug)]
pub struct Damage {
    /// The file and the byte, what was expected and what was found.
    pub error: Error,
    /// Damaged bytes, where they are counted.
    pub bytes: u64,
    /// The blocks that stand in them, as far as that can be told.
    pub blocks: Option<RangeInclusive<u64>>,
    /// Opening the store for writing, as an import does, puts it right.
    pub mends_itself: bool,
    /// The segmented file and the first byte in it.
    place: Option<(usize, u64)>,
}

impl Damage {
    /// Damage of what opening the store for writing puts right.
    fn that_mends(error: Error) -> Damage {
        Damage { error, bytes: 0, blocks: None, mends_itself: true, place: None }
    }
}

/// A part of the store to read.
enum Task {
    /// A range of a segmented file.
    Pieces(usize, Range<u64>),
    /// A run of a level of the index.
    Run(usize, u64),
}

impl ChainStore {
    /// Opens the store in `dir` to look at it, however damaged it is, and says what is wrong with
    /// its commits. Nothing is changed. Reads of damaged bytes fail.
    ///
    /// # Errors
    /// When there is no store, or no manifest says how long it is.
    pub fn open_damaged(dir: &Path) -> Result<(ChainStore, Vec<Damage>)> {
        let (store, recovery) = chain_open::open(dir, &Options::default(), Purpose::Survey)?;
        Ok((store, recovery.passed_over.into_iter().map(Damage::that_mends).collect()))
    }

    /// Bytes that [`ChainStore::check`] reads.
    pub fn bytes_to_check(&self) -> u64 {
        let segments: u64 = self.files().iter().map(|file| file.len()).sum();
        segments + self.index.bytes(self.count())
    }

    /// Reads everything that is committed, on `threads` threads, and says what is damaged, in the
    /// order of the files. `watch` gets the bytes read so far now and then; when it says no, the
    /// check ends early.
    ///
    /// # Errors
    /// Those of the system; damage is no error.
    pub fn check(
        &self,
        threads: usize,
        watch: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Vec<Damage>> {
        let tasks = self.tasks();
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let found = Mutex::new((vec![], Ok(())));
        thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    while let Some(number) =
                        Some(next.fetch_add(1, Relaxed)).filter(|_| !stop.load(Relaxed))
                    {
                        let Some(task) = tasks.get(number) else { break };
                        let done = self.run(task);
                        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                        match done {
                            Ok((bytes, damage)) => {
                                found.0.extend(damage.into_iter().map(|damage| (number, damage)));
                                stop.fetch_or(!watch(bytes), Relaxed);
                            }
                            Err(error) => {
                                found.1 = Err(error);
                                stop.store(true, Relaxed);
                            }
                        }
                    }
                });
            }
        });
        let (mut damage, outcome) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome?;
        damage.sort_by_key(|(task, damage)| (*task, damage.place));
        let damage = join(damage.into_iter().map(|(_, damage)| damage));
        Ok(damage.into_iter().map(|damage| self.with_blocks(damage)).collect())
    }

    fn tasks(&self) -> Vec<Task> {
        let mut tasks = vec![];
        for (file, len) in self.files().iter().map(|file| file.len()).enumerate() {
            let ranges = (0..len).step_by(TASK as usize).map(|at| at..(at + TASK).min(len));
            tasks.extend(ranges.map(|range| Task::Pieces(file, range)));
        }
        for (level, runs) in self.index.runs(self.count()).into_iter().enumerate() {
            tasks.extend((0..runs).map(|run| Task::Run(level, run)));
        }
        tasks
    }

    /// The bytes that were read, and what is damaged.
    fn run(&self, task: &Task) -> Result<(u64, Vec<Damage>)> {
        match task {
            Task::Pieces(file, range) => {
                let mut found = vec![];
                self.files()[*file].survey(range.clone(), |pieces, error| {
                    let (bytes, place) = (pieces.end - pieces.start, Some((*file, pieces.start)));
                    found.push(Damage { error, bytes, blocks: None, mends_itself: false, place });
                })?;
                Ok((range.end - range.start, join(found.into_iter())))
            }
            Task::Run(level, run) => {
                let (bytes, error) = self.index.check(*level, *run, &self.hashes.file)?;
                Ok((bytes, error.map(Damage::that_mends).into_iter().collect()))
            }
        }
    }

    /// Adds the blocks that stand in the damaged bytes.
    fn with_blocks(&self, damage: Damage) -> Damage {
        let Some((file, start)) = damage.place else { return damage };
        let last = start + damage.bytes.max(1) - 1;
        let items = match file {
            6 => Some((start / 32, last / 32)),
            1 | 3 | 5 => Some((start / 8, last / 8)),
            _ => {
                let (all, column) = (self.count(), &self.columns[file / 2]);
                let first = column.items_before(start, all);
                let end = column.items_before(last, all);
                first.and_then(|first| Some((first, end?)))
            }
        };
        let (first, last_item) = (self.state.first, self.count().saturating_sub(1));
        let blocks = items.map(|(from, to)| first + from..=first + to.min(last_item));
        Damage { blocks, ..damage }
    }

    /// The last block that stands, like all before it, in whole bytes only; `None` when there is
    /// none. `damage` is all that [`ChainStore::check`] found.
    pub fn last_whole(&self, damage: &[Damage]) -> Option<u64> {
        let places = || damage.iter().filter_map(|damage| damage.place);
        let mut count = self.count();
        for (file, start) in places() {
            match file {
                6 => count = count.min(start / 32),
                1 | 3 | 5 => count = count.min(start / 8),
                _ => {}
            }
        }
        // the ends before these are whole
        for (file, start) in places().filter(|(file, _)| matches!(file, 0 | 2 | 4)) {
            count = self.columns[file / 2].items_before(start, count)?.min(count);
        }
        Some(self.state.first + count.checked_sub(1)?)
    }

    /// Gives up the blocks after `tip`, of which [`ChainStore::last_whole`] said that it and all
    /// before are whole, and opens the store for writing once, which builds a damaged index again.
    ///
    /// # Errors
    /// [`Error::Locked`] when it is open elsewhere; those of reading and writing.
    pub fn repair(dir: &Path, tip: Option<&Tip>) -> Result<()> {
        if let Some(tip) = tip {
            let (mut store, _) = chain_open::open(dir, &Options::default(), Purpose::Repair)?;
            store.truncate_after(tip)?;
        }
        ChainStore::open(dir, &Options::default())?.0.sync()
    }
}

/// Makes one of neighbouring damage in the same file, as where a file is missing.
fn join(damage: impl Iterator<Item = Damage>) -> Vec<Damage> {
    let mut out: Vec<Damage> = vec![];
    for damage in damage {
        match (out.last_mut(), damage.place) {
            (Some(last), Some((file, start)))
                if last.place.is_some_and(|(r, at)| r == file && at + last.bytes == start) =>
            {
                last.bytes += damage.bytes;
            }
            _ => out.push(damage),
        }
    }
    out
}
