//! Blocks at heights of an earlier dump or of the store are compared at every level: equal ones are
//! skipped, different ones are faults, and a truncated dump is incomplete.

use crate::dumps;
use crate::dumps::{Dump, records};
use blockmill_archive::acc::{self, DumpWriter, Head};
use blockmill_neo::Level;
use blockmill_neo::error::Error;
use blockmill_neo::fault::Cause;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, Run, import};
use blockmill_neo::ledger::Ledger;
use blockmill_neo::params::Protocol;
use blockmill_neo::rule::Rule;
use blockmill_store::ChainStore;
use blockmill_testkit::Random;
use blockmill_verdict::Status;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const DUMP: Dump = Dump::CHAIN50;
const LEVELS: [Level; 3] = [Level::Headers, Level::Bodies, Level::Execution];

fn options(level: Level) -> Options {
    let text = std::fs::read_to_string(blockmill_testkit::fixture(DUMP.config)).unwrap();
    Options { threads: 2, level, ..Options::new(Protocol::from_yaml(&text).unwrap()) }
}

/// A store of this level; at lower levels blocks are stored or, without a folder, only verified.
fn sink(level: Level, data: Option<&Path>) -> Sink {
    let options = blockmill_store::Options::default();
    match (data, level) {
        (Some(data), Level::Execution) => {
            Sink::Ledger(Ledger::open(data, &options).unwrap().into())
        }
        (Some(data), _) => Sink::Store(ChainStore::open(data, &options).unwrap().0.into()),
        (None, _) => Sink::Discard,
    }
}

fn run(paths: &[&Path], options: &Options, sink: &mut Sink) -> (Run, Result<(), Error>) {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    import(&acc::open(&paths).unwrap(), options, sink, |_| {})
}

/// An incremental dump of `blocks`, the first of which has height `first`.
fn incremental(folder: &TempDir, name: &str, first: usize, blocks: &[Vec<u8>]) -> PathBuf {
    let path = folder.path().join(name);
    let head = Head { first: first as u32, count: blocks.len() as u32, incremental: true };
    let mut writer = DumpWriter::create(&path, head, false).unwrap();
    blocks.iter().for_each(|block| writer.append(block).unwrap());
    writer.finish().unwrap();
    path
}

/// Random bytes but for versions and heights.
fn noise(first: usize, count: usize) -> Vec<Vec<u8>> {
    let mut random = Random::new(36);
    let block = |height: usize| {
        let mut block = random.bytes(300);
        block[..4].fill(0);
        block[84..88].copy_from_slice(&(height as u32).to_le_bytes());
        block
    };
    (first..first + count).map(block).collect()
}

/// Height, file, offset and rule of a fault.
fn fault(outcome: Result<(), Error>) -> (u64, PathBuf, u64, Option<Rule>) {
    let Err(Error::Fault(fault)) = outcome else { panic!("{outcome:?}") };
    let location = fault.location.unwrap();
    let rule = match fault.cause {
        Cause::Rule(violation) => {
            assert_ne!(violation.expected, violation.found);
            Some(violation.rule)
        }
        _ => None,
    };
    (fault.block, location.file, location.offset, rule)
}

/// Runs over dumps alone, or over a store with the whole fixture. `each` gets the dumps to read,
/// the whole one first if there is no store.
fn over_everything(mut each: impl FnMut(&Options, &mut Sink, &[&Path])) {
    let whole = blockmill_testkit::fixture(DUMP.file);
    for level in LEVELS {
        let options = options(level);
        let folder = tempfile::tempdir().unwrap();
        let mut store = sink(level, Some(folder.path()));
        if level < Level::Execution {
            each(&options, &mut sink(level, None), &[&whole]);
        } else {
            let other = tempfile::tempdir().unwrap();
            each(&options, &mut sink(level, Some(other.path())), &[&whole]);
        }
        run(&[&whole], &options, &mut store).1.unwrap();
        each(&options, &mut store, &[]);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_equal_block_of_a_known_height_is_skipped_and_counted() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records(DUMP));
    let again = incremental(&folder, "again.acc", 10, &records[10..40]);
    over_everything(|options, sink, before| {
        let (run, outcome) = run(&[before, &[&again]].concat(), options, sink);
        outcome.unwrap();
        assert_eq!(run.repeated, 30);
        assert_eq!(run.blocks, if before.is_empty() { 0 } else { 51 });
        assert_eq!(run.tip.unwrap().0, 50);
    });
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn another_block_of_a_known_height_is_a_fault_with_location_and_both_hashes() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records(DUMP));
    let hash = dumps::blocks(DUMP)[20].hash;
    let mut changed = records[10..40].to_vec();
    // the time of block 20, which is signed
    changed[10][68] ^= 1;
    let other = incremental(&folder, "other.acc", 10, &changed);
    let offset = 8 + records[10..20].iter().map(|block| 4 + block.len() as u64).sum::<u64>() + 4;
    over_everything(|options, sink, before| {
        let (run, outcome) = run(&[before, &[&other]].concat(), options, sink);
        let error = outcome.as_ref().unwrap_err();
        assert_eq!(error.status(), Status::Invalid, "{error}");
        assert!(error.to_string().contains(&format!("expected {hash}, found 0x")), "{error}");
        let place = (20, other.clone(), offset, Some(Rule::KnownBlock));
        assert_eq!(fault(outcome), place);
        assert_eq!(run.repeated, 10);
    });
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn another_body_of_a_known_block_is_a_fault() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records(DUMP));
    let blocks = dumps::blocks(DUMP);
    let height = blocks.iter().rposition(|block| block.transactions.len() == 1).unwrap();
    let at = blocks[height].header_length();
    let (mut without, mut twice) = (records[height].clone(), records[height].clone());
    without.truncate(at);
    without.push(0);
    // duplicating the only transaction changes the merkle root; duplicating the last of three does
    // not
    twice[at] = 2;
    twice.extend_from_slice(&records[height][at + 1..]);
    for (name, block) in [("without.acc", without), ("twice.acc", twice)] {
        let path = incremental(&folder, name, height, &[block]);
        over_everything(|options, sink, before| {
            let (_, outcome) = run(&[before, &[&path]].concat(), options, sink);
            // level `headers` compares headers only
            match options.level {
                Level::Headers => outcome.unwrap(),
                _ => {
                    let (block, file, _, rule) = fault(outcome);
                    let expected = (height, &path, Some(Rule::MerkleRoot));
                    assert_eq!((block as usize, &file, rule), expected);
                }
            }
        });
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn random_bytes_at_known_heights_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = incremental(&folder, "noise.acc", 20, &noise(20, 31));
    over_everything(|options, sink, before| {
        let (_, outcome) = run(&[before, &[&path]].concat(), options, sink);
        let (block, file, offset, _) = fault(outcome);
        assert_eq!((block, file, offset), (20, path.clone(), 12));
    });
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_truncated_dump_of_known_blocks_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let path = incremental(&folder, "cut.acc", 10, &records(DUMP)[10..]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    over_everything(|options, sink, before| {
        let (run, outcome) = run(&[before, &[&path]].concat(), options, sink);
        let error = outcome.unwrap_err();
        assert_eq!(error.status(), Status::Incomplete, "{error}");
        assert!(error.to_string().starts_with("block 50"), "{error}");
        assert_eq!(run.repeated, 40);
    });
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn another_network_is_refused_over_a_store() {
    let other = blockmill_testkit::fixture(Dump::EMPTY.file);
    for level in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let (mut sink, options) = (sink(level, Some(folder.path())), options(level));
        run(&[&blockmill_testkit::fixture(DUMP.file)], &options, &mut sink).1.unwrap();
        // the configuration matches the store, the dump does not
        let (_, outcome) = run(&[&other], &options, &mut sink);
        assert_eq!(fault(outcome).0, 0);
        // `until` before the end of the dump does not hide it
        let until = Options { until: Some(30), ..options.clone() };
        let (_, outcome) = run(&[&other], &until, &mut sink);
        assert_eq!(fault(outcome).0, 0);
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_resumed_import_compares_stored_blocks() {
    let (folder, mut records) = (tempfile::tempdir().unwrap(), records(DUMP));
    let whole = blockmill_testkit::fixture(DUMP.file);
    records[5][68] ^= 1;
    let changed = incremental(&folder, "changed.acc", 0, &records);
    for level in LEVELS {
        let data = tempfile::tempdir().unwrap();
        let (mut sink, options) = (sink(level, Some(data.path())), options(level));
        let until = Options { until: Some(30), ..options.clone() };
        run(&[&whole], &until, &mut sink).1.unwrap();
        let (ended, outcome) = run(&[&changed], &options, &mut sink);
        assert_eq!(fault(outcome).0, 5);
        assert_eq!(ended.committed, Some(30));
        let (ended, outcome) = run(&[&whole], &options, &mut sink);
        outcome.unwrap();
        assert_eq!((ended.repeated, ended.blocks, ended.committed), (31, 20, Some(50)));
    }
}
