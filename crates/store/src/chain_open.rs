//! Opening a chain store: its segments are those of the newest valid commit, and its hash index is
//! rebuilt where it does not match them.

use std::path::Path;

use blockmill_platform::files;

use crate::{
    chain_store::{ChainStore, Options, SEGMENTS},
    column::Column,
    disk::RealDisk,
    error::{Error, Result, hex, io_error, mismatch},
    hash_index::HashIndex,
    manifest::{self, Manifest, OLD_NAME, PartKind},
    opening::{Opening, Purpose},
    store::StoreOptions,
    tip::{ChainState, Tip, is_run_length},
};

/// What opening a store found and repaired.
#[derive(Debug, Default)]
pub struct Recovery {
    /// There was no store; an empty one was created.
    pub created: bool,
    /// Blocks in the store.
    pub blocks: u64,
    /// Bytes that no commit names, which were cut off (or, for reading only, left out).
    pub cut_bytes: u64,
    /// Index runs that were missing or corrupt and were built again.
    pub index_runs_built: u64,
    /// Why newer commits could not be used. One that a kill interrupted is among them.
    pub passed_over: Vec<Error>,
}

impl ChainStore {
    /// Returns whether `dir` holds a chain store, of this format or an older one. A store with
    /// other parts is not a chain store.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be inspected.
    pub fn is_in(dir: &Path) -> Result<bool> {
        match Manifest::read(&RealDisk, dir) {
            Ok(None) => Ok(false),
            // a new one has no part yet
            Ok(Some(found)) => {
                Ok(found.parts.is_empty() || found.part(PartKind::Segment, SEGMENTS[6]).is_some())
            }
            Err(error @ Error::Io { .. }) => Err(error),
            // a corrupt one is recognised by the files next to it
            Err(_) => {
                for name in ["hashes.00000", OLD_NAME] {
                    let path = dir.join(name);
                    if files::is_file(&path).map_err(io_error("open", &path))? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// Opens the store in `dir` for writing, or makes an empty one there, locks it against other
    /// writers, and brings it to its last commit.
    ///
    /// # Errors
    /// [`Error::Locked`] when it is open elsewhere; [`Error::Corrupt`] when bytes that were durable
    /// are gone or wrong, in which case nothing that counts is changed.
    pub fn open(dir: &Path, options: &Options) -> Result<(ChainStore, Recovery)> {
        Ok(open(dir, options, Purpose::Write, |_| Ok(()))?.0)
    }

    /// Opens the store with further parts next to the blocks: tables, log files and segments.
    /// `parts` opens them and returns them to the caller; [`ChainStore::commit_with`] commits them.
    /// Parts that the store lacks are created. Parts that are not opened stay unchanged, and
    /// [`ChainStore::commit`] changes none of them.
    ///
    /// # Errors
    /// As [`ChainStore::open`]; errors of `parts` are returned as they are.
    pub fn open_with<T>(
        dir: &Path,
        options: &Options,
        parts: impl FnMut(&mut Opening) -> Result<T>,
    ) -> Result<((ChainStore, Recovery), T)> {
        open(dir, options, Purpose::Write, parts)
    }

    /// Opens the store in `dir` for reading its last commit. Nothing is changed and no lock is
    /// taken, so a writer may continue to append. Reads fail if the writer removes the blocks in
    /// the meantime.
    ///
    /// # Errors
    /// [`Error::NoStore`] if there is none; [`Error::Corrupt`] as for [`ChainStore::open`].
    pub fn open_read_only(dir: &Path) -> Result<(ChainStore, Recovery)> {
        Ok(ChainStore::open_read_only_with(dir, |_| Ok(()))?.0)
    }

    /// Opens the store for reading, with further parts as of their last commit.
    ///
    /// # Errors
    /// As [`ChainStore::open_read_only`]; errors of `parts` are returned as they are.
    pub fn open_read_only_with<T>(
        dir: &Path,
        parts: impl FnMut(&mut Opening) -> Result<T>,
    ) -> Result<((ChainStore, Recovery), T)> {
        open(dir, &Options::default(), Purpose::Read, parts)
    }

    /// Cross-checks the last block: its hash against the tip, its ends against the lengths of the
    /// data. Reads all of it, so its checksums are verified.
    fn check_last_block(&self) -> Result<()> {
        let Some(Tip { number, hash, .. }) = self.tip() else { return Ok(()) };
        let (last, found) = (self.count() - 1, self.hash_of(number)?.unwrap_or_default());
        let corrupt = |(path, offset), what, expected, found| {
            Err(Error::Corrupt { path, offset, what, expected, found })
        };
        if hash != found {
            let place = self.hashes.file.location(last * 32);
            return corrupt(place, "last hash", hex(&hash), hex(&found));
        }
        for column in self.columns.iter().filter(|column| column.count() > 0) {
            let (expected, found) = (column.data.len(), column.end_of(last)?);
            if found != expected {
                let place = column.ends.file.location(last * 8);
                let what = "end of the last item";
                return corrupt(place, what, expected.to_string(), found.to_string());
            }
            column.item(last)?;
        }
        Ok(())
    }

    /// Checks that the lengths of the segments are those of a chain with this state.
    fn check_lengths(&self) -> Result<()> {
        let (count, ChainState { first, tip, .. }) = (self.count(), self.state);
        let is_whole = |column: &Column| match column.ends.len() {
            0 => column.data.is_empty(),
            len => len == count * 8,
        };
        let fits = self.hashes.len() == count * 32
            && count < 1 << 48
            && first.checked_add(count).is_some_and(|next| count == 0 || tip.number == next - 1)
            && self.columns.iter().all(is_whole);
        if fits {
            return Ok(());
        }
        let found = format!("{count} blocks from {first} to {}", tip.number);
        Err(manifest::corrupt(&self.dir, "lengths of segments that fit one another", found))
    }
}

/// Opens the last commit of the store. For writing, files are cut to match it. `parts` opens the
/// parts next to the blocks.
pub(crate) fn open<T>(
    dir: &Path,
    options: &Options,
    purpose: Purpose,
    mut parts: impl FnMut(&mut Opening) -> Result<T>,
) -> Result<((ChainStore, Recovery), T)> {
    if !is_run_length(options.run_items) {
        return Err(mismatch("run length", "a power of two up to 2^20", options.run_items));
    }
    let store = StoreOptions { disk: options.disk.clone(), crash_at: options.crash_at };
    let (mut opening, parts) = loop {
        let mut opening = Opening::new(dir, &store, purpose)?;
        match parts(&mut opening) {
            // a writer may have removed what a newer commit does not name
            Err(Error::Corrupt { .. }) if opening.is_outdated() => {}
            parts => break (opening, parts?),
        }
    };
    let mut segment = |number: usize| opening.segment(SEGMENTS[number], options.file_bytes);
    let mut column = |number| Ok(Column { data: segment(number)?, ends: segment(number + 1)? });
    let columns = [column(0)?, column(2)?, column(4)?];
    let hashes = segment(6)?;
    let (state, state_of_parts) = match opening.state() {
        [] => (ChainState { run_items: options.run_items, ..ChainState::default() }, &[][..]),
        bytes => ChainState::decode(bytes).ok_or_else(|| {
            let found = format!("{} other bytes", bytes.len());
            manifest::corrupt(dir, "the state of a chain", found)
        })?,
    };
    let state_of_parts = state_of_parts.to_vec();
    let (writes, accepts_corruption) = (purpose.writes(), purpose.accepts_corruption());
    let created = opening.manifest.is_none();
    if created && !writes {
        return Err(Error::NoStore { path: dir.to_path_buf() });
    }
    let index = HashIndex::new(&hashes, state.run_items, writes);
    let (dir, committed) = (dir.to_path_buf(), hashes.len() / 32);
    let found = opening.manifest.iter().flat_map(|manifest| &manifest.parts);
    let found = found.filter(|part| !SEGMENTS.contains(&&*part.name)).cloned().collect();
    let mut store = ChainStore {
        dir,
        store: None,
        found,
        state_of_parts,
        columns,
        hashes,
        index,
        state,
        committed,
    };
    store.check_lengths()?;
    if !accepts_corruption {
        store.check_last_block()?;
    }
    let restored =
        store.index.restore(committed, 0, &store.hashes.file, writes && !accepts_corruption);
    let index_runs_built = match restored {
        // without hashes the newest blocks cannot be found by hash
        Err(Error::Corrupt { .. }) if accepts_corruption => 0,
        restored => restored?,
    };
    let (cut_bytes, passed_over) = (opening.excess, std::mem::take(&mut opening.passed_over));
    if writes {
        store.store = Some(opening.finish_some()?);
    }
    let recovery =
        Recovery { created, blocks: committed, cut_bytes, index_runs_built, passed_over };
    Ok(((store, recovery), parts))
}
