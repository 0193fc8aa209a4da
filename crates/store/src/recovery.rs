//! Opening a store: find the newest checkpoint that the files bear out, cut off the rest.
//!
//! Each slot offers two states: what it calls committed, which holds if the checksums of the bytes
//! since the last sync do, and what it calls durable, which holds if the files are long enough. The
//! newest state that holds wins, down to the newest durable one. If that fails too, bytes are gone
//! that were safe on disk: that is an error, and nothing is changed.

use std::{
    fs::{self, File},
    path::Path,
};

use crate::{
    chain_store::{COLUMNS, ChainStore, LOCK, Options, file_lengths, files},
    checkpoint::{Access, CheckpointFile, SLOT_BYTES, SUMS, Slot, State, hex},
    commit::CrashPlan,
    error::{Error, Result, io_error},
    hash_index::HashIndex,
    summed::Proof,
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
    since: [u32; SUMS],
    /// Whether it is just what the newest whole slot says.
    is_newest: bool,
}

impl Candidate {
    /// What proves each file.
    fn proofs(&self) -> [Proof; SUMS] {
        let (lengths, durable) = (file_lengths(&self.state), file_lengths(&self.durable));
        let (since, tails) = (self.since, self.state.tails);
        std::array::from_fn(|i| Proof {
            len: lengths[i],
            durable: durable[i],
            since: since[i],
            tail: tails[i],
        })
    }
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
        let holds_data = holds_data(dir, options)?;
        let access = if holds_data { Access::Write } else { Access::Create };
        let checkpoint = CheckpointFile::open(dir, access)?;
        let mut recovery = Recovery::default();
        if checkpoint.read()?.iter().all(|slot| slot.is_err()) && !holds_data {
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
        let checkpoint = checkpoint_to_read(dir)?;
        let mut recovery = Recovery::default();
        let store = load(dir, checkpoint, None, &mut recovery)?;
        Ok((store, recovery))
    }

    /// Whether the files hold what the candidate says; if so, that is the content of the store.
    fn resume(&mut self, candidate: &Candidate) -> Result<()> {
        let Candidate { state, durable, .. } = candidate;
        for (proof, file) in candidate.proofs().into_iter().zip(self.files_mut()) {
            file.prove(proof)?;
        }
        (self.appended, self.committed, self.durable) = (*state, *state, *durable);
        Ok(())
    }

    /// Cross-checks the last block: hash against the checkpoint, ends against the data lengths, and
    /// reads all of it, so that its sums are checked.
    fn check_last_block(&self) -> Result<()> {
        let State { count, bytes, tip, .. } = self.committed;
        let Some(last) = count.checked_sub(1) else { return Ok(()) };
        let mut hash = [0; 32];
        self.hashes.read(last * 32, &mut hash)?;
        let damaged = |(path, offset), what, expected, found| {
            Err(Error::Damaged { path, offset, what, expected, found })
        };
        if hash != tip.hash {
            let (expected, found) = (hex(&tip.hash), hex(&hash));
            return damaged(self.hashes.location(last * 32), "last hash", expected, found);
        }
        for (column, bytes) in self.columns.iter().zip(bytes) {
            if column.ends.len() == 0 {
                continue;
            }
            let end = column.end_of(last)?;
            if end != bytes {
                let place = column.ends.location(last * 8);
                return damaged(place, "end of the last item", bytes.to_string(), end.to_string());
            }
        }
        for column in 0..COLUMNS {
            self.item(column, tip.number)?;
        }
        Ok(())
    }
}

pub(crate) fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    system::locks::exclusive(&path).map_err(io_error("lock", &path))?.ok_or(Error::Locked { path })
}

/// Whether the folder has any file of a store: then it is no place for a new store.
fn holds_data(dir: &Path, options: &Options) -> Result<bool> {
    let (columns, hashes) = files(dir, options.layout()?, false);
    let mut files = columns.iter().flat_map(|c| [&c.data, &c.ends]).chain([&hashes]);
    files.try_fold(false, |any, file| Ok(any || file.has_files()?))
}

/// The checkpoint of a store that is only read. Data without one is damaged.
pub(crate) fn checkpoint_to_read(dir: &Path) -> Result<CheckpointFile> {
    match CheckpointFile::open(dir, Access::Read) {
        Err(Error::NoStore { .. }) if dir.is_dir() && holds_data(dir, &Options::default())? => {
            CheckpointFile::open(dir, Access::Write)
        }
        opened => opened,
    }
}

/// Writes two checkpoints of an empty store.
fn create(dir: &Path, checkpoint: &CheckpointFile, options: &Options) -> Result<()> {
    let empty = State::default();
    for sequence in [0, 1] {
        let layout = options.layout()?;
        let slot = Slot { sequence, layout, committed: empty, durable: empty, since: [0; SUMS] };
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
    let (mut store, slots) = from_slots(dir, checkpoint, lock, recovery)?;
    let writable = store.lock.is_some();
    let chosen = choose(&mut store, &slots, recovery)?;
    store.check_last_block()?;
    recovery.blocks = chosen.state.count;
    for (file, len) in store.files().iter().zip(file_lengths(&chosen.state)) {
        recovery.cut_bytes += file.excess(len)?;
    }
    let count = chosen.state.count;
    recovery.index_runs_built = store.index.restore(count, 0, &store.hashes, writable)?;
    if writable && !chosen.is_newest {
        store.settle(chosen.state)?;
    } else if writable && recovery.cut_bytes > 0 {
        store.cut(chosen.state)?;
    }
    Ok(store)
}

/// Brings up the best state of the store, or the newest one if none holds; no file is changed.
pub(crate) fn load_damaged(
    dir: &Path,
    checkpoint: CheckpointFile,
    lock: Option<File>,
    recovery: &mut Recovery,
) -> Result<ChainStore> {
    let (mut store, slots) = from_slots(dir, checkpoint, lock, recovery)?;
    let torn = recovery.passed_over.len();
    let state = match choose(&mut store, &slots, recovery) {
        Ok(chosen) => chosen.state,
        Err(Error::Damaged { .. }) => {
            // what is wrong will be found piece by piece
            recovery.passed_over.truncate(torn);
            slots.first().map_or(State::default(), |newest| newest.committed)
        }
        Err(error) => return Err(error),
    };
    store.take(&state);
    recovery.blocks = state.count;
    match store.index.restore(state.count, 0, &store.hashes, false) {
        // without hashes the newest blocks cannot be found by hash
        Ok(_) | Err(Error::Damaged { .. }) => Ok(store),
        Err(error) => Err(error),
    }
}

/// A store with nothing in it yet, and what its readable slots say, newest first.
fn from_slots(
    dir: &Path,
    checkpoint: CheckpointFile,
    lock: Option<File>,
    recovery: &mut Recovery,
) -> Result<(ChainStore, Vec<Slot>)> {
    let slots = whole_slots(&checkpoint, recovery)?;
    let Some(newest) = slots.first() else {
        // Both are broken; the first reason stands for both.
        return Err(recovery.passed_over.swap_remove(0));
    };
    let (layout, writable) = (newest.layout, lock.is_some());
    let (columns, hashes) = files(dir, layout, writable);
    let store = ChainStore {
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
    Ok((store, slots))
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
fn choose(store: &mut ChainStore, slots: &[Slot], recovery: &mut Recovery) -> Result<Candidate> {
    // a store without a whole slot is not opened
    let newest = &slots[0];
    let older = slots.get(1).filter(|older| older.committed.count >= newest.durable.count);
    for (slot, is_newest) in [(Some(newest), true), (older, false)] {
        let Some(&Slot { committed: state, durable, since, .. }) = slot else { continue };
        let candidate = Candidate { state, durable, since, is_newest };
        match store.resume(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(reason) => recovery.passed_over.push(reason),
        }
    }
    let state = newest.durable;
    let candidate = Candidate { state, durable: state, since: [0; SUMS], is_newest: false };
    store.resume(&candidate)?;
    Ok(candidate)
}
