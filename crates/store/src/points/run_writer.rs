//! Writes a run: entries, then index, then filter, in one pass.

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use super::{
    Record,
    bloom::Bloom,
    check::in_the_way,
    page::{BLOCK, PageBuilder},
    prefix,
    run::{Run, RunFacts, path_of},
    salt::Salt,
};
use crate::error::{Error, Result, io_error, mismatch};

/// Bytes that are collected before they are written.
pub(crate) const BUFFER: usize = 1 << 18;

/// A run in the making.
pub(crate) struct RunWriter {
    path: PathBuf,
    out: BufWriter<File>,
    page: PageBuilder,
    /// Prefix of the first key of the page in the making.
    first: u64,
    facts: RunFacts,
    prefixes: Vec<u64>,
    starts: Vec<u32>,
    filter: Bloom,
    salt: Salt,
}

impl RunWriter {
    /// A run with at most `entries` entries. A file that has the name already is not ours: what is
    /// left of an interrupted commit or merge was removed when the store was opened.
    pub fn create(dir: &Path, number: u64, entries: u64, salt: Salt) -> Result<RunWriter> {
        let path = path_of(dir, number);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).map_err(
            |source| match source.kind() {
                std::io::ErrorKind::AlreadyExists => in_the_way(path.clone()),
                _ => Error::Io { action: "make", path: path.clone(), source },
            },
        )?;
        Ok(RunWriter {
            path,
            out: BufWriter::with_capacity(BUFFER, file),
            page: PageBuilder::new(),
            first: 0,
            facts: RunFacts { number, ..RunFacts::default() },
            prefixes: Vec::new(),
            starts: Vec::new(),
            filter: Bloom::with_room(entries),
            salt,
        })
    }

    /// Takes the next entry; keys ascend.
    pub fn push(&mut self, record: &Record) -> Result<()> {
        if !self.page.push(record) {
            self.end_page()?;
            self.page.push(record);
        }
        if self.page.is_first() {
            self.first = prefix(record.key);
        }
        self.filter.insert(self.salt.hash(record.key));
        self.facts.entries += 1;
        self.facts.live += u64::from(record.kind.live);
        self.facts.below += u64::from(record.kind.below);
        Ok(())
    }

    fn end_page(&mut self) -> Result<()> {
        if self.page.is_empty() {
            return Ok(());
        }
        let Ok(block) = u32::try_from(self.facts.blocks) else {
            return Err(mismatch("blocks of a run", u32::MAX, self.facts.blocks));
        };
        let page = self.page.finish(self.facts.number, block);
        self.out.write_all(page).map_err(io_error("write", &self.path))?;
        self.prefixes.push(self.first);
        self.starts.push(block);
        self.facts.blocks += (page.len() / BLOCK) as u64;
        self.facts.pages += 1;
        self.page.clear();
        Ok(())
    }

    /// Writes index and filter and makes the file durable.
    pub fn finish(mut self) -> Result<Run> {
        self.end_page()?;
        let mut sum = crc32fast::Hasher::new();
        let mut write = |bytes: &[u8]| {
            sum.update(bytes);
            self.out.write_all(bytes).map_err(io_error("write", &self.path))
        };
        for (prefix, start) in self.prefixes.iter().zip(&self.starts) {
            write(&prefix.to_le_bytes())?;
            write(&start.to_le_bytes())?;
        }
        for block in self.filter.bytes() {
            write(&block)?;
        }
        self.facts.sum = sum.finalize();
        self.facts.filter_blocks = self.filter.blocks();
        let Ok(end) = u32::try_from(self.facts.blocks) else {
            return Err(mismatch("blocks of a run", u32::MAX, self.facts.blocks));
        };
        self.starts.push(end);
        let file = self.out.into_inner().map_err(|error| error.into_error());
        let file = file.map_err(io_error("write", &self.path))?;
        file.sync_data().map_err(io_error("sync", &self.path))?;
        self.prefixes.shrink_to_fit();
        self.starts.shrink_to_fit();
        Ok(Run {
            path: self.path,
            file,
            facts: self.facts,
            prefixes: self.prefixes,
            starts: self.starts,
            filter: self.filter,
        })
    }

    /// Leaves the file as it is, for crash tests: what was not written yet stays unwritten.
    pub fn abandon(self) {
        let _ = self.out.into_parts();
    }
}
