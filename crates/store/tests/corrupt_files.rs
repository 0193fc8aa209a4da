//! Files that are cut short, flipped or lost: an error that names the place or an older commit,
//! never a panic and never wrong blocks.

use std::{
    fs::{self, OpenOptions},
    path::Path,
};

use crate::generated_blocks::{
    FIRST, Random, assert_holds, copy, data_files, extend, folder, hash, item, small as page_files,
    tip,
};
use blockmill_store::{ChainStore, Error, Options};

/// Small and big index runs of 4 and 64 blocks.
fn small() -> Options {
    Options { run_items: 4, ..page_files() }
}

/// A store whose blocks up to `synced` are durable and up to `last` committed, in chunks of 7.
fn make(dir: &Path, synced: u64, last: u64) {
    let (mut store, _) = ChainStore::open(dir, &small()).unwrap();
    let mut next = FIRST;
    while next <= last {
        let end = (next + 6).min(if next <= synced { synced } else { last });
        extend(&mut store, end).unwrap();
        if end == synced {
            store.sync().unwrap();
        }
        next = end + 1;
    }
}

fn shorten(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

fn flip(path: &Path, random: &mut Random) {
    let mut bytes = fs::read(path).unwrap();
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
    fs::write(path, bytes).unwrap();
}

#[test]
fn names_the_file_when_durable_bytes_are_missing() {
    let dir = folder();
    make(dir.path(), FIRST + 40, FIRST + 40);
    for (name, bytes) in data_files(dir.path()) {
        if name.starts_with("index") {
            continue;
        }
        let path = dir.path().join(&name);
        for len in 0..bytes.len() as u64 {
            shorten(&path, len);
            let error = ChainStore::open(dir.path(), &small()).err().unwrap();
            let Error::Corrupt { path: found, offset, .. } = &error else { panic!("{error}") };
            assert_eq!((found, *offset), (&path, len), "{error}");
            assert!(ChainStore::open_read_only(dir.path()).is_err());
            fs::write(&path, &bytes).unwrap();
        }
    }
    assert_holds(&ChainStore::open(dir.path(), &small()).unwrap().0, Some(FIRST + 40));
}

#[test]
fn builds_a_lost_or_shortened_index_again() {
    let dir = folder();
    make(dir.path(), FIRST + 100, FIRST + 140);
    let expected = data_files(dir.path());
    for (name, bytes) in expected.iter().filter(|(name, _)| name.starts_with("index")) {
        let path = dir.path().join(name);
        for len in (0..bytes.len() as u64).step_by(1531) {
            shorten(&path, len);
            assert_holds(&ChainStore::open_read_only(dir.path()).unwrap().0, Some(FIRST + 140));
            assert_eq!(fs::metadata(&path).unwrap().len(), len, "a reader changes nothing");
            let (store, recovery) = ChainStore::open(dir.path(), &small()).unwrap();
            assert!(recovery.index_runs_built > 0);
            assert_eq!(store.number_of(&hash(FIRST + 5)).unwrap(), Some(FIRST + 5));
            drop(store);
            assert!(data_files(dir.path()) == expected);
        }
    }
    for name in expected.keys().filter(|name| name.starts_with("index")) {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    drop(ChainStore::open(dir.path(), &small()).unwrap());
    assert!(data_files(dir.path()) == expected);
}

#[test]
fn survives_a_torn_manifest_of_any_length() {
    let dir = folder();
    make(dir.path(), FIRST + 6, FIRST + 40);
    let tips = [FIRST + 34, FIRST + 40];
    let work = folder();
    for name in ["light.0", "light.1", "manifest"] {
        let whole = fs::read(dir.path().join(name)).unwrap();
        for len in (0..whole.len()).step_by(7) {
            copy(dir.path(), work.path());
            let mut torn = whole.clone();
            torn[len..].fill(0xa5);
            fs::write(work.path().join(name), torn).unwrap();
            let (mut store, recovery) = ChainStore::open(work.path(), &small()).unwrap();
            let found = store.tip().unwrap().number;
            assert!(tips.contains(&found) && recovery.passed_over.len() == 1);
            assert!(name != "manifest" || found == tips[1], "light commits stand alone");
            assert_holds(&store, Some(found));
            // the next commit mends it
            extend(&mut store, FIRST + 41).unwrap();
            drop(store);
            let (store, recovery) = ChainStore::open(work.path(), &small()).unwrap();
            assert!(recovery.passed_over.is_empty());
            assert_holds(&store, Some(FIRST + 41));
        }
    }
    copy(dir.path(), work.path());
    for name in ["light.0", "light.1", "manifest"] {
        shorten(&work.path().join(name), 100);
    }
    let lost = ChainStore::open(work.path(), &small());
    assert!(matches!(lost, Err(Error::Corrupt { .. })), "a store is never emptied");
    fs::remove_file(work.path().join("manifest")).unwrap();
    assert!(matches!(ChainStore::open(work.path(), &small()), Err(Error::Corrupt { .. })));
}

/// A copy of the manifest replaces one that is corrupt.
#[test]
fn a_store_that_was_synced_opens_whatever_manifest_is_corrupt() {
    let (dir, work) = (folder(), folder());
    make(dir.path(), FIRST + 40, FIRST + 40);
    for name in ["light.0", "light.1", "manifest"] {
        for seed in 0..50 {
            copy(dir.path(), work.path());
            flip(&work.path().join(name), &mut Random::new(seed));
            assert_holds(&ChainStore::open_read_only(work.path()).unwrap().0, Some(FIRST + 40));
            let (mut store, _) = ChainStore::open(work.path(), &small()).unwrap();
            assert_holds(&store, Some(FIRST + 40));
            store.sync().unwrap();
            drop(store);
            let (store, recovery) = ChainStore::open(work.path(), &small()).unwrap();
            assert!(recovery.passed_over.is_empty(), "{:?}", recovery.passed_over);
            assert_holds(&store, Some(FIRST + 40));
        }
    }
}

#[test]
fn goes_back_to_a_proven_commit_after_a_power_loss() {
    let (dir, work) = (folder(), folder());
    let (synced, last) = (FIRST + 79, FIRST + 133);
    make(work.path(), synced, synced);
    let durable = data_files(work.path());
    make(dir.path(), synced, last);
    let expected = data_files(dir.path());
    let mut fallbacks = 0;
    for seed in 0..100 {
        let mut random = Random::new(seed);
        copy(dir.path(), work.path());
        for (name, bytes) in &expected {
            let safe = durable.get(name).map_or(0, Vec::len);
            let path = work.path().join(name);
            let kept = safe + random.below((bytes.len() - safe) as u64 + 1) as usize;
            match random.below(6) {
                0 if safe == 0 => fs::remove_file(&path).unwrap(),
                1 => shorten(&path, kept as u64),
                2 => {
                    let mut zeroed = bytes.clone();
                    zeroed[kept..].fill(0);
                    fs::write(&path, zeroed).unwrap();
                }
                _ => {}
            }
        }
        let (mut store, recovery) = ChainStore::open(work.path(), &small()).unwrap();
        let found = store.tip().unwrap().number;
        assert!((synced..=last).contains(&found), "seed {seed}: {found}");
        assert_holds(&store, Some(found));
        fallbacks += usize::from(!recovery.passed_over.is_empty());
        if found < last {
            extend(&mut store, last).unwrap();
        }
        drop(store);
        assert_holds(&ChainStore::open(work.path(), &small()).unwrap().0, Some(last));
        assert!(data_files(work.path()) == expected, "seed {seed}");
    }
    assert!(fallbacks > 20, "only {fallbacks} of 100 power losses hurt");
}

fn is_manifest(name: &str) -> bool {
    ["manifest", "light.0", "light.1"].contains(&name)
}

/// One flipped bit anywhere: an error that names the file, or every answer is still right.
#[test]
fn a_flipped_bit_is_noticed_by_whoever_reads_it() {
    let (dir, work) = (folder(), folder());
    // every file of sums has a byte
    let tips = [FIRST + 599, FIRST + 610];
    make(dir.path(), tips[0], tips[1]);
    let mut names: Vec<String> = data_files(dir.path()).into_keys().collect();
    names.extend(["manifest", "light.0", "light.1"].map(String::from));
    let (mut noticed, of_each) = (0, blockmill_testkit::rounds(8));
    for seed in 0..(names.len() * of_each) as u64 {
        let mut random = Random::new(seed);
        let name = &names[seed as usize % names.len()];
        copy(dir.path(), work.path());
        flip(&work.path().join(name), &mut random);
        let opened = ChainStore::open(work.path(), &small());
        let answers = opened.and_then(|(store, recovery)| {
            let last = store.tip().unwrap().number;
            assert!((tips[0]..=tips[1]).contains(&last), "{name}: {last}");
            assert!(last == tips[1] || !recovery.passed_over.is_empty());
            check_answers(&store, last).map(|()| last)
        });
        match answers {
            Ok(last) if last == tips[1] => {
                let may = name.starts_with("index") || is_manifest(name);
                assert!(may, "{name}: a flip that nobody noticed");
            }
            Ok(_) => noticed += 1,
            Err(Error::Corrupt { path, .. }) => {
                // the segmented file, or the one that its sums are about
                let segments = name.split('.').next().unwrap().replace("-sums", "");
                let found = path.file_name().unwrap().to_str().unwrap();
                assert!(found.starts_with(&segments), "{name}: {found}");
                noticed += 1;
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
    let data = names.iter().filter(|name| !name.starts_with("index") && !is_manifest(name));
    assert!(noticed >= data.count() * of_each, "only {noticed} flips were noticed");
}

/// Reads everything: right answers or an error.
fn check_answers(store: &ChainStore, last: u64) -> blockmill_store::Result<()> {
    for number in FIRST..=last {
        assert_eq!(store.header(number)?, Some(item(0, number)));
        assert_eq!(store.body(number)?, Some(item(1, number)));
        assert_eq!(store.receipts(number)?, Some(item(2, number)));
        assert_eq!(store.hash_of(number)?, Some(hash(number)));
        assert_eq!(store.number_of(&hash(number))?, Some(number));
    }
    Ok(())
}

#[test]
fn a_corrupt_index_is_built_again_when_the_store_is_opened_for_writing() {
    let (dir, work) = (folder(), folder());
    make(dir.path(), FIRST + 140, FIRST + 140);
    let expected = data_files(dir.path());
    let mut built = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        copy(dir.path(), work.path());
        let name = ["index-small.00000", "index-big.00000"][seed as usize % 2];
        flip(&work.path().join(name), &mut random);
        assert_holds(&ChainStore::open_read_only(work.path()).unwrap().0, Some(FIRST + 140));
        let (store, recovery) = ChainStore::open(work.path(), &small()).unwrap();
        built += recovery.index_runs_built;
        drop(store);
        assert!(data_files(work.path()) == expected, "seed {seed}: {name}");
    }
    assert_eq!(built, 60);
}

#[test]
fn a_run_of_the_index_in_the_place_of_another_is_corruption() {
    let dir = folder();
    make(dir.path(), FIRST + 140, FIRST + 140);
    let path = dir.path().join("index-small.00000");
    let whole = fs::read(&path).unwrap();
    let others = data_files(dir.path()).into_iter().find(|(name, _)| name == "index-small.00001");
    fs::write(&path, others.unwrap().1).unwrap();
    assert_holds(&ChainStore::open_read_only(dir.path()).unwrap().0, Some(FIRST + 140));
    assert_eq!(ChainStore::open(dir.path(), &small()).unwrap().1.index_runs_built, 1);
    assert!(fs::read(&path).unwrap() == whole);
}

#[test]
fn a_manifest_with_the_magic_of_an_older_format_alone_is_corrupt() {
    let dir = folder();
    make(dir.path(), FIRST + 6, FIRST + 6);
    let path = dir.path().join("manifest");
    let mut bytes = fs::read(&path).unwrap();
    // one bit makes a 1 of the 5
    bytes[7] ^= 4;
    assert!(bytes.starts_with(b"BMSTORE1"));
    fs::write(&path, &bytes).unwrap();
    let error = ChainStore::open_read_only(dir.path()).err();
    assert!(!matches!(error, Some(Error::OtherFormat { .. })), "{error:?}");
}

#[test]
fn a_store_of_an_older_format_is_refused_by_name() {
    let dir = folder();
    make(dir.path(), FIRST + 6, FIRST + 6);
    let whole = fs::read(dir.path().join("manifest")).unwrap();
    for light in ["light.0", "light.1"] {
        fs::remove_file(dir.path().join(light)).unwrap();
    }
    for (name, magic) in [
        ("checkpoint", &b"BMSTORE1"[..]),
        ("checkpoint", b"BMSTORE2"),
        ("manifest", b"BMSTORE3"),
        ("manifest", b"BMSTORE4"),
        ("manifest", b"BMPOINT1"),
    ] {
        _ = fs::remove_file(dir.path().join("manifest"));
        let mut bytes = whole.clone();
        bytes[..8].copy_from_slice(magic);
        // the rest is not what this format would have
        bytes[12] ^= 1;
        fs::write(dir.path().join(name), &bytes).unwrap();
        let before = data_files(dir.path());
        for opened in
            [ChainStore::open_read_only(dir.path()), ChainStore::open(dir.path(), &small())]
        {
            let error = opened.err().unwrap();
            assert!(matches!(error, Error::OtherFormat { .. }), "{error}");
            let (text, magic) = (error.to_string(), std::str::from_utf8(magic).unwrap());
            assert!(text.contains(magic) && text.contains("BMSTORE5"), "{text}");
        }
        assert!(data_files(dir.path()) == before);
        assert!(fs::read(dir.path().join(name)).unwrap() == bytes);
        fs::remove_file(dir.path().join(name)).unwrap();
    }
}

#[test]
fn files_with_like_names_are_left_alone() {
    let dir = folder();
    make(dir.path(), FIRST + 6, FIRST + 6);
    let names = ["headers.7", "headers.bak", "headers.000007", "hashes.+0001", "notes.txt"];
    for name in names {
        fs::write(dir.path().join(name), name).unwrap();
    }
    let (mut store, recovery) = ChainStore::open(dir.path(), &small()).unwrap();
    assert_eq!(recovery.cut_bytes, 0);
    extend(&mut store, FIRST + 60).unwrap();
    store.truncate_after(&tip(FIRST + 3)).unwrap();
    for name in names {
        assert_eq!(fs::read(dir.path().join(name)).unwrap(), name.as_bytes());
    }
}
