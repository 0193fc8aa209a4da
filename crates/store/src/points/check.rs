//! Reading all of a point store without changing it: every page, index, filter and count.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    KEY_BYTES, Key, PointStore,
    cursor::{Merged, RunCursor, Source},
    manifest::{self, Manifest},
    order,
    page::{self, HEADER, Malformed},
    prefix,
    run::{Run, RunFacts, number_of},
    salt::Salt,
};
use crate::error::{Error, Result, io_error};

/// Pages that are read between two looks at whether to stop.
const PAGES: usize = 256;

/// What a folder of points holds.
#[derive(Debug, Default)]
pub struct PointSurvey {
    /// The caller's state; `None` when there is no manifest.
    pub state: Option<Vec<u8>>,
    /// Live keys, as the manifest counts them.
    pub live: u64,
    /// Everything that is not as it was written, each with its file.
    pub damage: Vec<Error>,
    /// The check was ended early.
    pub stopped: bool,
}

impl PointStore {
    /// The state that the last commit in `dir` carried; `None` when there is no manifest. Nothing
    /// is made, locked or removed.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the manifest is not as written.
    pub fn read_state(dir: &Path) -> Result<Option<Vec<u8>>> {
        Ok(Manifest::read(dir)?.map(|manifest| manifest.state))
    }

    /// Reads everything in `dir` and says what is damaged. Where nothing is, `each` gets every live
    /// pair in the order of keys and says whether the value is one; in the end the live keys are
    /// counted. `watch` gets the bytes that were read now and then; when it says no, the check
    /// ends.
    ///
    /// # Errors
    /// [`Error::Locked`] when the store is open elsewhere; those of the system. Damage is no error.
    pub fn check(
        dir: &Path,
        watch: &mut dyn FnMut(u64) -> bool,
        mut each: impl FnMut(&Key, &[u8]) -> bool,
    ) -> Result<PointSurvey> {
        let _lock = shared_lock(dir)?;
        let mut survey = PointSurvey::default();
        let manifest = match manifest_of(dir) {
            Ok(Some(manifest)) => manifest,
            Ok(None) => return Ok(survey),
            Err(error @ Error::Damaged { .. }) => {
                survey.damage.push(error);
                return Ok(survey);
            }
            Err(error) => return Err(error),
        };
        let mut runs = vec![];
        for facts in &manifest.runs {
            survey.live = survey.live.wrapping_add(facts.live).wrapping_sub(facts.below);
            match Run::open(dir, *facts) {
                Ok(run) => {
                    survey.stopped |=
                        !check_pages(&run, &manifest.salt, watch, &mut survey.damage)?;
                    runs.push(Arc::new(run));
                }
                Err(error @ Error::Damaged { .. }) => survey.damage.push(error),
                Err(error) => return Err(error),
            }
            if survey.stopped {
                return Ok(survey);
            }
        }
        survey.state = Some(manifest.state);
        if survey.damage.is_empty() {
            let sources = runs.into_iter().map(|run| Source::Run(Box::new(RunCursor::new(run))));
            count_live(dir, Merged::new(sources.collect(), true)?, watch, &mut each, &mut survey)?;
        }
        Ok(survey)
    }
}

/// Holds off writers, without making a file.
fn shared_lock(dir: &Path) -> Result<Option<File>> {
    let path = dir.join("lock");
    let file = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(io_error("open", &path))?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(Error::Locked { path }),
        Err(TryLockError::Error(error)) => Err(io_error("lock", &path)(error)),
    }
}

/// The manifest; without one there must be no run.
pub(crate) fn manifest_of(dir: &Path) -> Result<Option<Manifest>> {
    let manifest = Manifest::read(dir)?;
    if manifest.is_some() || !dir.is_dir() {
        return Ok(manifest);
    }
    for entry in std::fs::read_dir(dir).map_err(io_error("list", dir))? {
        let path = entry.map_err(io_error("list", dir))?.path();
        if number_of(&path).is_some() {
            return Err(Error::Damaged {
                path: dir.join(manifest::NAME),
                offset: 0,
                what: "manifest",
                expected: "a manifest that names the runs".into(),
                found: "no file of that name".into(),
            });
        }
    }
    Ok(None)
}

/// Reads all pages of a run; false when it was ended early.
fn check_pages(
    run: &Run,
    salt: &Salt,
    watch: &mut dyn FnMut(u64) -> bool,
    damage: &mut Vec<Error>,
) -> Result<bool> {
    let (mut bytes, mut last) = (Vec::new(), None);
    let mut found = RunFacts::default();
    let before = damage.len();
    for number in 0..run.pages() {
        match run.read_pages(number..number + 1, &mut bytes) {
            Ok(()) => match check_page(run, number, &bytes, salt, &mut last, &mut found) {
                Err(error @ Error::Damaged { .. }) => damage.push(error),
                other => other?,
            },
            Err(error) => return Err(error),
        }
        if number % PAGES == PAGES - 1 && !watch((PAGES * page::BLOCK) as u64) {
            return Ok(false);
        }
    }
    let (expected, counted) = (
        (run.facts.entries, run.facts.live, run.facts.below),
        (found.entries, found.live, found.below),
    );
    if damage.len() == before && expected != counted {
        let text = |(all, live, below)| format!("{all} entries, {live} live, {below} below");
        damage.push(Error::Damaged {
            path: run.path.clone(),
            offset: 0,
            what: "entries of a run",
            expected: text(expected),
            found: text(counted),
        });
    }
    Ok(watch((run.pages() % PAGES * page::BLOCK) as u64))
}

/// Checks one page: its sum, its entries, their order, index and filter.
fn check_page(
    run: &Run,
    number: usize,
    bytes: &[u8],
    salt: &Salt,
    last: &mut Option<Key>,
    found: &mut RunFacts,
) -> Result<()> {
    let end = run.check(number, bytes)?;
    let (mut at, mut key) = (HEADER, [0; KEY_BYTES]);
    while at < end {
        let start = at;
        let step = page::step(&bytes[..end], &mut at, &mut key);
        let (kind, _) = step.map_err(|Malformed| run.malformed(number, start))?;
        let ascends = last.as_ref().is_none_or(|last| order(last, &key).is_lt());
        let indexed = start > HEADER || run.prefixes[number] == prefix(&key);
        if !ascends || !indexed || !run.filter.may_hold(salt.hash(&key)) {
            return Err(run.malformed(number, start));
        }
        *last = Some(key);
        found.entries += 1;
        found.live += u64::from(kind.live);
        found.below += u64::from(kind.below);
    }
    Ok(())
}

/// Counts the live keys one by one.
fn count_live(
    dir: &Path,
    mut merged: Merged<'_>,
    watch: &mut dyn FnMut(u64) -> bool,
    each: &mut impl FnMut(&Key, &[u8]) -> bool,
    survey: &mut PointSurvey,
) -> Result<()> {
    let damaged = |what, expected: String, found: String| Error::Damaged {
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
            let key = crate::checkpoint::hex(record.key);
            let found = format!("{} other bytes under the key {key}", record.value.len());
            survey.damage.push(damaged(
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
    if count != survey.live {
        let (expected, found) = (survey.live.to_string(), count.to_string());
        survey.damage.push(damaged("number of live keys", expected, found));
    }
    Ok(())
}

/// Files that are runs by their names: of an interrupted commit or merge of this store, when the
/// manifest does not name them and they are of a number that it would give next or had given.
pub(crate) fn is_leftover(path: &Path, manifest: &Manifest) -> bool {
    let named = |number| manifest.runs.iter().any(|run| run.number == number);
    // between two manifests there is one flush and one merge
    number_of(path)
        .is_some_and(|number| !named(number) && number <= manifest.next.saturating_add(1))
}

/// The path of a file in `dir` that stands in the way of run `number`.
pub(crate) fn in_the_way(path: PathBuf) -> Error {
    Error::Damaged {
        path,
        offset: 0,
        what: "name of a run to write",
        expected: "no file of that name".into(),
        found: "a file that this store did not make".into(),
    }
}
