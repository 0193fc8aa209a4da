//! Length fields and bytes between records, changed at random: `verify`, `inspect` and `convert`
//! have one verdict, and it is corruption exactly where the reindex of Bitcoin Core loses a block.

use crate::generated_chain::Maker;
use crate::generated_headers::Random;
use crate::imports::options;
use blockmill_archive::blkdat::{Network, WriterOptions, open};
use blockmill_bitcoin::import::{Options, import};
use blockmill_bitcoin::inspect::{Inspection, inspect};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::{Level, export};
use blockmill_hashes::sha256d;
use blockmill_pipeline::live::Live;
use blockmill_verdict::Status;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

/// Blocks after the genesis block.
const BLOCKS: u32 = 12;
/// Files that are changed.
const CASES: usize = 150;

type Hash = [u8; 32];

/// `LoadExternalBlockFile` of Bitcoin Core's `validation.cpp` with `-reindex`, byte by byte: the
/// blocks that it loads. `blocks` are the blocks that can be decoded, by the hash of their header.
fn reindexed(file: &[u8], magic: [u8; 4], blocks: &HashMap<Hash, &Vec<u8>>) -> HashSet<Hash> {
    let genesis = sha256d(&blocks.values().find(|it| it[4..36] == [0; 32]).unwrap()[..80]);
    let (mut known, mut waiting) = (HashSet::new(), HashMap::<Hash, Vec<usize>>::new());
    // the block at a place, decoded from as many bytes
    let decode = |at: usize, bytes: usize| {
        let hash = sha256d(&file[at..at + 80]);
        let block = blocks.get(&hash).filter(|block| block.len() <= bytes)?;
        file[at..].starts_with(block).then_some((hash, block.len()))
    };
    let stated = |at: usize| u32::from_le_bytes(file[at - 4..at].try_into().unwrap()) as usize;
    let mut next = 0;
    while let Some(found) = file[next..].windows(4).position(|bytes| bytes == magic) {
        next += found + 1;
        let at = next + 7;
        if at > file.len() {
            break;
        }
        let size = stated(at);
        if !(80..=4_000_000).contains(&size) {
            continue;
        }
        if at + 80 > file.len() {
            continue;
        }
        if at + size > file.len() {
            break;
        }
        next = at + size;
        let hash = sha256d(&file[at..at + 80]);
        let parent: Hash = file[at + 4..at + 36].try_into().unwrap();
        if hash != genesis && !known.contains(&parent) {
            waiting.entry(parent).or_default().push(at);
            continue;
        }
        if known.contains(&hash) {
            continue;
        }
        let Some((hash, length)) = decode(at, size) else { continue };
        next = at + length;
        let mut queue = vec![hash];
        while let Some(hash) = queue.pop() {
            known.insert(hash);
            for at in waiting.remove(&hash).unwrap_or_default() {
                queue.extend(decode(at, stated(at)).map(|(hash, _)| hash));
            }
        }
    }
    known
}

/// What `verify` at each level, `inspect` and `convert` say of one file.
fn verdicts(path: &Path) -> Vec<(&'static str, Status)> {
    let params = Params::regtest();
    let files = open(&[path.to_path_buf()], Network::from_magic(params.magic)).unwrap();
    let options = Options { threads: 1, ..options(params) };
    let mut all = vec![];
    let levels = [("headers", Level::Headers), ("bodies", Level::Bodies), ("", Level::Execution)];
    for (name, level) in levels {
        let data = tempfile::tempdir().unwrap();
        let options = Options { level, ..options.clone() };
        // a second import has the same verdict, from what the first one kept
        for _ in 0..2 {
            let (run, outcome) = import(&files, &options, data.path(), |_| {});
            outcome.unwrap();
            assert_eq!(run.tip.unwrap().height, BLOCKS);
            all.push((name, run.status_of_files(false)));
        }
    }
    for (name, deep) in [("inspect", false), ("inspect --deep", true)] {
        let status = match inspected(path, deep).status() {
            Status::Ok => Status::Verified,
            status => status,
        };
        all.push((name, status));
    }
    let out = tempfile::tempdir().unwrap();
    let writer = WriterOptions::core(Network::Regtest);
    let folder = out.path().join("out");
    let copied = export::to_block_files(&files, &options, &folder, writer, |_| Ok(()));
    let copied = copied.unwrap().unwrap();
    assert_eq!(copied.last, BLOCKS);
    all.push(("convert", copied.run.status_of_files(false)));
    // what is written has no corruption
    assert_eq!(inspected(&folder, true).status(), Status::Ok);
    all
}

fn inspected(path: &Path, deep: bool) -> Inspection {
    let files = open(&[path.to_path_buf()], Some(Network::Regtest)).unwrap();
    inspect(&files, 1, deep, Some(1_800_000_000), &Live::default()).unwrap()
}

fn only_verdict(path: &Path, what: &str) -> Status {
    let all = verdicts(path);
    let (_, first) = all[0];
    assert!(all.iter().all(|(_, status)| *status == first), "{what}: {all:?}");
    first
}

#[test]
fn wrong_lengths_are_corruption_exactly_where_a_reindex_loses_blocks() {
    let chain = Maker::of(&Params::regtest(), 11, BLOCKS).blocks;
    let blocks: HashMap<Hash, &Vec<u8>> =
        chain.iter().map(|block| (sha256d(&block[..80]), block)).collect();
    let (mut random, magic) = (Random::new(36), Params::regtest().magic);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blk00000.dat");
    let mut counts = [0; 2];
    for case in 0..CASES {
        let mut order: Vec<usize> = (0..chain.len()).collect();
        // in order, with some out of order, and with blocks that come twice
        for _ in 0..[0, 3, 6][case % 3] {
            let (a, b) = (1 + random.below(chain.len() - 1), 1 + random.below(chain.len() - 1));
            order.swap(a, b);
        }
        if case % 5 == 0 {
            let again = order[random.below(order.len())];
            order.insert(random.below(order.len()), again);
        }
        let zeros = [0, 0, 5_000][random.below(3)];
        let total = order.iter().map(|at| chain[*at].len() + 8).sum::<usize>() + zeros;
        let wrong: Vec<usize> =
            (0..1 + random.below(2)).map(|_| random.below(order.len())).collect();
        let mut bytes = vec![];
        for (i, at) in order.iter().enumerate() {
            let own = chain[*at].len();
            let later = || order[i..].iter().take(1 + case % 4).map(|it| chain[*it].len() + 8);
            let stated = match random.below(6) {
                _ if !wrong.contains(&i) => own,
                0 => own ^ (1 << random.below(23)),
                1 => random.below(80),
                2 => 80 + random.below(own),
                // to the beginning of a later record
                3 => later().sum::<usize>() - 8,
                4 => own + random.below(total),
                _ => random.next_u64() as u32 as usize,
            };
            bytes.extend(magic);
            bytes.extend((stated as u32).to_le_bytes());
            bytes.extend(&chain[*at]);
        }
        bytes.resize(bytes.len() + zeros, 0);
        fs::write(&path, &bytes).unwrap();
        let is_lossy = reindexed(&bytes, magic, &blocks).len() < blocks.len();
        let expected = if is_lossy { Status::Corrupt } else { Status::Verified };
        counts[usize::from(is_lossy)] += 1;
        let what = format!("case {case}: records {wrong:?} of {order:?}");
        assert_eq!(only_verdict(&path, &what), expected, "{what}");
    }
    assert!(counts.iter().all(|count| *count > CASES / 10), "{counts:?}");
}

#[test]
fn bytes_between_records_lack_a_block_only_where_one_fits() {
    let chain = Maker::of(&Params::regtest(), 12, BLOCKS).blocks;
    let (mut random, magic) = (Random::new(37), Params::regtest().magic);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blk00000.dat");
    let records: Vec<Vec<u8>> = chain
        .iter()
        .map(|it| [&magic[..], &(it.len() as u32).to_le_bytes(), it].concat())
        .collect();
    for case in 0..80 {
        let length = [1 + random.below(88), 89 + random.below(300)][case % 2];
        let junk: Vec<u8> = match random.below(3) {
            0 => vec![0; length],
            1 => (0..length).map(|_| 1 + random.below(200) as u8).collect(),
            _ => {
                let mut frame = [&magic[..], &[0; 4]].concat();
                frame.resize(length.max(4), 0xee);
                frame
            }
        };
        let at = 1 + random.below(records.len() - 1);
        let bytes = [&records[..at].concat(), &junk[..], &records[at..].concat()].concat();
        fs::write(&path, &bytes).unwrap();
        let fits = junk.len() >= 89;
        let expected = if fits { Status::Incomplete } else { Status::Verified };
        let what = format!("case {case}: {} bytes before record {at}", junk.len());
        assert_eq!(only_verdict(&path, &what), expected, "{what}");
    }
}

#[test]
fn a_corrupt_length_is_named_with_place_expected_and_found() {
    let chain = Maker::of(&Params::regtest(), 13, BLOCKS).blocks;
    let magic = Params::regtest().magic;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blk00000.dat");
    let (mut bytes, mut start) = (vec![], 0);
    for (height, block) in chain.iter().enumerate() {
        let stated = if height == 5 { 3_000_000 } else { block.len() as u32 };
        if height == 5 {
            start = bytes.len() as u64;
        }
        bytes.extend([&magic[..], &stated.to_le_bytes(), block].concat());
    }
    fs::write(&path, bytes).unwrap();
    let inspection = inspected(&path, false);
    let wrong: Vec<_> = inspection.wrong_lengths().collect();
    let [wrong] = wrong[..] else { panic!("{wrong:?}") };
    let report = wrong.report();
    let own = chain[5].len();
    assert_eq!((report.file, report.offset, report.block), (Some(path), Some(start), Some(5)));
    assert_eq!(report.expected, Some(format!("a length of {own} bytes")));
    assert_eq!(report.found.as_deref(), Some("3000000 bytes"));
    assert_eq!((wrong.lost, wrong.first_lost), (u64::from(BLOCKS) - 4, start));
}
