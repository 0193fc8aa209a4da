//! Stores of Bitcoin imports as archives: they stand for the block files that they were made of;
//! and exports that share block files with their source.

use crate::program::{Scratch, blockmill, document, run, succeed, succeed_json};
use blockmill_bitcoin::datadir::Datadir;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const TIP: u64 = 300;
const MAGIC: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];

/// Block files of regtest, and their names.
fn generate(folder: &Path, more: &str) -> Vec<PathBuf> {
    let recipe = format!("generate bitcoin --inputs 1000 --blocks {TIP} --file-size 60000 {more}");
    succeed(blockmill(&recipe).arg("--out").arg(folder));
    let files = block_files(folder);
    assert!(files.len() > 2, "{files:?}");
    files
}

fn block_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "dat"));
    files.retain(|path| path.file_name().is_some_and(|name| name != "xor.dat"));
    files.sort();
    files
}

/// Runs `words` with a store as the archive; the document.
fn with_store(words: &str, store: &Path) -> Value {
    document(&run(blockmill(words).arg("--json").arg(store)))
}

#[test]
fn a_store_stands_for_the_block_files_that_it_was_made_of() {
    let scratch = Scratch::new("bitcoin-store-as-archive");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    let files = generate(&blocks, "--xor");
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    for level in ["headers", "bodies", "execution"] {
        let verified = with_store(&format!("verify --level {level}"), &store);
        assert_eq!(verified["status"], "verified", "{verified}");
        assert_eq!(verified["result"]["result"]["tip_number"], TIP, "{verified}");
        assert!(verified["notes"].to_string().contains("is a store: its block files were read"));
    }
    let other = scratch.path("other");
    let imported = with_store(&format!("import --data {}", other.display()), &store);
    assert_eq!(imported["result"]["result"]["committed"], TIP, "{imported}");
    for to in ["blk", "core"] {
        let out = scratch.path(to);
        let converted = with_store(&format!("convert --to {to} --out {}", out.display()), &store);
        assert_eq!(converted["status"], "ok", "{converted}");
    }
    let datadir = Datadir::open(&scratch.path("core/regtest")).expect("a datadir");
    assert_eq!(datadir.blocks().count() as u64, TIP + 1);

    let inspected = with_store("inspect", &store);
    assert_eq!(inspected["result"]["height"], TIP);
    assert_eq!(inspected["result"]["block_files"]["same"], files.len());
    let text = succeed(blockmill("inspect").arg(&store));
    assert!(text.contains(&format!("{} block files of regtest", files.len())), "{text}");

    fs::remove_file(&files[1]).expect("a block file");
    for words in ["verify", "inspect", "import --data new", "convert --to blk --out new"] {
        let ended = with_store(words, &store);
        assert_eq!(ended["status"], "incomplete", "{words}: {ended}");
        let text = ended.to_string();
        assert!(text.contains("1 gone") && text.contains("blk00001.dat"), "{words}: {text}");
        assert!(!Path::new("new").exists());
    }
}

#[test]
fn a_store_without_coins_names_its_block_files_too() {
    let scratch = Scratch::new("bitcoin-store-of-bodies");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    generate(&blocks, "");
    succeed(blockmill("import --level bodies --data").arg(&store).arg(&blocks));
    let inspected = with_store("inspect", &store);
    assert_eq!(inspected["result"]["tip"], Value::Null);
    assert_eq!(inspected["result"]["block_files"]["blocks"], TIP + 1, "{inspected}");
    let text = succeed(blockmill("inspect").arg(&store));
    assert!(text.contains("no coins were committed yet"), "{text}");
    assert_eq!(with_store("verify", &store)["status"], "verified");
    assert!(!store.join("coins").exists(), "looking makes nothing");

    fs::write(store.join("index"), b"BMINDEX1 and nothing that an index has").expect("a file");
    let corrupt = with_store("verify", &store);
    assert_eq!(corrupt["status"], "corrupt", "{corrupt}");
}

#[test]
fn a_store_is_verified_only_with_its_last_block() {
    let scratch = Scratch::new("bitcoin-store-shorter");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    generate(&blocks, "");
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    // the files are cut where a record ends, which nothing in them shows
    let last = cut_last_record(&blocks);
    let shorter = document(&run(blockmill("verify --json").arg(&blocks)));
    assert_eq!(shorter["status"], "verified", "{shorter}");
    let verified = with_store("verify", &store);
    assert_eq!(verified["status"], "incomplete", "{} {verified}", last.display());
    let text = verified["shortfalls"].to_string();
    assert!(text.contains("the store's block 300 ("), "{text}");
    assert!(text.contains("is not in these files' chain: the last block has height 299"), "{text}");
    let before = with_store("verify --until 298", &store);
    assert_eq!(before["status"], "verified", "{before}");
}

#[test]
fn a_refused_import_leaves_the_store_and_its_block_files() {
    let scratch = Scratch::new("bitcoin-store-refused");
    let [blocks, store] = ["blocks", "store"].map(|name| scratch.path(name));
    let [others, of_others] = ["others", "of-others"].map(|name| scratch.path(name));
    generate(&blocks, "");
    generate(&others, "--seed 4");
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    succeed(blockmill("import --data").arg(&of_others).arg(&others));
    let index = || fs::read(store.join("index")).expect("an index");
    let before = index();
    let refused = run(blockmill("import --data").arg(&store).arg(&others));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("the store continues from its own chain"), "{refused:?}");
    assert!(before == index(), "the import was refused");
    // these levels ask for no coins, and must not replace the index of a store that has some
    for level in ["headers", "bodies"] {
        let words = format!("import --level {level} --data");
        succeed(blockmill(&words).arg(&store).arg(&others));
        assert!(before == index(), "level {level}");
    }
    let verified = with_store("verify", &store);
    assert_eq!(verified["status"], "verified", "{verified}");
    assert_eq!(verified["result"]["result"]["tip_number"], TIP, "{verified}");
    assert_eq!(with_store("check", &store)["status"], "ok");

    // as an earlier version left it
    fs::copy(of_others.join("index"), store.join("index")).expect("the other index");
    let corrupt = with_store("check", &store);
    assert_eq!(corrupt["status"], "corrupt", "{corrupt}");
    let text = corrupt.to_string();
    assert!(text.contains("block files of another chain: expected block 300 ("), "{text}");
    assert_eq!(with_store("check --repair", &store)["status"], "ok");
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    assert!(before == index(), "the import scanned the block files again");
    assert_eq!(with_store("check", &store)["status"], "ok");
}

/// Removes the record of the last block from the file that ends with it.
fn cut_last_record(blocks: &Path) -> PathBuf {
    let path = block_files(blocks).pop().expect("a file");
    let bytes = fs::read(&path).expect("a block file");
    let (mut at, mut before) = (0, 0);
    while let Some((magic, rest)) = bytes[at..].split_first_chunk::<4>()
        && *magic == MAGIC
    {
        let size = rest.first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
        (before, at) = (at, at + 8 + size as usize);
    }
    assert!(before > 0 && at <= bytes.len());
    fs::write(&path, &bytes[..before]).expect("a block file");
    path
}

#[test]
fn a_hand_over_shares_block_files_to_which_nobody_appends() {
    let scratch = Scratch::new("export-shared");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    let files = generate(&blocks, "--xor");
    let before: Vec<_> = files.iter().map(|file| fs::read(file).expect("a block file")).collect();
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    let convert = |out: &str, more: &str| {
        let mut command = blockmill("convert --to core --data");
        command.arg(&store).arg("--out").arg(scratch.path(out)).args(more.split_whitespace());
        command.arg(&blocks);
        let written = succeed_json(&mut command);
        (written, Datadir::open(&scratch.path(out).join("regtest")).expect("a datadir"))
    };
    let (shared, ours) = convert("shared", "");
    let (copied, theirs) = convert("copied", "--copy");
    let number = |written: &Value, name: &str| written[name].as_u64().expect("a number");
    let links =
        |written: &Value| number(written, "hard_linked_files") + number(written, "reflinked_files");
    assert_eq!(links(&shared), files.len() as u64 - 1, "{shared}");
    assert_eq!(links(&copied), 0, "{copied}");
    assert_eq!(number(&copied, "linked_bytes"), 0);
    let bytes = |folder: &str| {
        let folder = scratch.path(folder).join("regtest/blocks");
        let entries = fs::read_dir(folder).expect("a folder");
        let own = entries.map(|entry| entry.expect("an entry").metadata().expect("a file"));
        own.filter(|file| file.is_file() && file.nlink() == 1).map(|file| file.len()).sum::<u64>()
    };
    if number(&shared, "hard_linked_files") > 0 {
        assert!(bytes("shared") + number(&shared, "linked_bytes") <= bytes("copied") + 1000);
        let last = ours.files().len() as u32 - 1;
        let last = scratch.path(&format!("shared/regtest/blocks/blk{last:05}.dat"));
        assert_eq!(fs::metadata(last).expect("a file").nlink(), 1, "Core appends to it");
    }
    // the same blocks, undo data and coins
    for (hash, entry) in theirs.blocks() {
        let same = ours.block(hash).expect("the block");
        assert_eq!((same.height, same.status), (entry.height, entry.status));
        assert_eq!((same.transactions, same.header), (entry.transactions, entry.header));
        let (a, b) = (ours.read_block(same), theirs.read_block(entry));
        assert_eq!(a.expect("a block"), b.expect("a block"));
        let (a, b) = (ours.read_undo(same), theirs.read_undo(entry));
        assert_eq!(a.expect("undo data"), b.expect("undo data"));
    }
    assert_eq!(ours.blocks().count(), theirs.blocks().count());
    assert_eq!(shared["coins"], copied["coins"]);
    assert_eq!(shared["tip"], copied["tip"]);
    // a verification of ours, and one more export in its place
    let verified = with_store("verify", &scratch.path("shared"));
    assert_eq!(verified["status"], "verified", "{verified}");
    convert("shared", "--force");
    for (file, bytes) in files.iter().zip(before) {
        assert!(fs::read(file).expect("a block file") == bytes, "{}", file.display());
    }
}
