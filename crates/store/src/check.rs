//! Reading all of a chain store: finds corrupt bytes and the blocks that they belong to. Removing
//! them: `repair.rs`.
//!
//! Every piece of every segmented file is compared with its checksum, and every run of the index
//! with the hashes. Whether the bytes are those of a valid chain is for the caller to verify.

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
    chain_open::{self, Recovery},
    chain_store::{ChainStore, Options, SEGMENTS},
    checksummed_file::ChecksummedFile,
    error::{Error, Result, mismatch},
    log_file::LogFile,
    manifest::{PartFacts, PartKind},
    opening::{Opening, Purpose},
    part::ForeignFormat,
    segment::Segment,
    store::Store,
    table::{Table, shared_lock},
};

/// Bytes that a thread reads between two checks for a stop: whole pieces.
const TASK: u64 = 16 << 20;

/// A place in a store whose bytes differ from what was written.
#[derive(Debug)]
pub struct Corruption {
    /// File, offset, expected and found value.
    pub error: Error,
    /// Corrupt bytes, where they are counted.
    pub bytes: u64,
    /// The blocks whose bytes these are, if known.
    pub blocks: Option<RangeInclusive<u64>>,
    /// Opening the store for writing, as an import does, puts it right.
    pub mends_itself: bool,
    /// It belongs to a part other than the blocks, so removing blocks does not repair it.
    pub is_besides: bool,
    /// The name of that part.
    pub part: Option<String>,
    /// The segmented file and the first byte in it.
    place: Option<(usize, u64)>,
}

impl Corruption {
    /// Corruption that opening the store for writing repairs.
    fn that_mends(error: Error) -> Corruption {
        Corruption { mends_itself: true, is_besides: false, ..Corruption::new(error, 0, None) }
    }

    fn new(error: Error, bytes: u64, place: Option<(usize, u64)>) -> Corruption {
        let is_besides = place.is_none_or(|(file, _)| file >= SEGMENTS.len());
        Corruption {
            error,
            bytes,
            blocks: None,
            mends_itself: false,
            is_besides,
            part: None,
            place,
        }
    }
}

/// A part of the store to read.
enum Task {
    /// A range of a segmented file.
    Pieces(usize, Range<u64>),
    /// A run of a level of the index.
    Run(usize, u64),
    /// A table or a log file next to the blocks.
    Part(PartFacts),
}

impl ChainStore {
    /// Opens the store in `dir` for inspection, however corrupt it is. The second value lists what
    /// is wrong with its commits. Nothing is changed. Reads of corrupt bytes fail.
    ///
    /// # Errors
    /// [`Error::NoStore`] if there is none; [`Error::Corrupt`] if no manifest says how long it is.
    pub fn open_corrupt(dir: &Path) -> Result<(ChainStore, Vec<Corruption>)> {
        let (store, recovery) = open(dir, Purpose::Survey)?;
        Ok((store, recovery.passed_over.into_iter().map(Corruption::that_mends).collect()))
    }

    /// Opens the store for inspection, with further parts, which `parts` opens for reading.
    ///
    /// # Errors
    /// As [`ChainStore::open_corrupt`]; errors of `parts` are returned as they are.
    pub fn open_corrupt_with<T>(
        dir: &Path,
        parts: impl FnMut(&mut Opening) -> Result<T>,
    ) -> Result<(ChainStore, T)> {
        let ((store, _), parts) =
            chain_open::open(dir, &Options::default(), Purpose::Survey, parts)?;
        Ok((store, parts))
    }

    /// Number of bytes that [`ChainStore::check`] reads with the same `format`.
    pub fn bytes_to_check(&self, format: Option<&dyn ForeignFormat>) -> u64 {
        let bytes = |file: &ChecksummedFile| file.whole().end - file.whole().start;
        let segments: u64 = self.files().into_iter().map(bytes).sum();
        let bytes_of = |part: &PartFacts| match part.kind {
            PartKind::Table => Table::bytes_of(&part.facts),
            PartKind::Log => LogFile::bytes_of(&part.facts),
            PartKind::Foreign => format.map_or(0, |format| format.bytes(&part.facts)),
            PartKind::Segment => self.segment(part).map_or(0, |segment| bytes(&segment.file)),
        };
        let others: u64 = self.siblings().map(bytes_of).sum();
        segments + self.index.bytes(self.count()) + others
    }

    /// State of the parts next to the blocks, as of the last commit.
    fn siblings(&self) -> impl Iterator<Item = &PartFacts> {
        let parts = self.store.as_ref().map_or(&*self.found, Store::facts);
        parts.iter().filter(|part| !SEGMENTS.contains(&&*part.name))
    }

    /// Names of the tables, log files and segments next to the blocks.
    pub fn parts_besides(&self) -> Vec<&str> {
        self.siblings().map(|part| &*part.name).collect()
    }

    /// A segment next to the blocks, for reading.
    fn segment(&self, part: &PartFacts) -> Result<Segment> {
        Segment::from_facts(&self.hashes.folder, &part.name, &part.facts, false)
    }

    /// Reads everything that is committed on `threads` threads, including the parts next to the
    /// blocks, and returns what is corrupt, in the order of the files. `watch` gets the number of
    /// bytes read so far from time to time; if it returns false, the check stops early. `format`
    /// reads parts that another crate defines.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read; [`Error::Locked`] if the store is open elsewhere and
    /// has tables or log files; [`Error::Mismatch`] if it has a part of another crate and `format`
    /// is missing. Corruption is no error.
    pub fn check(
        &self,
        format: Option<&dyn ForeignFormat>,
        threads: usize,
        watch: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Vec<Corruption>> {
        let of_kind = |kind: PartKind| self.siblings().filter(move |part| part.kind == kind);
        let segments = of_kind(PartKind::Segment).map(|part| self.segment(part));
        let segments = segments.collect::<Result<Vec<_>>>()?;
        let mut files = self.files().to_vec();
        files.extend(segments.iter().map(|segment| &segment.file));
        let kinds = [PartKind::Table, PartKind::Log, PartKind::Foreign];
        let others: Vec<_> = kinds.into_iter().flat_map(of_kind).collect();
        // writers remove runs and cut log files
        let _lock = if others.is_empty() { None } else { shared_lock(&self.dir)? };
        let mut tasks = self.tasks(&files);
        tasks.extend(others.into_iter().cloned().map(Task::Part));
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let found = Mutex::new((vec![], Ok(())));
        thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    while let Some(number) =
                        Some(next.fetch_add(1, Relaxed)).filter(|_| !stop.load(Relaxed))
                    {
                        let Some(task) = tasks.get(number) else { break };
                        let done = self.run(task, format, &files, watch);
                        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                        match done {
                            Ok((bytes, corruption)) => {
                                found.0.extend(
                                    corruption.into_iter().map(|corruption| (number, corruption)),
                                );
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
        let (mut corruption, outcome) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome?;
        corruption.sort_by_key(|(task, corruption)| (*task, corruption.place));
        let named = corruption.into_iter().map(|(task, mut corruption)| {
            corruption.part = match (&tasks[task], corruption.place) {
                (Task::Part(part), _) => Some(part.name.clone()),
                (_, Some((file, _))) => {
                    let siblings = file.checked_sub(SEGMENTS.len());
                    siblings.and_then(|at| segments.get(at)).map(|segment| segment.name().into())
                }
                _ => None,
            };
            corruption
        });
        Ok(join(named).into_iter().map(|corruption| self.with_blocks(corruption)).collect())
    }

    fn tasks(&self, files: &[&ChecksummedFile]) -> Vec<Task> {
        let mut tasks = vec![];
        for (file, Range { start, end }) in files.iter().map(|file| file.whole()).enumerate() {
            let ranges = (start..end).step_by(TASK as usize).map(|at| at..(at + TASK).min(end));
            tasks.extend(ranges.map(|range| Task::Pieces(file, range)));
        }
        for (level, runs) in self.index.runs(self.count()).into_iter().enumerate() {
            tasks.extend((0..runs).map(|run| Task::Run(level, run)));
        }
        tasks
    }

    /// Returns the number of bytes read, and what is corrupt.
    fn run(
        &self,
        task: &Task,
        format: Option<&dyn ForeignFormat>,
        files: &[&ChecksummedFile],
        watch: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(u64, Vec<Corruption>)> {
        match task {
            Task::Pieces(file, range) => {
                let mut found = vec![];
                files[*file].survey(range.clone(), |pieces, error| {
                    let bytes = pieces.end - pieces.start;
                    found.push(Corruption::new(error, bytes, Some((*file, pieces.start))));
                })?;
                Ok((range.end - range.start, join(found.into_iter())))
            }
            Task::Run(level, run) => {
                let (bytes, error) = self.index.check(*level, *run, &self.hashes.file)?;
                Ok((bytes, error.map(Corruption::that_mends).into_iter().collect()))
            }
            Task::Part(PartFacts { kind: PartKind::Log, name, facts }) => {
                match LogFile::survey(&self.hashes.folder, name, facts, watch) {
                    Err(error @ Error::Corrupt { .. }) => {
                        Ok((0, vec![Corruption::new(error, 0, None)]))
                    }
                    done => done.map(|()| (0, vec![])),
                }
            }
            Task::Part(PartFacts { kind: PartKind::Foreign, name, facts }) => {
                let format = format.ok_or_else(|| unknown(name))?;
                let found = format.survey(&self.hashes.folder, name, facts, watch)?;
                Ok((0, found.into_iter().map(|error| Corruption::new(error, 0, None)).collect()))
            }
            Task::Part(PartFacts { name, facts, .. }) => {
                let found = Table::survey(&self.hashes.folder, name, facts, watch)?;
                Ok((0, found.into_iter().map(|error| Corruption::new(error, 0, None)).collect()))
            }
        }
    }

    /// Adds the blocks to which the corrupt bytes belong.
    fn with_blocks(&self, corruption: Corruption) -> Corruption {
        let Some((file, start)) = corruption.place.filter(|_| !corruption.is_besides) else {
            return corruption;
        };
        let last = start + corruption.bytes.max(1) - 1;
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
        Corruption { blocks, ..corruption }
    }

    /// Returns the last block before all corruption, so that it and all blocks before it are whole;
    /// `None` if there is none. `corruption` is everything that [`ChainStore::check`] found;
    /// `wrong` is the first block whose bytes do not match its hash, if any.
    pub fn last_whole(&self, corruption: &[Corruption], wrong: Option<u64>) -> Option<u64> {
        let whole = self.last_whole_by_bytes(corruption)?;
        match wrong {
            Some(block) if block <= self.state.first => None,
            Some(block) => Some(whole.min(block - 1)),
            None => Some(whole),
        }
    }

    fn last_whole_by_bytes(&self, corruption: &[Corruption]) -> Option<u64> {
        let of_blocks = || corruption.iter().filter(|corruption| !corruption.is_besides);
        let places = || of_blocks().filter_map(|corruption| corruption.place);
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
}

/// The error for a part of another crate without its format.
pub(crate) fn unknown(name: &str) -> Error {
    mismatch("parts of a store", "those of a chain store", name)
}

/// Opens the blocks of a store, whatever else it has.
fn open(dir: &Path, purpose: Purpose) -> Result<(ChainStore, Recovery)> {
    Ok(chain_open::open(dir, &Options::default(), purpose, |_| Ok(()))?.0)
}

/// Merges corruption of neighbouring bytes in one file, such as a missing file.
fn join(corruption: impl Iterator<Item = Corruption>) -> Vec<Corruption> {
    let mut out: Vec<Corruption> = vec![];
    for corruption in corruption {
        match (out.last_mut(), corruption.place) {
            (Some(last), Some((file, start)))
                if last.place.is_some_and(|(r, at)| r == file && at + last.bytes == start) =>
            {
                last.bytes += corruption.bytes;
            }
            _ => out.push(corruption),
        }
    }
    out
}
