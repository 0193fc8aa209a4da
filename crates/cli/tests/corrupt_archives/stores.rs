//! A store is read like an archive, and a store of headers becomes one of bodies.

use crate::blocks::Blocks;
use crate::program::{
    Scratch, Snapshot, assert_same_store, blockmill, document, misunderstand, read_store, refuse,
    run, succeed, succeed_json, tip_of, unexecuted,
};
use crate::{Good, import};
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a path, relative to it, and their bytes.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(PathBuf::new(), fs::read(path).unwrap())];
    }
    let mut found = vec![];
    for entry in fs::read_dir(path).unwrap() {
        let name = PathBuf::from(entry.unwrap().file_name());
        let below = contents(&path.join(&name));
        found.extend(below.into_iter().map(|(file, bytes)| (name.join(file), bytes)));
    }
    found.sort();
    found
}

#[test]
fn a_store_is_verified_inspected_imported_and_converted_like_an_archive() {
    let blocks = Blocks::generated(2_000);
    for format in ["era1", "freezer", "rlp", "headers"] {
        let good = Good::new("store-reader", format, blocks.clone());
        let verified =
            succeed_json(blockmill("verify").arg(&good.store).args(unexecuted(&good.store)));
        assert_eq!(verified["data"]["format"], "store", "{verified}");
        assert_eq!(
            (&verified["data"]["chain"], &verified["data"]["blocks"]),
            (&"mainnet".into(), &2_001.into())
        );
        let level = if format == "headers" { "headers" } else { "bodies" };
        assert_eq!(verified["level"], level);
        let inspected = succeed_json(blockmill("inspect --deep").arg(&good.store));
        assert_eq!(
            (&inspected["files"][0]["format"], &inspected["files"][0]["last"]),
            (&"store".into(), &2_000.into())
        );

        let copy = good.scratch.path("copy");
        succeed(&mut import(&copy, &good.chain, &good.store));
        assert_same_store(&good.store, &copy);

        let back = good.scratch.path("back");
        let mut convert = blockmill("convert --chain mainnet --to");
        succeed(convert.arg(format).arg("--out").arg(&back).arg(&good.store));
        assert_eq!(contents(&back).len(), contents(&good.archive).len());
        assert!(contents(&back) == contents(&good.archive), "{format} differs");
    }
}

#[test]
fn receipts_of_a_store_that_two_formats_filled_are_distinguished() {
    let blocks = Blocks::generated(2_000);
    let scratch = Scratch::new("store-receipts");
    let [era1, freezer, rest] = ["era1", "freezer", "rest"].map(|name| scratch.path(name));
    blocks.write("era1", &era1);
    blocks.write("freezer", &freezer);
    let (store, chain) = (scratch.path("store"), Path::new("mainnet"));
    succeed(import(&store, chain, &freezer).args(["--until", "1900"]));
    succeed(&mut import(&store, chain, &era1));
    for (format, archive) in [("era1", &era1), ("freezer", &freezer)] {
        let back = rest.join(format);
        fs::create_dir_all(&rest).unwrap();
        let mut convert = blockmill("convert --chain mainnet --to");
        succeed(convert.arg(format).arg("--out").arg(&back).arg(&store));
        assert!(contents(&back) == contents(archive), "{format} differs");
    }
    assert_eq!(
        document(&run(blockmill("verify --json").arg(&store).args(unexecuted(&store))))["status"],
        "verified"
    );
}

#[test]
fn a_store_of_headers_is_upgraded_to_bodies_in_one_step() {
    let blocks = Blocks::generated(2_000);
    let scratch = Scratch::new("store-upgrade");
    let (archive, half, chain) = (scratch.path("era1"), scratch.path("half"), Path::new("mainnet"));
    blocks.write("era1", &archive);
    blocks.part(0, 1_001).write("era1", &half);
    let (whole, store) = (scratch.path("whole"), scratch.path("store"));
    succeed(&mut import(&whole, chain, &archive));
    let headers = |store: &Path| {
        succeed(import(store, chain, &archive).args(["--level", "headers", "--until", "1500"]));
    };
    headers(&store);
    let before = Snapshot::of(&store);

    // an archive that does not reach the last header leaves the store as it was
    succeed(import(&store, chain, &half).args(["--level", "bodies"]));
    before.assert_same(&store);
    // the next one continues there
    let text = succeed(import(&store, chain, &archive).args(["--level", "bodies"]));
    assert!(text.contains("1,001 to 2,000") || text.contains("1,001 to"), "{text}");
    assert_same_store(&whole, &store);
    assert!(!scratch.path("store.upgrading").exists());
    assert!(fs::read_dir(store.join("records")).unwrap().count() >= 2);

    // bodies of another chain do not replace it
    let other = scratch.path("other");
    headers(&other);
    let before = Snapshot::of(&other);
    let mut foreign = blocks.clone();
    foreign.edit(700, |header| header.state_root[3] ^= 1);
    let path = scratch.path("foreign");
    foreign.write("era1", &path);
    let words = ["different chains"];
    misunderstand(import(&other, chain, &path).args(["--level", "bodies"]), &words);
    before.assert_same(&other);
}

#[test]
fn other_files_next_to_a_store_of_headers_stay_when_it_is_upgraded() {
    let blocks = Blocks::generated(300);
    let scratch = Scratch::new("store-upgrade-others");
    let (archive, store, chain) = (scratch.path("rlp"), scratch.path("store"), "mainnet".as_ref());
    blocks.write("rlp", &archive);
    let upgrading = scratch.path("store.upgrading");
    let headers = || {
        let _ = fs::remove_dir_all(&store);
        succeed(import(&store, chain, &archive).args(["--level", "headers"]));
        // names that a store does not give, some of them nearly
        fs::write(store.join("notes.txt"), "mine").unwrap();
        fs::write(store.join("headers.1"), "mine").unwrap();
        fs::create_dir(store.join("index-small.00000.d")).unwrap();
        fs::write(store.join("index-small.00000.d/x"), "mine").unwrap();
    };
    let upgrade =
        || document(&run(import(&store, chain, &archive).args(["--level", "bodies", "--json"])));
    headers();
    let found = upgrade();
    assert_eq!(found["status"], "verified", "{found}");
    for name in ["notes.txt", "headers.1", "index-small.00000.d/x"] {
        assert_eq!(fs::read_to_string(store.join(name)).unwrap(), "mine", "{name}");
    }
    assert!(!upgrading.exists());
    assert_eq!(read_store(&store).blocks.iter().filter(|block| block.body.is_some()).count(), 301);

    // where the new folder has something of that name, both stay
    headers();
    fs::create_dir(&upgrading).unwrap();
    fs::write(upgrading.join("notes.txt"), "the other").unwrap();
    let found = upgrade();
    assert!(
        found["notes"].to_string().contains("still has files that are not the store's"),
        "{found}"
    );
    assert_eq!(fs::read_to_string(store.join("notes.txt")).unwrap(), "the other");
    let left: Vec<_> = contents(&upgrading);
    assert_eq!(left, [(PathBuf::from("notes.txt"), b"mine".to_vec())]);
    // and later imports leave it alone
    succeed(&mut import(&store, chain, &archive));
    assert_eq!(contents(&upgrading), left);
}

#[test]
fn a_store_imports_neither_itself_nor_a_corrupt_one() {
    let mut good = Good::new("store-damaged", "rlp", Blocks::generated(300));
    misunderstand(&mut import(&good.store, &good.chain, &good.store), &["apart from all inputs"]);
    let corrupt = good.next_copy();
    crate::program::copy(&good.store, &corrupt);
    let file = fs::read_dir(&corrupt).unwrap().map(|entry| entry.unwrap().path()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("headers.0"))
    });
    let file = file.unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&file, bytes).unwrap();
    let store = good.next_copy();
    refuse(&mut import(&store, &good.chain, &corrupt), &[]);
    assert!(tip_of(&store) < Some(300));
    let stored = read_store(&store);
    assert!(stored.blocks.len() < 301);
}
