//! Nothing is replaced that the user did not say may go, and an input never. Half an output is
//! never taken for a whole one, and what a killed process left is found and removed.

use crate::program::{Ended, Scratch, blockmill, run, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Exit code for what cannot be meant so.
const USAGE: i32 = 2;

/// Every file in a folder and below, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            if let Ok(target) = path.read_link() {
                found.insert(path, target.into_os_string().into_encoded_bytes());
            } else if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

struct Sources {
    scratch: Scratch,
}

impl Sources {
    /// A small chain of each kind.
    fn new(name: &str) -> Self {
        let sources = Self { scratch: Scratch::new(name) };
        sources.good("generate ethereum --headers 300 --out @headers.rlp");
        sources.good("generate ethereum --headers 300 --format rlp --out @chain.rlp");
        sources.good("generate bitcoin --blocks 110 --inputs 0 --out @blocks");
        sources.good("verify --seal off --level bodies @chain.rlp --record @record.json");
        sources
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    /// Runs a command line in which `@` stands for the folder.
    fn run(&self, words: &str) -> Ended {
        let folder = self.path("").display().to_string();
        run(&mut blockmill(&words.replace('@', &folder)))
    }

    fn good(&self, words: &str) -> String {
        let folder = self.path("").display().to_string();
        succeed(&mut blockmill(&words.replace('@', &folder)))
    }

    /// Runs a command that must be refused as usage, and change nothing at all.
    fn refused(&self, words: &str) {
        let before = files(&self.path(""));
        let ended = self.run(words);
        assert_eq!(ended.code, Some(USAGE), "{words}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("expected"), "{words}: {}", ended.stderr);
        let after = files(&self.path(""));
        assert!(before.keys().eq(after.keys()), "{words}: {:?}", after.keys());
        assert!(before == after, "{words}: a file was changed");
    }
}

#[test]
fn an_input_is_never_replaced_not_even_by_force_or_by_another_name() {
    let sources = Sources::new("outputs-inputs");
    fs::hard_link(sources.path("chain.rlp"), sources.path("hard.rlp")).expect("a hard link");
    std::os::unix::fs::symlink("chain.rlp", sources.path("soft.rlp")).expect("a link");
    std::os::unix::fs::symlink("blocks", sources.path("linked")).expect("a link");
    for force in ["", " --force"] {
        for out in ["chain.rlp", "./chain.rlp", "blocks/../chain.rlp", "hard.rlp", "soft.rlp"] {
            sources.refused(&format!("convert --to headers @chain.rlp --out @{out}{force}"));
            sources.refused(&format!("convert --to rlp @chain.rlp --out @{out}{force}"));
        }
        sources.refused(&format!("convert --to headers @soft.rlp --out @chain.rlp{force}"));
        for out in ["blocks", "blocks/new", "linked", "linked/new"] {
            sources.refused(&format!("convert --to blk @blocks --out @{out}{force}"));
            sources.refused(&format!("convert --to core @blocks --data @d --out @{out}{force}"));
        }
        // the folder above the input would go
        sources.refused(&format!("convert --to blk @blocks --out @{force}"));
        sources.refused(&format!("convert --to freezer @chain.rlp --out @{force}"));
        sources.refused(&format!(
            "verify --seal off --level bodies @chain.rlp --record @chain.rlp{force}"
        ));
        sources.refused(&format!("verify @blocks --record @blocks/record.json{force}"));
    }
}

#[test]
fn an_output_that_exists_stays_unless_forced() {
    let sources = Sources::new("outputs-exist");
    fs::write(sources.path("kept"), "precious").expect("a file");
    fs::create_dir(sources.path("folder")).expect("a folder");
    fs::write(sources.path("folder/kept"), "precious").expect("a file");
    for to in ["rlp", "rlp-gz", "headers", "era1", "freezer"] {
        sources.refused(&format!("convert --chain mainnet --to {to} @chain.rlp --out @kept"));
    }
    for to in ["rlp", "freezer"] {
        sources.refused(&format!("convert --to {to} @chain.rlp --out @folder"));
    }
    for to in ["blk", "core"] {
        sources.refused(&format!("convert --to {to} @blocks --data @data --out @kept"));
        // no network has its own folder for block files
        let out = if to == "core" { "folder --force" } else { "folder" };
        sources.refused(&format!("convert --to {to} @blocks --data @data --out @{out}"));
    }
    for chain in ["ethereum", "ethereum --format freezer", "ethereum --transfers 5", "bitcoin"] {
        sources.refused(&format!("generate {chain} --out @kept"));
        if chain != "ethereum" {
            sources.refused(&format!("generate {chain} --out @folder --force"));
        }
    }
    sources.refused("verify --seal off --level bodies @chain.rlp --record @kept");
    sources.refused("import --seal off --level bodies @chain.rlp --data @data --record @kept");
    sources.refused("report @record.json --out @folder");
    sources.refused("report @record.json --out @kept");
    sources.refused("bench headers --set headers=2000 --pairs 1 --scratch @scratch --out @folder");
    sources.refused("demo --headers 1000 --out @folder");
    fs::write(sources.path("folder/blockmill-import.1"), "a story").expect("a file");
    sources.refused("man @folder");

    sources.good("convert --to headers @chain.rlp --out @kept --force");
    assert!(files(&sources.path(""))[&sources.path("kept")] != b"precious");
    sources.good("verify --seal off --level bodies @chain.rlp --record @kept --force");
    sources.good("man @folder --force");
    sources.good("man @folder");
    assert_eq!(fs::read(sources.path("folder/kept")).expect("a file"), b"precious");
}

#[test]
fn what_we_made_ourselves_is_made_again() {
    let sources = Sources::new("outputs-again");
    let twice = [
        ("convert --to rlp @chain.rlp --out @a", " --force"),
        ("convert --to freezer @chain.rlp --chain mainnet --out @b", " --force"),
        ("convert --to blk @blocks --out @d", " --force"),
        ("convert --to core @blocks --data @data --out @e", " --force"),
        ("generate ethereum --headers 20 --format era1 --out @f", " --force"),
        ("generate ethereum --transfers 20 --out @g", " --force"),
        ("generate bitcoin --inputs 0 --blocks 5 --xor --out @h", " --force"),
        ("report @record.json --out @i", ""),
        ("man @j", ""),
    ];
    for (line, force) in twice {
        sources.good(line);
        let before = files(&sources.path(""));
        if !force.is_empty() {
            sources.refused(line);
        }
        sources.good(&format!("{line}{force}"));
        assert!(before.keys().eq(files(&sources.path("")).keys()), "{line}: other files");
    }
    // eras that are there stay, and others can be added
    sources.good("generate ethereum --headers 8300 --format freezer --out @eras");
    sources.good("convert --to era1 @eras --out @k --until 8191");
    sources.refused("convert --to era1 @eras --out @k");
    sources.good("convert --to era1 @eras --out @k --from 8192");
    sources.good("convert --to era1 @eras --out @k --force");
    assert_eq!(files(&sources.path("k")).len(), 2);
}

#[test]
fn what_a_killed_process_left_is_named_and_removed() {
    let sources = Sources::new("outputs-left");
    let cases = [
        ("convert --to rlp @chain.rlp --out @a", "a.blockmill.part", false),
        ("convert --to rlp-gz @chain.rlp --out @b", "b.blockmill.part", false),
        ("convert --to era1 @chain.rlp --chain mainnet --out @c", "c/x.blockmill.part", false),
        ("convert --to freezer @chain.rlp --chain mainnet --out @d", "d.blockmill.part", true),
        ("convert --to blk @blocks --out @e", "e.blockmill.part", true),
        ("generate bitcoin --inputs 0 --blocks 5 --out @f", "f.blockmill.part", true),
        ("generate ethereum --transfers 5 --out @g", "g.blockmill.part", true),
    ];
    for (line, left, is_folder) in cases {
        let left = sources.path(left);
        let half = if is_folder { left.join("blk00000.dat") } else { left.clone() };
        fs::create_dir_all(half.parent().expect("a folder")).expect("a folder");
        fs::write(&half, "half of a file").expect("a file");
        let ended = sources.run(line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        let name = left.display().to_string();
        assert!(ended.stderr.contains(&format!("removed {name}")), "{line}: {}", ended.stderr);
        assert!(!left.exists(), "{line}");
    }
    // what waits for its replacement comes back
    fs::rename(sources.path("a"), sources.path("a.blockmill.old")).expect("a new name");
    sources.refused_after_restoring("convert --to rlp @chain.rlp --out @a");
}

impl Sources {
    fn refused_after_restoring(&self, words: &str) {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(USAGE), "{}", ended.stderr);
        assert!(self.path("a").exists() && !self.path("a.blockmill.old").exists());
    }
}
