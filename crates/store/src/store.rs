//! A store: tables and log files in one folder, which become true together or not at all.
//!
//! A commit, in the order in which bytes reach the files:
//!
//! 1. Every part writes and syncs what it holds: a table its changes, as one new run; a log file
//!    what was appended. Nothing names it yet.
//! 2. A manifest that names all of it and carries the caller's state is written under a temporary
//!    name, synced, and renamed: from here on the commit counts, also after a power loss.
//! 3. Files that are no longer named are removed, and what a log file lost is cut off; who still
//!    reads a removed file keeps it.
//!
//! A merge in the background writes a run that nothing names; the next commit names it in place of
//! its inputs. A run that the manifest does not name, of a number that an interrupted commit or
//! merge can have given it, is removed when the store is opened; no other file is.

use std::{path::Path, sync::Arc};

use crate::{
    crash::{CommitPoint, CrashPlan},
    disk::{Disk, Lock, RealDisk},
    error::{Error, Result, io_error, mismatch},
    folder::Folder,
    log_file::LogFile,
    manifest::{self, Manifest, PartFacts, PartKind},
    table::{Salt, Table, TableOptions, number_of},
};

/// The file that is locked.
const LOCK: &str = "lock";
/// Files that a table writes between two manifests at most: a flush and a merge.
const BETWEEN: u64 = 2;

/// How to open a [`Store`].
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    /// For tests: stop at this point of a commit, after having passed it so often.
    pub crash_at: Option<(CommitPoint, u32)>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { disk: Arc::new(RealDisk), crash_at: None }
    }
}

/// A store whose parts are being opened.
pub struct Opening {
    folder: Arc<Folder>,
    lock: Lock,
    manifest: Option<Manifest>,
    parts: Vec<(PartKind, String)>,
    names: Vec<String>,
    crash: CrashPlan,
}

/// A store; see the module text. Its parts are held by whoever changes them.
pub struct Store {
    folder: Arc<Folder>,
    _lock: Lock,
    parts: Vec<(PartKind, String)>,
    /// An earlier write failed.
    failed: bool,
}

/// A part of a store, to be committed with all others.
pub enum CommitPart<'a> {
    /// A table.
    Table(&'a mut Table),
    /// A log file.
    Log(&'a mut LogFile),
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

impl CommitPart<'_> {
    fn kind_and_name(&self) -> (PartKind, &str) {
        match self {
            CommitPart::Table(table) => (PartKind::Table, table.name()),
            CommitPart::Log(log) => (PartKind::Log, log.name()),
        }
    }

    fn folder(&self) -> &Arc<Folder> {
        match self {
            CommitPart::Table(table) => &table.folder,
            CommitPart::Log(log) => log.folder(),
        }
    }

    fn prepare(&mut self) -> Result<Vec<u8>> {
        match self {
            CommitPart::Table(table) => table.prepare(),
            CommitPart::Log(log) => log.prepare(),
        }
    }

    fn settle(&mut self) -> Result<()> {
        match self {
            CommitPart::Table(table) => table.settle(),
            CommitPart::Log(log) => log.settle(),
        }
    }
}

impl Store {
    /// Opens the store in `dir`, or creates an empty one there, and locks it. Its parts are opened
    /// next, each once, and then [`Opening::finish`].
    ///
    /// # Errors
    /// [`Error::Locked`] when it is open elsewhere; [`Error::Damaged`] when the manifest is not as
    /// written; [`Error::OtherFormat`].
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Opening> {
        let disk = Arc::clone(&options.disk);
        disk.create_folder(dir).map_err(io_error("create", dir))?;
        let path = dir.join(LOCK);
        let lock = disk.lock(&path).map_err(io_error("lock", &path))?;
        let lock = lock.ok_or(Error::Locked { path })?;
        let manifest = Manifest::read(&*disk, dir)?;
        let names = names(&*disk, dir)?;
        let salt = manifest.as_ref().map_or_else(Salt::random, |manifest| manifest.salt);
        let next = manifest.as_ref().map_or(0, |manifest| manifest.next);
        let folder = Arc::new(Folder::new(dir, disk, salt, next));
        let (parts, crash) = (vec![], CrashPlan(options.crash_at));
        Ok(Opening { folder, lock, manifest, parts, names, crash })
    }

    /// The state that the last commit in `dir` carried; `None` when there is no manifest. Nothing
    /// is created, locked or removed.
    ///
    /// # Errors
    /// Those of [`Store::open`], and [`Error::Damaged`] when there is no manifest, but a file of
    /// one of `parts`.
    pub fn read_state(dir: &Path, parts: &[&str]) -> Result<Option<Vec<u8>>> {
        if let Some(manifest) = Manifest::read(&RealDisk, dir)? {
            return Ok(Some(manifest.state));
        }
        let names = if dir.is_dir() { names(&RealDisk, dir)? } else { vec![] };
        let is_of = |name: &str, part: &str| {
            number_of(name, part).is_some() || LogFile::is_own_file(name, part)
        };
        match names.iter().any(|name| parts.iter().any(|part| is_of(name, part))) {
            true => Err(without_manifest(dir)),
            false => Ok(None),
        }
    }

    /// Makes what all parts hold, and `state`, durable: all of it or nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when `parts` are not the parts of this store, or when `state` is longer
    /// than a mebibyte; nothing has changed then. After any other error the store must be opened
    /// again.
    pub fn commit(&mut self, parts: &mut [CommitPart<'_>], state: &[u8]) -> Result<()> {
        if self.failed {
            return Err(Error::Failed { path: self.folder.dir.clone() });
        }
        self.check_parts(parts)?;
        manifest::check_state(state)?;
        self.failed = true;
        let mut facts = vec![];
        for part in &mut *parts {
            let (kind, name) = part.kind_and_name();
            let name = name.to_owned();
            facts.push(PartFacts { kind, name, facts: part.prepare()? });
        }
        self.folder.sync()?;
        self.folder.reach(CommitPoint::AfterParts)?;
        let next = self.folder.next_number();
        let state = state.to_vec();
        Manifest { salt: self.folder.salt, next, parts: facts, state }.write(&self.folder)?;
        self.folder.reach(CommitPoint::BeforeRemoval)?;
        parts.iter_mut().try_for_each(CommitPart::settle)?;
        self.failed = false;
        Ok(())
    }

    fn check_parts(&self, parts: &[CommitPart<'_>]) -> Result<()> {
        let is_ours = |part: &CommitPart| Arc::ptr_eq(part.folder(), &self.folder);
        let given = parts.iter().filter(|part| is_ours(part)).map(CommitPart::kind_and_name);
        let given: Vec<_> = given.collect();
        let is_given = |(kind, name): &(PartKind, String)| given.contains(&(*kind, name));
        if given.len() == parts.len()
            && parts.len() == self.parts.len()
            && self.parts.iter().all(is_given)
        {
            return Ok(());
        }
        Err(mismatch("parts of a commit", describe(&self.parts), format!("{given:?}")))
    }
}

impl Opening {
    /// Opens the table `name`, or creates an empty one.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the length or the index of a run is not as written, or when there
    /// are runs and no manifest; pages are checked when they are read. [`Error::Mismatch`] when the
    /// table was created with other [`TableOptions`].
    pub fn table(&mut self, name: &'static str, options: &TableOptions) -> Result<Table> {
        self.check_new(|file| number_of(file, name).is_some())?;
        self.parts.push((PartKind::Table, name.to_owned()));
        let facts = self.manifest.as_ref().and_then(|m| m.part(PartKind::Table, name));
        Table::open(&self.folder, name, facts, options)
    }

    /// Opens the log file `name`, or creates an empty one. Its files get `file_bytes` each, always
    /// the same number.
    ///
    /// # Errors
    /// [`Error::Damaged`] when it is shorter than it should be, or when it is there and no manifest
    /// is.
    pub fn log(&mut self, name: &'static str, file_bytes: u64) -> Result<LogFile> {
        self.check_new(|file| LogFile::is_own_file(file, name))?;
        self.parts.push((PartKind::Log, name.to_owned()));
        let facts = self.manifest.as_ref().and_then(|m| m.part(PartKind::Log, name));
        LogFile::open(&self.folder, name, file_bytes, facts)
    }

    /// Without a manifest there must be no file of a part: it is written before any of them.
    fn check_new(&self, is_own: impl Fn(&str) -> bool) -> Result<()> {
        if self.manifest.is_none() && self.names.iter().any(|name| is_own(name)) {
            return Err(without_manifest(&self.folder.dir));
        }
        Ok(())
    }

    /// All parts are open: removes what interrupted commits and merges left. Returns the store and
    /// the state that the last commit carried, empty when there was none.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the store has parts that were not opened.
    pub fn finish(self) -> Result<(Store, Vec<u8>)> {
        let Opening { folder, lock, manifest, parts, names, crash } = self;
        let manifest = match manifest {
            Some(manifest) => {
                if names.iter().any(|name| name == manifest::TEMPORARY) {
                    folder.remove(&folder.dir.join(manifest::TEMPORARY))?;
                }
                manifest
            }
            None => {
                let (next, state) = (folder.next_number(), vec![]);
                let manifest = Manifest { salt: folder.salt, next, parts: vec![], state };
                manifest.write(&folder)?;
                manifest
            }
        };
        let is_open = |part: &PartFacts| {
            parts.iter().any(|(kind, name)| part.kind == *kind && part.name == *name)
        };
        if let Some(part) = manifest.parts.iter().find(|part| !is_open(part)) {
            let found = format!("{:?} {}", part.kind, part.name);
            return Err(mismatch("parts of a store", describe(&parts), found));
        }
        let limit = manifest.next.saturating_add(BETWEEN * parts.len() as u64);
        for (kind, table) in &parts {
            let runs = manifest.part(*kind, table).map(Table::numbers).unwrap_or_default();
            for name in names.iter().filter(|_| *kind == PartKind::Table) {
                let number = number_of(name, table);
                if number.is_some_and(|number| number < limit && !runs.contains(&number)) {
                    folder.remove(&folder.dir.join(name))?;
                }
            }
        }
        folder.plan(crash);
        let state = manifest.state;
        Ok((Store { folder, _lock: lock, parts, failed: false }, state))
    }
}

/// The error for files of parts that no manifest names.
pub(crate) fn without_manifest(dir: &Path) -> Error {
    manifest::damaged(dir, "a manifest that names the parts of the store", "no file of that name")
}

fn describe(parts: &[(PartKind, String)]) -> String {
    let names: Vec<_> = parts.iter().map(|(kind, name)| format!("{kind:?} {name}")).collect();
    names.join(", ")
}

/// The names in a folder that are text.
fn names(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>> {
    let names = disk.list(dir).map_err(io_error("list", dir))?;
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
}
