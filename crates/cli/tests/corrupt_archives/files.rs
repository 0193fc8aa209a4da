//! Files that are missing, foreign, twice there or in another order, and statements of an archive
//! about its blocks.

use crate::blocks::Blocks;
use crate::program::{
    Scratch, assert_same_store, blockmill, copy, fixtures, misunderstand, read_store, refuse,
    succeed, tip_of, unexecuted,
};
use crate::{Good, import};
use std::fs;
use std::path::{Path, PathBuf};

/// Blocks in a full era1 file.
const ERA: u64 = 8_192;

/// An import of several paths.
fn import_all(store: &Path, archives: &[&Path]) -> std::process::Command {
    let mut command = blockmill("import --chain mainnet --data");
    command.arg(store).args(archives).args(unexecuted(archives[0]));
    command
}

#[test]
fn an_export_that_is_not_sorted_is_refused() {
    let blocks = Blocks::generated(200);
    for format in ["headers", "rlp", "rlp-gz"] {
        let mut good = Good::new("unsorted", format, blocks.clone());
        let mut changed = blocks.clone();
        changed.swap(100, 101);
        good.refuses_blocks(&changed, 100, "found block 101");
        let mut changed = blocks.clone();
        changed.remove(100);
        good.refuses_blocks(&changed, 100, "found block 101");
        let mut changed = blocks.clone();
        changed.headers[100] = changed.headers[99].clone();
        changed.bodies[100] = changed.bodies[99].clone();
        // block 99 comes again, which is no fault, and block 100 is not there
        good.refuses_blocks(&changed, 100, "found block 101");
    }
}

#[test]
fn parts_of_an_export_are_put_in_order_and_a_hole_between_them_is_found() {
    let scratch = Scratch::new("parts");
    let blocks = Blocks::generated(200);
    for format in ["headers", "rlp", "rlp-gz"] {
        let path = |name: &str| scratch.path(&format!("{format}-{name}"));
        let (whole, store) = (path("whole"), path("store"));
        blocks.write(format, &whole);
        succeed(&mut import(&store, Path::new("mainnet"), &whole));
        // names say nothing: the later part has the smaller number
        let (first, second, late) = (path("part-9"), path("part-1"), path("part-2"));
        blocks.part(0, 100).write(format, &first);
        blocks.part(100, 201).write(format, &second);
        blocks.part(101, 201).write(format, &late);
        let parts = path("parts");
        succeed(&mut import_all(&parts, &[&second, &first]));
        assert_same_store(&store, &parts);

        let (hole, name) = (path("hole"), late.display().to_string());
        let words = [name.as_str(), "block 100", "at", "byte 0"];
        refuse(&mut import_all(&hole, &[&late, &first]), &words);
        assert_eq!(tip_of(&hole), Some(99));
        refuse(&mut import_all(&hole, &[&late]), &["expected block 100", "found block 101"]);
        succeed(&mut import_all(&hole, &[&second]));
        assert_eq!(read_store(&hole), read_store(&store));

        let (twice, again) = (path("twice"), path("part-9-again"));
        copy(&first, &again);
        // equal blocks that come again are skipped
        succeed(&mut import_all(&twice, &[&first, &again]));
        assert_eq!(tip_of(&twice), Some(99));
    }
}

/// The era1 files of a folder, in order.
fn eras(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn an_era1_file_that_is_left_out_or_of_another_chain_is_found() {
    let scratch = Scratch::new("eras");
    let generate = |name: &str, last: u64, seed: &str| {
        let path = scratch.path(name);
        let last = last.to_string();
        let mut command = blockmill("generate ethereum --format era1 --headers");
        succeed(command.args([&last, "--seed", seed, "--out"]).arg(&path));
        path
    };
    let ours = generate("ours", 2 * ERA + 10, "1");
    let theirs = generate("theirs", ERA + 20, "2");
    let store = scratch.path("store");
    succeed(&mut import_all(&store, &[&ours]));
    assert_eq!(tip_of(&store), Some(2 * ERA + 10));
    let files = eras(&ours);

    let left_out = scratch.path("left-out");
    copy(&ours, &left_out);
    fs::remove_file(&eras(&left_out)[1]).unwrap();
    let name = eras(&left_out)[1].display().to_string();
    let gap = scratch.path("gap");
    refuse(&mut import_all(&gap, &[&left_out]), &[&name, "block 8192", "block 16384"]);
    assert_eq!(tip_of(&gap), Some(ERA - 1));
    let inspected = crate::run(blockmill("inspect").arg(&left_out));
    assert_eq!(inspected.code, Some(3));
    assert!(inspected.stdout.contains("gap: "), "{}", inspected.stdout);
    succeed(&mut import_all(&gap, &[&ours]));
    assert_same_store(&store, &gap);

    // the second file of another chain under the name of ours
    let foreign = scratch.path("foreign");
    copy(&ours, &foreign);
    copy(&eras(&theirs)[1], &eras(&foreign)[1]);
    fs::remove_file(&eras(&foreign)[2]).unwrap();
    let mixed = scratch.path("mixed");
    let name = eras(&foreign)[1].display().to_string();
    refuse(&mut import_all(&mixed, &[&foreign]), &[&name, "block 8192", "parent hash"]);
    assert_eq!(tip_of(&mixed), Some(ERA - 1));
    succeed(&mut import_all(&mixed, &[&files[1], &files[2]]));
    assert_same_store(&store, &mixed);

    // names that were exchanged change nothing: content decides
    let renamed = scratch.path("renamed");
    fs::create_dir(&renamed).unwrap();
    for (file, other) in [(0, 2), (1, 1), (2, 0)] {
        copy(&files[file], &renamed.join(files[other].file_name().unwrap()));
    }
    let swapped = scratch.path("swapped");
    succeed(&mut import_all(&swapped, &[&renamed]));
    assert_same_store(&store, &swapped);
}

/// Offset of the value of the `nth` e2store record of a type.
fn record(bytes: &[u8], kind: u16, nth: usize) -> usize {
    let (mut at, mut met) = (0, 0);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 2..at + 6].try_into().unwrap()) as usize;
        if bytes[at..at + 2] == kind.to_le_bytes() {
            if met == nth {
                return at + 8;
            }
            met += 1;
        }
        at += 8 + length;
    }
    panic!("no record {nth} of type {kind}");
}

#[test]
fn totals_and_accumulators_that_an_era1_file_states_are_compared() {
    let mut good = Good::new("statements", "era1", Blocks::generated(200));
    for (kind, nth, at, rule) in [(6, 50, 50, "total difficulty"), (7, 0, 200, "accumulator")] {
        let corrupt = good.next_copy();
        copy(&good.archive, &corrupt);
        let file = &eras(&corrupt)[0];
        let mut bytes = fs::read(file).unwrap();
        let offset = record(&bytes, kind, nth);
        bytes[offset] ^= 1;
        fs::write(file, bytes).unwrap();
        good.refuses(&corrupt, at, rule);
    }
}

#[test]
fn a_record_that_cannot_be_unpacked_is_refused_wherever_it_stands() {
    let mut good = Good::new("records", "era1", Blocks::generated(200));
    // compressed headers, bodies and receipts; the first of a chunk, and one in the middle
    for kind in [3, 4, 5] {
        for nth in [0, 50] {
            let corrupt = good.next_copy();
            copy(&good.archive, &corrupt);
            let file = &eras(&corrupt)[0];
            let mut bytes = fs::read(file).unwrap();
            // after the stream identifier of 10 bytes: the type of the first Snappy frame
            let offset = record(&bytes, kind, nth) + 10;
            bytes[offset] = 2;
            fs::write(file, bytes).unwrap();
            good.refuses(&corrupt, nth as u64, "Snappy");
        }
    }
}

#[test]
fn hashes_that_an_ancient_folder_states_are_compared() {
    let mut good = Good::new("hashes", "freezer", Blocks::generated(200));
    let corrupt = good.next_copy();
    copy(&good.archive, &corrupt);
    let hashes = |folder: &Path| {
        let direct = folder.join("hashes.0000.rdat");
        if direct.exists() { direct } else { folder.join("chain/hashes.0000.rdat") }
    };
    let file = hashes(&corrupt);
    let mut bytes = fs::read(&file).unwrap();
    bytes[77 * 32] ^= 1;
    fs::write(&file, bytes).unwrap();
    good.refuses(&corrupt, 77, "hash stated by the archive");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn exchanged_files_of_an_ancient_folder_are_refused() {
    let fixtures = fixtures();
    let scratch = Scratch::new("exchanged");
    let swaps = [
        ("headers.0001.cdat", "headers.0002.cdat"),
        ("headers.0000.cdat", "bodies.0000.cdat"),
        ("headers.cidx", "bodies.cidx"),
        ("hashes.0000.rdat", "receipts.0000.cdat"),
    ];
    for (i, (a, b)) in swaps.iter().enumerate() {
        let (folder, store) = (scratch.path(&format!("{i}")), scratch.path(&format!("store-{i}")));
        copy(&fixtures.join("freezer/geth-1.17"), &folder);
        let (a, b) = (folder.join("chain").join(a), folder.join("chain").join(b));
        let (x, y) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
        fs::write(&a, y).unwrap();
        fs::write(&b, x).unwrap();
        let text = refuse(&mut import_all(&store, &[&folder]), &[]);
        // an index that was exchanged shows where the data files do not agree with it
        let named = text.contains(&folder.join("chain").display().to_string());
        assert!(named && text.contains(" at byte "), "{text}");
        succeed(&mut import_all(&store, &[&fixtures.join("freezer/geth-1.17")]));
        assert_eq!(tip_of(&store), Some(16_383));
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_file_of_sepolia_among_those_of_mainnet_is_refused() {
    let fixtures = fixtures();
    let scratch = Scratch::new("foreign-era");
    let (folder, store) = (scratch.path("folder"), scratch.path("store"));
    copy(&fixtures.join("era1"), &folder);
    let foreign = folder.join("sepolia-00000-643a00f7.era1");
    misunderstand(&mut import_all(&store, &[&folder]), &["sepolia-00000", "mainnet"]);
    assert_eq!(tip_of(&store), None);
    // under a name that hides it
    let hidden = folder.join("mainnet-00002-643a00f7.era1");
    fs::rename(foreign, &hidden).unwrap();
    refuse(&mut import_all(&store, &[&folder]), &["mainnet-0000", "block 0"]);
    fs::remove_file(hidden).unwrap();
    succeed(&mut import_all(&store, &[&folder]));
    assert_eq!(tip_of(&store), Some(16_383));
}

#[test]
fn lengths_that_no_item_has_are_refused() {
    let scratch = Scratch::new("lengths");
    let blocks = Blocks::generated(20);
    let good = blocks.headers.concat();
    let lengths: [&[u8]; 4] = [
        &[0xff, 0x80, 0, 0, 0, 0, 0, 0, 0],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0xfb, 0xff, 0xff, 0xff, 0xff],
        &[0xbf, 0x80, 0, 0, 0, 0, 0, 0, 0],
    ];
    for (i, length) in lengths.iter().enumerate() {
        let (path, store) = (scratch.path(&format!("{i}")), scratch.path(&format!("store-{i}")));
        fs::write(&path, [&good, *length].concat()).unwrap();
        let (name, place) = (path.display().to_string(), format!("at byte {}", good.len()));
        refuse(&mut import_all(&store, &[&path]), &[&name, &place, "block 21"]);
        assert_eq!(tip_of(&store), Some(20));
    }
}
