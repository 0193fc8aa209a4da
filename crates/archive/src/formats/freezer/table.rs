//! One table of a freezer, open for reading.

use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Location;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::{ENTRY, Entry};
use super::meta::Meta;
use crate::listing::has_file;
use crate::{Error, MAX_BODY, MAX_HEADER, MAX_RECEIPTS};

/// The properties of all tables of one name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub name: &'static str,
    /// One item, for error messages.
    pub what: &'static str,
    /// True when each item is a Snappy block.
    pub compressed: bool,
    /// Bytes of the largest item that is read, unpacked.
    pub limit: usize,
}

const fn spec(name: &'static str, what: &'static str, compressed: bool, limit: usize) -> Spec {
    Spec { name, what, compressed, limit }
}

pub(super) const HEADERS: Spec = spec("headers", "header", true, MAX_HEADER);
pub(super) const HASHES: Spec = spec("hashes", "block hash", false, 32);
pub(super) const BODIES: Spec = spec("bodies", "body", true, MAX_BODY);
pub(super) const RECEIPTS: Spec = spec("receipts", "receipts", true, MAX_RECEIPTS);
/// Total difficulties, RLP; no longer there in geth 1.17.
pub(super) const DIFFICULTIES: Spec = spec("diffs", "total difficulty", false, 33);
/// Block access lists (EIP-7928), geth 1.17; the item of a block without one is empty.
pub(super) const ACCESS_LISTS: Spec = spec("bals", "block access list", true, MAX_BODY);

impl Spec {
    pub fn index_name(&self) -> String {
        format!("{}.{}idx", self.name, self.letter())
    }

    pub fn data_name(&self, number: u16) -> String {
        format!("{}.{number:04}.{}dat", self.name, self.letter())
    }

    pub fn meta_name(&self) -> String {
        format!("{}.meta", self.name)
    }

    fn letter(&self) -> char {
        if self.compressed { 'c' } else { 'r' }
    }
}

/// A table with an open index, for reading.
#[derive(Debug)]
pub(super) struct Table {
    pub spec: Spec,
    folder: PathBuf,
    index: InputFile,
    pub index_path: PathBuf,
    /// Bytes of the index file.
    pub index_size: u64,
    pub meta: Meta,
    /// The first entry: number of the first data file and of the items deleted before it.
    pub tail: Entry,
    data: Option<DataFile>,
}

/// The data file read last.
#[derive(Debug)]
struct DataFile {
    number: u16,
    file: InputFile,
    path: Arc<Path>,
    size: u64,
}

impl Table {
    /// Opens a table in `folder`; none when it has no index file.
    pub fn open(folder: &Path, spec: Spec) -> Result<Option<Self>, Error> {
        let index_path = folder.join(spec.index_name());
        let Some((index, index_size)) = open_if_there(&index_path)? else {
            return Ok(None);
        };
        let mut first = [0; ENTRY];
        if index_size >= ENTRY as u64 {
            read_exact(&index, &index_path, 0, &mut first)?;
        }
        let table = Self {
            spec,
            folder: folder.to_path_buf(),
            index,
            index_path,
            index_size,
            meta: read_meta(&folder.join(spec.meta_name()))?,
            tail: Entry::parse(&first),
            data: None,
        };
        table.check_index_size()?;
        Ok(Some(table))
    }

    /// The index must consist of whole entries, and be as long as the metadata says.
    fn check_index_size(&self) -> Result<(), Error> {
        let entry = ENTRY as u64;
        let flushed = self.meta.flushed().unwrap_or(0);
        if !flushed.is_multiple_of(entry) {
            return Err(Error::BadRecord {
                location: Location::new(self.folder.join(self.spec.meta_name()), 0),
                what: "flush offset",
                expected: "a multiple of 6".into(),
                found: flushed.to_string(),
            });
        }
        let needed = self.index_size.next_multiple_of(entry).max(flushed);
        if needed > self.index_size {
            return Err(Error::Truncated {
                location: Location::new(&*self.index_path, 0),
                what: "index of a table",
                needed,
                available: self.index_size,
            });
        }
        Ok(())
    }

    /// Index entries that count, the first one included: whole ones before the flush offset.
    pub fn entries(&self) -> u64 {
        self.index_size.min(self.meta.flushed().unwrap_or(u64::MAX)) / ENTRY as u64
    }

    /// Items deleted together with their files.
    pub fn deleted(&self) -> u64 {
        u64::from(self.tail.end)
    }

    /// Numbers of the items that can be read: neither deleted nor hidden.
    pub fn range(&self) -> Range<u64> {
        let end = self.deleted() + self.entries().saturating_sub(1);
        self.meta.tail().max(self.deleted()).min(end)..end
    }

    /// Location of the index entry of `item`.
    pub fn entry_place(&self, item: u64) -> Location {
        Location::new(&*self.index_path, (item - self.deleted() + 1) * ENTRY as u64)
    }

    /// Whether the index refers to data file `number`, or it can be the first one, still empty.
    pub fn names(&mut self, number: u16) -> bool {
        let last = match self.range().end.checked_sub(1) {
            Some(last) if last >= self.deleted() => last,
            _ => return number == self.tail.file,
        };
        let mut entries = vec![];
        let last = self.read_entries(last, 1, &mut entries).ok().and(entries.last());
        last.is_none_or(|last| (self.tail.file..=last.file).contains(&number))
    }

    /// The error of a data file that is not there.
    pub fn missing_file(&self, number: u16) -> Error {
        Error::Missing {
            location: Location::new(self.data_path(number), 0),
            what: "data file",
            expected: format!("the file that {} names", self.spec.index_name()),
            found: "none".into(),
        }
    }

    pub fn data_path(&self, number: u16) -> PathBuf {
        self.folder.join(self.spec.data_name(number))
    }

    /// Replaces `into` by the entry that has the start of item `first`, followed by the entries of
    /// `count` items, all of which must be in [`Table::range`]. Their order is checked.
    pub fn read_entries(
        &mut self,
        first: u64,
        count: usize,
        into: &mut Vec<Entry>,
    ) -> Result<(), Error> {
        let at = first - self.deleted();
        let mut bytes = vec![0; (count + 1) * ENTRY];
        read_exact(&self.index, &self.index_path, at * ENTRY as u64, &mut bytes)?;
        into.clear();
        into.extend(bytes.as_chunks().0.iter().map(Entry::parse));
        if at == 0 {
            into[0] = Entry { file: self.tail.file, end: 0 };
        }
        for (i, pair) in into.windows(2).enumerate() {
            let item = first + i as u64;
            let Some(start) = pair[1].start_after(pair[0]) else {
                return Err(self.out_of_order(item, pair[0], pair[1]));
            };
            let (size, limit) = (pair[1].end - start, self.packed_limit());
            if u64::from(size) > limit {
                let (location, what) = (self.entry_place(item), self.spec.what);
                return Err(Error::TooLarge { location, what, limit, announced: size.into() });
            }
        }
        Ok(())
    }

    /// The most bytes that one item may have on disk.
    fn packed_limit(&self) -> u64 {
        let limit = self.spec.limit;
        (if self.spec.compressed { snap::raw::max_compress_len(limit) } else { limit }) as u64
    }

    fn out_of_order(&self, item: u64, before: Entry, found: Entry) -> Error {
        Error::Index {
            location: self.entry_place(item),
            what: self.spec.what,
            expected: format!(
                "an end in file {} from byte {}, or in the next file",
                before.file, before.end
            ),
            found: format!("an end in file {} at byte {}", found.file, found.end),
        }
    }

    /// Appends `start..end` of data file `number`, the bytes of items up to `last`, to `into`;
    /// the path of that file.
    pub fn read_data(
        &mut self,
        number: u16,
        span: Range<u32>,
        last: u64,
        into: &mut Vec<u8>,
    ) -> Result<Arc<Path>, Error> {
        let location = self.entry_place(last);
        let what = self.spec.what;
        let data = match self.data.take() {
            Some(data) if data.number == number => self.data.insert(data),
            _ => {
                let Some(data) = DataFile::open(&self.data_path(number), number)? else {
                    return Err(self.missing_file(number));
                };
                self.data.insert(data)
            }
        };
        if u64::from(span.end) > data.size {
            let expected = format!("at most the {} bytes of {}", data.size, data.path.display());
            let found = format!("byte {}", span.end);
            return Err(Error::Index { location, what, expected, found });
        }
        let (len, before) = (span.len(), into.len());
        into.resize(before + len, 0);
        let read = data.file.read_full_at(&mut into[before..], span.start.into());
        let available = read.map_err(Error::io("cannot read", &data.path))? as u64;
        into.truncate(before + available as usize);
        if available < len as u64 {
            let location = Location::new(&*data.path, span.start.into());
            return Err(Error::Truncated { location, what, needed: len as u64, available });
        }
        Ok(data.path.clone())
    }
}

impl DataFile {
    /// Opens a data file; `None` if it does not exist.
    fn open(path: &Path, number: u16) -> Result<Option<Self>, Error> {
        let opened = open_if_there(path)?;
        Ok(opened.map(|(file, size)| Self { number, file, path: path.into(), size }))
    }
}

/// An open file and its size; none when there is no such file.
fn open_if_there(path: &Path) -> Result<Option<(InputFile, u64)>, Error> {
    if !has_file(path)? {
        return Ok(None);
    }
    let open = |path| -> io::Result<(InputFile, u64)> {
        let file = InputFile::open(path)?;
        let size = file.length()?;
        Ok((file, size))
    };
    open(path).map(Some).map_err(Error::io("cannot open", path))
}

/// The metadata of a table; a file without content says as little as none.
fn read_meta(path: &Path) -> Result<Meta, Error> {
    /// More than any version needs.
    const MOST: u64 = 4096;
    let Some((file, size)) = open_if_there(path)? else {
        return Ok(Meta::Absent);
    };
    let mut bytes = vec![];
    file.reader().take(MOST).read_to_end(&mut bytes).map_err(Error::io("cannot read", path))?;
    if size == 0 { Ok(Meta::Absent) } else { Meta::parse(&bytes, path) }
}

fn read_exact(file: &InputFile, path: &Path, offset: u64, into: &mut [u8]) -> Result<(), Error> {
    let failed = Error::io("cannot read", path);
    match file.read_full_at(into, offset) {
        Ok(read) if read < into.len() => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        read => read.map(|_| ()).map_err(failed),
    }
}
