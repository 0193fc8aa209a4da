//! A cache folder: what was fetched of each file, for a later run.
//!
//! A file of the server is one with the same path here, `SCHEME/SERVER/PATH`, with holes where
//! nothing was fetched, and a list of the ranges that are there in `PATH.ranges`: the first line
//! says which file of the server it is, each other one has the first byte of a range and the one
//! after its last. A range is synced before its line is written, so a line is true after any end
//! of a process or of the machine; a line without its end is cut off. If the file on the server
//! is another one now, both begin anew. A process locks the list; another one that reads the same
//! file at the same time does without the cache.

use crate::Error;
use crate::address::Address;
use crate::fetch::Object;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The end of the name of a list of ranges.
const RANGES: &str = ".ranges";
/// The first word of a list.
const MAGIC: &str = "blockmill-ranges-1";

/// What is cached of a file.
#[derive(Debug)]
pub struct Cached {
    path: PathBuf,
    data: File,
    list: Mutex<List>,
}

#[derive(Debug)]
struct List {
    /// Start and end of each range; they neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
    file: File,
}

impl Cached {
    /// Opens what is cached of `object`, of the server of `address`; `None` while another process
    /// uses it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(folder: &Path, address: &Address, object: &Object) -> Result<Option<Self>, Error> {
        let path = path_of(folder, address, object);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io("cannot create", parent))?;
        }
        let mut list = path.clone().into_os_string();
        list.push(RANGES);
        let (data, list) = (open(&path)?, PathBuf::from(list));
        let file = open(&list)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(Error::io("cannot lock", &list)(error)),
        }
        let ranges = begin(&file, &data, object).map_err(Error::io("cannot use", &list))?;
        Ok(Some(Self { path, data, list: Mutex::new(List { ranges, file }) }))
    }

    /// Whether all of a range is there.
    pub fn has(&self, range: &Range<u64>) -> bool {
        self.end_of(range.start).is_some_and(|end| end >= range.end)
    }

    /// The end of what is there from `at` on; `None` if it is not there.
    pub fn end_of(&self, at: u64) -> Option<u64> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.ranges.range(..=at).next_back().map(|(_, end)| *end).filter(|end| *end > at)
    }

    /// Where the first range after `at` begins.
    pub fn next_start(&self, at: u64) -> Option<u64> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.ranges.range(at..).next().map(|(start, _)| *start)
    }

    /// Reads a range that is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read(&self, range: &Range<u64>) -> Result<Bytes, Error> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let read = self.data.read_exact_at(&mut bytes, range.start);
        read.map_err(Error::io("cannot read", &self.path))?;
        Ok(bytes.into())
    }

    /// Writes a range, and notes that it is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        let failed = || Error::io("cannot write", &self.path);
        self.data.write_all_at(bytes, start).map_err(failed())?;
        self.data.sync_data().map_err(failed())?;
        let end = start + bytes.len() as u64;
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.file.write_all(format!("{start} {end}\n").as_bytes()).map_err(failed())?;
        add(&mut list.ranges, start, end);
        Ok(())
    }
}

fn open(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    file.map_err(Error::io("cannot open", path))
}

/// The ranges of a list, which may be for another file of the server: then it begins anew.
fn begin(mut list: &File, data: &File, object: &Object) -> io::Result<BTreeMap<u64, u64>> {
    let mut text = String::new();
    let first = format!("{MAGIC} {} {}\n", object.url, object.identity());
    // what is no text is not ours
    let is_text = list.read_to_string(&mut text).is_ok();
    let lines = text.strip_prefix(&first).filter(|_| is_text);
    let ranges = lines.map(|lines| parse(lines, object.meta.size)).unwrap_or_default();
    if lines.is_some() {
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        list.set_len(whole as u64)?;
        list.seek(SeekFrom::End(0))?;
    } else {
        list.set_len(0)?;
        list.rewind()?;
        data.set_len(0)?;
        data.set_len(object.meta.size)?;
        list.write_all(first.as_bytes())?;
    }
    Ok(ranges)
}

/// The place of a file in the cache folder.
fn path_of(folder: &Path, address: &Address, object: &Object) -> PathBuf {
    let (scheme, server) = match address.server.split_once("://") {
        Some((scheme, server)) => (scheme, server),
        None => (address.text.split(':').next().unwrap_or_default(), &*address.server),
    };
    let mut path = folder.join(scheme).join(server.replace(':', "_"));
    // parts of a key are never `..`, and have no slash
    object.meta.location.parts().for_each(|part| path.push(part.as_ref()));
    path
}

/// The ranges of whole lines; a line that is none, or beyond the file, ends them.
fn parse(lines: &str, size: u64) -> BTreeMap<u64, u64> {
    let mut ranges = BTreeMap::new();
    for line in lines.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let range = line
            .split_once(' ')
            .and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
        match range {
            Some((start, end)) if start < end && end <= size => add(&mut ranges, start, end),
            _ => break,
        }
    }
    ranges
}

/// Adds a range, and joins it with those that it touches.
fn add(ranges: &mut BTreeMap<u64, u64>, mut start: u64, mut end: u64) {
    while let Some((&other, &its_end)) = ranges.range(..=end).next_back() {
        if its_end < start {
            break;
        }
        (start, end) = (start.min(other), end.max(its_end));
        ranges.remove(&other);
    }
    ranges.insert(start, end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::ObjectMeta;

    fn object(tag: &str) -> Object {
        let meta = ObjectMeta {
            location: "a/b".into(),
            last_modified: Default::default(),
            size: 1000,
            e_tag: Some(tag.into()),
            version: None,
        };
        Object { id: 1, url: "http://h:1/a/b".into(), meta, variables: "" }
    }

    fn cached(folder: &Path, tag: &str) -> Cached {
        let address = Address::parse("http://h:1/a/").unwrap();
        Cached::open(folder, &address, &object(tag)).unwrap().unwrap()
    }

    #[test]
    fn ranges_are_there_again_until_the_file_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let first = cached(folder.path(), "1");
        first.write(100, &[1; 50]).unwrap();
        first.write(150, &[2; 50]).unwrap();
        let address = Address::parse("http://h:1/a/").unwrap();
        let second = Cached::open(folder.path(), &address, &object("1")).unwrap();
        assert!(second.is_none(), "another one uses it");
        drop(first);
        let again = cached(folder.path(), "1");
        assert!(again.has(&(100..200)) && !again.has(&(99..101)) && !again.has(&(199..201)));
        assert_eq!(&again.read(&(149..151)).unwrap()[..], [1, 2]);
        assert_eq!((again.end_of(120), again.next_start(0)), (Some(200), Some(100)));
        drop(again);
        assert_eq!(cached(folder.path(), "2").next_start(0), None);
        assert_eq!(cached(folder.path(), "1").next_start(0), None);
    }

    #[test]
    fn a_line_without_its_end_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        cached(folder.path(), "1").write(0, &[1; 10]).unwrap();
        let list = folder.path().join("http/h_1/a/b.ranges");
        let mut file = OpenOptions::new().append(true).open(&list).unwrap();
        file.write_all(b"20 3").unwrap();
        let again = cached(folder.path(), "1");
        assert!(again.has(&(0..10)) && again.next_start(1).is_none());
        again.write(500, &[2; 10]).unwrap();
        drop(again);
        let again = cached(folder.path(), "1");
        assert!(again.has(&(0..10)) && again.has(&(500..510)));
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut ranges = BTreeMap::new();
        for (start, end) in [(10, 20), (30, 40), (20, 30), (35, 50), (0, 5), (8, 60)] {
            add(&mut ranges, start, end);
        }
        assert_eq!(ranges.into_iter().collect::<Vec<_>>(), [(0, 5), (8, 60)]);
    }
}
