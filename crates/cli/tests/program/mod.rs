//! Runs the program, reads the stores that it leaves, and compares them.
//!
//! Each test program uses a part of this.
#![allow(dead_code)]

mod process;
pub mod signals;

use blockmill_archive::Archive;
use blockmill_store::{ChainStore, Tip};
#[allow(unused_imports, reason = "each test program uses its part")]
pub use blockmill_testkit::{Random, hex::encode_0x as hex};
use blockmill_verdict::Status;
#[allow(unused_imports, reason = "each test program uses its part")]
pub use process::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// No seals: what a generated chain of headers passes.
pub const SEAL_OFF: [&str; 2] = ["--seal", "off"];

/// Flags for a generated chain, which has no seals, and state roots to which nothing leads: as deep
/// as the archive goes without execution.
pub fn unexecuted(archive: &Path) -> [&'static str; 4] {
    // as the program does when it starts
    blockmill_ethereum::stored::register();
    let paths = [archive.to_path_buf()];
    let is_of_headers = Archive::open(&paths).is_ok_and(|archive| !archive.has_bodies());
    ["--seal", "off", "--level", if is_of_headers { "headers" } else { "bodies" }]
}

/// A command line of the program: `words` are split at spaces.
pub fn blockmill(words: &str) -> Command {
    command(env!("CARGO_BIN_EXE_blockmill"), words)
}

/// Runs a command that must find a fault: the exit code of a fault or of corruption, no panic, and
/// an error on standard error that has every one of `words`, and what was expected and found. The
/// error's text.
pub fn refuse(command: &mut Command, words: &[&str]) -> String {
    let ended = run(command);
    let text = fault_text(&ended, &format!("{command:?}"));
    for word in words {
        assert!(text.contains(word), "{command:?}: no {word:?} in\n{text}");
    }
    text
}

/// The error of a run that found a fault, after the checks that hold for every such run.
pub fn fault_text(ended: &Ended, command: &str) -> String {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!all.contains("panicked"), "{command}: {all}");
    let codes = [Status::Invalid, Status::Corrupt, Status::Incomplete].map(Status::exit_code);
    let code = ended.code.and_then(|code| code.try_into().ok());
    assert!(code.is_some_and(|code| codes.contains(&code)), "{:?} {command}: {all}", ended.code);
    let error = ended.stderr.lines().find(|line| line.starts_with("error: "));
    let error = error.unwrap_or_else(|| panic!("{command}: no error in {all}"));
    assert!(error.contains("expected"), "{command}: {error}");
    assert!(error.contains("found"), "{command}: {error}");
    ended.stderr.clone()
}

/// The folder of real Ethereum data.
pub fn fixtures() -> PathBuf {
    blockmill_testkit::fixture("ethereum")
}

/// Copies a file, or a folder with the files in it and below; the copy can be written to.
pub fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("a new folder");
        for entry in fs::read_dir(from).expect("a folder") {
            let entry = entry.expect("an entry of a folder");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::write(to, fs::read(from).expect("a file to copy")).expect("a copy");
    }
}

/// The files of a store that hold blocks: all but the manifests, whose sequence numbers count
/// commits, the lock and the run records. Where there is a checkpoint of a state, neither it nor
/// its log is compared: after which block it was made depends on where commits fell.
pub fn data_files(store: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(store).expect("a store") {
        let entry = entry.expect("an entry of a store");
        let name = entry.file_name().into_string().expect("a name in UTF-8");
        if !["manifest", "light.0", "light.1", "lock", "records"].contains(&name.as_str()) {
            files.insert(name, fs::read(entry.path()).expect("a file of a store"));
        }
    }
    let has_checkpoint = files.keys().any(|name| name.starts_with("state."));
    files.retain(|name, _| !has_checkpoint || !name.starts_with("state"));
    files
}

/// What a store answers about its blocks.
#[derive(Debug, PartialEq)]
pub struct Stored {
    /// The last block.
    pub tip: Option<Tip>,
    /// Number of the first block.
    pub first: Option<u64>,
    /// The blocks from the first one on.
    pub blocks: Vec<StoredBlock>,
}

/// One block of a store; body and receipts where it keeps them.
#[derive(Debug, PartialEq)]
pub struct StoredBlock {
    pub hash: [u8; 32],
    pub header: Vec<u8>,
    pub body: Option<Vec<u8>>,
    pub receipts: Option<Vec<u8>>,
}

/// Reads a whole store through its interface, and checks that each hash leads to its number.
pub fn read_store(folder: &Path) -> Stored {
    let (store, _) = ChainStore::open_read_only(folder).expect("a store that opens");
    let (tip, first) = (store.tip(), store.first());
    let mut stored = Stored { tip, first, blocks: vec![] };
    let (Some(first), Some(tip)) = (first, tip) else { return stored };
    for number in first..=tip.number {
        let hash = store.hash_of(number).expect("a hash").expect("the hash of a stored block");
        assert_eq!(store.number_of(&hash).expect("a number"), Some(number));
        stored.blocks.push(StoredBlock {
            hash,
            header: store.header(number).expect("a header").expect("a stored header"),
            body: store.body(number).expect("a body, or none"),
            receipts: store.receipts(number).expect("receipts, or none"),
        });
    }
    assert_eq!(store.header(tip.number + 1).expect("no error"), None);
    assert_eq!(stored.blocks.last().map(|block| block.hash), Some(tip.hash));
    stored
}

/// Number of the last block of a store; none for an empty store or where there is none.
pub fn tip_of(folder: &Path) -> Option<u64> {
    let (store, _) = ChainStore::open_read_only(folder).ok()?;
    store.tip().map(|tip| tip.number)
}

/// A store as it was at some moment, to compare others with.
pub struct Snapshot {
    /// What it answers.
    pub stored: Stored,
    /// Its bytes.
    files: BTreeMap<String, Vec<u8>>,
}

impl Snapshot {
    /// Reads a store.
    pub fn of(store: &Path) -> Self {
        Self { stored: read_store(store), files: data_files(store) }
    }

    /// Asserts that another store is the same: by what it answers, and byte for byte.
    pub fn assert_same(&self, found: &Path) {
        let name = found.display();
        let other = Self::of(found);
        assert_eq!((self.stored.tip, self.stored.first), (other.stored.tip, other.stored.first));
        let mut pairs = self.stored.blocks.iter().zip(&other.stored.blocks);
        assert_eq!(pairs.position(|(a, b)| a != b), None, "a block of {name} differs");
        assert!(self.files.keys().eq(other.files.keys()), "{name} has other files");
        for (file, bytes) in &self.files {
            assert!(*bytes == other.files[file], "{file} of {name} differs");
        }
    }

    /// Asserts that another store holds the first blocks of this one, or all.
    pub fn assert_begins_like(&self, found: &Path) {
        if matches!(ChainStore::open_read_only(found), Err(blockmill_store::Error::NoStore { .. }))
        {
            return; // an archive that is no archive makes no store
        }
        let found = read_store(found);
        assert!(found.blocks.len() <= self.stored.blocks.len());
        let mut pairs = self.stored.blocks.iter().zip(&found.blocks);
        assert_eq!(pairs.position(|(a, b)| a != b), None, "a stored block is not the good one");
    }
}

/// Asserts that two stores are the same: by what they answer, and byte for byte.
pub fn assert_same_store(expected: &Path, found: &Path) {
    Snapshot::of(expected).assert_same(found);
}
