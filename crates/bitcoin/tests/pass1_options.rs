//! Every option of pass 1 finds the same blocks in the same order, in real files and in files
//! that were shuffled, repeated, obfuscated or damaged.

use blockmill_archive::blkdat::{
    BlockFiles, BlockWriter, BodyReader, Network, WriterOptions, XorKey, open,
};
use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::index::scan::{Scan, pass1};
use blockmill_bitcoin::option_table::Setting;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn fixture(path: &str) -> PathBuf {
    blockmill_testkit::fixture("bitcoin").join(path)
}

/// All rungs, and the default with each option at each of its other values.
fn all_settings() -> Vec<Setting> {
    let mut all: Vec<_> = Setting::rungs().map(|(_, setting)| setting).collect();
    let rungs = all.clone();
    all.extend(rungs.iter().flat_map(|rung| rung.neighbours().map(|(_, _, other)| other)));
    let mut distinct: Vec<Setting> = vec![];
    for setting in all {
        if !distinct.contains(&setting) {
            distinct.push(setting);
        }
    }
    distinct
}

/// Runs pass 1 with all settings; returns what the default finds.
fn scan_all(files: &BlockFiles, known: &[BlockHash]) -> Scan {
    let expected = pass1(files, known, &Setting::default(), 2).unwrap();
    for setting in all_settings() {
        for threads in [1, 3] {
            let scan = pass1(files, known, &setting, threads).unwrap();
            assert_eq!(scan.found, expected.found, "{setting:?}");
            assert_eq!(scan.accepted, expected.accepted, "{setting:?}");
            assert_eq!(scan.orphans, expected.orphans, "{setting:?}");
            assert_eq!(scan.reports, expected.reports, "{setting:?}");
            assert_eq!(scan.counts.out_of_order, expected.counts.out_of_order, "{setting:?}");
            let again = scan.counts.from_memory + scan.counts.from_disk;
            let plan = setting.plan();
            assert!(!plan.accept_blocks || again == scan.counts.out_of_order, "{setting:?}");
        }
    }
    check_order(&expected, known);
    expected
}

/// Parents come first, and every block is either accepted or an orphan.
fn check_order(scan: &Scan, known: &[BlockHash]) {
    let mut accepted: HashSet<BlockHash> =
        known.iter().copied().chain([BlockHash::default()]).collect();
    for position in &scan.accepted {
        let found = &scan.found[*position as usize];
        assert!(
            accepted.contains(&found.header().previous()),
            "{:?} before its parent",
            found.hash
        );
        accepted.insert(found.hash);
    }
    for position in &scan.orphans {
        assert!(!accepted.contains(&scan.found[*position as usize].header().previous()));
    }
    let mut all: Vec<_> = scan.accepted.iter().chain(&scan.orphans).copied().collect();
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..scan.found.len() as u32));
}

fn open_one(path: &Path) -> BlockFiles {
    open(&[path.to_path_buf()], None).unwrap()
}

fn blocks_of(files: &BlockFiles) -> Vec<Vec<u8>> {
    let scan = pass1(files, &[], &Setting::default(), 1).unwrap();
    let mut reader = BodyReader::new(files, 4);
    let read = |found: &blockmill_bitcoin::index::Found| {
        let mut block = vec![];
        reader.read(found.location(), &mut block).unwrap();
        block
    };
    scan.found.iter().map(read).collect()
}

/// Writes blocks into several obfuscated files and opens them.
fn written(folder: &Path, blocks: &[Vec<u8>]) -> BlockFiles {
    let options = WriterOptions {
        max_file: 300_000,
        key: XorKey(*b"\x01\x02\x03\x04\xf0\xe0\xd0\xc0"),
        trim: false,
        allocate: 100_000,
        ..WriterOptions::core(Network::Mainnet)
    };
    let mut writer = BlockWriter::create(folder, options).unwrap();
    blocks.iter().for_each(|block| _ = writer.write(block).unwrap());
    writer.finish().unwrap();
    open_one(folder)
}

/// Block 4,521 of the main network.
const TIP: &str = "00000000ac08f7d984f6b36027395e654a5f1e3bb006cd9df9c60b9897ea4c40";

#[blockmill_testkit::needs(fixtures)]
#[test]
fn mainnet_from_one_file_and_from_a_datadir_of_bitcoin_core() {
    let path = fixture("mainnet-0-4521.dat");
    let files = open_one(&path);
    assert_eq!(files.network(), Some(Network::Mainnet));
    let scan = scan_all(&files, &[]);
    assert_eq!((scan.found.len(), scan.accepted.len()), (4522, 4522));
    let tip = scan.found[scan.accepted[4521] as usize].hash;
    assert_eq!(tip.to_string(), TIP);
    let damage = &scan.reports[0].damage;
    assert_eq!((damage.len(), damage[0].offset), (1, 1_048_537));

    let datadir = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", datadir.path());
    let files = open_one(datadir.path());
    assert!(!files.files()[0].key().is_none());
    let core = scan_all(&files, &[]);
    assert_eq!((core.found.len(), core.counts.damage), (4522, 0));
    assert_eq!(core.reports[0].zero_tail, 15_728_679);
    assert_eq!(core.found[core.accepted[4521] as usize].hash, tip);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn testnet_regtest_and_single_blocks() {
    let path = fixture("testnet3-0-400.dat");
    let files = open_one(&path);
    assert_eq!(files.network(), Some(Network::Testnet3));
    let scan = scan_all(&files, &[]);
    assert_eq!((scan.accepted.len(), scan.found.len()), (401, 401));
    let damage: Vec<_> = scan.reports[0].damage.iter().map(ToString::to_string).collect();
    assert_eq!(damage, ["expected a block of 6033 bytes, found 4965 before the file ends"]);

    let path = fixture("regtest-1-206.hex.txt");
    let files = open(&[path], Some(Network::Regtest)).unwrap();
    let first = pass1(&files, &[], &Setting::default(), 1).unwrap();
    assert_eq!((first.found.len(), first.orphans.len()), (206, 206));
    let scan = scan_all(&files, &[first.found[0].header().previous()]);
    assert_eq!(scan.accepted.len(), 206);

    let files = open_one(&fixture("blocks"));
    let scan = scan_all(&files, &[]);
    assert_eq!((scan.found.len(), scan.orphans.len()), (9, 9));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn shuffled_reversed_and_repeated_blocks_across_files() {
    let path = fixture("mainnet-0-4521.dat");
    let mut blocks = blocks_of(&open_one(&path));
    blocks.truncate(1500);
    let mut random = 5_u64;
    let mut next = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % limit
    };
    let folder = tempfile::tempdir().unwrap();
    let reversed: Vec<_> = blocks.iter().rev().cloned().collect();
    let scan = scan_all(&written(&folder.path().join("reversed"), &reversed), &[]);
    assert_eq!((scan.accepted.len(), scan.counts.out_of_order), (1500, 1499));
    assert!(scan.counts.files >= 2);

    let mut shuffled = blocks.clone();
    (1..shuffled.len()).rev().for_each(|i| shuffled.swap(i, next(i + 1)));
    let scan = scan_all(&written(&folder.path().join("shuffled"), &shuffled), &[]);
    assert_eq!(scan.accepted.len(), 1500);
    assert!(scan.counts.out_of_order > 1000, "{:?}", scan.counts);

    let mut repeated = shuffled;
    (0..300).for_each(|i| repeated.push(blocks[next(i + 1)].clone()));
    repeated.remove(700);
    let scan = scan_all(&written(&folder.path().join("repeated"), &repeated), &[]);
    assert_eq!(scan.found.len(), 1799);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_larger_look_back_finds_more_blocks_in_memory() {
    let path = fixture("blocks/core-bench-block413567.raw");
    // 30 MB of large blocks, the children of each before it
    let mut block = fs::read(path).unwrap();
    let mut chain = vec![];
    let mut parent = [0; 32];
    for nonce in 0..30_u32 {
        block[4..36].copy_from_slice(&parent);
        block[76..80].copy_from_slice(&nonce.to_le_bytes());
        parent = blockmill_hashes::sha256d(&block[..80]);
        chain.push(block.clone());
    }
    chain.reverse();
    let folder = tempfile::tempdir().unwrap();
    let mut writer =
        BlockWriter::create(folder.path(), WriterOptions::core(Network::Mainnet)).unwrap();
    chain.iter().for_each(|block| _ = writer.write(block).unwrap());
    writer.finish().unwrap();
    let files = open_one(folder.path());
    let count = |rung| {
        let scan = pass1(&files, &[], &Setting::rung(rung).unwrap(), 1).unwrap();
        assert_eq!(scan.accepted.len(), 30);
        assert_eq!(scan.counts.undecodable, 0);
        (scan.counts.from_memory, scan.counts.from_disk, scan.counts.decoded)
    };
    assert_eq!(count("master"), (0, 29, 59));
    assert_eq!(count("16981"), (0, 29, 30));
    assert_eq!(count("16981-8M"), (7, 22, 30));
    assert_eq!(count("16981-32M"), (29, 0, 30));
    assert_eq!(count("16981-640M"), (29, 0, 30));
    assert_eq!(count("blockmill"), (0, 0, 0));
}

/// The benchmark of Bitcoin Core PR 16981: one block, again and again, whose parent is unknown.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_benchmark_of_the_reference_runs_in_all_settings() {
    let path = fixture("blocks/core-bench-block413567.raw");
    let block = fs::read(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = WriterOptions { max_file: 1 << 40, ..WriterOptions::core(Network::Mainnet) };
    let mut writer = BlockWriter::create(folder.path(), options).unwrap();
    let copies = (128 << 20) / (block.len() + 8);
    (0..copies).for_each(|_| _ = writer.write(&block).unwrap());
    writer.finish().unwrap();
    let files = open_one(folder.path());
    for (name, setting) in Setting::rungs() {
        let start = Instant::now();
        let scan = pass1(&files, &[], &setting, 2).unwrap();
        println!("{name:12} {:?} {:?}", start.elapsed(), scan.counts);
        assert_eq!((scan.found.len(), scan.orphans.len()), (copies, copies));
        assert_eq!(scan.counts.out_of_order, 0);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn damaged_copies_of_real_files_lose_only_what_is_damaged() {
    let path = fixture("mainnet-0-4521.dat");
    let whole = fs::read(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, &whole).unwrap();
    let expected = pass1(&open_one(&path), &[], &Setting::default(), 1).unwrap().found;
    let mut random = 77_u64;
    let mut next = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % limit
    };
    for round in 0..200 {
        let (place, cut) = (next(whole.len()), round % 4 == 0);
        let mut bytes = whole.clone();
        if cut {
            bytes.truncate(place.max(500));
        } else {
            bytes[place] ^= 1 << next(8);
        }
        fs::write(&path, &bytes).unwrap();
        let scan = pass1(&open_one(&path), &[], &Setting::default(), 1).unwrap();
        let good = expected.iter().filter(|found| {
            let (start, end) =
                (found.offset as usize - 8, found.offset as usize + found.size as usize);
            if cut { end <= bytes.len() } else { !(start..end).contains(&place) }
        });
        let found: HashSet<_> = scan.found.iter().map(|found| (found.offset, found.hash)).collect();
        assert!(
            good.clone().all(|good| found.contains(&(good.offset, good.hash))),
            "round {round}, byte {place}"
        );
        if scan.found.len() < good.count() + usize::from(!cut) {
            assert!(scan.counts.damage > 0);
        }
    }
}
