//! A database from end to end: tables and logs merged, the newest entry of each key.

use super::level::Level;
use super::log::LogReader;
use super::manifest::Version;
use super::{Error, KEY_TAIL, PUT, TableFile, read_bytes, read_file};
use blockmill_verdict::{Malformed, split_array};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Goes through the entries of a database in the order of their keys.
///
/// The database is not changed, and must not be in use. Tables are read block by block; what is
/// only in logs is held in memory.
#[derive(Debug)]
pub struct Scan {
    sources: Vec<EntrySource>,
    /// The source that the entry at hand is from.
    current: Option<usize>,
    /// The last key, without tail; `None` before the first.
    key: Option<Vec<u8>>,
}

impl Scan {
    /// Opens the database in a folder.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Missing`] if there is none, [`Error::Malformed`] if it is corrupt, and
    /// [`Error::Io`] if a file cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let version = read_version(folder)?;
        let mut sources = Vec::new();
        for path in logs(folder, &version)? {
            sources.push(EntrySource::Log(Log::read(&path)?));
        }
        let mut levels: Vec<Vec<TableFile>> = Vec::new();
        for table in version.tables.into_values() {
            // tables of level 0 overlap, tables of another level do not
            let same = |tables: &&mut Vec<TableFile>| tables[0].level == table.level;
            match levels.last_mut().filter(|tables| table.level > 0 && same(tables)) {
                Some(tables) => tables.push(table),
                None => levels.push(vec![table]),
            }
        }
        for mut tables in levels {
            tables.sort_unstable_by(|a, b| user_key(&a.smallest).cmp(user_key(&b.smallest)));
            sources.push(EntrySource::Level(Level::new(folder, tables.into())));
        }
        for i in (0..sources.len()).rev() {
            if !sources[i].advance()? {
                sources.swap_remove(i);
            }
        }
        Ok(Scan { sources, current: None, key: None })
    }

    /// Moves to the next entry; `false` after the last one.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Malformed`] if the next entry is corrupt, and [`Error::Io`] if a file
    /// cannot be read.
    pub fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if let Some(i) = self.current.take()
                && !self.sources[i].advance()?
            {
                self.sources.swap_remove(i);
            }
            let sources = &self.sources;
            let least = (0..sources.len()).min_by_key(|i| order(sources[*i].key()));
            let Some(i) = least else { return Ok(false) };
            self.current = Some(i);
            let found = sources[i].key();
            let fresh = self.key.as_deref() != Some(user_key(found));
            if !fresh {
                continue;
            }
            let key = self.key.get_or_insert_default();
            key.clear();
            key.extend_from_slice(user_key(found));
            if tail(found) & 0xff == PUT {
                return Ok(true);
            }
        }
    }

    /// The entry's key; empty before the first entry.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.key.as_deref().unwrap_or_default()
    }

    /// The entry's value; empty before the first entry and after the last.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.current.and_then(|i| self.sources.get(i)).map_or(&[], EntrySource::value)
    }
}

/// Reads the manifest that the file CURRENT names.
fn read_version(folder: &Path) -> Result<Version, Error> {
    let path = manifest_of(folder)?;
    Version::read(&read_file(&path)?).map_err(Error::at(&path, 0))
}

/// The manifest that the file CURRENT names.
pub(crate) fn manifest_of(folder: &Path) -> Result<PathBuf, Error> {
    let current = folder.join("CURRENT");
    let name = String::from_utf8(read_file(&current)?).unwrap_or_default();
    let name = name.strip_suffix('\n').filter(|name| name.starts_with("MANIFEST-"));
    let name = name.filter(|name| !name.contains(['/', '\\']));
    let missing =
        || Error::Missing { path: current.clone(), what: "the name of a manifest".into() };
    let name = name.ok_or_else(missing)?;
    let path = folder.join(name);
    match blockmill_platform::files::is_there(&path).map_err(Error::io(&path, "cannot open"))? {
        true => Ok(path),
        false => {
            let what = format!("the manifest {name}");
            Err(Error::Missing { path: folder.join("CURRENT"), what })
        }
    }
}

/// The logs with entries that are not in tables yet.
pub(crate) fn logs(folder: &Path, version: &Version) -> Result<Vec<PathBuf>, Error> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder, "cannot list"))? {
        let path = entry.map_err(Error::io(folder, "cannot list"))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_suffix(".log").and_then(|number| number.parse::<u64>().ok());
        let live = |number| number >= version.log_number || number == version.previous_log;
        if number.is_some_and(live) {
            logs.push(path);
        }
    }
    Ok(logs)
}

/// A source of entries, positioned at one with its key and tail.
#[derive(Debug)]
enum EntrySource {
    Log(Log),
    Level(Level),
}

impl EntrySource {
    fn advance(&mut self) -> Result<bool, Error> {
        match self {
            EntrySource::Log(log) => Ok(log.advance()),
            EntrySource::Level(level) => level.advance(),
        }
    }

    fn key(&self) -> &[u8] {
        match self {
            EntrySource::Log(log) => log.entries.front().map_or(&[], |(key, _)| key),
            EntrySource::Level(level) => level.key(),
        }
    }

    fn value(&self) -> &[u8] {
        match self {
            EntrySource::Log(log) => log.entries.front().map_or(&[], |(_, value)| value),
            EntrySource::Level(level) => level.value(),
        }
    }
}

/// The entries of a log, sorted.
#[derive(Debug)]
struct Log {
    entries: VecDeque<(Vec<u8>, Vec<u8>)>,
    begun: bool,
}

impl Log {
    fn read(path: &Path) -> Result<Self, Error> {
        let bytes = read_file(path)?;
        let (mut log, mut entries) = (LogReader::new(&bytes), Vec::new());
        loop {
            let offset = log.offset() as u64;
            let Some(batch) = log.next().map_err(Error::at(path, offset))? else { break };
            read_batch(batch, &mut entries).map_err(Error::at(path, offset))?;
        }
        entries.sort_unstable_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        Ok(Log { entries: entries.into(), begun: false })
    }

    fn advance(&mut self) -> bool {
        if self.begun {
            self.entries.pop_front();
        }
        self.begun = true;
        !self.entries.is_empty()
    }
}

/// Parses a batch: number of its first entry, count, entries.
pub(crate) fn read_batch(
    mut batch: &[u8],
    entries: &mut Vec<(Vec<u8>, Vec<u8>)>,
) -> Result<(), Malformed> {
    let (what, from) = ("a batch of a log", &mut batch);
    let first = u64::from_le_bytes(*split_array(from, what)?);
    let expected = u64::from(u32::from_le_bytes(*split_array(from, what)?));
    let mut found = 0;
    while !from.is_empty() {
        let [kind] = *split_array(from, what)?;
        let kind = u64::from(kind);
        if kind > PUT {
            let what = "the kind of an entry";
            return Err(Malformed::TooLarge { what, limit: PUT, found: kind });
        }
        let mut key = read_bytes(from, what)?.to_vec();
        let number = first.wrapping_add(found);
        key.extend_from_slice(&(number << 8 | kind).to_le_bytes());
        let value = if kind == PUT { read_bytes(from, what)? } else { &[] };
        entries.push((key, value.to_vec()));
        found += 1;
    }
    match found == expected {
        true => Ok(()),
        false => Err(Malformed::Count { what: "entries of a batch", expected, found }),
    }
}

/// The sort key of entries: newer ones, with larger tails, come first.
pub(crate) fn order(key: &[u8]) -> (&[u8], Reverse<u64>) {
    (user_key(key), Reverse(tail(key)))
}

/// A key without its tail.
fn user_key(key: &[u8]) -> &[u8] {
    &key[..key.len().saturating_sub(KEY_TAIL)]
}

/// Sequence number and kind of an entry.
fn tail(key: &[u8]) -> u64 {
    key.last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail))
}
