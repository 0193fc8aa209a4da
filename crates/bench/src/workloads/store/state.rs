//! A state with its tries under the workload, in pages or as Besu keeps it: its keys are slots of
//! one contract, or of many.

use super::keys::{Key, PREFIX_BYTES};
use super::workload::{Change, Error, KeyValueStore};
use anyhow::{Context, bail};
use blockmill_ethereum::state::{FlatOptions, FlatTrie};
use blockmill_state_store::{PageStore, PageStoreOptions, ReadMethod, StateKey};
use blockmill_store::{Store, StoreOptions};
use std::path::Path;

/// Whose slots the keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One contract's.
    One,
    /// A contract's for each group of keys.
    Many,
}

/// The layout of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In pages, with this way of reading ahead.
    Pages(ReadMethod),
    /// Flat values and path-keyed trie nodes, in tables.
    FlatTrie,
}

/// How a state is opened.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes for changes and caches together.
    pub memory: usize,
    /// Whose slots the keys are.
    pub owner: Owner,
    /// Its layout.
    pub layout: Layout,
    /// With pages: bytes of references in memory; `None` for all of them.
    pub references: Option<usize>,
}

impl Settings {
    /// Reads them as a definition has them.
    ///
    /// # Errors
    /// When there is no such value.
    pub fn new(memory: usize, owner: &str, read_ahead: Option<&str>) -> anyhow::Result<Self> {
        let references = None;
        let owner = match owner {
            "one" => Owner::One,
            "many" => Owner::Many,
            other => bail!("contracts = '{other}'; available: one, many"),
        };
        let Some(read_ahead) = read_ahead else {
            return Ok(Self { memory, owner, layout: Layout::FlatTrie, references });
        };
        let ways = [
            ("off", ReadMethod::Off),
            ("threads", ReadMethod::Threads),
            ("io_uring", ReadMethod::Ring),
        ];
        let found = ways.into_iter().find(|(name, _)| *name == read_ahead);
        let names = "available: off, threads, io_uring";
        let (_, read_ahead) = found.with_context(|| format!("ahead = '{read_ahead}'; {names}"))?;
        Ok(Self { memory, owner, layout: Layout::Pages(read_ahead), references })
    }
}

/// The store of a state.
enum Kept {
    Pages {
        store: Box<PageStore>,
        /// Bytes of the log when the store was opened.
        log: u64,
    },
    FlatTrie {
        store: Box<Store>,
        state: Box<FlatTrie>,
    },
}

/// A store with a state.
pub struct InState {
    kept: Kept,
    owner: Owner,
    keys: Vec<StateKey>,
    /// Bytes of keys and values that were changed.
    changed: u64,
}

/// RLP of an account of Yellow Paper 4.1 that owns nothing: its storage root is for the store.
fn account() -> Vec<u8> {
    let mut value = vec![0xf8, 68, 0x80, 0x80];
    for part in [[0; 32], blockmill_ethereum::state::EMPTY_CODE] {
        value.push(0xa0);
        value.extend(part);
    }
    value
}

impl InState {
    /// Opens or creates it in `dir`.
    ///
    /// # Errors
    /// Returns an error of the store.
    pub fn open(dir: &Path, settings: &Settings) -> Result<Self, Error> {
        let kept = match settings.layout {
            Layout::Pages(read_ahead) => {
                let mut options = PageStoreOptions::new(settings.memory);
                options.pages.read_method = read_ahead;
                options.pages.reference_bytes = settings.references;
                let store = Box::new(PageStore::open(dir, &options)?);
                Kept::Pages { log: store.log_bytes(), store }
            }
            Layout::FlatTrie => {
                let mut opening = Store::open(dir, &StoreOptions::default())?;
                let state = Box::new(FlatTrie::open(
                    &mut opening,
                    dir,
                    &FlatOptions::new(settings.memory),
                )?);
                Kept::FlatTrie { store: Box::new(opening.finish()?.0), state }
            }
        };
        Ok(Self { kept, owner: settings.owner, keys: vec![], changed: 0 })
    }

    fn key(&self, key: &Key) -> StateKey {
        let mut account = [0; 32];
        if self.owner == Owner::Many {
            account[..PREFIX_BYTES].copy_from_slice(&key[..PREFIX_BYTES]);
        }
        // hashes of slots have nothing in common: what the key shares with its group comes last
        let mut slot = *key;
        slot.rotate_left(PREFIX_BYTES);
        StateKey::slot(account, slot)
    }

    /// Of pages: bytes written for each byte of keys and values that was changed, and how many of
    /// these were moved so that files became free; bytes of references and upper levels in memory,
    /// how many branches went into pages, and bytes of files for each byte in them that counts.
    pub fn facts(&self) -> Vec<(&'static str, f64)> {
        let Kept::Pages { store, log } = &self.kept else { return vec![] };
        let survey = store.pages().survey();
        let log = store.log_bytes() - log;
        let ratio = |bytes: u64, of: u64| bytes as f64 / of.max(1) as f64;
        vec![
            ("write_amplification", ratio(survey.written_bytes + log, self.changed)),
            ("cleaned_share", ratio(survey.compacted_bytes, survey.written_bytes + log)),
            ("upper_bytes", survey.branch_bytes as f64),
            ("evicted_branches", survey.evicted as f64),
            ("disk_factor", ratio(survey.disk_bytes, survey.live_bytes)),
        ]
    }

    /// What is to change in the state, with accounts that are not there yet.
    fn changes<'a>(
        &mut self,
        changes: &'a [Change],
        account: &'a [u8],
    ) -> Result<Vec<blockmill_state_store::Change<'a>>, Error> {
        let mut all: Vec<blockmill_state_store::Change<'a>> = vec![];
        for (key, value) in changes {
            self.changed += (key.len() + value.as_ref().map_or(0, Vec::len)) as u64;
            all.push(blockmill_state_store::Change { key: self.key(key), value: value.as_deref() });
        }
        let mut owners: Vec<_> = all.iter().map(|c| StateKey::account(c.key.account)).collect();
        owners.sort_unstable();
        owners.dedup();
        let mut is_there = vec![false; owners.len()];
        self.find(&owners, &mut |at, value| is_there[at] = value.is_some())?;
        let new = owners.into_iter().zip(is_there).filter(|(_, is_there)| !is_there);
        all.extend(new.map(|(key, _)| blockmill_state_store::Change { key, value: Some(account) }));
        all.sort_unstable_by_key(|change| change.key);
        Ok(all)
    }

    /// Makes changes, durably or, where that is possible, as a part of a bulk load.
    fn put(&mut self, changes: &[Change], is_load: bool) -> Result<(), Error> {
        let account = account();
        let all = self.changes(changes, &account)?;
        match &mut self.kept {
            Kept::Pages { store, .. } if is_load => Ok(store.load(&all).map(|_| ())?),
            Kept::Pages { store, .. } => {
                store.update(&all)?;
                Ok(store.sync()?)
            }
            Kept::FlatTrie { store, state } => {
                state.update(&all)?;
                Ok(state.commit(|mut parts| store.commit(&mut parts, b""))?)
            }
        }
    }

    fn find(
        &self,
        keys: &[StateKey],
        each: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        match &self.kept {
            Kept::Pages { store, .. } => Ok(store.pages().get_many(keys, each)?),
            Kept::FlatTrie { state, .. } => Ok(state.get_many(keys, each)?),
        }
    }
}

impl KeyValueStore for InState {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error> {
        let key = self.key(key);
        match &self.kept {
            Kept::Pages { store, .. } => Ok(store.pages().get(&key, out)?),
            Kept::FlatTrie { state, .. } => Ok(state.get(&key, out)?),
        }
    }

    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let all: Vec<_> = keys.iter().map(|key| self.key(key)).collect();
        self.keys = all;
        self.find(&self.keys, &mut |_, value| {
            if let Some(value) = value {
                found(value);
            }
        })
    }

    fn scan(&mut self, _: &[u8], _: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        Err("a state is not scanned".into())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Error> {
        self.put(changes, false)
    }

    fn load(&mut self, changes: &[Change]) -> Result<(), Error> {
        self.put(changes, true)
    }

    fn rank(&self, key: &Key) -> u64 {
        let start = if self.owner == Owner::One { PREFIX_BYTES } else { 0 };
        u64::from_be_bytes(std::array::from_fn(|at| key[start + at]))
    }

    fn wait_for_background(&mut self) -> Result<(), Error> {
        match &mut self.kept {
            Kept::Pages { store, .. } => Ok(store.checkpoint()?),
            Kept::FlatTrie { store, state } => {
                while state.wait_for_merge() {
                    state.commit(|mut parts| store.commit(&mut parts, b""))?;
                }
                Ok(())
            }
        }
    }
}
