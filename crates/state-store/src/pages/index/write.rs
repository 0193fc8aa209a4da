//! Writing references: changed ones, and a share of all.

use std::sync::Arc;

use super::{END, HEADER, IndexFile, IndexFiles, MAGIC, sum};
use crate::pages::{
    Pages, Trie, branch_record,
    branches::{Arena, Below, Child},
    update::with_nibble,
};
use blockmill_store::{
    CrashPoint, Error, Result,
    disk::{DiskFile, Open},
    part::io_error,
};
use blockmill_trie::nibbles::common_prefix;

/// Bytes that are collected before they are written.
const WRITE: usize = 1 << 20;
/// Least bytes of a sweep's share, so that it makes progress: more than all branches above a cell.
const LEAST: u64 = 4 << 10;

/// Writes and syncs changed references and a share of all. Returns the files for the next manifest,
/// and the bytes written.
pub(in crate::pages) fn write(pages: &Pages) -> Result<(IndexFiles, u64)> {
    let mut files = match pages.index {
        Some(files @ IndexFiles { before: Some(_), .. }) => files,
        complete => IndexFiles {
            current: IndexFile { number: pages.folder.take_number(), bytes: 0 },
            before: complete.map(|files| files.current),
            next: (0, [0; 32]),
        },
    };
    let start = files.current.bytes;
    let mut out = Writer::open(pages, files.current)?;
    out.changed()?;
    let changed = out.at - start;
    let is_all = match files.before {
        Some(_) => out.sweep(&mut files.next, changed.max(LEAST))?,
        // the first file has everything from the beginning
        None => true,
    };
    out.file.sync().map_err(io_error("sync", &out.path))?;
    files.current.bytes = out.at;
    if is_all {
        files.before = None;
    }
    Ok((files, out.at - start))
}

/// Writes sections to a file.
struct Writer<'a> {
    pages: &'a Pages,
    file: Arc<dyn DiskFile>,
    number: u64,
    path: std::path::PathBuf,
    /// Start of the section, and its bytes so far.
    start: u64,
    at: u64,
    buffer: Vec<u8>,
    sum: crc32fast::Hasher,
}

/// A part of all references, in the order of tries and keys.
struct Sweep {
    trie: u32,
    /// The file has everything before these keys.
    from: [u8; 32],
    /// Where the section ends, about.
    most: u64,
    /// The first keys that it does not have.
    stopped: Option<[u8; 32]>,
}

impl<'a> Writer<'a> {
    /// Continues a file after its committed bytes.
    fn open(pages: &'a Pages, file: IndexFile) -> Result<Self> {
        let IndexFile { number, bytes } = file;
        let path = pages.index_path(number);
        let how = if bytes == 0 { Open::Empty } else { Open::Write };
        let file = pages.folder.disk.open(&path, how).map_err(io_error("open", &path))?;
        let mut out = Self {
            pages,
            file,
            number,
            path,
            start: 0,
            at: bytes,
            buffer: vec![],
            sum: crc32fast::Hasher::new(),
        };
        if bytes == 0 {
            out.buffer.extend_from_slice(MAGIC);
            out.flush()?;
        }
        Ok(out)
    }

    fn flush(&mut self) -> Result<()> {
        self.sum.update(&self.buffer);
        let written = self.file.write_all_at(&self.buffer, self.at);
        written.map_err(io_error("write", &self.path))?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn begin(&mut self) {
        self.start = self.at;
        self.at += HEADER as u64;
        self.sum = sum(self.number, self.start);
    }

    /// Writes the rest of a section, and its header.
    fn end(&mut self) -> Result<()> {
        self.flush()?;
        if self.pages.folder.is_due(CrashPoint::HalfReferences) {
            return Err(Error::Crash(CrashPoint::HalfReferences));
        }
        let bytes = self.at - self.start - HEADER as u64;
        let sum = std::mem::take(&mut self.sum).finalize();
        let header = [&bytes.to_le_bytes()[..], &sum.to_le_bytes()].concat();
        self.file.write_all_at(&header, self.start).map_err(io_error("write", &self.path))
    }

    /// Writes the section of changed references.
    fn changed(&mut self) -> Result<()> {
        self.begin();
        let pages = self.pages;
        for (number, trie) in (0u32..).zip(&pages.tries) {
            match &trie.top {
                Some(top) if top.is_changed() => {
                    self.trie(number, trie);
                    self.child_that_changed(0, top, &pages.arena)?;
                }
                None if number == Pages::FIRST || trie.was_removed => {
                    self.trie(number, trie);
                    self.buffer.push(END);
                }
                _ => {}
            }
        }
        self.end()
    }

    /// Writes the section of a share of all references, about this many bytes, from `next` on, and
    /// moves `next` to the start of the next share. Returns whether it was the last one.
    fn sweep(&mut self, next: &mut (u32, [u8; 32]), bytes: u64) -> Result<bool> {
        self.begin();
        let (first, from) = *next;
        let pages = self.pages;
        let most = self.start + HEADER as u64 + bytes;
        let mut sweep = Sweep { trie: first, from, most, stopped: None };
        for (number, trie) in (0u32..).zip(&pages.tries).skip(first as usize) {
            let Some(top) = &trie.top else { continue };
            if number != first {
                (sweep.trie, sweep.from) = (number, [0; 32]);
            }
            if self.is_behind(most) {
                sweep.stopped = Some([0; 32]);
            } else {
                self.trie(number, trie);
                self.child_of_all(0, top, ([0; 32], 0), &mut sweep)?;
            }
            if let Some(key) = sweep.stopped {
                *next = (sweep.trie, key);
                break;
            }
        }
        self.end()?;
        Ok(sweep.stopped.is_none())
    }

    fn is_behind(&self, most: u64) -> bool {
        self.at + self.buffer.len() as u64 >= most
    }

    fn trie(&mut self, number: u32, trie: &Trie) {
        self.buffer.extend(number.to_le_bytes());
        self.buffer.extend_from_slice(&trie.account);
    }

    /// Encodes a child without what is below it.
    fn head(&mut self, nibble: u8, child: &Child, arena: &Arena) -> Result<()> {
        branch_record::write(nibble, child, &mut self.buffer)?;
        if let Below::Branch(at) = child.below() {
            let branch = arena.get(at);
            self.buffer.push(branch.path.len() as u8);
            self.buffer.extend_from_slice(&branch.path);
            self.buffer.extend(branch.mask().to_le_bytes());
        }
        if self.buffer.len() >= WRITE { self.flush() } else { Ok(()) }
    }

    fn child_that_changed(&mut self, nibble: u8, child: &Child, arena: &Arena) -> Result<()> {
        self.head(nibble, child, arena)?;
        let Below::Branch(at) = child.below() else { return Ok(()) };
        for (nibble, child) in arena.get(at).children().filter(|(_, child)| child.is_changed()) {
            self.child_that_changed(nibble, child, arena)?;
        }
        self.buffer.push(END);
        Ok(())
    }

    /// Writes a child this many nibbles below the root, under these nibbles of a key.
    fn child_of_all(
        &mut self,
        nibble: u8,
        child: &Child,
        (key, depth): ([u8; 32], usize),
        sweep: &mut Sweep,
    ) -> Result<()> {
        let arena = &self.pages.arena;
        self.head(nibble, child, arena)?;
        let Below::Branch(at) = child.below() else { return Ok(()) };
        let branch = arena.get(at);
        let parting = depth + branch.path.len();
        let key =
            (depth..).zip(&branch.path).fold(key, |key, (at, half)| with_nibble(key, at, *half));
        for (nibble, child) in branch.children() {
            let (key, depth) = (with_nibble(key, parting, nibble), parting + 1);
            if key < sweep.from && common_prefix(&key, &sweep.from) < depth {
                continue;
            }
            if self.is_behind(sweep.most) {
                sweep.stopped = sweep.stopped.or(Some(key));
            }
            if sweep.stopped.is_some() {
                break;
            }
            self.child_of_all(nibble, child, (key, depth), sweep)?;
        }
        self.buffer.push(END);
        Ok(())
    }
}
