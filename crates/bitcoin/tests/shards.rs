//! Block files that are verified in shards and merged get the verdict of a single run over all of
//! them: the same chain, the same fault, the same shortfalls, for any order of blocks and any
//! corruption.

use crate::generated_chain::{Maker, mine};
use crate::imports::options;
use crate::real_blocks;
use blockmill_archive::blkdat::{BlockFiles, Network, open};
use blockmill_bitcoin::import::{Options, Run, import};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::shard::documents::{Bodies, Headers, Table};
use blockmill_bitcoin::shard::{Merger, bodies, headers};
use blockmill_bitcoin::{Error, Level};
use blockmill_testkit::Random;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A document after serialisation and back.
fn sent<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(document: &T) -> T {
    let text = serde_json::to_string(document).unwrap();
    let back: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&back, document);
    back
}

fn files(paths: &[PathBuf], options: &Options) -> BlockFiles {
    open(paths, Network::from_magic(options.params.magic)).unwrap()
}

/// Verifies each shard (a list of files) alone, and merges them.
fn merged(shards: &[Vec<PathBuf>], options: &Options) -> (Run, Result<(), Error>) {
    let all = files(&shards.concat(), options);
    let apart: Vec<_> = shards.iter().map(|shard| files(shard, options)).collect();
    let found: Vec<Headers> =
        apart.iter().map(|shard| sent(&headers(shard, options).unwrap())).collect();
    let mut merger = match Merger::new(&all, options, &found) {
        Ok(merger) => merger,
        Err(error) => return (Run::default(), Err(error)),
    };
    loop {
        let tables = merger.tables().unwrap();
        if tables.iter().all(|table| table.rows.is_empty()) {
            return merger.finish();
        }
        for (shard, table) in tables.iter().enumerate() {
            let results: Bodies = bodies(&apart[shard], &sent::<Table>(table), options).unwrap();
            merger.add_bodies(shard, sent(&results)).unwrap();
        }
    }
}

/// A single run over all files.
fn whole(paths: &[PathBuf], options: &Options) -> (Run, Result<(), Error>) {
    let data = tempfile::tempdir().unwrap();
    import(&files(paths, options), options, data.path(), |_| {})
}

/// Compares the merge with a single run. Returns the verdict in words.
#[track_caller]
fn expect_same(shards: &[Vec<PathBuf>], options: &Options, what: &str) -> String {
    let (run, outcome) = whole(&shards.concat(), options);
    let (own, verdict) = merged(shards, options);
    let report = |outcome: &Result<(), Error>| {
        outcome.as_ref().err().map(|error| (error.status(), error.report()))
    };
    assert_eq!(report(&verdict), report(&outcome), "{what}");
    assert_eq!(own.shortfalls, run.shortfalls, "{what}");
    assert_eq!(own.wrong_lengths, run.wrong_lengths, "{what}");
    assert_eq!((own.best, own.anchor, own.stale), (run.best, run.anchor, run.stale), "{what}");
    if outcome.is_ok() {
        assert_eq!((own.tip, own.range, own.blocks), (run.tip, run.range, run.blocks), "{what}");
        assert_eq!((own.transactions, own.inputs), (run.transactions, run.inputs), "{what}");
        assert_eq!(own.notes, run.notes, "{what}");
    }
    report(&outcome).map_or("verified".into(), |(status, report)| {
        format!("{status}: {}", report.rule.unwrap_or_default())
    })
}

/// Spreads `blocks` over files in a random order, a few of them in a shard.
fn spread(
    random: &mut Random,
    folder: &Path,
    params: &Params,
    blocks: &[Vec<u8>],
) -> Vec<Vec<PathBuf>> {
    let count = 1 + random.below(6_usize);
    let mut contents = vec![vec![]; count];
    for (i, block) in blocks.iter().enumerate() {
        let near = i * count / blocks.len();
        let file = if random.below(4_usize) == 0 { random.below(count) } else { near };
        contents[file].extend(params.magic);
        contents[file].extend((block.len() as u32).to_le_bytes());
        contents[file].extend(block);
    }
    let mut shards: Vec<Vec<PathBuf>> = vec![vec![]];
    for (i, bytes) in contents.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
        let path = folder.join(format!("part-{i:02}.dat"));
        fs::write(&path, bytes).unwrap();
        if random.coin() {
            shards.push(vec![]);
        }
        shards.last_mut().unwrap().push(path);
    }
    shards.retain(|shard| !shard.is_empty());
    shards
}

fn at(params: &Params, level: Level) -> Options {
    Options { level, by_itself: true, ..options(params.clone()) }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_chains_are_verified_however_their_blocks_are_spread() {
    let mut random = Random::new_each_run("real_chains_are_verified");
    let mut sources = real_blocks::all();
    sources.truncate(3);
    let networks = [Params::mainnet(), Params::testnet3(), Params::regtest()];
    for (source, params) in sources.into_iter().zip(networks) {
        for level in [Level::Headers, Level::Bodies] {
            for _ in 0..blockmill_testkit::rounds(8) {
                let folder = tempfile::tempdir().unwrap();
                let shards = spread(&mut random, folder.path(), &params, &source.blocks);
                assert_eq!(expect_same(&shards, &at(&params, level), "good"), "verified");
            }
        }
    }
}

#[test]
fn files_from_the_middle_of_a_chain_are_shards_too() {
    let mut random = Random::new_each_run("files_from_the_middle");
    let params = Params::regtest();
    let blocks = Maker::of(&params, 41, 120).blocks;
    for _ in 0..blockmill_testkit::rounds(40) {
        let from = 1 + random.below(100_usize);
        let to = from + 2 + random.below(blocks.len() - from - 1);
        let folder = tempfile::tempdir().unwrap();
        let middle = &blocks[from..to.min(blocks.len())];
        let shards = spread(&mut random, folder.path(), &params, middle);
        for level in [Level::Headers, Level::Bodies] {
            let options = at(&params, level);
            assert_eq!(expect_same(&shards, &options, "middle"), "verified");
            let wrong = Options { from: Some(random.below(120_u32)), ..options.clone() };
            expect_same(&shards, &wrong, "a height");
            let until = Options { until: Some(random.below(150_u32)), ..options };
            expect_same(&shards, &until, "a part");
        }
    }
}

/// Makes a chain worse: a body that breaks a rule, bytes that are not its, a block less, one twice.
fn worsen(random: &mut Random, blocks: &mut Vec<Vec<u8>>) {
    let i = 1 + random.below(blocks.len() - 1);
    match random.below(6_usize) {
        0 => drop(blocks.remove(i)),
        1 => {
            let copy = blocks[i].clone();
            blocks.insert(random.below(blocks.len()), copy);
        }
        2 => {
            // a corrupt copy, and the good one elsewhere
            let mut copy = blocks[i].clone();
            let at = 81 + random.below(copy.len() - 81);
            copy[at] ^= 1;
            blocks.insert(random.below(i + 1), copy);
        }
        3 => {
            let at = 81 + random.below(blocks[i].len() - 81);
            blocks[i][at] ^= 1 << random.below(8_u32);
        }
        4 => {
            let at = random.below(80_usize);
            blocks[i][at] ^= 1 << random.below(8_u32);
        }
        _ => {
            // another header with the same body, which does not have its root
            blocks[i][36 + random.below(32_usize)] ^= 1;
            mine(&mut blocks[i]);
        }
    }
}

#[test]
fn bad_blocks_in_branches_get_the_verdict_of_a_single_run() {
    let mut random = Random::new_each_run("bad_blocks_in_branches");
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let params = Params::regtest();
    for round in 0..blockmill_testkit::rounds(60) as u64 {
        let mut main = Maker::of(&params, 50 + round, 30 + random.below(30_u32));
        let mut branch = main.branch(round);
        branch.extend(1 + random.below(12_u32));
        main.extend(1 + random.below(12_u32));
        let mut blocks = main.blocks.clone();
        let shared = branch.blocks.iter().zip(&blocks).take_while(|(a, b)| a == b).count();
        blocks.extend_from_slice(&branch.blocks[shared..]);
        for _ in 0..1 + random.below(4_usize) {
            worsen(&mut random, &mut blocks);
        }
        let folder = tempfile::tempdir().unwrap();
        let shards = spread(&mut random, folder.path(), &params, &blocks);
        let level = if random.below(4_usize) == 0 { Level::Headers } else { Level::Bodies };
        let verdict = expect_same(&shards, &at(&params, level), &format!("round {round}"));
        *verdicts.entry(verdict).or_default() += 1;
    }
    println!("{verdicts:#?}");
    assert!(blockmill_testkit::rounds(60) < 60 || verdicts.len() >= 3, "{verdicts:?}");
}

#[test]
fn corrupt_files_get_the_verdict_of_a_single_run() {
    let mut random = Random::new_each_run("corrupt_files");
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let params = Params::regtest();
    let blocks = Maker::of(&params, 42, 80).blocks;
    for round in 0..blockmill_testkit::rounds(100) {
        let folder = tempfile::tempdir().unwrap();
        let shards = spread(&mut random, folder.path(), &params, &blocks);
        let path = random.pick(&shards.concat());
        let mut bytes = fs::read(&path).unwrap();
        for _ in 0..1 + random.below(3_usize) {
            let at = random.below(bytes.len());
            match random.below(4_usize) {
                0 => bytes.truncate(at.max(300)),
                1 => bytes[at] ^= 1 << random.below(8_u32),
                2 => bytes.insert(at, 0),
                // a record that says that it is longer
                _ => {
                    let magic = params.magic;
                    let starts: Vec<_> =
                        (0..bytes.len() - 8).filter(|i| bytes[*i..].starts_with(&magic)).collect();
                    if !starts.is_empty() {
                        let start = random.pick(&starts);
                        let more = bytes[start + 4].wrapping_add(random.below(250_u64) as u8);
                        bytes[start + 4] = more;
                    }
                }
            }
        }
        fs::write(&path, &bytes).unwrap();
        if open(&shards.concat(), Network::from_magic(params.magic)).is_err() {
            continue;
        }
        let what = format!("round {round}");
        let verdict = expect_same(&shards, &at(&params, Level::Bodies), &what);
        *verdicts.entry(verdict).or_default() += 1;
    }
    println!("{verdicts:#?}");
}

/// Writes the blocks to two files, each a shard: the second has those from `middle` on, where
/// `change` changes the bytes, given the length of their first record.
fn two_shards(
    folder: &Path,
    (params, blocks, middle): (&Params, &[Vec<u8>], usize),
    change: impl FnOnce(&mut Vec<u8>, usize),
) -> Vec<Vec<PathBuf>> {
    let mut parts = [vec![], vec![]];
    for (i, block) in blocks.iter().enumerate() {
        let part = &mut parts[usize::from(i >= middle)];
        part.extend(params.magic);
        part.extend((block.len() as u32).to_le_bytes());
        part.extend(block);
    }
    change(&mut parts[1], 8 + blocks[middle].len());
    let shard = |(i, bytes): (usize, &Vec<u8>)| {
        let path = folder.join(format!("part-{i}.dat"));
        fs::write(&path, bytes).unwrap();
        vec![path]
    };
    parts.iter().enumerate().map(shard).collect()
}

#[test]
fn a_block_hidden_after_another_is_found_in_shards_too() {
    let params = Params::regtest();
    let blocks = Maker::of(&params, 44, 20).blocks;
    let middle = blocks.len() - 2;
    let cases = [(Level::Headers, false), (Level::Bodies, false), (Level::Bodies, true)];
    for (level, is_bad) in cases {
        // the next to last block's record has the last one, too, whose magic is whole or not
        for is_lost in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let shards = two_shards(folder.path(), (&params, &blocks, middle), |bytes, length| {
                let all = (bytes.len() - 8) as u32;
                bytes[4..8].copy_from_slice(&all.to_le_bytes());
                // its last output, and so its root
                bytes[length - 10] ^= u8::from(is_bad);
                bytes[length] ^= u8::from(is_lost);
            });
            let what = format!("{level:?}, bad: {is_bad}, lost: {is_lost}");
            expect_same(&shards, &at(&params, level), &what);
            let (run, _) = merged(&shards, &at(&params, level));
            assert_eq!(run.shortfalls.len(), usize::from(is_lost), "{what}");
        }
    }
}

#[test]
fn corruption_that_ends_in_a_zero_byte_is_the_same_to_the_merge() {
    let params = Params::regtest();
    let blocks = Maker::of(&params, 45, 20).blocks;
    let folder = tempfile::tempdir().unwrap();
    let shards = two_shards(folder.path(), (&params, &blocks, 10), |bytes, length| {
        bytes[4] ^= 1;
        bytes.insert(length, 0);
    });
    expect_same(&shards, &at(&params, Level::Bodies), "a zero byte");
}

#[test]
fn shards_have_no_coins_and_are_of_the_files_that_are_merged() {
    let params = Params::regtest();
    let blocks = Maker::of(&params, 43, 20).blocks;
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    let shards = spread(&mut random, folder.path(), &params, &blocks);
    let (_, outcome) = merged(&shards, &at(&params, Level::Execution));
    assert!(outcome.unwrap_err().to_string().contains("found execution"));
    let options = at(&params, Level::Bodies);
    let own = headers(&files(&shards[0], &options), &options).unwrap();
    assert_eq!(own.sources[0].sha256.len(), 64);
    let other = tempfile::tempdir().unwrap();
    let elsewhere = spread(&mut random, other.path(), &params, &blocks);
    let all = files(&elsewhere.concat(), &options);
    let error = Merger::new(&all, &options, &[own]).err().unwrap();
    assert!(error.to_string().contains("found one of"), "{error}");
}
