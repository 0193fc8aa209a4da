//! Reading all of a table without changing it: every page, index, filter and count.

use std::{
    fs::{File, TryLockError},
    path::Path,
    sync::Arc,
};

use blockmill_platform::files;

use super::{
    Salt, Table,
    cursor::{ALL, CursorSource, Merged, RunCursor},
    key::KeyBytes,
    page::{HEADER, Malformed, Page},
    part::TableFacts,
    run::{Run, RunFacts},
    run_writer::Shape,
};
use crate::{
    disk::RealDisk,
    error::{Error, Result, io_error},
    folder::Folder,
    manifest::{self, Manifest, PartKind},
    opening::without_manifest,
};

/// Pages that are read between two checks for a stop.
const PAGES: usize = 256;

/// Content of a table.
#[derive(Debug, Default)]
pub struct TableSurvey {
    /// The state of the store; `None` when there is no manifest.
    pub state: Option<Vec<u8>>,
    /// Live keys, as the manifest counts them.
    pub live: u64,
    /// Everything that is not as it was written, each with its file.
    pub corruption: Vec<Error>,
    /// The check was ended early.
    pub stopped: bool,
}

impl Table {
    /// Reads all of the table `name` of the store in `dir` and returns what is corrupt. If nothing
    /// is, `each` gets every live pair in the order of keys and returns whether the value is valid,
    /// and the live keys of a counted table are compared with their number. `watch` gets the number
    /// of bytes read from time to time; if it returns false, the check stops.
    ///
    /// # Errors
    /// [`Error::Locked`] if the store is open elsewhere; [`Error::Io`] if a file cannot be read.
    /// Corruption is no error.
    pub fn check(
        dir: &Path,
        name: &str,
        watch: &mut dyn FnMut(u64) -> bool,
        mut each: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<TableSurvey> {
        let _lock = shared_lock(dir)?;
        let mut survey = TableSurvey::default();
        let manifest = match manifest_of(dir, name) {
            Ok(Some(manifest)) => manifest,
            Ok(None) => return Ok(survey),
            Err(error @ Error::Corrupt { .. }) => {
                survey.corruption.push(error);
                return Ok(survey);
            }
            Err(error) => return Err(error),
        };
        let folder = Folder::new(dir, Arc::new(RealDisk), manifest.salt, manifest.next);
        let facts = manifest.part(PartKind::Table, name);
        survey.read(&folder, name, facts, watch, &mut each)?;
        survey.state = Some(manifest.state);
        Ok(survey)
    }

    /// Checks the table with these facts of a manifest. Returns what is corrupt.
    pub(crate) fn survey(
        folder: &Folder,
        name: &str,
        facts: &[u8],
        watch: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<Error>> {
        let mut survey = TableSurvey::default();
        let watch = &mut |bytes| watch(bytes);
        survey.read(folder, name, Some(facts), watch, &mut |_, _| true)?;
        Ok(survey.corruption)
    }

    /// Bytes of the runs of a table with these facts.
    pub(crate) fn bytes_of(facts: &[u8]) -> u64 {
        let facts = TableFacts::decode(facts).unwrap_or_default();
        facts.runs.iter().filter_map(RunFacts::file_bytes).sum()
    }
}

impl TableSurvey {
    /// Reads the runs that `facts` name; none if there are no facts.
    fn read(
        &mut self,
        folder: &Folder,
        name: &str,
        facts: Option<&[u8]>,
        watch: &mut dyn FnMut(u64) -> bool,
        each: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let (survey, dir) = (self, &*folder.dir);
        let facts = match facts.map(TableFacts::decode) {
            Some(Some(facts)) => facts,
            None => TableFacts { counted: true, ..TableFacts::default() },
            Some(None) => {
                let expected = format!("facts of table {name}");
                survey.corruption.push(manifest::corrupt(dir, expected, "other bytes"));
                return Ok(());
            }
        };
        let mut runs = vec![];
        for run in &facts.runs {
            survey.live = survey.live.wrapping_add(run.live).wrapping_sub(run.below);
            match Run::open(&*folder.disk, dir, name, *run) {
                Ok(run) => {
                    let mut pages = Pages::new(&run, &folder.salt, facts.prefix_bytes);
                    survey.stopped |= !pages.check(watch, &mut survey.corruption)?;
                    runs.push(Arc::new(run));
                }
                Err(error @ Error::Corrupt { .. }) => survey.corruption.push(error),
                Err(error) => return Err(error),
            }
            if survey.stopped {
                return Ok(());
            }
        }
        if survey.corruption.is_empty() {
            let sources =
                runs.into_iter().map(|run| CursorSource::Run(Box::new(RunCursor::new(run))));
            let merged = Merged::new(sources.collect(), true, ALL)?;
            count_live(dir, merged, facts.counted, watch, each, survey)?;
        }
        Ok(())
    }
}

/// Holds off writers, without creating a file.
pub(crate) fn shared_lock(dir: &Path) -> Result<Option<File>> {
    let path = dir.join("lock");
    let opened = files::if_there(&path, File::open(&path)).map_err(io_error("open", &path))?;
    let Some(file) = opened else { return Ok(None) };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path }),
        Err(TryLockError::Error(error)) => Err(io_error("lock", &path)(error)),
    }
}

/// The manifest; without one there must be no run of the table.
fn manifest_of(dir: &Path, table: &str) -> Result<Option<Manifest>> {
    let manifest = Manifest::read(&RealDisk, dir)?;
    if manifest.is_some() {
        return Ok(manifest);
    }
    for path in files::list(dir).map_err(io_error("list", dir))? {
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| super::number_of(name, table).is_some()) {
            return Err(without_manifest(dir));
        }
    }
    Ok(None)
}

/// The pages of a run, one after the other.
struct Pages<'a> {
    run: &'a Run,
    salt: &'a Salt,
    shape: Shape,
    last: Option<KeyBytes>,
    found: RunFacts,
    stored: Vec<u8>,
    unpacked: Vec<u8>,
}

impl<'a> Pages<'a> {
    fn new(run: &'a Run, salt: &'a Salt, prefix_bytes: u8) -> Self {
        let shape = Shape {
            table: String::new(),
            compression: run.facts.compression,
            prefix_bytes,
            counted: false,
        };
        let (last, found) = (None, RunFacts::default());
        Self { run, salt, shape, last, found, stored: vec![], unpacked: vec![] }
    }

    /// Reads all pages; false when it was ended early.
    fn check(
        &mut self,
        watch: &mut dyn FnMut(u64) -> bool,
        corruption: &mut Vec<Error>,
    ) -> Result<bool> {
        let before = corruption.len();
        let mut unwatched = 0;
        for number in 0..self.run.pages() {
            match self.check_page(number) {
                Err(error @ Error::Corrupt { .. }) => corruption.push(error),
                other => other?,
            }
            unwatched += self.run.bytes_of(number..number + 1) as u64;
            if number % PAGES == PAGES - 1 && !watch(std::mem::take(&mut unwatched)) {
                return Ok(false);
            }
        }
        let (facts, found) = (&self.run.facts, &self.found);
        let expected = (facts.entries, facts.live, facts.below);
        let counted = (found.entries, found.live, found.below);
        if corruption.len() == before && expected != counted {
            let text = |(all, live, below)| format!("{all} entries, {live} live, {below} below");
            corruption.push(Error::Corrupt {
                path: self.run.path.clone(),
                offset: 0,
                what: "entries of a run",
                expected: text(expected),
                found: text(counted),
            });
        }
        Ok(watch(unwatched))
    }

    /// Checks one page: checksum, entries, order, index, restarts and filter.
    fn check_page(&mut self, number: usize) -> Result<()> {
        let run = self.run;
        run.read_pages(number..number + 1, &mut self.stored)?;
        let bytes = run.unpack(number, &self.stored, &mut self.unpacked)?;
        let page = Page::new(bytes).map_err(|Malformed| run.malformed(number, 0))?;
        let (mut at, mut key) = (HEADER, KeyBytes::default());
        while at < page.end() {
            let start = at;
            let step = page.step(&mut at, &mut key);
            let (kind, _) = step.map_err(|Malformed| run.malformed(number, start))?;
            let last = self.last.as_ref();
            let key_bytes = key.as_ref();
            let ascends = last.is_none_or(|last| last.as_ref() < key_bytes);
            let indexed = run.index.page_of(key_bytes) == Some(number);
            let is_in = |bytes: &[u8]| run.filter.may_hold(self.salt.hash(bytes));
            let filtered = is_in(key_bytes) && self.shape.prefix_of(key_bytes).is_none_or(is_in);
            let restarts = page.restart(key_bytes).is_ok_and(|restart| restart <= start);
            if !ascends || !indexed || !filtered || !restarts {
                return Err(run.malformed(number, start));
            }
            self.last = Some(key.clone());
            self.found.entries += 1;
            self.found.live += u64::from(kind.live);
            self.found.below += u64::from(kind.below);
        }
        Ok(())
    }
}

/// Counts the live keys one by one.
fn count_live(
    dir: &Path,
    mut merged: Merged<'_>,
    counted: bool,
    watch: &mut dyn FnMut(u64) -> bool,
    each: &mut impl FnMut(&[u8], &[u8]) -> bool,
    survey: &mut TableSurvey,
) -> Result<()> {
    let corrupt = |what, expected: String, found: String| Error::Corrupt {
        path: dir.join(manifest::NAME),
        offset: 0,
        what,
        expected,
        found,
    };
    let mut count = 0;
    while let Some(record) = merged.next()? {
        count += 1;
        if !each(record.key, record.value) {
            let key = crate::error::hex(record.key);
            let found = format!("{} other bytes under the key {key}", record.value.len());
            survey.corruption.push(corrupt(
                "value of a live key",
                "a value of the store".into(),
                found,
            ));
        }
        if count % (1 << 14) == 0 && !watch(0) {
            survey.stopped = true;
            return Ok(());
        }
    }
    if counted && count != survey.live {
        let (expected, found) = (survey.live.to_string(), count.to_string());
        survey.corruption.push(corrupt("number of live keys", expected, found));
    }
    survey.live = count;
    Ok(())
}
