//! Every baseline of the block index finds the same blocks in the same order as the product, in
//! real files and in files that were shuffled, repeated, obfuscated or damaged.

use blockmill_archive::blkdat::{
    BlockFiles, BlockWriter, BodyReader, Network, WriterOptions, XorKey, open,
};
use blockmill_bench::baselines::bitcoin_index::{Baseline, BaselineScan, Counts, OPTIONS, Order};
use blockmill_bench::definition::Definition;
use blockmill_bench::experiment::{Experiment, variants};
use blockmill_bench::workloads;
use blockmill_bitcoin::BlockHash;
use blockmill_bitcoin::index::scan::{FindBlocks, HeaderScan, Scan};
use blockmill_pipeline::Cancel;
use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

fn fixture(path: &str) -> PathBuf {
    blockmill_testkit::fixture("bitcoin").join(path)
}

/// The steps of the ladder, the plainest first, and the product.
fn ladder() -> Vec<(String, Vec<String>)> {
    let all = Definition::all(Path::new("no such folder")).unwrap();
    let definition = all.into_iter().find(|one| one.name == "reindex-index").unwrap();
    let options = workloads::by_name("import").unwrap().options(&definition.settings).unwrap();
    let all = variants(&definition, &Experiment::Ladder, &options).unwrap();
    let (product, steps) = (all[0].clone(), all.into_iter().skip(2));
    steps.chain([product]).map(|one| (one.label, one.with)).collect()
}

/// Every step of the ladder, and each with one option at each of its other values.
fn all_baselines() -> Vec<Baseline> {
    let mut distinct: Vec<Baseline> = vec![];
    for (_, with) in ladder() {
        let other = OPTIONS.iter().flat_map(|option| {
            option.values.iter().map(|value| vec![format!("{}={value}", option.name)])
        });
        for change in other.chain([vec![]]) {
            let (baseline, _) = Baseline::split(&[&with[..], &change].concat()).unwrap();
            if !distinct.contains(&baseline) {
                distinct.push(baseline);
            }
        }
    }
    assert!(distinct.len() > 20, "{distinct:?}");
    distinct
}

/// What was found, and its order.
struct Indexed {
    scan: Scan,
    order: Order,
    counts: Counts,
}

/// Runs one baseline.
fn index(files: &BlockFiles, known: &[BlockHash], baseline: Baseline, threads: usize) -> Indexed {
    let mut finder = BaselineScan::new(baseline, threads, known.to_vec());
    let scan = finder.find_blocks(files, &Cancel::new()).unwrap();
    let BaselineScan { mut order, counts, .. } = finder;
    if !baseline.accept_blocks {
        order = Order::of(&scan.found, known);
    }
    Indexed { scan, order, counts }
}

/// Runs the product.
fn scan(files: &BlockFiles) -> Scan {
    HeaderScan { threads: 2 }.find_blocks(files, &Cancel::new()).unwrap()
}

/// Runs all baselines; returns what the product finds.
fn scan_all(files: &BlockFiles, known: &[BlockHash]) -> Indexed {
    let scan = scan(files);
    let order = Order::of(&scan.found, known);
    for baseline in all_baselines() {
        for threads in [1, 3] {
            let found = index(files, known, baseline, threads);
            assert_eq!(found.scan.found, scan.found, "{baseline:?}");
            assert_eq!(found.scan.reports, scan.reports, "{baseline:?}");
            assert_eq!(found.order, order, "{baseline:?}");
            let again = found.counts.from_memory + found.counts.from_disk;
            assert!(!baseline.accept_blocks || again == order.out_of_order, "{baseline:?}");
        }
    }
    let expected = Indexed { scan, order, counts: Counts::default() };
    check_order(&expected, known);
    expected
}

/// Parents come first, and every block is either accepted or an orphan.
fn check_order(Indexed { scan, order, .. }: &Indexed, known: &[BlockHash]) {
    let mut accepted: HashSet<BlockHash> =
        known.iter().copied().chain([BlockHash::default()]).collect();
    for position in &order.accepted {
        let found = &scan.found[*position as usize];
        assert!(
            accepted.contains(&found.header().previous()),
            "{:?} before its parent",
            found.hash
        );
        accepted.insert(found.hash);
    }
    for position in &order.orphans {
        assert!(!accepted.contains(&scan.found[*position as usize].header().previous()));
    }
    let mut all: Vec<_> = order.accepted.iter().chain(&order.orphans).copied().collect();
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..scan.found.len() as u32));
}

fn damage_of(scan: &Scan) -> u64 {
    scan.reports.iter().map(|report| report.corruption_count).sum()
}

fn open_one(path: &Path) -> BlockFiles {
    open(&[path.to_path_buf()], None).unwrap()
}

fn blocks_of(files: &BlockFiles) -> Vec<Vec<u8>> {
    let scan = scan(files);
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
    let Indexed { scan, order, .. } = scan_all(&files, &[]);
    assert_eq!((scan.found.len(), order.accepted.len()), (4522, 4522));
    let tip = scan.found[order.accepted[4521] as usize].hash;
    assert_eq!(tip.to_string(), TIP);
    let corruption = &scan.reports[0].corruption;
    assert_eq!((corruption.len(), corruption[0].offset), (1, 1_048_537));

    let datadir = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", datadir.path());
    let files = open_one(datadir.path());
    assert!(!files.files()[0].key().is_none());
    let Indexed { scan, order, .. } = scan_all(&files, &[]);
    assert_eq!((scan.found.len(), damage_of(&scan)), (4522, 0));
    assert_eq!(scan.reports[0].zero_tail, 15_728_679);
    assert_eq!(scan.found[order.accepted[4521] as usize].hash, tip);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn testnet_regtest_and_single_blocks() {
    let path = fixture("testnet3-0-400.dat");
    let files = open_one(&path);
    assert_eq!(files.network(), Some(Network::Testnet3));
    let Indexed { scan, order, .. } = scan_all(&files, &[]);
    assert_eq!((order.accepted.len(), scan.found.len()), (401, 401));
    let corruption: Vec<_> = scan.reports[0].corruption.iter().map(ToString::to_string).collect();
    assert_eq!(corruption, ["expected a block of 6033 bytes, found 4965 before the file ends"]);

    let path = fixture("regtest-1-206.hex.txt");
    let files = open(&[path], Some(Network::Regtest)).unwrap();
    let first = index(&files, &[], Baseline::default(), 1);
    assert_eq!((first.scan.found.len(), first.order.orphans.len()), (206, 206));
    let known = [first.scan.found[0].header().previous()];
    assert_eq!(scan_all(&files, &known).order.accepted.len(), 206);

    let files = open_one(&fixture("blocks"));
    let Indexed { scan, order, .. } = scan_all(&files, &[]);
    assert_eq!((scan.found.len(), order.orphans.len()), (9, 9));
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
    let files = written(&folder.path().join("reversed"), &reversed);
    let Order { accepted, out_of_order, .. } = scan_all(&files, &[]).order;
    assert_eq!((accepted.len(), out_of_order), (1500, 1499));
    assert!(files.files().len() >= 2);

    let mut shuffled = blocks.clone();
    (1..shuffled.len()).rev().for_each(|i| shuffled.swap(i, next(i + 1)));
    let files = written(&folder.path().join("shuffled"), &shuffled);
    let Order { accepted, out_of_order, .. } = scan_all(&files, &[]).order;
    assert_eq!(accepted.len(), 1500);
    assert!(out_of_order > 1000, "{out_of_order}");

    let mut repeated = shuffled;
    (0..300).for_each(|i| repeated.push(blocks[next(i + 1)].clone()));
    repeated.remove(700);
    let files = written(&folder.path().join("repeated"), &repeated);
    assert_eq!(scan_all(&files, &[]).scan.found.len(), 1799);
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
    let ladder = ladder();
    let counts = ladder.iter().map(|(step, with)| {
        let Indexed { order, counts, .. } = index(&files, &[], Baseline::split(with).unwrap().0, 1);
        assert_eq!((order.accepted.len(), counts.undecodable), (30, 0), "{step}");
        (&**step, counts.from_memory, counts.from_disk, counts.decoded)
    });
    let counts: Vec<_> = counts.collect();
    let expected = [
        ("Core before PR 16981", 0, 29, 59),
        ("header first (PR 16981)", 0, 29, 30),
        ("8 MB look-back (PR 16981)", 7, 22, 30),
        ("32 MB look-back (PR 16981)", 29, 0, 30),
        ("640 MB look-back (PR 16981)", 29, 0, 30),
        ("headers linked after reading", 0, 0, 0),
        ("positioned reads of headers", 0, 0, 0),
        ("blockmill", 0, 0, 0),
    ];
    assert_eq!(counts, expected);
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
    for (step, with) in ladder() {
        let start = Instant::now();
        let Indexed { scan, order, counts } =
            index(&files, &[], Baseline::split(&with).unwrap().0, 2);
        println!("{step:30} {:?} {counts:?}", start.elapsed());
        assert_eq!((scan.found.len(), order.orphans.len()), (copies, copies));
        assert_eq!(order.out_of_order, 0);
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
    let expected = scan(&open_one(&path)).found;
    let baselines = all_baselines();
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
        let files = open_one(&path);
        let scan = scan(&files);
        // each file with another baseline, and each baseline with some files
        let baseline = baselines[round % baselines.len()];
        let by_baseline = index(&files, &[], baseline, 1);
        assert_eq!(by_baseline.scan.found, scan.found, "round {round}, {baseline:?}");
        assert_eq!(by_baseline.scan.reports, scan.reports, "round {round}, {baseline:?}");
        assert_eq!(by_baseline.order, Order::of(&scan.found, &[]), "round {round}, {baseline:?}");
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
            assert!(damage_of(&scan) > 0);
        }
    }
}

#[test]
fn a_stop_takes_less_than_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.dat");
    let file = File::create(&path).unwrap();
    file.set_len(10 << 30).unwrap();
    let (magic, block) = (Network::Regtest.magic(), [1; 81]);
    let record = [&magic[..], &81_u32.to_le_bytes(), &block].concat();
    file.write_all_at(&record, 0).unwrap();
    let files = open(&[path], Some(Network::Regtest)).unwrap();
    // a map has no holes: 10 GB of zeros are searched
    for with in [&["read=map"][..], &["read=map", "first-read=block", "scan=serial"]] {
        let with: Vec<String> = with.iter().map(ToString::to_string).collect();
        let cancel = Cancel::new();
        let user = cancel.clone();
        let user = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            user.cancel();
            Instant::now()
        });
        let mut finder = BaselineScan::new(Baseline::split(&with).unwrap().0, 1, vec![]);
        let error = finder.find_blocks(&files, &cancel).unwrap_err();
        let since = user.join().unwrap().elapsed();
        assert!(since < Duration::from_secs(1), "{since:?}");
        assert!(error.to_string().contains("cannot read"), "{error}");
    }
}

#[test]
fn an_unknown_value_of_a_design_is_named_with_those_that_there_are() {
    let found = |assignment: &str| Baseline::split(&[assignment.to_owned()]);
    let error = found("look-back=9M").unwrap_err().to_string();
    assert_eq!(error, "unknown option 'look-back=9M'; available: look-back=0|8M|32M|640M");
    let (baseline, others) = found("stages=serial").unwrap();
    assert!(baseline.is_of_product() && others == ["stages=serial"]);
    for option in OPTIONS {
        let baseline = |value: &str| found(&format!("{}={value}", option.name)).unwrap().0;
        assert_eq!(baseline(option.values.last().unwrap()), Baseline::default());
        let plainest = baseline(option.values[0]);
        assert_ne!(plainest, Baseline::default());
        assert_eq!(plainest.is_of_product(), option.name == "look-back");
    }
}
