//! Pages: the state of an account-based chain by hashed key, its tries, and their roots, where the
//! state is larger than memory.
//!
//! # Keys
//!
//! A key is a hashed address, or that and a hashed slot ([`StateKey`]). Values are what the leaves
//! of the tries hold (Yellow Paper 4.1): of a slot the RLP of its value, of an account the RLP of
//! nonce, balance, storage root and code hash. The storage root is put in here: a caller never
//! computes one.
//!
//! # Cells
//!
//! The tries are cut where at most 32 leaves are left. Above the cuts they are in memory: branches
//! with the references of their children ([`branches`]). What is below one reference is a *cell*:
//! leaves in the order of their keys, and no node at all. When a cell changes, the nodes below its
//! reference are made and hashed again, many cells together in the lanes of the CPU ([`subtree`]).
//! A cell that grows becomes a branch over cells; a branch over few leaves becomes a cell.
//!
//! # Many small tries
//!
//! The trie of accounts and each storage trie are cut in the same way; a trie is known by a number.
//! Storage of up to 16 slots is no trie of its own: it stands in the entry of its account, in the
//! cell of the trie of accounts, so that a call of a small contract reads one page, and a change of
//! its storage, which changes the account in any case, writes one cell. Small contracts share cells
//! and take no memory for their storage. Larger storage has a trie whose top is in memory, even
//! where it is a single cell; it goes back into the entry when 8 slots are left.
//!
//! # Pages
//!
//! Cells that changed are in a buffer. A checkpoint packs them into pages, which are appended to
//! files, and says in the manifest which files there are ([`files`]). A reference in memory comes
//! with the number of the page that has the cell, so nothing is searched. The cell is what is
//! written again, not the page: a page is only what is read, and what has a sum. So a change of 64
//! bytes writes some 400, whatever the size of pages; the price is that files lose live bytes over
//! time, and are emptied into the buffer when the disk has too many dead ones.
//!
//! # References
//!
//! The references of all cells are in memory, some 40 bytes for each cell, which has 2 to 32
//! entries, unless they have a budget: then a checkpoint puts branches into pages, those first that
//! did not change, and their parents know them as they know cells ([`evict`]). A trie with a number
//! takes some 150 bytes besides. A checkpoint writes the references that changed, and as many again
//! ([`index`]).

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
    /// Bytes of a page: what is read at once. Always the same for a store.
    pub page_bytes: usize,
    /// Bytes of a file, about. Always the same for a store.
    pub file_bytes: u64,
    /// About how many bytes of branches stay in memory; each commit puts the others into pages.
    /// `None`: all of them.
    pub reference_bytes: Option<usize>,
    /// Pages that were read stay here.
    pub cache: PageCache,
    /// Bytes that files may have for each byte that counts; at least 1.2. With 2, a half of the
    /// disk may be dead.
    pub disk_factor: f64,
    /// How reads that are known together are made.
    pub read_method: ReadMethod,
    /// Threads that hash what a large update changed.
    pub threads: usize,
}

impl PagesOptions {
    /// Pages of 4 KiB, a cache of so many bytes, and a half of the disk for dead cells.
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

/// What a cell in the buffer takes besides its record.
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
/// Changes are in memory. [`blockmill_store::Store::commit`] makes a checkpoint of them; those
/// after the last one are lost when the process ends, unless a log of the caller's has them.
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
    /// What is packed into pages next, where that is under way.
    packing: Option<Packing>,
    /// What changed is in pages, and only the manifest does not say so.
    staged: bool,
    /// Bytes of records written anew because a file was emptied, so far.
    compacted: u64,
    /// What of the branches is in memory.
    budget: Budget,
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What [`Pages`] take and have done.
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
    /// Opens the pages of a folder whose manifest says `facts` of them, none when they are new.
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

    /// What they take and have done.
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

    /// What a failed commit left must not be used.
    fn check_whole(&self) -> Result<()> {
        match self.failed {
            true => Err(Error::Failed { path: self.folder.dir.clone() }),
            false => Ok(()),
        }
    }

    /// Nor what an update has left half-way be changed or committed.
    fn check_ready(&self) -> Result<()> {
        match self.failed || self.is_updating {
            true => Err(Error::Failed { path: self.folder.dir.clone() }),
            false => Ok(()),
        }
    }
}
