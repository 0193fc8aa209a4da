//! A store: tables, log files and segments in one folder, committed together: all or nothing.
//!
//! A durable commit, in the order in which bytes reach the files:
//!
//! 1. Every part writes and syncs its changes: a table one new run, a log file and a segment their
//!    appended bytes. Nothing names them yet.
//! 2. A manifest that names all of them and carries the caller's state is written under a temporary
//!    name, synced, and renamed. From now on the commit counts, even after a power loss.
//! 3. Files that are no longer named are removed, and log files and segments cut off removed bytes.
//!    A reader that has a removed file open keeps it.
//!
//! A light commit covers appended bytes of segments only: a manifest is written over the older of
//! two files, and nothing is synced. The operating system keeps written bytes when a process dies,
//! so a kill loses nothing. Between two durable commits, the disk may have received such a manifest
//! but not the bytes that it names. So the manifest carries a checksum of the checksums that
//! segments got since the durable commit, and opening the store accepts it only if these checksums
//! and their bytes verify. A store with segments keeps a copy of its manifest in the place of a
//! light commit: any one of the three files may be corrupt.
//!
//! A background merge writes a run that nothing names; the next commit names it instead of its
//! inputs. Opening the store removes a run that the manifest does not name and whose number an
//! interrupted commit or merge can have assigned; it removes no other file.

use std::{panic::resume_unwind, path::Path, sync::Arc, thread};

use crate::{
    crash::CrashPoint,
    disk::{Disk, Lock, RealDisk},
    error::{Error, Result, mismatch},
    folder::Folder,
    log_file::LogFile,
    manifest::{self, LightFiles, Manifest, PartFacts, PartKind},
    opening::{self, Opening, Purpose},
    part::ForeignPart,
    segment::Segment,
    table::{Table, number_of},
};

/// Changes of a table that are worth a thread of their own.
const LARGE: usize = 1 << 14;

/// How to open a [`Store`].
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    /// For tests: stop as if killed at this point, after passing it this many times.
    pub crash_at: Option<(CrashPoint, u32)>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { disk: Arc::new(RealDisk), crash_at: None }
    }
}

/// A store; see the module text. The caller holds its parts.
pub struct Store {
    pub(crate) folder: Arc<Folder>,
    _lock: Option<Lock>,
    parts: Vec<(PartKind, String)>,
    /// The last commit; its number is the highest so far.
    last: Manifest,
    light: LightFiles,
    /// A newer commit was passed over: it is in the way of light commits.
    fell_back: bool,
    /// An earlier write failed.
    pub(crate) failed: bool,
}

/// A part of a store, to be committed with all others.
pub enum CommitPart<'a> {
    /// A table.
    Table(&'a mut Table),
    /// A log file.
    Log(&'a mut LogFile),
    /// A segment.
    Segment(&'a mut Segment),
    /// A part that another crate defines.
    Foreign(&'a mut (dyn ForeignPart + 'static)),
}

impl<'a> From<&'a mut Table> for CommitPart<'a> {
    fn from(table: &'a mut Table) -> Self {
        Self::Table(table)
    }
}

impl<'a> From<&'a mut LogFile> for CommitPart<'a> {
    fn from(log: &'a mut LogFile) -> Self {
        Self::Log(log)
    }
}

impl<'a> From<&'a mut Segment> for CommitPart<'a> {
    fn from(segment: &'a mut Segment) -> Self {
        Self::Segment(segment)
    }
}

impl CommitPart<'_> {
    /// Borrows the part for a shorter lifetime.
    pub(crate) fn reborrow(&mut self) -> CommitPart<'_> {
        match self {
            CommitPart::Table(table) => CommitPart::Table(table),
            CommitPart::Log(log) => CommitPart::Log(log),
            CommitPart::Segment(segment) => CommitPart::Segment(segment),
            CommitPart::Foreign(part) => CommitPart::Foreign(&mut **part),
        }
    }

    fn kind_and_name(&self) -> (PartKind, &str) {
        match self {
            CommitPart::Table(table) => (PartKind::Table, table.name()),
            CommitPart::Log(log) => (PartKind::Log, log.name()),
            CommitPart::Segment(segment) => (PartKind::Segment, segment.name()),
            CommitPart::Foreign(part) => (PartKind::Foreign, part.name()),
        }
    }

    fn is_in(&self, folder: &Arc<Folder>) -> bool {
        let own = match self {
            CommitPart::Table(table) => &table.folder,
            CommitPart::Log(log) => &log.folder,
            CommitPart::Segment(segment) => &segment.folder,
            CommitPart::Foreign(part) => part.folder(),
        };
        Arc::ptr_eq(own, folder)
    }

    fn prepare(&mut self) -> Result<Vec<u8>> {
        match self {
            CommitPart::Table(table) => table.prepare(),
            CommitPart::Log(log) => log.prepare(),
            CommitPart::Segment(segment) => segment.prepare(),
            CommitPart::Foreign(part) => part.prepare(),
        }
    }

    fn finish_commit(&mut self) -> Result<()> {
        match self {
            CommitPart::Table(table) => table.finish_commit(),
            CommitPart::Log(log) => log.finish_commit(),
            CommitPart::Segment(segment) => segment.finish_commit(),
            CommitPart::Foreign(part) => part.finish_commit(),
        }
    }

    /// Facts of the part for a light commit; `None` if they are those of the last commit.
    fn light_facts(&self) -> Result<Option<Vec<u8>>> {
        let has_changed = match self {
            CommitPart::Segment(segment) => return segment.facts().map(Some),
            // the caller's log has the changes since the last checkpoint
            CommitPart::Foreign(_) => false,
            CommitPart::Table(table) => table.has_changed(),
            CommitPart::Log(log) => log.has_changed(),
        };
        let (kind, name) = self.kind_and_name();
        match has_changed {
            true => {
                Err(mismatch("light commit", "changes of segments", format!("{kind:?} {name}")))
            }
            false => Ok(None),
        }
    }
}

/// Makes every part write and sync its changes. Large tables do so in parallel, because most of it
/// is sorting and packing.
fn prepare_all(parts: &mut [CommitPart<'_>]) -> Result<Vec<PartFacts>> {
    let is_large = |part: &CommitPart<'_>| match part {
        CommitPart::Table(table) => table.changes() >= LARGE,
        CommitPart::Log(_) | CommitPart::Segment(_) | CommitPart::Foreign(_) => false,
    };
    let prepare = |part: &mut CommitPart<'_>| {
        let facts = part.prepare()?;
        let (kind, name) = part.kind_and_name();
        Ok(PartFacts { kind, name: name.to_owned(), facts })
    };
    if parts.iter().filter(|part| is_large(part)).count() < 2 {
        return parts.iter_mut().map(prepare).collect();
    }
    thread::scope(|scope| {
        let (large, small): (Vec<_>, Vec<_>) = parts.iter_mut().partition(|part| is_large(part));
        let mut large = large.into_iter();
        let own = large.next().into_iter().chain(small);
        let others: Vec<_> = large.map(|part| scope.spawn(move || prepare(part))).collect();
        let mut facts = own.map(prepare).collect::<Result<Vec<_>>>()?;
        for other in others {
            facts.push(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(facts)
    })
}

/// Returns whether `name` is a file of the table or log file `part`.
pub(crate) fn is_file_of(name: &str, part: &str) -> bool {
    number_of(name, part).is_some() || LogFile::is_own_file(name, part)
}

impl Store {
    pub(crate) fn new(
        folder: Arc<Folder>,
        lock: Option<Lock>,
        parts: Vec<(PartKind, String)>,
        last: Manifest,
        fell_back: bool,
    ) -> Store {
        let light = LightFiles::default();
        Store { folder, _lock: lock, parts, last, light, fell_back, failed: false }
    }

    /// Opens the store in `dir`, or creates an empty one there, and locks it. Its parts are opened
    /// next, each once, and then [`Opening::finish`].
    ///
    /// # Errors
    /// [`Error::Locked`] when it is open elsewhere; [`Error::Corrupt`] when the manifest is not as
    /// written, or bytes of segments are gone that were durable; [`Error::OtherFormat`].
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Opening> {
        Opening::new(dir, options, Purpose::Write)
    }

    /// The state of the last durable commit in `dir`; `None` if there is no manifest. Nothing is
    /// created, locked or removed.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Corrupt`] if there is no manifest but a file of one of `parts`,
    /// which are names of tables and log files.
    pub fn read_state(dir: &Path, parts: &[&str]) -> Result<Option<Vec<u8>>> {
        if let Some(manifest) = Manifest::read(&RealDisk, dir)? {
            return Ok(Some(manifest.state));
        }
        let names = opening::names(&RealDisk, dir)?;
        match names.iter().any(|name| parts.iter().any(|part| is_file_of(name, part))) {
            true => Err(opening::without_manifest(dir)),
            false => Ok(None),
        }
    }

    /// Commits the changes of all parts, and `state`: all or nothing. The commit is durable.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if `parts` are not the parts of this store, or if `state` is longer than
    /// a mebibyte; nothing has changed then. After any other error the store must be opened again.
    pub fn commit(&mut self, parts: &mut [CommitPart<'_>], state: &[u8]) -> Result<()> {
        self.check_all(parts)?;
        self.commit_some(parts, state)
    }

    /// Commits some parts, and all segments of light commits. The facts of the other parts stay
    /// those of the last commit.
    ///
    /// # Errors
    /// As [`Store::commit`], but parts may be missing.
    pub fn commit_some(&mut self, parts: &mut [CommitPart<'_>], state: &[u8]) -> Result<()> {
        self.check(parts)?;
        manifest::check_state(state)?;
        self.failed = true;
        let facts = prepare_all(parts)?;
        self.folder.sync()?;
        self.folder.reach(CrashPoint::AfterParts)?;
        self.number(facts, state);
        self.last.base = self.last.sequence;
        self.last.write(&self.folder)?;
        if self.parts.iter().any(|(kind, _)| *kind == PartKind::Segment) {
            self.last.write_light(&self.folder, &mut self.light)?;
        }
        self.folder.reach(CrashPoint::BeforeRemoval)?;
        for (at, part) in parts.iter_mut().enumerate() {
            if at > 0 {
                self.folder.reach(CrashPoint::HalfRemoval)?;
            }
            part.finish_commit()?;
        }
        (self.failed, self.fell_back) = (false, false);
        tracing::debug!(sequence = self.last.sequence, parts = parts.len(), "durable commit");
        Ok(())
    }

    /// Makes a light commit of appended bytes of segments, and of `state`. The death of this
    /// process does not lose it. After a power loss the store is at the last commit that reached
    /// the disk completely, and never before the last durable one. After corruption was found, this
    /// is a durable commit.
    ///
    /// # Errors
    /// As [`Store::commit`]; [`Error::Mismatch`] if a table or a log file has changed since the
    /// last commit, or if a segment was cut.
    pub fn commit_light(&mut self, parts: &mut [CommitPart<'_>], state: &[u8]) -> Result<()> {
        self.check_all(parts)?;
        self.commit_some_light(parts, state)
    }

    /// Makes a light commit of some parts; see [`Store::commit_some`].
    pub(crate) fn commit_some_light(
        &mut self,
        parts: &mut [CommitPart<'_>],
        state: &[u8],
    ) -> Result<()> {
        if self.fell_back {
            return self.commit_some(parts, state);
        }
        self.check(parts)?;
        manifest::check_state(state)?;
        let mut all = vec![];
        for part in parts {
            if let Some(facts) = part.light_facts()? {
                let (kind, name) = part.kind_and_name();
                all.push(PartFacts { kind, name: name.to_owned(), facts });
            }
        }
        self.failed = true;
        self.number(all, state);
        self.last.write_light(&self.folder, &mut self.light)?;
        self.failed = false;
        Ok(())
    }

    /// Makes a new commit the last one. The facts of other parts stay.
    fn number(&mut self, mut parts: Vec<PartFacts>, state: &[u8]) {
        let last = std::mem::take(&mut self.last.parts).into_iter();
        let is_old = |old: &PartFacts| {
            parts.iter().all(|new| (new.kind, &new.name) != (old.kind, &old.name))
        };
        let kept: Vec<_> = last.filter(is_old).collect();
        parts.extend(kept);
        let (next, state) = (self.folder.next_number(), state.to_vec());
        let Manifest { sequence, base, salt, .. } = self.last;
        self.last = Manifest { sequence: sequence + 1, base, salt, next, parts, state };
    }

    /// Refuses every later commit: memory and disk may differ for a part.
    pub fn fail(&mut self) {
        self.failed = true;
    }

    /// Checks that parts are given of this store, none twice, and that it can be written to.
    pub(crate) fn check(&self, parts: &[CommitPart<'_>]) -> Result<()> {
        if self.failed {
            return Err(Error::Failed { path: self.folder.dir.clone() });
        }
        let given = |(kind, name): &(PartKind, String)| {
            parts.iter().filter(|part| part.kind_and_name() == (*kind, name)).count()
        };
        let counts = self.parts.iter().map(given);
        let is_ours = parts.iter().all(|part| part.is_in(&self.folder));
        match is_ours && counts.clone().sum::<usize>() == parts.len() && counts.max() <= Some(1) {
            true => Ok(()),
            false => Err(self.other_parts(parts)),
        }
    }

    /// Checks that no part is missing.
    fn check_all(&self, parts: &[CommitPart<'_>]) -> Result<()> {
        let is_all = parts.len() == self.parts.len();
        if is_all { Ok(()) } else { Err(self.other_parts(parts)) }
    }

    fn other_parts(&self, parts: &[CommitPart<'_>]) -> Error {
        let given: Vec<_> = parts.iter().map(CommitPart::kind_and_name).collect();
        let expected = opening::describe(&self.parts);
        mismatch("parts of a commit", expected, format!("{given:?}"))
    }

    /// Facts of the parts in the last commit.
    pub(crate) fn facts(&self) -> &[PartFacts] {
        &self.last.parts
    }
}
