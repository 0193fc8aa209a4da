//! A state in pages under the workload: its keys are slots of one contract, or of many.

use super::workload::{Change, Engine, Error, Key, PREFIX_BYTES};
use anyhow::{Context, bail};
use std::path::Path;
use store::{PageStore, PageStoreOptions, ReadAhead, StateKey};

/// Whose slots the keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One contract's.
    One,
    /// A contract's for each group of keys.
    Many,
}

/// How pages are opened.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes for changed cells and the cache together.
    pub memory: usize,
    /// Whose slots the keys are.
    pub owner: Owner,
    /// How reads that are known together are made.
    pub read_ahead: ReadAhead,
}

impl Settings {
    /// Reads them as a definition has them.
    ///
    /// # Errors
    /// When there is no such value.
    pub fn new(memory: usize, owner: &str, read_ahead: &str) -> anyhow::Result<Self> {
        let owner = match owner {
            "one" => Owner::One,
            "many" => Owner::Many,
            other => bail!("contracts = '{other}'; available: one, many"),
        };
        let ways = [
            ("off", ReadAhead::Off),
            ("threads", ReadAhead::Threads),
            ("io_uring", ReadAhead::Ring),
        ];
        let found = ways.into_iter().find(|(name, _)| *name == read_ahead);
        let names = "available: off, threads, io_uring";
        let (_, read_ahead) = found.with_context(|| format!("ahead = '{read_ahead}'; {names}"))?;
        Ok(Self { memory, owner, read_ahead })
    }
}

/// A store with a state in pages.
pub struct InPages {
    store: PageStore,
    owner: Owner,
    keys: Vec<StateKey>,
    /// Bytes of keys and values that were changed.
    changed: u64,
    /// Bytes of the log when the store was opened.
    log: u64,
}

/// RLP of an account of Yellow Paper 4.1 that owns nothing: its storage root is for the store.
fn account() -> Vec<u8> {
    let mut value = vec![0xf8, 68, 0x80, 0x80];
    for part in [[0; 32], ethereum::state::EMPTY_CODE] {
        value.push(0xa0);
        value.extend(part);
    }
    value
}

impl InPages {
    /// Opens or creates it in `dir`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(dir: &Path, settings: &Settings) -> Result<Self, Error> {
        let mut options = PageStoreOptions::new(settings.memory);
        options.pages.read_ahead = settings.read_ahead;
        let store = PageStore::open(dir, &options)?;
        let log = store.log_bytes();
        Ok(Self { store, owner: settings.owner, keys: vec![], changed: 0, log })
    }

    fn key(&self, key: &Key) -> StateKey {
        let mut account = [0; 32];
        if self.owner == Owner::One {
            return StateKey::slot(account, *key);
        }
        account[..PREFIX_BYTES].copy_from_slice(&key[..PREFIX_BYTES]);
        let mut slot = *key;
        slot.rotate_left(PREFIX_BYTES);
        StateKey::slot(account, slot)
    }

    /// Bytes written for each byte of keys and values that was changed, bytes of references and
    /// upper levels, and bytes of files for each byte in them that counts.
    pub fn facts(&self) -> [(&'static str, f64); 3] {
        let survey = self.store.pages().survey();
        let log = self.store.log_bytes() - self.log;
        let ratio = |bytes: u64, of: u64| bytes as f64 / of.max(1) as f64;
        [
            ("write_amplification", ratio(survey.written_bytes + log, self.changed)),
            ("upper_bytes", survey.upper_bytes as f64),
            ("disk_factor", ratio(survey.disk_bytes, survey.live_bytes)),
        ]
    }
}

impl Engine for InPages {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error> {
        Ok(self.store.pages().get(&self.key(key), out)?)
    }

    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let all: Vec<_> = keys.iter().map(|key| self.key(key)).collect();
        self.keys = all;
        Ok(self.store.pages().get_many(&self.keys, |_, value| {
            if let Some(value) = value {
                found(value);
            }
        })?)
    }

    fn scan(&mut self, _: &[u8], _: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        Err("pages are not scanned".into())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Error> {
        let account = account();
        let mut all: Vec<store::Change<'_>> = vec![];
        for (key, value) in changes {
            self.changed += (key.len() + value.as_ref().map_or(0, Vec::len)) as u64;
            all.push(store::Change { key: self.key(key), value: value.as_deref() });
        }
        let mut owners: Vec<_> = all.iter().map(|c| StateKey::account(c.key.account)).collect();
        owners.sort_unstable();
        owners.dedup();
        let mut is_there = vec![false; owners.len()];
        self.store.pages().get_many(&owners, |at, value| is_there[at] = value.is_some())?;
        let new = owners.into_iter().zip(is_there).filter(|(_, is_there)| !is_there);
        all.extend(new.map(|(key, _)| store::Change { key, value: Some(&account) }));
        all.sort_unstable_by_key(|change| change.key);
        self.store.update(&all)?;
        Ok(self.store.sync()?)
    }

    fn settle(&mut self) -> Result<(), Error> {
        Ok(self.store.checkpoint()?)
    }
}
