//! Pages: the state of an account-based chain by hashed key, its tries, and their roots, for states
//! larger than memory.
//!
//! # Keys
//!
//! A key is a hashed address, or a hashed address and a hashed slot ([`StateKey`]). Values are
//! those of the leaves of the tries (Yellow Paper 4.1): of a slot the RLP of its value, of an
//! account the RLP of nonce, balance, storage root and code hash. Pages compute the storage root; a
//! caller never does.
//!
//! # Cells
//!
//! The tries are cut where at most 32 leaves are left. Above the cuts they are in memory: branches
//! with the references of their children ([`branches`]). Everything below one such reference is a
//! *cell*: leaves in the order of their keys, without nodes. When a cell changes, the nodes below
//! its reference are built and hashed again, many cells together in the vector lanes of the CPU
//! ([`subtree`]). A cell that grows becomes a branch over cells; a branch over few leaves becomes a
//! cell.
//!
//! # Many small tries
//!
//! The trie of accounts and each storage trie are cut in the same way; each trie has a number.
//! Storage of up to 16 slots is no trie of its own: it is part of the entry of its account, in the
//! cell of the trie of accounts. So a call of a small contract reads one page, and a change of its
//! storage, which changes the account anyway, writes one cell. Small contracts share cells, and
//! their storage takes no memory. Larger storage has a trie whose top is in memory, even if it is a
//! single cell; it returns to the entry of its account when 8 slots are left.
//!
//! # Pages
//!
//! Changed cells are in a buffer. A checkpoint packs them into pages, which are appended to files,
//! and names the files in the manifest ([`files`]). A reference in memory has the number of the
//! page with its cell, so nothing is searched. The unit of writing is the cell, the unit of reading
//! and of checksums is the page. So a change of 64 bytes writes about 400 bytes, whatever the size
//! of pages. The cost: files lose live bytes over time. When the share of dead bytes on disk is too
//! large, compaction moves the live cells of a file to the buffer ([`compact`]).
//!
//! # References
//!
//! The references of all cells are in memory, about 40 bytes for each cell of 2 to 32 entries,
//! unless they have a budget: then a checkpoint writes branches to pages, unchanged ones first, and
//! their parents refer to them as to cells ([`evict`]). A numbered trie takes about 150 bytes in
//! addition. A checkpoint writes the changed references, and as many unchanged ones ([`index`]).

mod append;
mod batch;
mod branch_record;
mod branches;
mod cell;
mod checkpoint;
mod compact;
mod descent;
mod evict;
mod files;
mod format;
mod hashing;
mod index;
mod key;
mod nested;
mod nodes;
mod page_reads;
mod read;
mod subtree;
mod update;

pub use batch::HeldPages;
pub use checkpoint::StagedPages;
pub use format::PAGE_FORMAT;
pub use key::{Change, StateKey};
pub use nested::Update;
pub use nodes::NodeAt;
pub use page_reads::ReadMethod;

use std::{collections::HashMap, fmt, sync::Arc};

use blockmill_trie::EMPTY_ROOT;

use self::{
    branches::{Arena, Below, Child},
    checkpoint::Packing,
    evict::Budget,
    files::PageFiles,
    hashing::Hashing,
    index::IndexFiles,
};
use blockmill_store::{
    Error, PageCache, Result,
    disk::Open,
    part::{Folder, mismatch},
};

/// The least and the largest page.
const PAGE_BYTES: (usize, usize) = (1 << 10, 1 << 14);

/// How to open [`Pages`].
#[derive(Clone, Debug)]
pub struct PagesOptions {
    /// Bytes of a page, the unit of reading. Must not change for a store.
    pub page_bytes: usize,
    /// Approximate bytes of a file. Must not change for a store.
    pub file_bytes: u64,
    /// About how many bytes of branches stay in memory; each commit puts the others into pages.
    /// `None`: all of them.
    pub reference_bytes: Option<usize>,
    /// Pages that were read stay here.
    pub cache: PageCache,
    /// Bytes that files may have for each byte that counts; at least 1.2. With 2, a half of the
    /// disk may be dead.
    pub disk_factor: f64,
    /// How several reads at a time are made.
    pub read_method: ReadMethod,
    /// Threads that hash the changes of a large update.
    pub threads: usize,
}

impl PagesOptions {
    /// Pages of 4 KiB, a cache of `cache_bytes`, and at most half of the disk for dead cells.
    #[must_use]
    pub fn new(cache_bytes: u64) -> Self {
        let cache = PageCache::new(cache_bytes);
        let (page_bytes, file_bytes, disk_factor) = (4096, 64 << 20, 2.0);
        let (read_method, threads) = (ReadMethod::default(), 1);
        let reference_bytes = None;
        Self { page_bytes, file_bytes, reference_bytes, cache, disk_factor, read_method, threads }
    }
}

/// A trie that has a number.
#[derive(Clone, Debug, Default)]
struct Trie {
    /// Whose storage; zeros for the trie of accounts.
    account: [u8; 32],
    top: Option<Child>,
    /// Its account has it no more, since the last checkpoint.
    was_removed: bool,
}

/// Cells that changed since the last checkpoint.
#[derive(Debug, Default)]
struct Buffer {
    cells: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    bytes: usize,
}

/// Overhead of a cell in the buffer, in bytes.
const CELL_OVERHEAD: usize = 32;

impl Buffer {
    fn put(&mut self, record: Box<[u8]>) -> Result<u32> {
        self.bytes += record.len() + CELL_OVERHEAD;
        if let Some(at) = self.free.pop() {
            self.cells[at as usize] = Some(record);
            return Ok(at);
        }
        let at = u32::try_from(self.cells.len()).ok().filter(|at| at >> 31 == 0);
        let at = at.ok_or_else(|| mismatch("cells in the buffer", "less than 2^31", "more"))?;
        self.cells.push(Some(record));
        Ok(at)
    }

    fn get(&self, at: u32) -> Result<&[u8]> {
        self.cells.get(at as usize).and_then(Option::as_deref).ok_or_else(|| lost(at))
    }

    /// Prefetches a cell into the CPU caches.
    fn prefetch(&self, at: u32) {
        if let Some(Some(record)) = self.cells.get(at as usize) {
            descent::prefetch_all(record);
        }
    }

    fn take(&mut self, at: u32) -> Result<Box<[u8]>> {
        let taken = self.cells.get_mut(at as usize).and_then(Option::take);
        let record = taken.ok_or_else(|| lost(at))?;
        self.bytes -= record.len() + CELL_OVERHEAD;
        self.free.push(at);
        Ok(record)
    }
}

fn lost(at: u32) -> Error {
    mismatch("cell in the buffer", "one that was put there", at)
}

/// Pages of a [`blockmill_store::Store`]; see the module text.
///
/// Changes are in memory. [`blockmill_store::Store::commit`] makes a checkpoint of them. Later
/// changes are lost when the process ends, unless a log of the caller has them.
pub struct Pages {
    pub(crate) folder: Arc<Folder>,
    name: String,
    tries: Vec<Trie>,
    free_tries: Vec<u32>,
    /// Storage that is not in the entry of its account.
    storage: HashMap<[u8; 32], u32>,
    arena: Arena,
    buffer: Buffer,
    files: PageFiles,
    hashing: Option<Box<Hashing>>,
    threads: usize,
    disk_factor: f64,
    /// The files with the references, as of the last commit.
    index: Option<IndexFiles>,
    /// Those that the next commit will name.
    next_index: Option<IndexFiles>,
    /// Something changed since the last commit.
    has_changed: bool,
    /// A commit went wrong half-way.
    failed: bool,
    /// An update is under way, or went wrong half-way.
    is_updating: bool,
    /// Where packing into pages continues, if it is in progress.
    packing: Option<Packing>,
    /// All changes are in pages; only the manifest does not name them yet.
    staged: bool,
    /// Bytes of records written anew because a file was emptied, so far.
    compacted: u64,
    /// The memory budget of branches.
    budget: Budget,
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Statistics of [`Pages`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagesSurvey {
    /// Storage tries that are not in the entry of their account.
    pub tries: usize,
    /// Bytes of the branches in memory.
    pub branch_bytes: usize,
    /// Bytes of cells that changed since the last commit, and of branches that came into memory for
    /// that.
    pub buffer_bytes: usize,
    /// Bytes of all files of pages.
    pub disk_bytes: u64,
    /// Bytes of records in them that count.
    pub live_bytes: u64,
    /// Bytes of pages and references written since it was opened.
    pub written_bytes: u64,
    /// Bytes of records among them that did not change: their file was emptied.
    pub compacted_bytes: u64,
    /// Branches that were put into pages since it was opened.
    pub evicted: u64,
}

impl Pages {
    /// Opens the pages with these facts of a manifest; `None` if they are new.
    pub(crate) fn open_in(
        folder: &Arc<Folder>,
        name: &str,
        facts: Option<&[u8]>,
        options: &PagesOptions,
        writes: bool,
    ) -> Result<Pages> {
        let PagesOptions { page_bytes, disk_factor, threads, .. } = options;
        let (least, most) = PAGE_BYTES;
        if !(least..=most).contains(page_bytes) || !page_bytes.is_power_of_two() {
            let expected = format!("a power of two from {least} to {most}");
            return Err(mismatch("bytes of a page", expected, page_bytes));
        }
        let mut pages = Pages {
            folder: Arc::clone(folder),
            name: name.into(),
            tries: vec![Trie::default()],
            free_tries: vec![],
            storage: HashMap::new(),
            arena: Arena::default(),
            buffer: Buffer::default(),
            files: PageFiles::new(folder, name, options),
            hashing: None,
            threads: *threads,
            disk_factor: disk_factor.max(1.2),
            index: None,
            next_index: None,
            has_changed: false,
            failed: false,
            is_updating: false,
            packing: None,
            staged: false,
            compacted: 0,
            budget: Budget::new(options.reference_bytes),
        };
        if let Some(facts) = facts {
            pages.resume(facts, if writes { Open::Write } else { Open::Read })?;
        }
        Ok(pages)
    }

    /// Their name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The state root.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        self.tries[0].top.map_or(EMPTY_ROOT, |top| top.reference().bytes)
    }

    /// Bytes of cells that changed since the last commit, and of branches that came into memory for
    /// that: by this a caller knows when the next one is due.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.buffer.bytes + self.budget.loaded
    }

    /// Returns statistics.
    #[must_use]
    pub fn survey(&self) -> PagesSurvey {
        let (disk_bytes, live_bytes) = self.files.bytes();
        PagesSurvey {
            tries: self.storage.len(),
            branch_bytes: self.arena.bytes() + self.tries.capacity() * size_of::<Trie>(),
            buffer_bytes: self.buffer_bytes(),
            disk_bytes,
            live_bytes,
            written_bytes: self.files.written,
            compacted_bytes: self.compacted,
            evicted: self.budget.evicted,
        }
    }

    /// A cell counts no more, and is nowhere.
    fn forget(&mut self, child: &Child) -> Result<()> {
        match child.below() {
            Below::Buffer(at) => self.buffer.take(at).map(drop),
            Below::Page(page) => {
                self.files.release(page, child.bytes());
                Ok(())
            }
            Below::Branch(_) | Below::Evicted(_) => Err(mismatch("cell", "a cell", "a branch")),
        }
    }

    /// Fails after a failed commit.
    fn check_whole(&self) -> Result<()> {
        match self.failed {
            true => Err(Error::Failed { path: self.folder.dir.clone() }),
            false => Ok(()),
        }
    }

    /// Fails after a failed commit, and during an update.
    fn check_ready(&self) -> Result<()> {
        match self.failed || self.is_updating {
            true => Err(Error::Failed { path: self.folder.dir.clone() }),
            false => Ok(()),
        }
    }
}
