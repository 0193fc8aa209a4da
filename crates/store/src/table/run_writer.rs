//! Writes a run: pages, then index, then filter, in one pass.

use std::{path::PathBuf, sync::Arc};

use super::{
    Compression, Record,
    bloom::Bloom,
    key::separator,
    page::{COMPRESSED_PAGE, PageBuilder, unit_of},
    run::{Run, RunFacts, path_of},
    run_index::Index,
};
use crate::{
    disk::{DiskFile, Open},
    error::{Error, Result, io_error, mismatch},
    folder::Folder,
};

/// Bytes that are collected before they are written.
pub(crate) const BUFFER: usize = 1 << 18;

/// Properties that all runs of a table share.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub table: String,
    pub compression: Compression,
    /// So many first bytes of keys are in the filter, too; 0 for none.
    pub prefix_bytes: u8,
    /// Changes say exactly whether keys were live.
    pub counted: bool,
}

impl Shape {
    /// Hashes in the filter of a run, at most: every key may have a beginning of its own.
    pub fn hashes(&self, entries: u64) -> u64 {
        entries * (1 + u64::from(self.prefix_bytes > 0))
    }

    /// What the filter contains for a key in addition to the key.
    pub fn prefix_of<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = usize::from(self.prefix_bytes);
        (bytes > 0).then(|| &key[..key.len().min(bytes)])
    }
}

/// A run that is being written.
pub(crate) struct RunWriter {
    folder: Arc<Folder>,
    shape: Shape,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    buffer: Vec<u8>,
    written: u64,
    page: PageBuilder,
    /// Separator of the current page, and the greatest key of the page before.
    first: Vec<u8>,
    before: Vec<u8>,
    /// The last prefix that was added to the filter.
    prefix: Vec<u8>,
    facts: RunFacts,
    index: Index,
    filter: Bloom,
}

impl RunWriter {
    /// Creates a run of at most `entries` entries. A file of that name does not belong to the
    /// store: leftovers of interrupted commits and merges were removed when the store was opened.
    pub fn create(
        folder: &Arc<Folder>,
        shape: &Shape,
        number: u64,
        entries: u64,
    ) -> Result<RunWriter> {
        let path = path_of(&folder.dir, &shape.table, number);
        let file = folder.disk.open(&path, Open::New).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => in_the_way(path.clone()),
            _ => Error::Io { action: "create", path: path.clone(), source },
        })?;
        let compression = shape.compression;
        Ok(RunWriter {
            folder: Arc::clone(folder),
            shape: shape.clone(),
            path,
            file,
            buffer: Vec::with_capacity(BUFFER + 2 * COMPRESSED_PAGE),
            written: 0,
            page: PageBuilder::new(compression),
            first: Vec::new(),
            before: Vec::new(),
            prefix: Vec::new(),
            facts: RunFacts { number, compression, ..RunFacts::default() },
            index: Index::default(),
            filter: Bloom::with_room(shape.hashes(entries)),
        })
    }

    /// Takes the next entry; keys ascend.
    pub fn push(&mut self, record: &Record) -> Result<()> {
        if self.page.is_empty() || !self.page.push(record) {
            self.end_page()?;
            self.first.clear();
            self.first.extend_from_slice(separator(&self.before, record.key));
            self.page.push(record);
        }
        self.filter.insert(self.folder.salt.hash(record.key));
        if let Some(prefix) = self.shape.prefix_of(record.key)
            && prefix != self.prefix
        {
            self.filter.insert(self.folder.salt.hash(prefix));
            self.prefix.clear();
            self.prefix.extend_from_slice(prefix);
        }
        self.facts.entries += 1;
        self.facts.live += u64::from(record.kind.live);
        self.facts.below += u64::from(record.kind.below);
        Ok(())
    }

    fn end_page(&mut self) -> Result<()> {
        if self.page.is_empty() {
            return Ok(());
        }
        let Ok(unit) = u32::try_from(self.facts.units) else {
            return Err(mismatch("units of a run", u32::MAX, self.facts.units));
        };
        self.before.clear();
        self.before.extend_from_slice(self.page.last());
        let page = self.page.finish(self.facts.number, unit);
        self.facts.units += (page.len() / unit_of(self.shape.compression)) as u64;
        self.buffer.extend_from_slice(page);
        let fits = self.index.push(&self.first, unit);
        fits.ok_or_else(|| mismatch("bytes of an index", "less than 4 GiB", "more"))?;
        self.facts.pages += 1;
        self.page.clear();
        if self.buffer.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let written = self.file.write_all_at(&self.buffer, self.written);
        written.map_err(io_error("write", &self.path))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes index and filter and makes the file durable.
    pub fn finish(mut self) -> Result<Run> {
        self.end_page()?;
        let Ok(end) = u32::try_from(self.facts.units) else {
            return Err(mismatch("units of a run", u32::MAX, self.facts.units));
        };
        self.write()?;
        self.index.finish(end);
        let index = self.index.encode();
        self.facts.index_bytes = index.len() as u64;
        self.facts.filter_blocks = self.filter.blocks();
        let mut sum = crc32fast::Hasher::new();
        sum.update(&index);
        let written = self.file.write_all_at(&index, self.written);
        written.map_err(io_error("write", &self.path))?;
        self.written += index.len() as u64;
        let filter = std::mem::replace(&mut self.filter, Bloom::with_room(0));
        for block in filter.bytes() {
            sum.update(&block);
            self.buffer.extend_from_slice(&block);
            if self.buffer.len() >= BUFFER {
                self.write()?;
            }
        }
        self.write()?;
        self.facts.sum = sum.finalize();
        self.file.sync().map_err(io_error("sync", &self.path))?;
        let RunWriter { path, file, facts, index, .. } = self;
        Ok(Run::new(path, file, facts, index, filter))
    }
}

/// The error for an existing file with the name of a new run.
fn in_the_way(path: PathBuf) -> Error {
    Error::Corrupt {
        path,
        offset: 0,
        what: "name of a run to write",
        expected: "no file of that name".into(),
        found: "a file that this store did not create".into(),
    }
}
