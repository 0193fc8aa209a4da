//! Opening a store: finds the newest commit whose files are complete.
//!
//! The manifest of the last durable commit names what was safe on disk. Manifests of later light
//! commits count if the checksums since then verify: a power loss may keep such a manifest and lose
//! bytes that it names. If the durable commit does not verify either, durable bytes are lost: that
//! is an error, and nothing is changed.

mod finish;

use std::{cmp::Reverse, io, path::Path, sync::Arc};

use crate::{
    crash::CrashPlan,
    disk::{Disk, Lock},
    error::{Error, Result, io_error, mismatch},
    folder::Folder,
    log_file::LogFile,
    manifest::{self, LIGHT, Manifest, PartFacts, PartKind},
    part::{ForeignFormat, ForeignPlace},
    segment::Segment,
    store::StoreOptions,
    table::{Salt, Table, TableOptions, number_of},
};

/// The file that is locked.
pub(crate) const LOCK: &str = "lock";
/// Files that a table writes between two manifests at most: a flush and a merge.
const BETWEEN: u64 = 2;

/// The purpose of opening a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be read: nothing is created, locked or changed.
    Read,
    /// Reading, however corrupt it is: if no commit verifies, the newest one counts.
    Survey,
    /// To be written.
    Write,
    /// Writing, however corrupt it is.
    Repair,
}

impl Purpose {
    pub fn writes(self) -> bool {
        matches!(self, Purpose::Write | Purpose::Repair)
    }

    pub fn accepts_corruption(self) -> bool {
        matches!(self, Purpose::Survey | Purpose::Repair)
    }
}

/// A store whose parts are being opened.
pub struct Opening {
    pub(crate) folder: Arc<Folder>,
    /// Held where the store is opened to be written.
    lock: Option<Lock>,
    /// The newest commit that verifies; `None` in a new store.
    pub(crate) manifest: Option<Manifest>,
    /// Segments of that commit that were not handed out yet.
    segments: Vec<Segment>,
    /// The next commit must be a durable one: a newer one than that was passed over.
    fell_back: bool,
    /// The highest number of a commit that was seen.
    newest: u64,
    parts: Vec<(PartKind, String)>,
    /// Formats of the parts that other crates define.
    formats: Vec<(&'static str, &'static dyn ForeignFormat)>,
    names: Vec<String>,
    crash: CrashPlan,
    /// Why commits could not be used.
    pub(crate) passed_over: Vec<Error>,
    /// Bytes in the files of segments that do not count.
    pub(crate) excess: u64,
}

impl Opening {
    pub(crate) fn new(dir: &Path, options: &StoreOptions, purpose: Purpose) -> Result<Opening> {
        let disk = &options.disk;
        let mut lock = None;
        if purpose.writes() {
            disk.create_folder(dir).map_err(io_error("create", dir))?;
            lock = Some(locked(&**disk, dir)?);
        }
        let mut opening = loop {
            let folder = Arc::new(Folder::new(dir, Arc::clone(disk), Salt::random(), 0));
            let mut opening = Opening {
                folder,
                lock: None,
                manifest: None,
                segments: vec![],
                fell_back: false,
                newest: 0,
                parts: vec![],
                formats: vec![],
                names: names(&**disk, dir)?,
                crash: CrashPlan(options.crash_at),
                passed_over: vec![],
                excess: 0,
            };
            let before = opening.find_commit(purpose)?;
            // a writer may have committed other files since then, under a newer manifest
            let now = || Manifest::read(&**disk, dir).ok().flatten().map(|now| now.sequence);
            if purpose.writes() || now() == before {
                break opening;
            }
        };
        opening.lock = lock;
        Ok(opening)
    }

    /// Finds the newest commit that holds. The number of the last durable one.
    fn find_commit(&mut self, purpose: Purpose) -> Result<Option<u64>> {
        let (disk, dir) = (&*self.folder.disk, &self.folder.dir);
        let mut commits = vec![];
        match Manifest::read(disk, dir) {
            Ok(None) => return Ok(None),
            Ok(Some(manifest)) => commits.push(manifest),
            Err(error @ Error::Corrupt { .. }) => {
                self.passed_over.push(error);
                self.fell_back = true;
            }
            Err(error) => return Err(error),
        }
        let durable = commits.first().map(|manifest| manifest.sequence);
        let mut torn = vec![];
        for number in 0..LIGHT.len() {
            match Manifest::read_light(disk, dir, number) {
                Ok(manifest) => commits.extend(manifest),
                Err(error @ Error::Corrupt { .. }) => {
                    self.passed_over.push(error);
                    torn.push(number as u64);
                }
                Err(error) => return Err(error),
            }
        }
        if commits.is_empty() {
            return Err(self.passed_over.swap_remove(0));
        }
        // commits before a durable one do not count any more
        let last = commits.iter().filter(|m| m.is_durable()).map(|m| m.sequence).max();
        commits.retain(|manifest| manifest.sequence >= last.unwrap_or(0));
        commits.sort_by_key(|manifest| Reverse(manifest.sequence));
        commits.dedup_by_key(|manifest| manifest.sequence);
        self.newest = commits[0].sequence;
        // the next one is written over one that is not whole
        self.newest += u64::from(torn.contains(&(self.newest % 2)));
        let unread = self.passed_over.len();
        for manifest in &commits {
            match self.take(manifest, purpose.writes(), true) {
                Ok(()) => return Ok(durable),
                Err(error) => self.passed_over.push(error),
            }
            self.fell_back = true;
        }
        match self.passed_over.pop() {
            Some(Error::Corrupt { .. }) if purpose.accepts_corruption() => {
                // the check finds what is corrupt piece by piece
                self.passed_over.truncate(unread);
                self.take(&commits[0], purpose.writes(), false)?;
                Ok(durable)
            }
            error => error.map_or(Ok(durable), Err),
        }
    }

    /// Uses a commit as the content of the store, if its segments match it.
    fn take(&mut self, manifest: &Manifest, writes: bool, proven: bool) -> Result<()> {
        let Folder { dir, disk, .. } = &*self.folder;
        let folder = Folder::new(dir, Arc::clone(disk), manifest.salt, manifest.next);
        let folder = Arc::new(folder);
        let mut segments = vec![];
        for PartFacts { kind, name, facts } in &manifest.parts {
            if *kind == PartKind::Segment {
                segments.push(Segment::from_facts(&folder, name, facts, writes)?);
            }
        }
        if proven {
            segments.iter_mut().try_for_each(Segment::prove)?;
        }
        (self.folder, self.segments, self.manifest) = (folder, segments, Some(manifest.clone()));
        Ok(())
    }

    /// Returns whether the commit names a part of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let mut parts = self.manifest.iter().flat_map(|manifest| &manifest.parts);
        parts.any(|part| part.name == name)
    }

    /// Removes parts from the commit, so the next one does not name them. Returns their facts.
    pub(crate) fn forget(&mut self, is_away: impl Fn(&str) -> bool) -> Vec<PartFacts> {
        self.segments.retain(|segment| !is_away(segment.name()));
        let Some(manifest) = &mut self.manifest else { return vec![] };
        let parts = std::mem::take(&mut manifest.parts);
        let (away, kept) = parts.into_iter().partition(|part| is_away(&part.name));
        manifest.parts = kept;
        away
    }

    /// Returns whether it is open for reading only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.lock.is_none()
    }

    /// Opens the table `name`, or creates an empty one.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the length or the index of a run is not as written, or when there
    /// are runs and no manifest; pages are checked when they are read. [`Error::Mismatch`] when the
    /// table was created with other [`TableOptions`].
    pub fn table(&mut self, name: &'static str, options: &TableOptions) -> Result<Table> {
        self.add(PartKind::Table, name, |file| number_of(file, name).is_some())?;
        let facts = self.manifest.as_ref().and_then(|m| m.part(PartKind::Table, name));
        Table::open(&self.folder, name, facts, options)
    }

    /// Opens the log file `name`, or creates an empty one. Its files have `file_bytes` each, which
    /// must not change.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is shorter than the commit says, or if it exists without a
    /// manifest.
    pub fn log(&mut self, name: &'static str, file_bytes: u64) -> Result<LogFile> {
        self.add(PartKind::Log, name, |file| LogFile::is_own_file(file, name))?;
        let facts = self.manifest.as_ref().and_then(|m| m.part(PartKind::Log, name));
        LogFile::open(&self.folder, name, file_bytes, facts, self.lock.is_some())
    }

    /// Takes in the part `name`, which another crate defines and opens next.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when there is a file of it and no manifest is.
    pub fn foreign(
        &mut self,
        name: &'static str,
        format: &'static dyn ForeignFormat,
    ) -> Result<ForeignPlace> {
        self.add(PartKind::Foreign, name, |file| format.number_of_file(file, name).is_some())?;
        self.formats.push((name, format));
        let facts = self.manifest.as_ref().and_then(|m| m.part(PartKind::Foreign, name));
        let (folder, facts) = (Arc::clone(&self.folder), facts.map(<[u8]>::to_vec));
        Ok(ForeignPlace { folder, facts, writes: self.lock.is_some() })
    }

    /// Opens the segment `name`, or creates an empty one, and cuts off bytes that no commit names.
    /// A new segment has files of `file_bytes` each, at least 4096; an existing one keeps its size
    /// of files.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it exists without a manifest.
    pub fn segment(&mut self, name: &'static str, file_bytes: u64) -> Result<Segment> {
        self.add(PartKind::Segment, name, |file| Segment::is_own_file(file, name))?;
        let writes = self.lock.is_some();
        let mut segment = match self.segments.iter().position(|segment| segment.name() == name) {
            Some(at) => self.segments.swap_remove(at),
            None => Segment::new(&self.folder, name, file_bytes, writes)?,
        };
        let excess = match self.names.iter().any(|file| Segment::is_own_file(file, name)) {
            true => segment.file.excess()?,
            false => 0,
        };
        if writes && excess > 0 {
            segment.file.cut()?;
        }
        // a kill may have come before that
        if writes && segment.start() > 0 {
            segment.file.give_up()?;
        }
        self.excess += excess;
        Ok(segment)
    }

    /// Adds a part with a unique name. Without a manifest, none of its files may exist, because the
    /// manifest is written before them.
    pub(crate) fn add(
        &mut self,
        kind: PartKind,
        name: &str,
        is_own: impl Fn(&str) -> bool,
    ) -> Result<()> {
        if self.manifest.is_none() && self.names.iter().any(|name| is_own(name)) {
            return Err(without_manifest(&self.folder.dir));
        }
        if self.parts.iter().any(|(_, other)| other == name) {
            return Err(mismatch("name of a part", "one that no other part has", name));
        }
        self.parts.push((kind, name.to_owned()));
        Ok(())
    }

    /// Returns whether a writer has committed since this was opened for reading.
    pub(crate) fn is_outdated(&self) -> bool {
        let now = Manifest::read(&*self.folder.disk, &self.folder.dir).ok().flatten();
        let base = self.manifest.as_ref().map(|manifest| manifest.base);
        self.lock.is_none() && now.is_some_and(|now| Some(now.base) != base)
    }

    /// The state that the commit carried, empty when there was none.
    pub(crate) fn state(&self) -> &[u8] {
        self.manifest.as_ref().map_or(&[], |manifest| &manifest.state)
    }
}

/// Locks the store in `dir` against everyone else.
pub(crate) fn locked(disk: &dyn Disk, dir: &Path) -> Result<Lock> {
    let path = dir.join(LOCK);
    let locked = disk.lock(&path).map_err(io_error("lock", &path))?;
    locked.ok_or(Error::Locked { path })
}

/// The error for files of parts that no manifest names.
pub(crate) fn without_manifest(dir: &Path) -> Error {
    manifest::corrupt(dir, "a manifest that names the parts of the store", "no file of that name")
}

pub(crate) fn describe(parts: &[(PartKind, String)]) -> String {
    let names: Vec<_> = parts.iter().map(|(kind, name)| format!("{kind:?} {name}")).collect();
    names.join(", ")
}

/// The UTF-8 names in a folder; none if there is no folder.
pub(crate) fn names(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>> {
    match disk.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        names => {
            let names = names.map_err(io_error("list", dir))?.into_iter();
            Ok(names.filter_map(|name| name.into_string().ok()).collect())
        }
    }
}
