//! Opening and committing, in the order in which bytes reach the files.
//!
//! 1. The changes become one new run, which is synced. Nothing names it yet.
//! 2. A manifest that names all runs and carries the caller's state is written under a temporary
//!    name, synced, and renamed: from here on the commit counts, also after a power loss.
//! 3. Files that were merged away are removed; who still reads them keeps them.
//!
//! A merge in the background writes a run that nothing names; the next commit names it in place of
//! its inputs. A run that the manifest does not name, of a number that an interrupted commit or
//! merge can have given it, is removed when the store is opened; no other file is.

use std::{
    fs::{self, File},
    path::Path,
    sync::{Arc, Mutex},
};

use super::{
    check::{is_leftover, manifest_of},
    crash::{PointCrash, PointCrashPlan},
    manifest::{self, Manifest, sync_folder},
    memtable::Memtable,
    merge::{self, Merge},
    run::{Run, path_of},
    run_writer::RunWriter,
    runs::{PointReader, Runs},
    salt::Salt,
    store::{PointOptions, PointStore},
};
use crate::error::{Error, Result, io_error, mismatch};

/// Chunks in the memory of a store, about.
const CHUNKS: usize = 128;
/// The part of the memory that empty tables take.
const FIRST_TABLES: usize = 1024;
/// The smallest and the largest chunk.
const CHUNK_BYTES: (usize, usize) = (1 << 16, 1 << 21);

impl PointStore {
    /// Opens the store in `dir`, or makes an empty one there, and locks it. Returns the state that
    /// the last commit carried; empty when there was none.
    ///
    /// # Errors
    /// [`Error::Locked`] when it is open elsewhere; [`Error::Damaged`] when the manifest, or the
    /// length or the index of a run, is not as written. Pages are checked when they are read.
    pub fn open(dir: &Path, options: &PointOptions) -> Result<(PointStore, Vec<u8>)> {
        fs::create_dir_all(dir).map_err(io_error("make", dir))?;
        let lock = lock(dir)?;
        let manifest = match manifest_of(dir)? {
            Some(manifest) => manifest,
            None => make_manifest(dir)?,
        };
        let mut runs = Vec::new();
        for facts in &manifest.runs {
            runs.push(Arc::new(Run::open(dir, *facts)?));
        }
        // only now is it plain that the manifest is that of these files
        remove_leftovers(dir, &manifest)?;
        let runs = Arc::new(Runs { generation: 0, runs, salt: manifest.salt });
        let chunk = (options.memory_bytes / CHUNKS).max(1).next_power_of_two();
        let store = PointStore {
            dir: dir.to_path_buf(),
            _lock: lock,
            table: Memtable::new(
                chunk.clamp(CHUNK_BYTES.0, CHUNK_BYTES.1),
                options.memory_bytes / FIRST_TABLES,
            ),
            salt: manifest.salt,
            next: manifest.next,
            reader: PointReader(Arc::new(Mutex::new(Arc::clone(&runs)))),
            runs,
            merge: None,
            memory_bytes: options.memory_bytes,
            crash: PointCrashPlan(options.crash_at),
            failed: false,
        };
        Ok((store, manifest.state))
    }

    /// Writes all changes out and makes them and `state` durable, both or neither.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when `state` is longer than a mebibyte; nothing has changed then. After
    /// any other error the store must be opened again.
    pub fn commit(&mut self, state: &[u8]) -> Result<()> {
        if self.failed {
            return Err(Error::Failed { path: self.dir.clone() });
        }
        if state.len() > manifest::MAX_STATE {
            let expected = format!("at most {}", manifest::MAX_STATE);
            return Err(mismatch("bytes of state", expected, state.len()));
        }
        self.failed = true;
        let mut runs = self.runs.runs.clone();
        let merged_away = self.take_in_merge(&mut runs)?;
        let flushed = self.table.entries() > 0;
        if flushed {
            runs.insert(0, Arc::new(self.flush()?));
        }
        if !merged_away.is_empty() || flushed {
            sync_folder(&self.dir)?;
        }
        self.crash.reach(PointCrash::AfterRun)?;
        let manifest = Manifest {
            salt: self.salt,
            next: self.next,
            runs: runs.iter().map(|run| run.facts).collect(),
            state: state.to_vec(),
        };
        manifest.write(&self.dir, &mut self.crash)?;
        let generation = self.runs.generation + u64::from(flushed);
        self.runs = Arc::new(Runs { generation, runs, salt: self.salt });
        self.reader.publish(Arc::clone(&self.runs));
        self.crash.reach(PointCrash::BeforeRemoval)?;
        for number in merged_away {
            let path = path_of(&self.dir, number);
            fs::remove_file(&path).map_err(io_error("remove", &path))?;
        }
        self.start_merge()?;
        if flushed {
            self.table.clear(self.room());
        }
        self.failed = false;
        Ok(())
    }

    /// Writes the changes as a run.
    fn flush(&mut self) -> Result<Run> {
        let entries = self.table.entries() as u64;
        let mut writer = RunWriter::create(&self.dir, self.next, entries, self.salt)?;
        self.next += 1;
        let mut sorted = self.table.sorted();
        for at in 0.. {
            if at == entries / 2 && self.crash.is_due(PointCrash::HalfRun) {
                writer.abandon();
                return Err(Error::PointCrash(PointCrash::HalfRun));
            }
            let Some(record) = sorted.next() else { break };
            writer.push(&record)?;
        }
        writer.finish()
    }

    /// Puts the result of a finished merge in the place of its inputs, whose numbers are returned.
    fn take_in_merge(&mut self, runs: &mut Vec<Arc<Run>>) -> Result<Vec<u64>> {
        let wait = runs.len() >= merge::TOO_MANY;
        let Some(merge) = self.merge.take_if(|merge| wait || merge.is_done()) else {
            return Ok(Vec::new());
        };
        let inputs = merge.inputs.clone();
        let merged = merge.result()?;
        let is_input = |run: &Arc<Run>| inputs.contains(&run.facts.number);
        let at = runs.iter().position(is_input).unwrap_or(0);
        runs.retain(|run| !is_input(run));
        let mut away = inputs.clone();
        if merged.facts.entries > 0 {
            runs.insert(at, Arc::new(merged));
        } else {
            away.push(merged.facts.number);
        }
        Ok(away)
    }

    /// Starts a merge if there are many runs and none is going on.
    fn start_merge(&mut self) -> Result<()> {
        let runs = &self.runs.runs;
        let sizes: Vec<u64> = runs.iter().map(|run| run.disk_bytes()).collect();
        let Some(count) = merge::choose(&sizes).filter(|_| self.merge.is_none()) else {
            return Ok(());
        };
        let (inputs, oldest) = (runs[..count].to_vec(), count == runs.len());
        self.merge = Some(Merge::start(&self.dir, self.next, inputs, oldest, self.salt)?);
        self.next += 1;
        Ok(())
    }

    /// Waits for the merge that is going on, if any; the next commit takes its result in.
    pub fn wait_for_merge(&self) {
        while self.merge.as_ref().is_some_and(|merge| !merge.is_done()) {
            std::thread::yield_now();
        }
    }
}

fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    system::locks::exclusive(&path).map_err(io_error("lock", &path))?.ok_or(Error::Locked { path })
}

/// The manifest of a new store. It is written before any run, so runs without one are damage.
fn make_manifest(dir: &Path) -> Result<Manifest> {
    let manifest = Manifest { salt: Salt::random(), next: 0, runs: Vec::new(), state: Vec::new() };
    manifest.write(dir, &mut PointCrashPlan(None))?;
    Ok(manifest)
}

/// Removes what an interrupted commit or merge of this store left, and nothing else.
fn remove_leftovers(dir: &Path, manifest: &Manifest) -> Result<()> {
    for entry in fs::read_dir(dir).map_err(io_error("list", dir))? {
        let path = entry.map_err(io_error("list", dir))?.path();
        if is_leftover(&path, manifest) || path.ends_with(manifest::TEMPORARY) {
            fs::remove_file(&path).map_err(io_error("remove", &path))?;
        }
    }
    Ok(())
}
