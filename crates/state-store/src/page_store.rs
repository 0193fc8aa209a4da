//! A state in pages with a log of the batches since the last checkpoint. A commit survives the
//! death of the process at once, and a power loss up to the last checkpoint at least.
//!
//! A batch changes the pages, which gives its root, and is appended to the log. A commit is a light
//! one and names the bytes of the log; if a power loss must not lose it, the log is synced. When
//! changed cells fill their share of memory, the commit is a checkpoint: a durable commit, after
//! which the log starts anew. Opening the store applies the batches of the log again; each must
//! give the root that it gave before.

use std::path::Path;

use crate::{Change, Pages, PagesOptions, StateKey};
use blockmill_store::{Error, Result, Segment, Store, StoreOptions, part::hex};

/// Name of the pages, and of the log.
const PAGES: &str = "pages";
const LOG: &str = "redo";
/// Bytes of a file of the log.
const LOG_FILE_BYTES: u64 = 1 << 26;

/// Length and root of a batch.
const HEADER: usize = 4 + 32;
/// Flags of a change: another account than the change before, a slot, a value.
const ACCOUNT: u8 = 1;
const SLOT: u8 = 2;
const VALUE: u8 = 4;

/// How to open a [`PageStore`].
#[derive(Clone, Debug)]
pub struct PageStoreOptions {
    /// The disk.
    pub store: StoreOptions,
    /// The pages.
    pub pages: PagesOptions,
    /// Bytes of cells that changed, at which a commit is a checkpoint.
    pub buffer_bytes: usize,
}

impl PageStoreOptions {
    /// Options for this many bytes of memory, half of it for the page cache; references are not
    /// counted.
    #[must_use]
    pub fn new(memory_bytes: usize) -> Self {
        let pages = PagesOptions::new(memory_bytes as u64 / 2);
        Self { store: StoreOptions::default(), pages, buffer_bytes: memory_bytes / 2 }
    }
}

/// A state in pages with its log; see the module text.
pub struct PageStore {
    store: Store,
    pages: Pages,
    log: Segment,
    /// Where in the log the batches after the checkpoint begin.
    start: u64,
    /// Batches in the log, counted since the store was created.
    batches: u64,
    buffer_bytes: usize,
    record: Vec<u8>,
    /// Whether there are batches that neither the log nor a checkpoint has.
    unlogged: bool,
}

impl PageStore {
    /// Opens the store in `dir` as of its last commit, or creates an empty one.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Corrupt`] if a batch of the log does not give its recorded
    /// root.
    pub fn open(dir: &Path, options: &PageStoreOptions) -> Result<PageStore> {
        let mut opening = Store::open(dir, &options.store)?;
        let pages = Pages::open(&mut opening, PAGES, &options.pages)?;
        let log = opening.segment(LOG, LOG_FILE_BYTES)?;
        let (store, state) = opening.finish()?;
        let word = |at: usize| {
            let bytes = state.get(at..at + 8).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let (start, batches) = (word(0), word(8));
        let (buffer_bytes, record) = (options.buffer_bytes, vec![]);
        let unlogged = false;
        let mut opened =
            PageStore { store, pages, log, start, batches, buffer_bytes, record, unlogged };
        opened.redo()?;
        Ok(opened)
    }

    /// Applies the batches of the log again.
    fn redo(&mut self) -> Result<()> {
        let mut at = self.start;
        let mut bytes = vec![];
        while at < self.log.len() {
            let corrupt = |log: &Segment, expected: String, found: String| {
                let (path, offset) = log.location(at);
                Error::Corrupt { path, offset, what: "batch of a log", expected, found }
            };
            let left = self.log.len() - at;
            let mut header = [0; HEADER];
            if left >= HEADER as u64 {
                self.log.read(at, &mut header)?;
            }
            let (len, root) = header.split_first_chunk().unwrap_or((&[0; 4], &[]));
            let len = u64::from(u32::from_le_bytes(*len));
            if len > left.saturating_sub(HEADER as u64) || left < HEADER as u64 {
                let expected = format!("at most {left} bytes");
                return Err(corrupt(&self.log, expected, format!("{len} bytes")));
            }
            bytes.resize(len as usize, 0);
            self.log.read(at + HEADER as u64, &mut bytes)?;
            let changes = decode(&bytes);
            let changes = changes
                .ok_or_else(|| corrupt(&self.log, "changes".into(), "something else".into()))?;
            let found = self.pages.update(&changes)?;
            if found != root {
                let (expected, found) = (hex(root), hex(&found));
                let (expected, found) = (format!("root {expected}"), format!("root {found}"));
                return Err(corrupt(&self.log, expected, found));
            }
            at += HEADER as u64 + len;
        }
        Ok(())
    }

    /// Applies a batch and returns the state root. It counts after the next commit.
    ///
    /// # Errors
    /// As [`Pages::update`]; [`Error::Io`] if the log cannot be written, after which the store must
    /// be opened again.
    pub fn update(&mut self, changes: &[Change<'_>]) -> Result<[u8; 32]> {
        let root = self.pages.update(changes)?;
        self.record.clear();
        self.record.extend([0; 4]);
        self.record.extend(root);
        encode(changes, &mut self.record);
        let len = (self.record.len() - HEADER) as u32;
        self.record[..4].copy_from_slice(&len.to_le_bytes());
        // without it the next commit would say less than the pages have
        self.log.append(&self.record).inspect_err(|_| self.store.fail())?;
        self.batches += 1;
        Ok(root)
    }

    /// Applies a batch of a bulk load without the log and returns the state root. It counts after
    /// the next checkpoint: this call makes one when the buffer is full, and the next commit is
    /// one.
    ///
    /// # Errors
    /// As [`PageStore::update`] and [`PageStore::checkpoint`].
    pub fn load(&mut self, changes: &[Change<'_>]) -> Result<[u8; 32]> {
        let root = self.pages.update(changes)?;
        self.batches += 1;
        self.unlogged = true;
        if self.is_full() {
            self.checkpoint()?;
        }
        Ok(root)
    }

    /// Whether cells that changed have filled the buffer.
    fn is_full(&self) -> bool {
        self.pages.buffer_bytes() >= self.buffer_bytes
    }

    /// Commits all batches: a light commit, or a checkpoint when the buffer is full.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written; the store must be opened again then.
    pub fn commit(&mut self) -> Result<()> {
        if self.unlogged || self.is_full() {
            return self.checkpoint();
        }
        let state = self.state();
        let Self { store, pages, log, .. } = self;
        store.commit_light(&mut [pages.into(), log.into()], &state)
    }

    /// Makes all batches survive a power loss: syncs the log, or makes a checkpoint when the buffer
    /// is full.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written; the store must be opened again then.
    pub fn sync(&mut self) -> Result<()> {
        if self.unlogged || self.is_full() {
            return self.checkpoint();
        }
        let state = self.state();
        // the facts of the pages stay those of the last commit
        self.store.commit_some(&mut [(&mut self.log).into()], &state)
    }

    /// Makes all batches survive a power loss and starts the log anew.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written; the store must be opened again then.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.start = self.log.len();
        self.log.give_up_before(self.start)?;
        let state = self.state();
        let Self { store, pages, log, .. } = self;
        store.commit(&mut [pages.into(), log.into()], &state)?;
        self.unlogged = false;
        Ok(())
    }

    fn state(&self) -> Vec<u8> {
        [self.start.to_le_bytes(), self.batches.to_le_bytes()].concat()
    }

    /// Batches that were applied since the store was created.
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Bytes of the log since the store was created.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        self.log.len()
    }

    /// The state.
    #[must_use]
    pub fn pages(&self) -> &Pages {
        &self.pages
    }
}

/// Encodes changes: flags, account and slot if they are other ones, length of the value and the
/// value.
fn encode(changes: &[Change<'_>], out: &mut Vec<u8>) {
    let mut account = None;
    for Change { key, value } in changes {
        let other = account != Some(key.account);
        account = Some(key.account);
        let flag = |has: bool, flag: u8| if has { flag } else { 0 };
        let has_slot = flag(key.slot.is_some(), SLOT);
        out.push(flag(other, ACCOUNT) | has_slot | flag(value.is_some(), VALUE));
        if other {
            out.extend_from_slice(&key.account);
        }
        out.extend_from_slice(key.slot.as_ref().map_or(&[], |slot| slot));
        if let Some(value) = value {
            out.push(value.len() as u8);
            out.extend_from_slice(value);
        }
    }
}

fn decode(mut bytes: &[u8]) -> Option<Vec<Change<'_>>> {
    let mut take = |count: usize| {
        let (taken, rest) = bytes.split_at_checked(count)?;
        bytes = rest;
        Some(taken)
    };
    let (mut changes, mut account) = (vec![], None);
    while let Some(has) = take(1) {
        if has[0] & ACCOUNT != 0 {
            account = take(32)?.first_chunk().copied();
        }
        let slot = if has[0] & SLOT != 0 { take(32)?.first_chunk().copied() } else { None };
        let mut value = None;
        if has[0] & VALUE != 0 {
            let len = take(1)?[0];
            value = Some(take(len.into())?);
        }
        changes.push(Change { key: StateKey { account: account?, slot }, value });
    }
    Some(changes)
}
