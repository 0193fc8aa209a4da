//! What goes in comes out: across reopening, file boundaries, index runs and rollbacks.

use crate::generated_blocks;
use crate::generated_blocks::{
    Chunk, FIRST, Random, assert_holds, data_files, extend, folder, hash, small, tip,
};
use blockmill_store::{Blocks, ChainStore, Error, Items, Options, is_own_file};

#[test]
fn keeps_committed_blocks_across_reopening() {
    let dir = folder();
    let (mut store, recovery) = ChainStore::open(dir.path(), &small()).unwrap();
    assert!(recovery.created);
    assert_holds(&store, None);
    for last in [FIRST, FIRST + 1, FIRST + 40, FIRST + 300] {
        extend(&mut store, last).unwrap();
        assert_holds(&store, Some(last));
        drop(store);
        let (reader, _) = ChainStore::open_read_only(dir.path()).unwrap();
        assert_holds(&reader, Some(last));
        let (again, recovery) = ChainStore::open(dir.path(), &small()).unwrap();
        assert!(!recovery.created && recovery.cut_bytes == 0 && recovery.passed_over.is_empty());
        assert_holds(&again, Some(last));
        store = again;
    }
}

#[test]
fn drops_blocks_that_were_not_committed() {
    let dir = folder();
    let (mut store, _) = ChainStore::open(dir.path(), &small()).unwrap();
    extend(&mut store, FIRST + 50).unwrap();
    store.append(&Chunk::new(FIRST + 51, 100).blocks()).unwrap();
    assert_eq!(store.number_of(&hash(FIRST + 120)).unwrap(), Some(FIRST + 120));
    drop(store);
    let (store, recovery) = ChainStore::open(dir.path(), &small()).unwrap();
    assert!(recovery.cut_bytes > 0);
    assert_holds(&store, Some(FIRST + 50));
}

#[test]
fn rolls_over_to_new_files_and_seals_both_sizes_of_runs() {
    let dir = folder();
    let (mut store, _) = ChainStore::open(dir.path(), &small()).unwrap();
    extend(&mut store, FIRST + 599).unwrap();
    assert_holds(&store, Some(FIRST + 599));
    let files = data_files(dir.path());
    let count = |name: &str| files.keys().filter(|file| file.starts_with(name)).count();
    assert!(count("headers.") > 3 && count("headers-ends.") == 2 && count("hashes.") == 5);
    assert_eq!(files["hashes.00004"].len(), 600 * 32 - 4 * 4096);
    // 600 blocks: 37 small runs of 16, 2 big ones of 256, one index block each
    assert_eq!((count("index-small."), count("index-big.")), (37, 2));
}

#[test]
fn knows_its_own_files_by_their_names() {
    let dir = folder();
    let (mut store, _) = ChainStore::open(dir.path(), &small()).unwrap();
    extend(&mut store, FIRST + 599).unwrap();
    let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.collect();
    assert!(names.len() > 40);
    for name in names {
        assert!(is_own_file(&name), "{name:?}");
    }
    let others = ["records", "headers", "headers.5", "headers.+0005", "headers.00000.old"];
    for name in others.into_iter().chain([
        "manifest.replaced",
        "lock.00000",
        "light.00000",
        "notes.00000",
        "checkpoint",
        "",
    ]) {
        assert!(!is_own_file(name.as_ref()), "{name}");
    }
}

#[test]
fn finds_hashes_that_share_their_prefix() {
    let dir = folder();
    let options = Options { run_items: 1024, ..small() };
    let (mut store, _) = ChainStore::open(dir.path(), &options).unwrap();
    // three prefixes for 20,000 blocks: equal entries fill many index blocks
    let hashes: Vec<[u8; 32]> = (0..20_000u32)
        .map(|i| {
            let mut hash = [[0, 0x55, 0xff][i as usize % 3]; 32];
            hash[28..].copy_from_slice(&i.to_be_bytes());
            hash
        })
        .collect();
    let ends = vec![0; hashes.len()];
    let headers = Items { bytes: &[], ends: &ends };
    let blocks = Blocks { first: 0, hashes: &hashes, headers, bodies: None, receipts: None };
    store.append(&blocks).unwrap();
    for (number, hash) in (0..).zip(&hashes).step_by(97) {
        assert_eq!(store.number_of(hash).unwrap(), Some(number));
    }
    assert_eq!(store.number_of(&[0x55; 32]).unwrap(), None);
    assert_eq!(store.number_of(&[0x56; 32]).unwrap(), None);
}

#[test]
fn keeps_headers_alone() {
    let dir = folder();
    let (mut store, _) = ChainStore::open(dir.path(), &small()).unwrap();
    let chunk = Chunk::new(FIRST, 9);
    let blocks = Blocks { bodies: None, receipts: None, ..chunk.blocks() };
    store.append(&blocks).unwrap();
    store.commit(&tip(FIRST + 8)).unwrap();
    assert_eq!(store.body(FIRST).unwrap(), None);
    assert_eq!(store.header(FIRST).unwrap(), Some(generated_blocks::item(0, FIRST)));
    let wrong = store.append(&Chunk::new(FIRST + 9, 1).blocks());
    assert!(matches!(wrong, Err(Error::Mismatch { .. })), "{wrong:?}");
    assert!(data_files(dir.path()).keys().all(|name| !name.starts_with("bodies")));
}

#[test]
fn refuses_what_does_not_fit_and_goes_on() {
    let dir = folder();
    let (mut store, _) = ChainStore::open(dir.path(), &small()).unwrap();
    extend(&mut store, FIRST + 9).unwrap();
    let chunk = Chunk::new(FIRST + 10, 2);
    let good = chunk.blocks();
    let headers = |ends| Items { bytes: good.headers.bytes, ends };
    let len = good.headers.bytes.len() as u32;
    for wrong in [
        Blocks { first: FIRST + 11, ..good },
        Blocks { first: FIRST + 9, ..good },
        Blocks { bodies: None, ..good },
        Blocks { hashes: &good.hashes[..1], ..good },
        Blocks { headers: headers(&[len]), ..good },
        Blocks { headers: headers(&[len, len - 1]), ..good },
        Blocks { headers: headers(&[1, len + 1]), ..good },
        Blocks { headers: headers(&[1, len - 1]), ..good },
    ] {
        let refused = store.append(&wrong);
        assert!(matches!(refused, Err(Error::Mismatch { .. })), "{refused:?}");
    }
    store.append(&good).unwrap();
    for wrong in [
        tip(FIRST + 10),
        tip(FIRST + 12),
        blockmill_store::Tip { number: FIRST + 11, ..tip(FIRST + 10) },
    ] {
        assert!(matches!(store.commit(&wrong), Err(Error::Mismatch { .. })));
    }
    assert!(matches!(store.sync(), Err(Error::Mismatch { .. })), "uncommitted blocks");
    store.commit(&tip(FIRST + 11)).unwrap();
    assert_holds(&store, Some(FIRST + 11));
}

#[test]
fn locks_out_a_second_writer_but_not_readers() {
    let dir = folder();
    let missing = ChainStore::open_read_only(&dir.path().join("nothing"));
    assert!(matches!(missing, Err(Error::NoStore { .. })));
    let (mut store, _) = ChainStore::open(dir.path(), &small()).unwrap();
    extend(&mut store, FIRST + 20).unwrap();
    let second = ChainStore::open(dir.path(), &small());
    assert!(matches!(second, Err(Error::Locked { .. })));
    let (mut reader, _) = ChainStore::open_read_only(dir.path()).unwrap();
    extend(&mut store, FIRST + 30).unwrap();
    assert_holds(&reader, Some(FIRST + 20));
    assert!(matches!(extend(&mut reader, FIRST + 31), Err(Error::ReadOnly { .. })));
    drop(store);
    ChainStore::open(dir.path(), &small()).unwrap();
}

#[test]
fn matches_a_plain_list_under_random_operations() {
    for seed in 0..6 {
        let dir = folder();
        let mut random = Random::new(seed);
        let (mut store, _) = ChainStore::open(dir.path(), &small()).unwrap();
        // the model: number of the last appended and of the last committed block
        let (mut appended, mut committed) = (None, None);
        for _ in 0..60 {
            let next = appended.map_or(FIRST, |last| last + 1);
            match random.below(10) {
                0..=3 => {
                    let count = random.below(50) + 1;
                    store.append(&Chunk::new(next, count).blocks()).unwrap();
                    appended = Some(next + count - 1);
                }
                4..=6 if appended.is_some() => {
                    store.commit(&tip(next - 1)).unwrap();
                    committed = appended;
                }
                7 if appended == committed => store.sync().unwrap(),
                8 if appended.is_some() => {
                    let last = FIRST + random.below(next - FIRST);
                    store.truncate_after(&tip(last)).unwrap();
                    (appended, committed) = (Some(last), Some(last));
                }
                _ => {
                    drop(store);
                    store = ChainStore::open(dir.path(), &small()).unwrap().0;
                    appended = committed;
                    assert_holds(&store, committed);
                }
            }
        }
        drop(store);
        assert_holds(&ChainStore::open_read_only(dir.path()).unwrap().0, committed);
    }
}
