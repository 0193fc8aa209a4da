//! Corruption of a store at rest: flipped bits, zeroed pages, cut files, lost and exchanged files.
//! Each is found, or repaired by going on, or changes nothing; nobody ever gets a wrong answer, and
//! the archive is never blamed.

#[path = "../program/mod.rs"]
mod program;

mod bitcoin_store;
mod check;
mod deeds;
mod ethereum_store;
mod folders;
mod other_repairs;
mod repairs;

use deeds::{Deed, files, kind_of};
use program::copy;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Trials of each store.
const TRIALS: u32 = 500;

/// How the trials of one store ended.
#[derive(Debug, Default)]
struct Counts {
    /// Said to be corrupt, by the check and by whoever went on or read.
    detected: u32,
    /// Going on made everything right again.
    repaired: u32,
    /// Nothing that counts was changed.
    harmless: u32,
}

impl Counts {
    fn print(&self, store: &str, kinds: &BTreeSet<String>) {
        let Self { detected, repaired, harmless } = self;
        println!("{store}: {detected} detected, {repaired} repaired, {harmless} harmless");
        println!("  files: {kinds:?}");
        assert_eq!(detected + repaired + harmless, TRIALS);
        assert!(*detected > TRIALS / 4, "most damage is detected");
    }
}

/// Asserts that every kind of file was corrupt.
fn assert_all_hit(whole: &BTreeMap<PathBuf, Vec<u8>>, kinds: &BTreeSet<String>) {
    let all: BTreeSet<String> = whole.keys().map(|name| kind_of(name)).collect();
    assert_eq!(*kinds, all, "a kind of file was never hit");
}

/// A folder in memory where the system offers that: thousands of syncs make nothing better here.
/// Removed at the end.
struct Work(PathBuf);

impl Work {
    fn new(name: &str) -> Work {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        Work(folder.join(format!("blockmill-{name}-{}", std::process::id())))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A fresh copy of a store.
fn renew(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    copy(from, to);
}
