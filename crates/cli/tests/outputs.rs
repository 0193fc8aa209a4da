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

/// A store is a folder of its own: an import writes there, and a later repair removes files.
#[test]
fn an_import_never_writes_into_its_input() {
    let sources = Sources::new("outputs-imports");
    sources.good("generate neo --blocks 5 --txs 2 --out @neo");
    fs::create_dir_all(sources.path("dd/blocks")).expect("a folder");
    fs::copy(sources.path("blocks/blk00000.dat"), sources.path("dd/blocks/blk00000.dat"))
        .expect("a file");
    fs::create_dir(sources.path("rlp")).expect("a folder");
    fs::copy(sources.path("chain.rlp"), sources.path("rlp/chain.rlp")).expect("a file");
    for (link, target) in [("linked-dd", "dd"), ("linked-neo", "neo"), ("linked-rlp", "rlp")] {
        std::os::unix::fs::symlink(target, sources.path(link)).expect("a link");
    }
    for (input, flags, own, file) in [
        ("dd", "--level headers", ["dd", "dd/chainstate", "dd/blocks"], "dd/blocks/blk00000.dat"),
        ("neo", "--level headers", ["neo", "neo/a", "neo/a/b"], "neo/chain.acc"),
        ("rlp", "--seal off --level bodies", ["rlp", "rlp/a", "rlp/a/b"], "rlp/chain.rlp"),
    ] {
        let other = ["{}/../{}", "./{}/new/folder"].map(|form| form.replace("{}", input));
        let linked = [format!("linked-{input}"), format!("linked-{input}/new")];
        let all = own.map(str::to_owned).into_iter().chain(other).chain(linked);
        for data in all {
            sources.refused(&format!("import {flags} @{input} --data @{data}"));
        }
        sources.refused(&format!("import {flags} @linked-{input} --data @{input}/store"));
        // one file of it, or a folder in it
        sources.refused(&format!("import {flags} @{file} --data @{input}"));
        sources.refused(&format!("export {flags} --tables blocks @{input} --to @{input}/tables"));
        sources.refused(&format!("export {flags} --tables blocks @linked-{input} --to @{input}"));
        let ended =
            run(blockmill(&format!("import {flags} . --data store"))
                .current_dir(sources.path(input)));
        assert_eq!(ended.code, Some(USAGE), "{input}: {ended:?}");
        sources.good(&format!("import {flags} @{input} --data @store-of-{input}"));
    }
    sources.refused("convert --to core @dd --data @dd --out @core");
    sources.refused("convert --to core @dd/blocks --data @dd --out @core");
    sources.refused("convert --to core @dd --data @store-of-dd --out @store-of-dd/core");
    fs::create_dir(sources.path("records")).expect("a folder");
    fs::rename(sources.path("record.json"), sources.path("records/record.json")).expect("a file");
    sources.refused("report @records --out @records");
    sources.refused("report @records --out @records/page");
}

/// What is planted in a store in place of one of its files is not what an import writes to.
#[test]
fn a_store_never_writes_through_a_link() {
    let sources = Sources::new("outputs-links");
    sources.good("generate neo --blocks 5 --txs 2 --out @neo");
    fs::write(sources.path("precious"), "precious").expect("a file");
    fs::create_dir(sources.path("folder")).expect("a folder");
    for (name, line) in [
        ("ethereum", "import --seal off --level bodies @chain.rlp"),
        ("executed", "import @neo/chain.acc"),
        ("bitcoin", "import @blocks"),
    ] {
        sources.good(&format!("{line} --data @{name}"));
        let names: Vec<PathBuf> = files(&sources.path(name)).into_keys().collect();
        assert!(names.len() > 4, "{names:?}");
        for path in names.iter().filter(|path| !path.ends_with("manifest")) {
            let place = path.strip_prefix(sources.path(name)).expect("a path in it").to_owned();
            if place.starts_with("records") {
                continue;
            }
            let planted = sources.path("planted").join(&place);
            fs::create_dir_all(planted.parent().expect("a folder")).expect("a folder");
            std::os::unix::fs::symlink(sources.path("precious"), &planted).expect("a link");
            let ended = sources.run(&format!("{line} --data @planted"));
            let precious = fs::read(sources.path("precious")).expect("a file");
            assert_eq!(precious, b"precious", "{name}: {}: {ended:?}", place.display());
            fs::remove_dir_all(sources.path("planted")).expect("a folder");
        }
        // nor through a link in place of one of its folders
        for place in ["chainstate", "records"] {
            if !sources.path(name).join(place).is_dir() {
                continue;
            }
            fs::create_dir(sources.path("planted")).expect("a folder");
            let planted = sources.path("planted").join(place);
            std::os::unix::fs::symlink(sources.path("folder"), planted).expect("a link");
            sources.run(&format!("{line} --data @planted"));
            assert!(files(&sources.path("folder")).is_empty(), "{name}: {place}");
            fs::remove_dir_all(sources.path("planted")).expect("a folder");
        }
    }
}

/// Without `--data` the store of a conversion is temporary.
#[test]
fn a_conversion_leaves_only_its_output() {
    let sources = Sources::new("outputs-temporary");
    for name in ["here", "temporary"] {
        fs::create_dir(sources.path(name)).expect("a folder");
    }
    let convert = |from: &str, out: &str| {
        let mut command = blockmill("convert --to core");
        command.current_dir(sources.path("here")).env("TMPDIR", sources.path("temporary"));
        run(command.arg(sources.path(from)).arg("--out").arg(sources.path(out)))
    };
    let nothing_is_left = |what: &str| {
        for name in ["here", "temporary"] {
            let left = fs::read_dir(sources.path(name)).expect("a folder").count();
            assert_eq!(left, 0, "{what}: {name}");
        }
    };
    assert_eq!(convert("blocks", "core").code, Some(0));
    nothing_is_left("success");
    // another chain, for which the store of the first one would be in the way
    sources.good("generate bitcoin --blocks 30 --inputs 0 --seed 9 --out @others");
    assert_eq!(convert("others", "other-core").code, Some(0));
    nothing_is_left("another chain");
    let path = sources.path("others/blk00000.dat");
    let mut bytes = fs::read(&path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("a file");
    assert_ne!(convert("others", "bad-core").code, Some(0));
    nothing_is_left("a fault");
    assert_ne!(convert("chain.rlp", "none").code, Some(0));
    nothing_is_left("no block files");
}

#[test]
fn an_import_that_cannot_begin_leaves_no_store() {
    let scratch = Scratch::new("outputs-no-store");
    let (chain, data) = (scratch.path("chain"), scratch.path("data"));
    succeed(blockmill("generate ethereum --transfers 10 --out").arg(&chain));
    // nothing else says which chain it is
    fs::remove_file(chain.join("genesis.json")).expect("a genesis.json");
    for flags in ["", "--chain nonsense", "--chain mainnet --seal nonsense"] {
        let mut import = blockmill(&format!("import {flags} --data"));
        let ended = run(import.arg(&data).arg(chain.join("chain.rlp")));
        assert_eq!(ended.code, Some(USAGE), "{flags}: {}", ended.stderr);
        assert!(!data.exists(), "{flags}");
    }
}
