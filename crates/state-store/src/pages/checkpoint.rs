//! A checkpoint: files with many dead cells are emptied into the buffer, the buffer goes into new
//! pages, and branches that are too many for memory after it, the references that changed into
//! their file, and the manifest names all of it.

use std::sync::Arc;

use super::{
    Pages, PagesOptions,
    branches::{Below, Child, Parent},
    cell::ACCOUNTS,
    evict::Eviction,
    files::FileFacts,
    index::{self, IndexFiles},
};
use blockmill_store::{
    CrashPoint, Error, Result,
    disk::Open,
    part::{Fields, Folder, corrupt_manifest, mismatch, number_of, path_of},
};

/// Suffix of the name of files with references.
const INDEX: &str = "-index";

/// The number of the file `file` of the pages `name`; `None` if it is another file.
pub(super) fn number_of_file(file: &str, name: &str) -> Option<u64> {
    number_of(file, name).or_else(|| number_of(file, &format!("{name}{INDEX}")))
}

/// Pages and references that are on disk, and that no manifest names yet.
#[derive(Clone, Copy, Debug)]
pub struct StagedPages {
    index: IndexFiles,
    /// Bytes of references that were written.
    bytes: u64,
}

/// Version of the layout of pages. Version 1 began with the size of a page instead.
const VERSION: u32 = 3;

/// Stretches of pages to be written that are in memory at once, of some megabytes each.
const AT_ONCE: usize = 4;

/// The next piece of a trie: everything below these two nibbles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Next {
    pub trie: u32,
    pub piece: u8,
}

/// The next items to pack.
#[derive(Clone, Copy, Debug)]
pub(super) enum Packing {
    /// Cells that changed.
    Cells(Next),
    /// Branches that are too many for memory.
    Branches(Eviction),
}

/// Facts of pages in a manifest.
struct Facts {
    page_bytes: u32,
    file_pages: u32,
    index: IndexFiles,
    files: Vec<FileFacts>,
}

fn read_facts(facts: &[u8]) -> Option<Facts> {
    let mut fields = Fields(facts);
    fields.short().filter(|version| *version == VERSION)?;
    let (page_bytes, file_pages) = (fields.short()?, fields.short()?);
    let index = IndexFiles::decode(&mut fields)?;
    let mut files = vec![];
    while !fields.0.is_empty() {
        let (slot, pages) = (fields.short()?, fields.short()?);
        let (number, live) = (fields.long()?, fields.long()?);
        files.push(FileFacts { slot, number, pages, live });
    }
    let is_file = |file: &FileFacts| {
        let end = (u64::from(file.slot) + 1) * u64::from(file_pages);
        file.pages <= file_pages && end <= 1 << 31
    };
    let known = file_pages > 0 && files.iter().all(is_file);
    known.then_some(Facts { page_bytes, file_pages, index, files })
}

/// Numbers of the files that a manifest names.
pub(super) fn numbers(facts: &[u8]) -> Vec<u64> {
    let facts = read_facts(facts);
    facts.map_or(vec![], |facts| {
        facts.files.iter().map(|file| file.number).chain(facts.index.numbers()).collect()
    })
}

impl Pages {
    /// Resumes at the facts of the last commit.
    pub(super) fn resume(&mut self, facts: &[u8], how: Open) -> Result<()> {
        let dir = &self.folder.dir;
        let Some(facts) = read_facts(facts) else {
            if Fields(facts).short() != Some(VERSION) {
                let expected = format!("{VERSION}; a store of another one is to be made again");
                let found = "that of another version of this program";
                return Err(mismatch("layout of pages", expected, found));
            }
            let (expected, found) = (format!("facts of pages {}", self.name), facts.len());
            return Err(corrupt_manifest(dir, expected, format!("{found} other bytes")));
        };
        if facts.page_bytes as usize != self.files.page_bytes {
            let expected = facts.page_bytes;
            return Err(mismatch("bytes of a page", expected, self.files.page_bytes));
        }
        self.files.file_pages = facts.file_pages;
        facts.files.iter().try_for_each(|file| self.files.resume(file, how))?;
        self.index = Some(facts.index);
        index::read(self, &facts.index)
    }

    /// The path of a file with references.
    pub(super) fn index_path(&self, number: u64) -> std::path::PathBuf {
        path_of(&self.folder.dir, &format!("{}{INDEX}", self.name), number)
    }

    /// Packs some changes into pages. Returns whether there are more. This is the first step of a
    /// commit. A caller that shares the pages with readers may take it before the commit, until it
    /// returns false, and call [`Pages::write_staged`] after each. Nothing may be changed in the
    /// meantime.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written; the store must be opened again then.
    pub fn stage(&mut self) -> Result<bool> {
        self.check_ready()?;
        if self.staged || !self.has_changed && self.index.is_some() {
            return Ok(false);
        }
        let is_more = self.pack()?;
        self.staged = !is_more;
        Ok(is_more)
    }

    /// Writes the pages that [`Pages::stage`] packed, concurrently with readers.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written; the store must be opened again then.
    pub fn write_staged(&self) -> Result<()> {
        self.files.write()
    }

    /// Writes changes to pages now, so that they take no memory: for large changes before a commit
    /// is possible. Until that commit they are lost with the process, as all changes are.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written; the store must be opened again then.
    pub fn spill(&mut self) -> Result<()> {
        self.check_ready()?;
        while self.pack()? {}
        self.failed = true;
        self.files.write_all()?;
        self.failed = false;
        Ok(())
    }

    /// Packs some cells of the buffer into pages that are to be written, in the order of tries and
    /// keys, and writes those of the time before; whether there are more.
    fn pack(&mut self) -> Result<bool> {
        self.failed = true;
        let mut packing = self.packing.take();
        if packing.is_none() {
            self.compact()?;
            packing = Some(Packing::Cells(Next::default()));
        }
        self.files.write_all()?;
        while let Some(now) = packing.filter(|_| self.files.waiting.len() < AT_ONCE) {
            packing = match now {
                Packing::Cells(mut next) => match self.pack_next(&mut next)? {
                    true => Some(Packing::Cells(next)),
                    false => {
                        (self.buffer.cells, self.buffer.free) = (vec![], vec![]);
                        self.eviction().map(Packing::Branches)
                    }
                },
                Packing::Branches(eviction) => self.evict(eviction)?.map(Packing::Branches),
            };
        }
        // readers find whole pages from now on
        self.files.end_all();
        self.packing = packing;
        self.failed = false;
        Ok(packing.is_some())
    }

    /// Packs the cells of a stretch of a trie; whether there is another one.
    fn pack_next(&mut self, next: &mut Next) -> Result<bool> {
        let Next { trie, piece } = *next;
        let Some(own) = self.tries.get(trie as usize) else { return Ok(false) };
        *next = Next { trie: trie + 1, piece: 0 };
        let Some(top) = own.top.filter(Child::is_changed) else { return Ok(true) };
        let Below::Branch(at) = top.below() else {
            self.write_below(top, Parent::Trie(trie))?;
            return Ok(true);
        };
        if piece < u8::MAX {
            *next = Next { trie, piece: piece + 1 };
        }
        let (high, low) = (piece >> 4, piece & 15);
        let Some(child) = self.arena.get(at).get(high).copied() else { return Ok(true) };
        match child.below() {
            Below::Branch(below) => {
                if let Some(child) = self.arena.get(below).get(low).copied() {
                    self.write_below(child, Parent::Branch(below, low))?;
                }
            }
            _ if low == 0 => self.write_below(child, Parent::Branch(at, high))?,
            _ => {}
        }
        Ok(true)
    }

    /// Makes staged pages survive a power loss, and writes their references: the second step of a
    /// commit, concurrently with readers.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written; the store must be opened again then.
    pub fn sync_staged(&self) -> Result<Option<StagedPages>> {
        if !self.staged || self.next_index.is_some() {
            return Ok(None);
        }
        self.files.write()?;
        self.files.sync()?;
        self.folder.reach(CrashPoint::AfterPages)?;
        let (index, bytes) = index::write(self)?;
        Ok(Some(StagedPages { index, bytes }))
    }

    /// Accepts the result of the second step: the third step. The commit only has to name it.
    pub fn accept_staged(&mut self, staged: Option<StagedPages>) {
        if let Some(StagedPages { index, bytes }) = staged {
            self.files.waiting.clear();
            self.files.is_synced();
            self.files.written += bytes;
            self.next_index = Some(index);
            for trie in &mut self.tries {
                trie.was_removed = false;
                trie.top.iter_mut().for_each(|top| _ = self.arena.mark_unchanged(top));
            }
        }
    }

    /// Writes and syncs changes. Returns the facts for the manifest.
    pub(crate) fn prepare(&mut self) -> Result<Vec<u8>> {
        self.check_ready()?;
        while self.stage()? {}
        let staged = self.sync_staged().inspect_err(|_| self.failed = true);
        self.accept_staged(staged?);
        let Some(index) = self.next_index.or(self.index) else {
            return Err(Error::Failed { path: self.folder.dir.clone() });
        };
        let mut facts = VERSION.to_le_bytes().to_vec();
        facts.extend((self.files.page_bytes as u32).to_le_bytes());
        facts.extend(self.files.file_pages.to_le_bytes());
        index.encode(&mut facts);
        for FileFacts { slot, number, pages, live } in self.files.facts() {
            facts.extend([slot.to_le_bytes(), pages.to_le_bytes()].concat());
            facts.extend([number.to_le_bytes(), live.to_le_bytes()].concat());
        }
        Ok(facts)
    }

    /// Removes the files that the commit replaced.
    pub(crate) fn finish_commit(&mut self) -> Result<()> {
        if let Some(next) = self.next_index.take() {
            let old = self.index.replace(next).into_iter().flat_map(|index| index.numbers());
            for number in old.filter(|old| next.numbers().all(|number| number != *old)) {
                self.folder.remove(&self.index_path(number))?;
            }
            for number in std::mem::take(&mut self.files.ended) {
                self.folder.remove(&self.files.path(number))?;
            }
        }
        (self.has_changed, self.staged) = (false, false);
        Ok(())
    }

    fn write_below(&mut self, child: Child, parent: Parent) -> Result<()> {
        match child.below() {
            _ if !child.is_changed() => {}
            Below::Page(_) | Below::Evicted(_) => {}
            Below::Branch(at) => {
                let children = self.arena.get(at).children();
                let children: Vec<_> = children.map(|(nibble, child)| (nibble, *child)).collect();
                for (nibble, child) in children {
                    self.write_below(child, Parent::Branch(at, nibble))?;
                }
            }
            Below::Buffer(at) => {
                let record = self.buffer.take(at)?;
                let (page, offset_units) = self.files.append(&record, child.bytes())?;
                if let Some(place) = self.child_mut(parent) {
                    *place = place.in_page(page, offset_units);
                }
            }
        }
        Ok(())
    }

    /// Reads every page and the references that `facts` name, while `watch`, which gets the bytes
    /// of each read, returns true. Returns what is corrupt.
    pub(super) fn survey_files(
        folder: &Arc<Folder>,
        name: &str,
        facts: &[u8],
        watch: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<Error>> {
        let mut options = PagesOptions::new(0);
        if let Some(facts) = read_facts(facts) {
            options.page_bytes = facts.page_bytes as usize;
        }
        let pages = match Pages::open_in(folder, name, Some(facts), &options, false) {
            Err(error @ Error::Corrupt { .. }) => return Ok(vec![error]),
            pages => pages?,
        };
        let mut corruption = vec![];
        for file in pages.files.facts() {
            let mut index = 0;
            while index < file.pages {
                let units = match pages.files.scan(file.slot * pages.files.file_pages + index) {
                    Ok((_, units)) => units,
                    Err(error @ Error::Corrupt { .. }) => {
                        corruption.push(error);
                        1
                    }
                    Err(error) => return Err(error),
                };
                index += units;
                if !watch(u64::from(units) * pages.files.page_bytes as u64) {
                    return Ok(corruption);
                }
            }
        }
        Ok(corruption)
    }

    /// Bytes of the files that `facts` name.
    pub(super) fn bytes_of(facts: &[u8]) -> u64 {
        read_facts(facts).map_or(0, |facts| {
            let pages: u64 = facts.files.iter().map(|file| u64::from(file.pages)).sum();
            pages * u64::from(facts.page_bytes)
        })
    }

    /// The number of the trie of accounts, which every store has.
    pub(super) const FIRST: u32 = ACCOUNTS;
}
