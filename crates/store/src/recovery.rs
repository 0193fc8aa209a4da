//! Opening a store: find the newest checkpoint that the files bear out, cut off the rest.
//!
//! Each slot offers two states: what it calls committed, which holds if the checksums of the bytes
//! since the last sync do, and what it calls durable, which holds if the files are long enough. The
//! newest state that holds wins, down to the newest durable one. If that fails too, bytes are gone
//! that were safe on disk: that is an error, and nothing is changed.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    path::Path,
};

use crate::{
    chain_store::{ChainStore, Options, rope_lengths, ropes},
    checkpoint::{CheckpointFile, SLOT_BYTES, SUMS, Slot, State},
    commit::CrashPlan,
    error::{Error, Result, io_error},
    hash_index::HashIndex,
};

/// What opening a store found and did.
#[derive(Debug, Default)]
pub struct Recovery {
    /// There was no store; an empty one was made.
    pub created: bool,
    /// Blocks in the store.
    pub blocks: u64,
    /// Bytes beyond the checkpoint that were cut off (or, for reading only, left out).
    pub cut_bytes: u64,
    /// Index runs that were missing or damaged and were built again.
    pub index_runs_built: u64,
    /// Why newer checkpoints could not be used, newest first. A torn slot after a kill is one.
    pub passed_over: Vec<Error>,
}

/// A state that a checkpoint offers, with what proves it.
struct Candidate {
    state: State,
    durable: State,
    sums: [u32; SUMS],
    /// Whether it is just what the newest whole slot says.
    is_newest: bool,
}

impl ChainStore {
    /// Opens the store in `dir` for writing, or makes an empty one there, locks it against other
    /// writers, and brings it to its last commit.
    ///
    /// # Errors
    /// [`Error::Locked`] when it is open elsewhere; [`Error::Damaged`] when bytes that were durable
    /// are gone or wrong, in which case nothing is changed.
    pub fn open(dir: &Path, options: &Options) -> Result<(ChainStore, Recovery)> {
        fs::create_dir_all(dir).map_err(io_error("create", dir))?;
        let lock = lock(dir)?;
        let checkpoint = CheckpointFile::open(dir, true)?;
        let mut recovery = Recovery::default();
        if checkpoint.read()?.iter().all(|slot| slot.is_err()) && !holds_data(dir, options)? {
            create(dir, &checkpoint, options)?;
            recovery.created = true;
        }
        let mut store = load(dir, checkpoint, Some(lock), &mut recovery)?;
        store.crash = CrashPlan(options.crash_at);
        Ok((store, recovery))
    }

    /// Opens the store in `dir` for reading its last commit. Nothing is changed and no lock is
    /// taken, so a writer may go on appending; reads fail if it takes blocks back meanwhile.
    ///
    /// # Errors
    /// [`Error::NoStore`] when there is none, [`Error::Damaged`] as for [`ChainStore::open`].
    pub fn open_read_only(dir: &Path) -> Result<(ChainStore, Recovery)> {
        let checkpoint = CheckpointFile::open(dir, false)?;
        let mut recovery = Recovery::default();
        let store = load(dir, checkpoint, None, &mut recovery)?;
        Ok((store, recovery))
    }

    /// Whether the ropes hold what the candidate says.
    fn check(&self, candidate: &Candidate) -> Result<()> {
        let (lengths, durable) = (rope_lengths(&candidate.state), rope_lengths(&candidate.durable));
        for (i, rope) in self.ropes().into_iter().enumerate() {
            rope.check(lengths[i], durable[i], candidate.sums[i])?;
        }
        Ok(())
    }

    /// Takes the candidate as the content of the store.
    fn resume(&mut self, candidate: &Candidate) {
        let (lengths, durable) = (rope_lengths(&candidate.state), rope_lengths(&candidate.durable));
        for (i, rope) in self.ropes_mut().into_iter().enumerate() {
            rope.resume(lengths[i], durable[i], candidate.sums[i]);
        }
        self.appended = candidate.state;
        self.committed = candidate.state;
        self.durable = candidate.durable;
    }

    /// Cross-checks the last block: hash against the checkpoint, ends against the data lengths.
    fn check_last_block(&self) -> Result<()> {
        let State { count, bytes, tip, .. } = self.committed;
        let Some(last) = count.checked_sub(1) else { return Ok(()) };
        let mut hash = [0; 32];
        self.hashes.read(last * 32, &mut hash)?;
        let damaged = |(path, offset), what, expected, found| {
            Err(Error::Damaged { path, offset, what, expected, found })
        };
        if hash != tip.hash {
            let (expected, found) = (format!("{:02x?}", tip.hash), format!("{hash:02x?}"));
            return damaged(self.hashes.place(last * 32), "last hash", expected, found);
        }
        for (column, bytes) in self.columns.iter().zip(bytes) {
            if column.ends.len() == 0 {
                continue;
            }
            let end = column.end_of(last)?;
            if end != bytes {
                let place = column.ends.place(last * 8);
                return damaged(place, "end of the last item", bytes.to_string(), end.to_string());
            }
        }
        Ok(())
    }
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(io_error("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path }),
        Err(TryLockError::Error(source)) => Err(Error::Io { action: "lock", path, source }),
    }
}

/// Whether the folder has any file of a rope: then it is no place for a new store.
fn holds_data(dir: &Path, options: &Options) -> Result<bool> {
    let (columns, hashes) = ropes(dir, options.layout()?, false);
    let mut ropes = columns.iter().flat_map(|c| [&c.data, &c.ends]).chain([&hashes]);
    ropes.try_fold(false, |any, rope| Ok(any || rope.has_files()?))
}

/// Writes two checkpoints of an empty store.
fn create(dir: &Path, checkpoint: &CheckpointFile, options: &Options) -> Result<()> {
    let empty = State::default();
    for sequence in [0, 1] {
        let layout = options.layout()?;
        let slot = Slot { sequence, layout, committed: empty, durable: empty, sums: [0; SUMS] };
        checkpoint.write(&slot, SLOT_BYTES)?;
    }
    checkpoint.sync()?;
    let folder = File::open(dir).map_err(io_error("open", dir))?;
    folder.sync_all().map_err(io_error("sync", dir))
}

/// Brings up the best state of the store; with a lock, files are made to match it.
fn load(
    dir: &Path,
    checkpoint: CheckpointFile,
    lock: Option<File>,
    recovery: &mut Recovery,
) -> Result<ChainStore> {
    let slots = whole_slots(&checkpoint, recovery)?;
    let Some(newest) = slots.first() else {
        // Both are broken; the first reason stands for both.
        return Err(recovery.passed_over.swap_remove(0));
    };
    let (layout, writable) = (newest.layout, lock.is_some());
    let (columns, hashes) = ropes(dir, layout, writable);
    let mut store = ChainStore {
        dir: dir.to_path_buf(),
        layout,
        columns,
        hashes,
        index: HashIndex::new(dir, layout, writable),
        checkpoint,
        sequence: newest.sequence,
        appended: State::default(),
        committed: State::default(),
        durable: State::default(),
        lock,
        failed: false,
        crash: CrashPlan(None),
    };
    let chosen = choose(&store, newest, slots.get(1), recovery)?;
    store.resume(&chosen);
    store.check_last_block()?;
    recovery.blocks = chosen.state.count;
    for (rope, len) in store.ropes().iter().zip(rope_lengths(&chosen.state)) {
        recovery.cut_bytes += rope.disk_bytes()?.saturating_sub(len);
    }
    let (count, durable) = (chosen.state.count, chosen.durable.count);
    recovery.index_runs_built = store.index.restore(count, durable, &store.hashes, writable)?;
    if writable && !chosen.is_newest {
        store.settle(chosen.state)?;
    } else if writable && recovery.cut_bytes > 0 {
        store.cut(chosen.state)?;
    }
    Ok(store)
}

/// The readable slots, newest first; what is wrong with the others goes to the report.
fn whole_slots(checkpoint: &CheckpointFile, recovery: &mut Recovery) -> Result<Vec<Slot>> {
    let mut slots = Vec::new();
    for (index, slot) in (0..).zip(checkpoint.read()?) {
        match slot {
            Ok(slot) => slots.push(slot),
            Err(damage) => recovery.passed_over.push(checkpoint.damage(index, &damage)),
        }
    }
    slots.sort_by_key(|slot| std::cmp::Reverse(slot.sequence));
    Ok(slots)
}

/// The best state that the files bear out. Nothing below the newest durable state is considered:
/// its bytes were safe on disk, so if they are gone the store is damaged.
fn choose(
    store: &ChainStore,
    newest: &Slot,
    older: Option<&Slot>,
    recovery: &mut Recovery,
) -> Result<Candidate> {
    let older = older.filter(|older| older.committed.count >= newest.durable.count);
    for (slot, is_newest) in [(Some(newest), true), (older, false)] {
        let Some(&Slot { committed: state, durable, sums, .. }) = slot else { continue };
        let candidate = Candidate { state, durable, sums, is_newest };
        match store.check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(reason) => recovery.passed_over.push(reason),
        }
    }
    let state = newest.durable;
    let candidate = Candidate { state, durable: state, sums: [0; SUMS], is_newest: false };
    store.check(&candidate)?;
    Ok(candidate)
}
